/** How the client reaches an engine: the part that Node and browsers do differently. Both are in platform/. */

export interface Timeouts {
  /** Until the connection stands, TLS included. Not in browsers, which do not tell. */
  readonly connect_ms: number
  /** Between two signs of life while an answer is awaited or read. */
  readonly read_ms: number
}

/** Bytes made again for each attempt, so that a request can be sent again. */
export type ByteSource = () => AsyncIterable<Uint8Array>

/** Bytes as they come, to be read once. In Node it is a Readable. */
export interface ByteStream extends AsyncIterable<Uint8Array> {
  /** Ends the transfer. Not needed after a loop over the bytes, however that ended. */
  destroy(): void
}

export interface Outgoing {
  readonly method: 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE'
  /** With its query. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array | ByteSource
  /** On a connection of its own: one that is kept may have been closed at the other end meanwhile. Browsers choose by themselves. */
  readonly fresh?: boolean
  readonly signal?: AbortSignal
}

export interface Answer {
  readonly status: number
  /** By names in small letters. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** The caller's to read or to destroy. */
  readonly body: ByteStream
}

/** One request, one answer, no second try. */
export interface Transport {
  /** Rejects with a TransportError, with the signal's reason, or with what the source of the body threw. */
  send(outgoing: Outgoing): Promise<Answer>
  /** Ends the connections that were kept for later requests. */
  close(): void
}

export type OpenTransport = (url: string, token: string | null, timeouts: Timeouts) => Transport

/** Why a request got no answer. `unreached`: nothing was sent. */
export class TransportError extends Error {
  readonly unreached: boolean

  constructor(cause: unknown, unreached: boolean) {
    super(cause instanceof Error ? cause.message || (cause as Error & { code?: string }).code : String(cause), {
      cause,
    })
    this.name = 'TransportError'
    this.unreached = unreached
  }
}

export const noAnswer = (ms: number, unreached: boolean): TransportError =>
  new TransportError(`no answer within ${ms / 1000} s`, unreached)
