import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'

/** How a socket is told to hold back what it has not sent yet. */
export interface Tap {
  pause(): unknown
  resume(): unknown
}

interface Piece {
  readonly memory: Uint8Array
  length: number
}

/**
 * The body of a request as it comes, for one reader, in pieces of at most `limits.UPLOAD_PIECE_BYTES`:
 *
 *   open -> complete            the last byte has come
 *   open -> failed              the client went away, the bound was passed, or the request was answered before the end
 *
 * A piece is the reader's until it asks for the next one; then its memory is filled again, so a body of any length takes the
 * same few pieces. They lie in shared memory: another thread reads a piece without a copy. While more than
 * `limits.UPLOAD_WAITING_BYTES` wait for the reader, the socket is paused.
 */
export class Upload implements AsyncIterableIterator<Uint8Array> {
  /** Bytes, as Content-Length says; null when the request did not say. */
  readonly length: number | null
  readonly #most: number
  readonly #waiting: Piece[] = []
  readonly #spare: Piece[] = []
  #tap: Tap | null
  #paused = false
  #received = 0
  #waiting_bytes = 0
  /** The piece that the reader has. */
  #lent: Piece | null = null
  #complete = false
  #failure: ServiceError | null = null
  #wake: (() => void) | null = null

  constructor(tap: Tap, length: number | null, most: number) {
    this.#tap = tap
    this.length = length
    this.#most = most
    if (length === 0) this.#complete = true
  }

  get isComplete(): boolean {
    return this.#complete
  }

  /**
   * Copies the chunk, whose memory the socket takes back. Throws `too_large`, or `too_many_connections` when the pause is not heeded
   * (receive-buffer.ts); what came before has failed then.
   */
  take(chunk: ArrayBuffer, isLast: boolean): void {
    if (this.#tap === null) return
    this.#received += chunk.byteLength
    if (this.#received > this.#most) {
      const error = new ServiceError('too_large', `The body is larger than the ${this.#most} bytes allowed here.`)
      this.fail(error)
      throw error
    }
    if (this.#waiting_bytes > limits.BODIES_BYTES) {
      const error = new ServiceError('too_many_connections', 'The upload is faster than the engine can store it.', {
        retry_after_s: 5,
      })
      this.fail(error)
      throw error
    }
    for (let at = 0; at < chunk.byteLength; ) {
      const piece = this.#pieceFor(chunk.byteLength - at, isLast)
      const bytes = Math.min(chunk.byteLength - at, piece.memory.length - piece.length)
      piece.memory.set(new Uint8Array(chunk, at, bytes), piece.length)
      piece.length += bytes
      at += bytes
    }
    this.#waiting_bytes += chunk.byteLength
    if (isLast) this.#complete = true
    else if (!this.#paused && this.#waiting_bytes > limits.UPLOAD_WAITING_BYTES) {
      this.#paused = true
      this.#tap.pause()
    }
    this.#wakeReader()
  }

  /** Fails the reader and takes no more bytes. A paused socket is resumed, because an answer cannot be sent on a paused one. */
  fail(error: ServiceError): void {
    if (this.#tap === null) return
    this.#resume()
    this.#tap = null
    if (!this.#complete) this.#failure = error
    this.#wakeReader()
  }

  /** As `fail`, when the socket is gone. */
  abort(): void {
    this.#paused = false
    this.fail(new ServiceError('upload_incomplete', `The client disconnected after ${this.#received} bytes.`))
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** Rejects with `upload_incomplete` or `too_large`. */
  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.#takeBack()
    while (this.#waiting.length === 0) {
      if (this.#failure !== null) throw this.#failure
      if (this.#complete) return { done: true, value: undefined }
      await new Promise<void>(resolve => (this.#wake = resolve))
    }
    if (this.#failure !== null) throw this.#failure
    const piece = this.#waiting.shift()!
    this.#lent = piece
    this.#waiting_bytes -= piece.length
    if (this.#waiting_bytes <= limits.UPLOAD_WAITING_BYTES / 2) this.#resume()
    return { done: false, value: piece.memory.subarray(0, piece.length) }
  }

  /** The reader stops: later bytes are dropped. */
  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.#takeBack()
    this.fail(new ServiceError('upload_incomplete'))
    this.#waiting.length = 0
    return { done: true, value: undefined }
  }

  /** The piece that is being filled, or another one: a short body gets no more memory than it needs. */
  #pieceFor(bytes: number, isLast: boolean): Piece {
    const last = this.#waiting.at(-1)
    if (last !== undefined && last.length < last.memory.length) return last
    const left = this.length === null ? (isLast ? bytes : Number.POSITIVE_INFINITY) : this.length
    const size = Math.min(limits.UPLOAD_PIECE_BYTES, left)
    const piece = this.#spare.pop() ?? { memory: new Uint8Array(new SharedArrayBuffer(size)), length: 0 }
    piece.length = 0
    this.#waiting.push(piece)
    return piece
  }

  #takeBack(): void {
    if (this.#lent === null) return
    // Keep all pieces: shared memory is collected late, and a paused socket still fills a few more.
    this.#spare.push(this.#lent)
    this.#lent = null
  }

  #resume(): void {
    if (!this.#paused) return
    this.#paused = false
    this.#tap?.resume()
  }

  #wakeReader(): void {
    const wake = this.#wake
    this.#wake = null
    wake?.()
  }
}
