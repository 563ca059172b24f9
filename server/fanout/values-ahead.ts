import { limits } from '../../protocol/limits.ts'
import { ACCEPT, type Acceptance } from './fanout.ts'
import type { PassingValue } from './passing-value.ts'

/** Where the values go in the end. */
interface Receiver {
  accept(message: number, version: number): Acceptance
  deliver(value: PassingValue): void
}

/** What a value takes besides its bytes, roughly. */
const VALUE_BYTES = 100

/** Values that came before an older one of another journal ring. They wait for it, in order, within a bound. */
export class ValuesAhead {
  readonly #messages = new Map<number, PassingValue[]>()
  #size = 0
  #bytes = 0

  get size(): number {
    return this.#size
  }

  get isFull(): boolean {
    return this.#bytes > limits.VALUES_AHEAD_BYTES
  }

  /** Keeps a copy of it. */
  add({ subject, version, ts, value_kind, number, bytes, start, length }: PassingValue): void {
    const copy = Buffer.from(bytes.subarray(start, start + length))
    const value = { subject, version, ts, value_kind, number, bytes: copy, start: 0, length }
    const values = this.#messages.get(subject)
    if (values === undefined) this.#messages.set(subject, [value])
    else values.push(value)
    this.#size++
    this.#bytes += VALUE_BYTES + length
  }

  /** `next`: each message as far as no version is missing. `all`: what is missing was lost. */
  release(receiver: Receiver, which: 'next' | 'all'): void {
    for (const [message, values] of this.#messages) {
      values.sort((one, other) => one.version - other.version)
      let released = 0
      for (const value of values) {
        const acceptance = receiver.accept(message, value.version)
        if (acceptance === ACCEPT.gap && which === 'next') break
        released++
        this.#size--
        this.#bytes -= VALUE_BYTES + value.length
        if (acceptance !== ACCEPT.no) receiver.deliver(value)
      }
      if (released === values.length) this.#messages.delete(message)
      else values.splice(0, released)
    }
  }
}
