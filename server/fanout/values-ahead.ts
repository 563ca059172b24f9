import { ACCEPT, type Acceptance } from './fanout.ts'

interface AheadValue {
  message: number
  version: number
  ts: number
  kind: number
  number: number
  bytes: Buffer
}

/** Where the values go in the end. */
interface Receiver {
  accept(message: number, version: number): Acceptance
  deliver(
    message: number,
    version: number,
    ts: number,
    kind: number,
    number: number,
    bytes: Buffer,
    at: number,
    length: number,
  ): void
}

const MOST_BYTES = 4 * 1024 * 1024
/** What a value takes besides its bytes, roughly. */
const VALUE_BYTES = 100

/** Values that came before an older one of another journal ring. They wait for it, in order, within a bound. */
export class ValuesAhead {
  readonly #messages = new Map<number, AheadValue[]>()
  #size = 0
  #bytes = 0

  get size(): number {
    return this.#size
  }

  get isFull(): boolean {
    return this.#bytes > MOST_BYTES
  }

  add(
    message: number,
    version: number,
    ts: number,
    kind: number,
    number: number,
    bytes: Buffer,
    at: number,
    length: number,
  ): void {
    const value = { message, version, ts, kind, number, bytes: Buffer.from(bytes.subarray(at, at + length)) }
    const values = this.#messages.get(message)
    if (values === undefined) this.#messages.set(message, [value])
    else values.push(value)
    this.#size++
    this.#bytes += VALUE_BYTES + length
  }

  /** `next`: each message as far as no version is missing. `all`: what is missing was lost. */
  release(receiver: Receiver, which: 'next' | 'all'): void {
    for (const [message, values] of this.#messages) {
      values.sort((one, other) => one.version - other.version)
      let released = 0
      for (const { version, ts, kind, number, bytes } of values) {
        const acceptance = receiver.accept(message, version)
        if (acceptance === ACCEPT.gap && which === 'next') break
        released++
        this.#size--
        this.#bytes -= VALUE_BYTES + bytes.length
        if (acceptance !== ACCEPT.no) receiver.deliver(message, version, ts, kind, number, bytes, 0, bytes.length)
      }
      if (released === values.length) this.#messages.delete(message)
      else values.splice(0, released)
    }
  }
}
