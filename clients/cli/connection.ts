import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Problem } from '../../protocol/errors.ts'
import { EXIT } from '../../protocol/settings.ts'
import { Failure, noEngine, notSignedIn } from './failure.ts'
import type { FoundEngine } from './find-engine.ts'
import { problemText } from './problem-text.ts'

const CONNECT_TIMEOUT_MS = 5_000
const READ_TIMEOUT_MS = 120_000
const RETRIES = 3
const RETRY_AFTER_MS_MAX = 10_000
const RETRYABLE = [502, 503, 504]
const ANSWER_BYTES = 256 * 1024 * 1024

interface Call {
  readonly method: 'GET' | 'PUT' | 'POST'
  readonly path: string
  readonly body?: unknown
  readonly form?: Readonly<Record<string, string>>
}

interface Answer {
  readonly status: number
  readonly retry_after_ms: number
  readonly text: string
}

/** Why a call got no answer. `unreached`: nothing was sent. */
class TransportError extends Error {
  readonly unreached: boolean

  constructor(text: string, unreached: boolean) {
    super(text)
    this.name = 'TransportError'
    this.unreached = unreached
  }
}

/** Requests to one engine. Every method resolves with the decoded body or throws a Failure. */
export class Connection {
  readonly engine: FoundEngine

  constructor(engine: FoundEngine) {
    this.engine = engine
  }

  /** Tried again three times when the engine is busy or the answer breaks off; not when nothing listens there. */
  get<T>(path: string, query: Readonly<Record<string, string | number | undefined>> = {}): Promise<T> {
    const given = Object.entries(query).filter(([, value]) => value !== undefined)
    const text = new URLSearchParams(given.map(([key, value]): [string, string] => [key, String(value)])).toString()
    return this.#call<T>({ method: 'GET', path: text === '' ? path : `${path}?${text}` }, RETRIES)
  }

  /** Tried again like a read, unless `once`: a save over a known version would then refuse itself. */
  put<T>(path: string, body: unknown, options: { once: boolean }): Promise<T> {
    return this.#call<T>({ method: 'PUT', path, body }, options.once ? 0 : RETRIES)
  }

  post<T>(path: string, body: unknown): Promise<T> {
    return this.#call<T>({ method: 'POST', path, body }, 0)
  }

  postForm<T>(path: string, form: Readonly<Record<string, string>>): Promise<T> {
    return this.#call<T>({ method: 'POST', path, form }, 0)
  }

  async #call<T>(call: Call, retries: number): Promise<T> {
    for (let left = retries; ; left--) {
      let wait_ms = 250 * 2 ** (retries - left)
      try {
        const answer = await send(this.engine, call)
        if (answer.status < 300) return decode<T>(answer.text, this.engine.url)
        if (left === 0 || !RETRYABLE.includes(answer.status)) throw refusal(answer, this.engine)
        wait_ms = Math.min(RETRY_AFTER_MS_MAX, Math.max(wait_ms, answer.retry_after_ms))
      } catch (error) {
        if (!(error instanceof TransportError)) throw error
        if (error.unreached) throw noEngine(`No engine answers at ${this.engine.url} (${error.message}).`)
        if (left === 0) {
          throw new Failure(EXIT.failed, `The answer of ${this.engine.url} broke off (${error.message}). Try again.`)
        }
      }
      await new Promise(resolve => setTimeout(resolve, wait_ms))
    }
  }
}

function send(engine: FoundEngine, call: Call): Promise<Answer> {
  const content = call.body === undefined ? '' : JSON.stringify(call.body)
  const body = call.form ? new URLSearchParams(call.form).toString() : content
  const headers: Record<string, string> = { accept: 'application/json' }
  if (engine.token !== null) headers['authorization'] = `Bearer ${engine.token}`
  if (body !== '') {
    headers['content-type'] = call.form ? 'application/x-www-form-urlencoded' : 'application/json'
    headers['content-length'] = String(Buffer.byteLength(body))
  }
  const url = new URL(call.path, engine.url)
  const start = url.protocol === 'https:' ? httpsRequest : httpRequest
  return new Promise((resolve, reject) => {
    let isConnected = false
    const request = start(url, { method: call.method, headers, agent: false })
    const fail = (error: Error) => reject(new TransportError(error.message || String(error), !isConnected))
    const connecting = setTimeout(() => request.destroy(new Error('no connection within 5 s')), CONNECT_TIMEOUT_MS)
    request.once('socket', socket => {
      socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
        isConnected = true
        clearTimeout(connecting)
      })
    })
    request.setTimeout(READ_TIMEOUT_MS, () => request.destroy(new Error('no answer within 120 s')))
    request.once('error', error => {
      clearTimeout(connecting)
      fail(error)
    })
    request.once('response', response => collect(response).then(resolve, fail))
    request.end(body)
  })
}

async function collect(response: IncomingMessage): Promise<Answer> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of response as AsyncIterable<Buffer>) {
    bytes += part.length
    if (bytes > ANSWER_BYTES) throw new TransportError('the answer is too large', false)
    parts.push(part)
  }
  const retry_after_ms = Number(response.headers['retry-after']) * 1000 || 0
  return { status: response.statusCode!, retry_after_ms, text: Buffer.concat(parts).toString() }
}

function decode<T>(text: string, url: string): T {
  try {
    return (text === '' ? null : JSON.parse(text)) as T
  } catch {
    throw new Failure(EXIT.failed, `What answers at ${url} is no engine. Check the address.`)
  }
}

function refusal(answer: Answer, engine: FoundEngine): Failure {
  const problem = readProblem(answer.text)
  const text = problem
    ? problemText(problem)
    : `${engine.url} answered ${answer.status} without a reason. Is it an engine?`
  const places = (problem?.errors ?? []).map(({ loc, msg }) => `${loc}: ${msg}`)
  if (answer.status === 401 && problem?.code !== 'wrong_credentials') return notSignedIn(text)
  if (answer.status === 401) return new Failure(EXIT.not_signed_in, text)
  const isRefused = answer.status < 500 || answer.status === 503 || answer.status === 507
  return new Failure(isRefused ? EXIT.refused : EXIT.failed, text, places)
}

function readProblem(text: string): Problem | null {
  try {
    const problem = JSON.parse(text) as Problem
    return typeof problem?.detail === 'string' ? problem : null
  } catch {
    return null
  }
}
