import { KIND } from '../../core/memory/encoded.ts'
import type { DashboardLock } from '../../protocol/nouns/dashboard.ts'
import { newEncoded } from '../../protocol/values/codec.ts'
import type { NewestValue } from '../fanout/passing-value.ts'
import type { ValueDecoder } from '../fanout/value-text.ts'

/** More than any boolean takes. */
const SHORT_BYTES = 8

interface LocksParts {
  readonly decoder: ValueDecoder
  /** -1: there is no message of the name. */
  readonly directory: { indexOf(name: string): number }
  readonly values: { version(message: number): number; read(message: number, out: NewestValue): boolean }
}

/**
 * Whether locks are closed, by the latest values of their messages: a value that is missing, or anything but a bool, closes. A lock is
 * looked up and never followed further, so locks that drive each other cannot go round.
 */
export class Locks {
  readonly #parts: LocksParts
  readonly #scratch: NewestValue = { ...newEncoded(), version: 0, ts: 0 }

  /** Message index -> a version whose value is no boolean: it may be long, and is not copied again for each request. */
  readonly #no_bool = new Map<number, number>()

  constructor(parts: LocksParts) {
    this.#parts = parts
  }

  isLocked(lock: DashboardLock): boolean {
    return typeof lock === 'boolean' ? lock : this.isClosed(lock.message)
  }

  isClosed(name: string): boolean {
    const { directory, values, decoder } = this.#parts
    const message = directory.indexOf(name)
    if (message === -1) return true
    const version = values.version(message)
    if (version === 0 || this.#no_bool.get(message) === version) return true
    if (!values.read(message, this.#scratch)) return true
    const { kind, number, bytes, length } = this.#scratch
    if (kind === KIND.bool) return number !== 0
    // A message of dtype json carries booleans, too.
    if (kind === KIND.json && length <= SHORT_BYTES) return decoder.decode(kind, number, bytes, 0, length) !== false
    this.#no_bool.set(message, this.#scratch.version)
    return true
  }
}
