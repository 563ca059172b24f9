import type { TracedValue } from './passing-value.ts'
import type { ValueDecoder } from './value-text.ts'

/** What came of a wait: the value, or up to which version values passed that were for others. */
export type Awaited = { readonly value: unknown } | { readonly passed: number }

interface Wait {
  readonly after: number
  readonly root_ts: number
  passed: number
  take(awaited: Awaited): void
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

  /**
   * The first value that passes with a higher version than `after`, if it comes of what was published at `root_ts`, or of no cascade at all. The
   * message is traced.
   */
  next(message: number, after: number, root_ts: number, ms: number): Promise<Awaited> {
    return new Promise(resolve => {
      const end = (awaited: Awaited): void => {
        clearTimeout(timer)
        waits.delete(wait)
        if (waits.size === 0 && this.#waits.get(message) === waits) this.#waits.delete(message)
        resolve(awaited)
      }
      const wait: Wait = { after, root_ts, passed: after, take: end }
      const waits = this.#waits.get(message) ?? new Set()
      this.#waits.set(message, waits.add(wait))
      const timer = setTimeout(() => end({ passed: wait.passed }), ms)
      timer.unref()
    })
  }

  /** These messages are gone: nobody waits for them any more. */
  end(messages: readonly number[]): void {
    for (const message of messages)
      for (const wait of [...(this.#waits.get(message) ?? [])]) wait.take({ passed: wait.passed })
  }

  see({ subject, version, root_ts, value_kind, number, bytes, start, length }: TracedValue): void {
    const waits = this.#waits.get(subject)
    if (waits === undefined) return
    let decoded: { value: unknown } | null = null
    for (const wait of [...waits]) {
      if (version <= wait.after) continue
      wait.passed = Math.max(wait.passed, version)
      if (root_ts !== 0 && root_ts !== wait.root_ts) continue
      decoded ??= { value: this.#decoder.decode(value_kind, number, bytes as Buffer, start, length) }
      wait.take(decoded)
    }
  }
}
