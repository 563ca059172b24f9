import { Agent as HttpAgent, request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import {
  type Answer,
  noAnswer,
  type OpenTransport,
  type Outgoing,
  type Timeouts,
  type Transport,
  TransportError,
} from '../../transport.ts'

export const openTransport: OpenTransport = (url, token, timeouts) => new HttpTransport(url, token, timeouts)

/** Connections are kept for the next request and keep no process alive. */
class HttpTransport implements Transport {
  readonly #url: string
  readonly #token: string | null
  readonly #timeouts: Timeouts
  readonly #isSecure: boolean
  readonly #kept: HttpAgent

  constructor(url: string, token: string | null, timeouts: Timeouts) {
    this.#url = url
    this.#token = token
    this.#timeouts = timeouts
    this.#isSecure = url.startsWith('https:')
    this.#kept = new (this.#isSecure ? HttpsAgent : HttpAgent)({ keepAlive: true })
  }

  send(outgoing: Outgoing): Promise<Answer> {
    const { signal, body } = outgoing
    signal?.throwIfAborted()
    const start = this.#isSecure ? httpsRequest : httpRequest
    const { connect_ms, read_ms } = this.#timeouts
    return new Promise((resolve, reject) => {
      let isConnected = false
      let answer: IncomingMessage | null = null
      const request = start(new URL(outgoing.path, this.#url), {
        method: outgoing.method,
        headers: this.#headers(outgoing),
        agent: outgoing.fresh ? false : this.#kept,
        ...(signal === undefined ? {} : { signal }),
      })
      const connecting = setTimeout(
        () => request.destroy(new TransportError(`no connection within ${connect_ms / 1000} s`, true)),
        connect_ms,
      )
      const connected = (): void => {
        isConnected = true
        clearTimeout(connecting)
      }
      request.once('socket', socket => {
        if (!socket.connecting) return connected()
        socket.once(this.#isSecure ? 'secureConnect' : 'connect', connected)
      })
      request.setTimeout(read_ms)
      request.on('timeout', () => {
        // While the reader lets an answer wait, the silence is his.
        if (answer !== null && answer.readableLength > 0) request.setTimeout(read_ms)
        else request.destroy(noAnswer(read_ms, !isConnected))
      })
      // Stays for what goes wrong after the answer, such as the end of a connection on which a refused upload still runs.
      request.on('error', error => {
        clearTimeout(connecting)
        const ownFailure = signal?.aborted ? signal.reason : sourceFailure
        reject(ownFailure ?? (error instanceof TransportError ? error : new TransportError(error, !isConnected)))
      })
      request.once('response', response => {
        answer = response
        // Of the headers that may come twice none is read here.
        resolve({ status: response.statusCode!, headers: response.headers as Answer['headers'], body: response })
      })
      let sourceFailure: unknown = null
      if (typeof body !== 'function') return request.end(body)
      const bytes = watched(body, error => (sourceFailure = error))
      // Whatever fails here, the request has it too and tells.
      pipeline(Readable.from(bytes, { objectMode: false }), request).catch(() => {})
    })
  }

  close(): void {
    this.#kept.destroy()
  }

  #headers({ body, headers }: Outgoing): OutgoingHttpHeaders {
    const length = typeof body === 'string' ? Buffer.byteLength(body) : body instanceof Uint8Array ? body.length : null
    return {
      accept: 'application/json',
      ...(this.#token === null ? {} : { authorization: `Bearer ${this.#token}` }),
      ...(length === null ? {} : { 'content-length': length }),
      ...headers,
    }
  }
}

/** The source is asked for its bytes here, too: what it throws then is told as what it throws later. */
async function* watched(source: () => AsyncIterable<Uint8Array>, failed: (error: unknown) => void) {
  try {
    yield* source()
  } catch (error) {
    failed(error)
    throw error
  }
}
