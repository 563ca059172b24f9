import { bytes, duration } from './figures.ts'
import type { Output } from './output.ts'

const SHOWN_EVERY_MS = 200

/** Bytes on their way, with a line of progress on a terminal. */
export class Transfer {
  readonly #output: Output
  readonly #verb: string
  /** Null when it is unknown. */
  readonly #length: number | null
  #began_ms = performance.now()
  #shown_ms = this.#began_ms
  #bytes = 0

  constructor(output: Output, verb: string, length: number | null) {
    this.#output = output
    this.#verb = verb
    this.#length = length
  }

  /** Passes the bytes on and counts them, from 0. */
  async *counted(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    this.#bytes = 0
    this.#began_ms = performance.now()
    for await (const part of source) {
      yield part
      this.#bytes += part.length
      if (performance.now() - this.#shown_ms > SHOWN_EVERY_MS) this.#show()
    }
  }

  end(): void {
    this.#output.progress('')
  }

  #show(): void {
    this.#shown_ms = performance.now()
    const seconds = (this.#shown_ms - this.#began_ms) / 1000
    const of = this.#length === null ? '' : ` of ${bytes(this.#length)}`
    const left_s = this.#length === null ? null : ((this.#length - this.#bytes) * seconds) / Math.max(1, this.#bytes)
    const left = left_s === null || seconds < 1 ? '' : `, ${duration(left_s)} left`
    this.#output.progress(`${this.#verb} ${bytes(this.#bytes)}${of}, ${bytes(this.#bytes / seconds)}/s${left}`)
  }
}
