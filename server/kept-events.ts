/** The newest engine events as text, so that a socket that was slow for a while gets those that it missed. */
export class KeptEvents {
  readonly #texts: string[]
  readonly #mask: number
  /** Events so far; the sequence of the next one. */
  #sequence = 0

  /** `capacity`: a power of two. */
  constructor(capacity: number) {
    if (!Number.isInteger(Math.log2(capacity))) throw new RangeError('the capacity is a power of two')
    this.#texts = new Array<string>(capacity).fill('')
    this.#mask = capacity - 1
  }

  get sequence(): number {
    return this.#sequence
  }

  add(text: string): void {
    this.#texts[this.#sequence & this.#mask] = text
    this.#sequence++
  }

  /** The oldest sequence that is still here. */
  get oldest(): number {
    return Math.max(0, this.#sequence - this.#texts.length)
  }

  text(sequence: number): string {
    if (sequence < this.oldest || sequence >= this.#sequence) throw new RangeError('the event is not kept')
    return this.#texts[sequence & this.#mask]!
  }
}
