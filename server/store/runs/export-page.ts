/** Room past a full page for the piece of text that fills it, so that most pages fit where another one was. */
const ROOM = 1.25

/**
 * The page that an export writes at present, as UTF-8. Its bytes are written where all pages are, and leave as a copy: text
 * that is encoded piece by piece dies young, while a page's worth of it would make the heap of the thread grow.
 */
export class ExportPage {
  readonly #bytes: number
  #buffer: Buffer
  #length = 0
  #spare: ArrayBuffer | null = null

  constructor(bytes: number) {
    this.#bytes = bytes
    this.#buffer = Buffer.allocUnsafeSlow(bytes)
  }

  /** Forgets what was not taken; the next page leaves in `spare`, if it fits: memory that came back from a page before. */
  begin(spare: ArrayBuffer | null): void {
    this.#length = 0
    this.#spare = spare
  }

  add(text: string): void {
    // No code unit takes more than three bytes.
    const room = this.#length + 3 * text.length
    if (room > this.#buffer.length) this.#grow(room)
    this.#length += this.#buffer.write(text, this.#length)
  }

  /** UTF-8 already. */
  addBytes(bytes: Uint8Array): void {
    const room = this.#length + bytes.length
    if (room > this.#buffer.length) this.#grow(room)
    this.#buffer.set(bytes, this.#length)
    this.#length = room
  }

  get isFull(): boolean {
    return this.#length >= this.#bytes
  }

  /** What was added since `begin`, in memory that nobody else has. */
  take(): Uint8Array<ArrayBuffer> {
    const spare = this.#spare
    const fits = spare !== null && spare.byteLength >= this.#length
    // What is not full is the last one, or short: nobody needs its memory for another.
    const room = this.isFull ? Math.ceil(ROOM * this.#bytes) : 0
    const memory = fits ? spare : new ArrayBuffer(Math.max(this.#length, room))
    const taken = new Uint8Array(memory, 0, this.#length)
    taken.set(this.#buffer.subarray(0, this.#length))
    this.begin(null)
    // Memory for a row of a very large list is freed afterwards.
    if (this.#buffer.length > 4 * this.#bytes) this.#buffer = Buffer.allocUnsafeSlow(this.#bytes)
    return taken
  }

  #grow(room: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(room, 2 * this.#buffer.length))
    this.#buffer.copy(larger, 0, 0, this.#length)
    this.#buffer = larger
  }
}
