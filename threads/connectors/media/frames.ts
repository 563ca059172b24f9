import { limits } from '../../../protocol/limits.ts'

const HEAD_END = Buffer.from('\r\n\r\n')

/**
 * Cuts what ffmpeg's mpjpeg writes into frames, by their length and never by a marker: a JPEG may hold another one as its thumbnail.
 *
 *   head: "--frame" "Content-type: image/jpeg" "Content-length: N" and an empty line --> body: N bytes, given --> head, after a line end
 */
export class FrameCutter {
  readonly #most: number
  readonly #give: (frame: Buffer) => void
  #head = Buffer.alloc(0)
  /** Of one frame after the other: what is given is overwritten by the next. */
  #room = Buffer.alloc(0)
  /** Of the frame that is being read; -1: its head is. */
  #length = -1
  #filled = 0

  /** `give`: its bytes are only there until it returns. */
  constructor(most: number, give: (frame: Buffer) => void) {
    this.#most = most
    this.#give = give
  }

  /** Null, or why the rest makes no sense. */
  push(bytes: Buffer): string | null {
    let rest = bytes
    while (rest.length > 0) {
      if (this.#length < 0) {
        const after = this.#readHead(rest)
        if (typeof after === 'string') return after
        rest = after
        continue
      }
      const taken = rest.copy(this.#room, this.#filled, 0, Math.min(rest.length, this.#length - this.#filled))
      this.#filled += taken
      rest = rest.subarray(taken)
      if (this.#filled < this.#length) continue
      const frame = this.#room.subarray(0, this.#length)
      this.#length = -1
      this.#give(frame)
    }
    return null
  }

  /** What follows the head; a text is a fault. */
  #readHead(bytes: Buffer): Buffer | string {
    const before = this.#head.length
    // A head is far shorter than that: no more is copied.
    const head = Buffer.concat([this.#head, bytes.subarray(0, limits.MEDIA_HEAD_BYTES)])
    const end = head.indexOf(HEAD_END)
    if (end < 0) {
      if (head.length >= limits.MEDIA_HEAD_BYTES) return 'ffmpeg wrote something else than frames'
      this.#head = head
      return bytes.subarray(bytes.length)
    }
    const [, digits] = /\r\nContent-length: (\d{1,10})$/im.exec(head.toString('latin1', 0, end)) ?? []
    if (digits === undefined) return 'ffmpeg wrote a frame without its length'
    const length = Number(digits)
    if (length > this.#most) return `a frame has ${length} bytes, and may have at most ${this.#most}`
    if (this.#room.length < length) this.#room = Buffer.allocUnsafeSlow(Math.min(this.#most, Math.ceil(length * 1.5)))
    this.#head = Buffer.alloc(0)
    this.#length = length
    this.#filled = 0
    return bytes.subarray(end + HEAD_END.length - before)
  }
}
