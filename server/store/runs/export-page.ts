/** A page gets this much more memory than its size, for its last piece of text, so that most pages fit into the memory of another one. */
const ROOM = 1.25

/**
 * The present page of an export, as UTF-8. All pages are written into one buffer and leave it as a copy. Short texts that are
 * encoded one by one are collected early, while a whole page of text would make the heap of the thread grow.
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

  /** Begins a page. `spare`: memory of an earlier page, which is used again if the page fits. */
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

  /** Adds text that is UTF-8 already. */
  addBytes(bytes: Uint8Array): void {
    const room = this.#length + bytes.length
    if (room > this.#buffer.length) this.#grow(room)
    this.#buffer.set(bytes, this.#length)
    this.#length = room
  }

  get isFull(): boolean {
    return this.#length >= this.#bytes
  }

  /** The text since `begin`, in memory of its own. */
  take(): Uint8Array<ArrayBuffer> {
    const spare = this.#spare
    const fits = spare !== null && spare.byteLength >= this.#length
    // A page that is not full is the last one or short, so its memory is not used again.
    const room = this.isFull ? Math.ceil(ROOM * this.#bytes) : 0
    const memory = fits ? spare : new ArrayBuffer(Math.max(this.#length, room))
    const taken = new Uint8Array(memory, 0, this.#length)
    taken.set(this.#buffer.subarray(0, this.#length))
    this.begin(null)
    // Memory that a very large row has needed is freed.
    if (this.#buffer.length > 4 * this.#bytes) this.#buffer = Buffer.allocUnsafeSlow(this.#bytes)
    return taken
  }

  #grow(room: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(room, 2 * this.#buffer.length))
    this.#buffer.copy(larger, 0, 0, this.#length)
    this.#buffer = larger
  }
}
