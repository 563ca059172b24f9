import type { IncomingMessage } from 'node:http'
import { ServiceError } from '../../../protocol/errors.ts'
import { limits } from '../../../protocol/limits.ts'
import type { ArtifactReference, Dtype } from '../../../protocol/values/dtype.ts'
import type { HttpSettings } from '../../nodes/types/http.ts'
import type { ConnectorCall, ConnectorHost, ConnectorRunner, Lease, OpenConnector, ServedNode } from '../connector.ts'
import { bodyOf, jsonOf, mediaOf, textOf, wholeBody } from './answer.ts'
import { type Answered, type Asked, WebClient } from './client.ts'
import { isTransport, reasonOf, WebFailure } from './failure.ts'
import { pause } from './pause.ts'

/** Sent more than once they do what they do once. */
const IDEMPOTENT = new Set(['GET', 'HEAD', 'PUT', 'DELETE'])
const TRIED_AGAIN = new Set([502, 503, 504])
/** Their inputs go into the address. */
const WITHOUT_BODY = new Set(['GET', 'HEAD', 'DELETE'])

/** One request an execution. */
export const httpRunner: ConnectorRunner<HttpSettings> = {
  open: (node, host) => new HttpNode(node, host),
}

class HttpNode implements OpenConnector {
  readonly #node: ServedNode<HttpSettings>
  readonly #host: ConnectorHost
  readonly #address: URL | null
  readonly #lease: Lease<WebClient> | null
  readonly #dtypes: ReadonlyMap<string, Dtype>

  constructor(node: ServedNode<HttpSettings>, host: ConnectorHost) {
    const { url, query = {} } = node.settings
    this.#node = node
    this.#host = host
    this.#dtypes = new Map(node.outputs.map(({ name, dtype }) => [name, dtype]))
    // A secret may hold anything.
    this.#address = addressOf(String(url))
    this.#lease = this.#address === null ? null : WebClient.of(host, this.#address)
    for (const [name, value] of Object.entries(query)) this.#address?.searchParams.append(name, String(value))
  }

  async call({ inputs, signal }: ConnectorCall): Promise<Readonly<Record<string, unknown>>> {
    const address = this.#address
    if (address === null) throw new ServiceError('request_failed', 'Its url is not an http address.')
    const { timeout_s = 30, method = 'POST' } = this.#node.settings
    const until_ms = this.#host.steadyMs() + timeout_s * 1000
    const ends = AbortSignal.any([signal, AbortSignal.timeout(timeout_s * 1000)])
    try {
      const asked = await this.#request(address, method, inputs, ends)
      return await this.#answered(asked, until_ms)
    } catch (error) {
      if (error instanceof ServiceError) throw error
      if (signal.reason instanceof ServiceError) throw signal.reason
      const { code, text } = reasonOf(ends.aborted ? ends.reason : error, address.origin, timeout_s)
      throw new ServiceError(code, `${method} ${text}.`)
    }
  }

  close(): void {
    this.#lease?.release()
  }

  /** Tried again where that does no harm: 3 times, within the timeout. */
  async #answered(asked: Asked, until_ms: number): Promise<Record<string, unknown>> {
    const { signal } = asked
    for (let tries = IDEMPOTENT.has(asked.method) ? 0 : limits.WEB_RETRIES; ; tries++) {
      const wait_ms = limits.WEB_RETRY_MS * 2 ** tries * (0.5 + this.#host.random() / 2)
      try {
        const answered = await this.#lease!.thing.ask(asked)
        const after_ms = retryAfterMs(answered, this.#host.nowUs()) ?? wait_ms
        const again = TRIED_AGAIN.has(answered.status) && tries < limits.WEB_RETRIES
        if (!again || this.#host.steadyMs() + after_ms >= until_ms) return await this.#outputs(answered)
        answered.message.destroy()
        await pause(after_ms, signal)
      } catch (error) {
        if (signal.aborted || tries >= limits.WEB_RETRIES || !isTransport(error)) throw error
        // The reason is told rather than that the time is over.
        if (this.#host.steadyMs() + wait_ms >= until_ms) throw error
        await pause(wait_ms, signal)
      }
    }
  }

  async #request(
    address: URL,
    method: string,
    inputs: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
  ): Promise<Asked> {
    const { headers = {}, send_inputs = true, format = 'json' } = this.#node.settings
    const url = new URL(address)
    const asked = { method, url, headers: headers as Record<string, string>, body: null, signal }
    if (!send_inputs || this.#node.inputs.length === 0) return asked
    if (WITHOUT_BODY.has(method)) {
      for (const [name, value] of Object.entries(inputs)) url.searchParams.append(name, plainText(value))
      if (url.href.length > limits.URL_BYTES)
        throw new WebFailure(`is asked with an address of more than ${limits.URL_BYTES} bytes: use POST or PUT`)
      return asked
    }
    const { type, body } = await this.#body(format, inputs)
    const named = Object.keys(headers).some(name => name.toLowerCase() === 'content-type')
    return { ...asked, body, headers: named ? asked.headers : { ...asked.headers, 'content-type': type } }
  }

  async #body(
    format: 'json' | 'form' | 'raw',
    inputs: Readonly<Record<string, unknown>>,
  ): Promise<{ type: string; body: string | Uint8Array }> {
    if (format === 'json') return { type: 'application/json', body: JSON.stringify(inputs) }
    if (format === 'form') {
      const fields = new URLSearchParams()
      for (const [name, value] of Object.entries(inputs)) fields.append(name, plainText(value))
      return { type: 'application/x-www-form-urlencoded', body: fields.toString() }
    }
    const { name, dtype } = this.#node.inputs[0]!
    const value = inputs[name]
    if (dtype === 'str') return { type: 'text/plain; charset=utf-8', body: String(value) }
    if (!isReference(dtype)) return { type: 'application/json', body: JSON.stringify(value) }
    const reference = value as ArtifactReference
    if ((reference.size ?? 0) > limits.WEB_SENT_BYTES)
      throw new WebFailure(
        `is sent artifacts of at most ${limits.WEB_SENT_BYTES} bytes, and this one has ${reference.size}`,
      )
    return { type: reference.media_type, body: await this.#host.artifacts.read(reference) }
  }

  /** An answer of 400 and above is an error, unless the node publishes the status: whoever reads that deals with it. */
  async #outputs(answered: Answered): Promise<Record<string, unknown>> {
    const { message, status } = answered
    const isRefusal = status >= 400
    if (isRefusal && !this.#dtypes.has('status')) {
      message.destroy()
      throw new WebFailure(`answers ${status}`)
    }
    const outputs: Record<string, unknown> = { status, headers: { ...message.headers } }
    const dtype = this.#dtypes.get('body')
    if (dtype === undefined) {
      letGo(message)
      return outputs
    }
    try {
      const body = await this.#bodyValue(answered, dtype)
      return body === undefined ? outputs : { ...outputs, body }
    } catch (error) {
      // A page that tells of the refusal is no value of the port, and the status says what there is to say.
      if (isRefusal && error instanceof WebFailure) return outputs
      throw error
    }
  }

  /** Undefined: there is none. */
  async #bodyValue({ message, status }: Answered, dtype: Dtype): Promise<unknown> {
    const isEmpty = this.#node.settings.method === 'HEAD' || status === 204 || status === 304
    if (isReference(dtype)) {
      const media = mediaOf(message) || 'application/octet-stream'
      if (isEmpty) return undefined
      return this.#host.artifacts.store(bodyOf(message, Number.POSITIVE_INFINITY), media)
    }
    const bytes = await wholeBody(message)
    if (dtype === 'str') return textOf(message, bytes)
    return isEmpty || bytes.length === 0 ? undefined : await jsonOf(message, bytes)
  }
}

/** A short body is read to its end, so that the connection can be used again. The timeout of the request ends it otherwise. */
function letGo(message: IncomingMessage): void {
  let bytes = 0
  message.on('error', () => {})
  message.on('data', (part: Buffer) => {
    bytes += part.length
    if (bytes > limits.WEB_DRAINED_BYTES) message.destroy()
  })
}

const isReference = (dtype: Dtype): boolean =>
  dtype === 'artifact' || dtype === 'image' || dtype === 'audio' || dtype === 'video'

const plainText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** Null: it is no http address. */
export function addressOf(text: string): URL | null {
  const url = URL.canParse(text) ? new URL(text) : null
  return url !== null && (url.protocol === 'http:' || url.protocol === 'https:') ? url : null
}

/** Seconds, or a date. */
function retryAfterMs({ message }: Answered, now_us: number): number | null {
  const text = message.headers['retry-after']
  if (text === undefined) return null
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000
  const at_ms = Date.parse(text)
  return Number.isNaN(at_ms) ? null : Math.max(0, at_ms - now_us / 1000)
}
