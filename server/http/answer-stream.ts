import { type Responder, writeStreamHead } from './respond.ts'
import type { Answer, StreamContent } from './route.ts'

/** What a streamed answer needs of the socket library's response, besides its head. */
export interface StreamChannel extends Responder {
  cork(work: () => void): unknown
  /** Ends the connection at once. */
  close(): unknown
  /** Sends a chunk of an answer of unknown length. False: the socket is full, the library has kept the rest. */
  write(bytes: Uint8Array): boolean
  /** Sends as much of the chunk as the socket takes: whether that was all, and whether the answer is complete now. */
  tryEnd(bytes: Uint8Array, length: number): [boolean, boolean]
  /** Bytes of the body sent so far. */
  getWriteOffset(): number
  onWritable(handler: (offset: number) => boolean): unknown
}

export interface StreamOutcome {
  /** The source failed before anything was sent: the request can still be refused. */
  refused(error: unknown): void
  /** After the head was sent, the source failed or gave another number of bytes than it had declared: the connection was ended. */
  broken(error: unknown): void
  /** The last byte was taken; the channel must not be used any more. */
  over(): void
}

/**
 * An answer whose bytes are made while they are sent:
 *
 *   waiting (for the first chunk) -> sending <-> held (the socket is full) -> over
 *
 * One chunk is asked for at a time, and the next one when the socket has taken it, so a slow reader holds one chunk and its
 * source may use the same memory again. The source is closed in every case. An answer that breaks off ends
 * its connection, so that no client takes a part of it for the whole.
 */
export class AnswerStream {
  readonly #channel: StreamChannel
  readonly #answer: Answer
  readonly #stream: StreamContent
  readonly #outcome: StreamOutcome
  readonly #chunks: AsyncIterator<Uint8Array>
  /** Nothing touches the channel after this is set. */
  #over = false
  #begun = false
  #listens = false
  /** The part of the present chunk that the socket has not taken. */
  #rest: Uint8Array | null = null
  /** Goes on with the next chunk. */
  #release: (() => void) | null = null

  constructor(channel: StreamChannel, answer: Answer, stream: StreamContent, outcome: StreamOutcome) {
    this.#channel = channel
    this.#answer = answer
    this.#stream = stream
    this.#outcome = outcome
    this.#chunks = stream.chunks[Symbol.asyncIterator]()
  }

  /** The client went away. */
  abort(): void {
    this.#over = true
    this.#goOn()
  }

  async run(head_only: boolean): Promise<void> {
    try {
      if (head_only) this.#channel.cork(() => this.#endHead())
      else await this.#sendAll()
      if (this.#over) return
      this.#over = true
      this.#outcome.over()
    } catch (error) {
      if (this.#over) return
      this.#over = true
      if (!this.#begun) return this.#outcome.refused(error)
      this.#channel.close()
      this.#outcome.broken(error)
    } finally {
      await this.#chunks.return?.()
    }
  }

  async #sendAll(): Promise<void> {
    const { length } = this.#stream
    let sent = 0
    for (;;) {
      const step = await this.#chunks.next()
      if (this.#over) return
      if (step.done === true) break
      const bytes = step.value
      if (bytes.length === 0) continue
      sent += bytes.length
      if (length !== null && sent > length) throw new RangeError(`a stream of ${length} bytes gives more`)
      let isTaken = true
      this.#channel.cork(() => {
        this.#begin()
        isTaken = this.#send(bytes)
      })
      if (!isTaken) await this.#held()
      if (this.#over) return
    }
    if (length !== null && sent < length) throw new RangeError(`a stream of ${length} bytes gave ${sent}`)
    // An answer of known length is over with its last byte.
    if (length !== null && length > 0) return
    this.#channel.cork(() => {
      this.#begin()
      this.#channel.end()
    })
  }

  /** The head is sent with the first chunk, so an error before that is answered like that of any other request. */
  #begin(): void {
    if (this.#begun) return
    this.#begun = true
    writeStreamHead(this.#channel, this.#answer, this.#stream)
  }

  #endHead(): void {
    this.#begin()
    if (this.#stream.length !== null) this.#channel.writeHeader('content-length', String(this.#stream.length))
    this.#channel.endWithoutBody()
  }

  /** False when the socket is full. */
  #send(bytes: Uint8Array): boolean {
    const { length } = this.#stream
    if (length === null) return this.#channel.write(bytes)
    const at = this.#channel.getWriteOffset()
    const [isTaken] = this.#channel.tryEnd(bytes, length)
    this.#rest = isTaken ? null : bytes.subarray(this.#channel.getWriteOffset() - at)
    return isTaken
  }

  #held(): Promise<void> {
    if (!this.#listens) this.#channel.onWritable(() => this.#writable())
    this.#listens = true
    return new Promise(resolve => (this.#release = resolve))
  }

  /** Called by the library. True when everything was written. */
  #writable(): boolean {
    if (this.#over) return true
    if (this.#rest !== null && !this.#send(this.#rest)) return false
    this.#goOn()
    return true
  }

  #goOn(): void {
    const release = this.#release
    this.#release = null
    release?.()
  }
}
