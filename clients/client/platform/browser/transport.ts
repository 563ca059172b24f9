import {
  type Answer,
  type ByteSource,
  type ByteStream,
  noAnswer,
  type OpenTransport,
  type Outgoing,
  type Timeouts,
  type Transport,
  TransportError,
} from '../../transport.ts'

export const openTransport: OpenTransport = (url, token, timeouts) => new FetchTransport(url, token, timeouts)

/**
 * By `fetch`, which tells neither when a connection stands nor whether anything was sent: no failure counts as `unreached`. A source of bytes is read
 * whole before it is sent, since browsers stream no uploads.
 */
class FetchTransport implements Transport {
  readonly #url: string
  readonly #token: string | null
  readonly #read_ms: number

  constructor(url: string, token: string | null, { read_ms }: Timeouts) {
    this.#url = url
    this.#token = token
    this.#read_ms = read_ms
  }

  async send({ method, path, headers, body, signal }: Outgoing): Promise<Answer> {
    signal?.throwIfAborted()
    const sent =
      typeof body === 'function' ? await blobOf(body) : (body as string | Uint8Array<ArrayBuffer> | undefined)
    signal?.throwIfAborted()
    const transfer = new Transfer(signal, this.#read_ms)
    const response = await transfer.within(
      fetch(this.#url + path, {
        method,
        headers: {
          accept: 'application/json',
          ...(this.#token === null ? {} : { authorization: `Bearer ${this.#token}` }),
          ...headers,
        },
        ...(sent === undefined ? {} : { body: sent }),
        signal: transfer.signal,
        // Without a token the session of the browser counts.
        credentials: this.#token === null ? 'same-origin' : 'omit',
        redirect: 'error',
      }),
    )
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: new ResponseBytes(response.body, transfer),
    }
  }

  /** Connections are the browser's. */
  close(): void {}
}

/** One request until its last byte: ended by the caller's signal, by silence, or by `destroy`. */
class Transfer {
  readonly #given: AbortSignal | undefined
  readonly #own = new AbortController()
  readonly #read_ms: number
  readonly signal: AbortSignal

  constructor(signal: AbortSignal | undefined, read_ms: number) {
    this.#given = signal
    this.#read_ms = read_ms
    this.signal = signal === undefined ? this.#own.signal : AbortSignal.any([signal, this.#own.signal])
  }

  end(reason?: unknown): void {
    this.#own.abort(reason)
  }

  /** What the engine has to bring before it has been silent for too long. */
  async within<T>(step: Promise<T>): Promise<T> {
    const timer = setTimeout(() => this.end(noAnswer(this.#read_ms, false)), this.#read_ms)
    try {
      return await step
    } catch (error) {
      if (this.#given?.aborted) throw this.#given.reason
      const { reason } = this.#own.signal
      throw reason instanceof TransportError ? reason : new TransportError(error, false)
    } finally {
      clearTimeout(timer)
    }
  }
}

class ResponseBytes implements ByteStream {
  readonly #body: ReadableStream<Uint8Array> | null
  readonly #transfer: Transfer

  constructor(body: ReadableStream<Uint8Array> | null, transfer: Transfer) {
    this.#body = body
    this.#transfer = transfer
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    const reader = this.#body?.getReader()
    if (reader === undefined) return
    let isWhole = false
    try {
      for (;;) {
        const { done, value } = await this.#transfer.within(reader.read())
        isWhole = done
        if (done) return
        yield value
      }
    } finally {
      if (!isWhole) this.destroy()
    }
  }

  destroy(): void {
    this.#transfer.end()
  }
}

async function blobOf(source: ByteSource): Promise<Blob> {
  const parts: Uint8Array<ArrayBuffer>[] = []
  for await (const part of source()) parts.push(part as Uint8Array<ArrayBuffer>)
  return new Blob(parts)
}
