import type { PassingValue } from './passing-value.ts'
import type { ValueDecoder } from './value-text.ts'

interface Wait {
  readonly after: number
  take(value: unknown): void
}

/** Those on the front who wait for the next value of a message, as the journal brings it. */
export class ValueWaits {
  readonly #decoder: ValueDecoder
  readonly #waits = new Map<number, Set<Wait>>()

  constructor(decoder: ValueDecoder) {
    this.#decoder = decoder
  }

  /** Asked for each value of the journal. */
  get isEmpty(): boolean {
    return this.#waits.size === 0
  }

  /** The first value that passes with a higher version than `after`; undefined when none has within the time. */
  next(message: number, after: number, ms: number): Promise<unknown> {
    return new Promise(resolve => {
      const end = (value: unknown): void => {
        clearTimeout(timer)
        waits.delete(wait)
        if (waits.size === 0 && this.#waits.get(message) === waits) this.#waits.delete(message)
        resolve(value)
      }
      const wait: Wait = { after, take: end }
      const waits = this.#waits.get(message) ?? new Set()
      this.#waits.set(message, waits.add(wait))
      const timer = setTimeout(() => end(undefined), ms)
      timer.unref()
    })
  }

  see({ subject, version, value_kind, number, bytes, start, length }: PassingValue): void {
    const waits = this.#waits.get(subject)
    if (waits === undefined) return
    let decoded: { value: unknown } | null = null
    for (const wait of [...waits]) {
      if (version <= wait.after) continue
      decoded ??= { value: this.#decoder.decode(value_kind, number, bytes as Buffer, start, length) }
      wait.take(decoded.value)
    }
  }
}
