import { newEncoded } from '../../protocol/values/codec.ts'
import type { EncodedValue } from '../../protocol/values/encoded.ts'

/**
 * `rate_hz` of one output port: the first value passes, of the later ones within the interval the newest is held, and published at its end. A
 * value that is held here ends with the thread: its source sends a newer one.
 */
export class Rated {
  readonly #interval_ms: number
  /** Publishes the held value; false: there is no room. */
  readonly #publish: (value: EncodedValue) => boolean
  readonly #held = newEncoded()
  #holds = false
  #timer: NodeJS.Timeout | null = null

  constructor(rate_hz: number, publish: (value: EncodedValue) => boolean) {
    this.#interval_ms = 1000 / rate_hz
    this.#publish = publish
  }

  /** True: publish it now, and say `began` when that went well. Only asks. */
  get passes(): boolean {
    return this.#timer === null
  }

  /** A value was published: an interval begins. */
  began(): void {
    this.#timer = setTimeout(() => this.#ended(), Math.min(this.#interval_ms, LONGEST_MS))
  }

  /** True when it replaces another one. */
  hold(value: EncodedValue): boolean {
    const replaces = this.#holds
    this.#holds = true
    if (this.#held.bytes.length < value.length) this.#held.bytes = Buffer.allocUnsafe(value.length)
    value.bytes.copy(this.#held.bytes, 0, 0, value.length)
    this.#held.kind = value.kind
    this.#held.number = value.number
    this.#held.length = value.length
    return replaces
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
  }

  #ended(): void {
    this.#timer = null
    if (!this.#holds) return
    if (this.#publish(this.#held)) {
      this.#holds = false
      this.began()
    } else this.#timer = setTimeout(() => this.#ended(), AGAIN_MS)
  }
}

/** Node's timers take no longer. */
const LONGEST_MS = 2 ** 31 - 1
const AGAIN_MS = 100
