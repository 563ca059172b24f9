import type { Problem } from '../../protocol/errors.ts'
import { ClientError } from './client-error.ts'
import { problemText } from './problem-text.ts'
import { type Answer, type ByteStream, type Outgoing, type Transport, TransportError } from './transport.ts'

const RETRIES = 3
const BACK_OFF_MS = 250
const RETRY_AFTER_MS_MAX = 10_000
const RETRYABLE: readonly number[] = [502, 503, 504]
const ANSWER_BYTES = 256 * 1024 * 1024

export type Query = Readonly<Record<string, string | number | boolean | readonly string[] | null | undefined>>

export interface Call extends Omit<Outgoing, 'path' | 'body' | 'fresh'> {
  readonly path: string
  readonly query?: Query
  /** Sent as JSON. */
  readonly json?: unknown
  readonly form?: Readonly<Record<string, string>>
  readonly bytes?: Outgoing['body']
  /** May it be sent twice? As its method says when not given: yes, but for POST. */
  readonly idempotent?: boolean
  /** No second try at all: the caller tries again by himself. */
  readonly once?: boolean
}

/** A decoded answer with what its head said. */
export interface Answered<T> {
  readonly status: number
  readonly headers: Answer['headers']
  readonly body: T
}

/**
 * Calls of one engine. A call that may be sent twice is tried again three times, after 0.25 s, 0.5 s and 1 s or what
 * Retry-After asks for (10 s at most), when the engine is busy (502, 503, 504) or the connection fails. A read that reaches
 * no engine is not: there is nothing to wait for.
 *
 * Every method resolves or throws a ClientError, or the reason of the call's signal.
 */
export class Calls {
  readonly url: string
  readonly #transport: Transport

  constructor(url: string, transport: Transport) {
    this.url = url
    this.#transport = transport
  }

  async get<T>(path: string, query: Query = {}, options: { signal?: AbortSignal; once?: boolean } = {}): Promise<T> {
    return (await this.json<T>({ method: 'GET', path, query, ...options })).body
  }

  /** The whole answer, decoded; null for an empty one. */
  json<T>(call: Call): Promise<Answered<T>> {
    return this.#tried(call, async answer => {
      const { status, headers, body } = answer
      return { status, headers, body: decode<T>(await textOf(body), this.url) }
    })
  }

  /** The head of the answer and its bytes as they come; once they flow, nothing is tried again. */
  stream(call: Call): Promise<Answer> {
    return this.#tried(call, async answer => answer)
  }

  close(): void {
    this.#transport.close()
  }

  async #tried<T>(call: Call, read: (answer: Answer) => Promise<T>): Promise<T> {
    const outgoing = outgoingOf(call)
    const most = outgoing.fresh || call.once ? 0 : RETRIES
    for (let tries = 0; ; tries++) {
      let wait_ms = BACK_OFF_MS * 2 ** tries
      try {
        const answer = await this.#transport.send(outgoing)
        const { status } = answer
        // What an earlier try may have deleted is gone, as was wanted.
        const isGone = status === 404 && tries > 0 && call.method === 'DELETE'
        if (status < 300 || isGone) return await read(answer)
        const text = await textOf(answer.body)
        if (tries === most || !RETRYABLE.includes(status)) throw refusal(status, text, this.url)
        const asked_ms = Number(answer.headers['retry-after']) * 1000 || 0
        wait_ms = Math.min(RETRY_AFTER_MS_MAX, Math.max(wait_ms, asked_ms))
      } catch (error) {
        call.signal?.throwIfAborted()
        if (!(error instanceof TransportError)) throw error
        if (tries === most || (error.unreached && call.method === 'GET')) throw unanswered(error, this.url)
      }
      await pause(wait_ms, call.signal)
    }
  }
}

/** Rejects with the signal's reason. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const aborted = (): void => {
      clearTimeout(timer)
      reject(signal!.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', aborted)
      resolve()
    }, ms)
    signal?.addEventListener('abort', aborted, { once: true })
  })
}

function outgoingOf(call: Call): Outgoing {
  const { method, headers = {}, json, form, bytes, signal } = call
  const typed = (type: string, body: NonNullable<Outgoing['body']>): Pick<Outgoing, 'headers' | 'body'> => ({
    headers: { 'content-type': type, ...headers },
    body,
  })
  return {
    method,
    path: pathWith(call.path, call.query ?? {}),
    headers,
    ...(json === undefined ? {} : typed('application/json', JSON.stringify(json))),
    ...(form === undefined ? {} : typed('application/x-www-form-urlencoded', new URLSearchParams(form).toString())),
    ...(bytes === undefined ? {} : typed('application/octet-stream', bytes)),
    ...(signal === undefined ? {} : { signal }),
    fresh: !(call.idempotent ?? method !== 'POST'),
  }
}

function pathWith(path: string, query: Query): string {
  const text = new URLSearchParams(
    Object.entries(query).flatMap(([key, value]): [string, string][] =>
      value === undefined || value === null
        ? []
        : (Array.isArray(value) ? value : [value]).map(each => [key, String(each)]),
    ),
  ).toString()
  return text === '' ? path : `${path}?${text}`
}

async function textOf(body: ByteStream): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  try {
    for await (const part of body) {
      bytes += part.length
      if (bytes > ANSWER_BYTES) throw new RangeError('the answer is too large')
      text += decoder.decode(part, { stream: true })
    }
  } catch (error) {
    throw new TransportError(error, false)
  }
  return text + decoder.decode()
}

function decode<T>(text: string, url: string): T {
  try {
    return (text === '' ? null : JSON.parse(text)) as T
  } catch {
    throw new ClientError('not_an_engine', `The server at ${url} is not an engine. Check the address.`)
  }
}

export function unanswered(error: TransportError, url: string): ClientError {
  if (error.unreached)
    return new ClientError('unreached', `No engine answers at ${url} (${error.message}).`, { cause: error })
  return new ClientError('lost', `The answer of ${url} broke off (${error.message}). Try again.`, { cause: error })
}

function refusal(status: number, text: string, url: string): ClientError {
  const problem = readProblem(text)
  if (problem !== null) return new ClientError('refused', problemText(problem), { status, problem })
  return new ClientError('refused', `${url} answered ${status} without a reason. Is it an engine?`, { status })
}

function readProblem(text: string): Problem | null {
  try {
    const problem = JSON.parse(text) as Problem
    return typeof problem?.detail === 'string' ? problem : null
  } catch {
    return null
  }
}
