import { KIND } from '../../core/memory/encoded.ts'
import type { DashboardLock } from '../../protocol/nouns/dashboard.ts'
import { newEncoded } from '../../protocol/values/codec.ts'
import type { NewestValue } from '../fanout/passing-value.ts'

interface LocksParts {
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

  /** Message index -> a version whose value is no bool: it may be long, and is not copied again for each request. */
  readonly #no_bool = new Map<number, number>()

  constructor(parts: LocksParts) {
    this.#parts = parts
  }

  isLocked(lock: DashboardLock): boolean {
    return typeof lock === 'boolean' ? lock : this.isClosed(lock.message)
  }

  isClosed(name: string): boolean {
    const { directory, values } = this.#parts
    const message = directory.indexOf(name)
    if (message === -1) return true
    const version = values.version(message)
    if (version === 0 || this.#no_bool.get(message) === version) return true
    if (!values.read(message, this.#scratch)) return true
    const { kind, number } = this.#scratch
    if (kind === KIND.bool) return number !== 0
    this.#no_bool.set(message, this.#scratch.version)
    return true
  }
}
