import { limits } from '../../../protocol/limits.ts'

const NEWLINE = 10

/**
 * Cuts what comes in pieces into blocks of whole lines. A line of more than `limits.LINE_BYTES` is left out and counted; what follows its end is
 * taken again. Copies only the part of a line that waits for its end.
 */
export class LineBlocks {
  /** Lines that were too long, since the last look. */
  too_long = 0
  readonly #rest = Buffer.allocUnsafe(limits.LINE_BYTES)
  #length = 0
  #skipping = false

  /** Is a line begun that has not ended? */
  get isOpen(): boolean {
    return this.#length > 0 || this.#skipping
  }

  /** Calls `take` with blocks that end with a newline; each is good only during the call, unless it is copied. */
  push(piece: Buffer, take: (block: Buffer) => void): void {
    let from = 0
    if (this.isOpen) {
      const end = piece.indexOf(NEWLINE)
      if (end === -1) return this.#keep(piece)
      from = end + 1
      if (this.#skipping) this.#skipping = false
      else if (this.#length + from > this.#rest.length) this.too_long++
      else {
        piece.copy(this.#rest, this.#length, 0, from)
        take(this.#rest.subarray(0, this.#length + from))
      }
      this.#length = 0
    }
    const last = piece.lastIndexOf(NEWLINE) + 1
    if (last > from) take(piece.subarray(from, last))
    if (last < piece.length) this.#keep(piece.subarray(Math.max(from, last)))
  }

  /** The line that has begun is the last, and whole: a datagram, a connection that was closed. */
  end(take: (block: Buffer) => void): void {
    if (this.#length > 0) {
      const line = Buffer.from(this.#rest.subarray(0, this.#length))
      this.#length = 0
      take(Buffer.concat([line, Buffer.from([NEWLINE])]))
    }
    this.#skipping = false
  }

  #keep(part: Buffer): void {
    if (this.#skipping) return
    if (this.#length + part.length > this.#rest.length) {
      this.too_long++
      this.#skipping = true
      this.#length = 0
      return
    }
    this.#length += part.copy(this.#rest, this.#length)
  }
}
