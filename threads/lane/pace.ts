import { limits } from '../../protocol/limits.ts'

const LAST = limits.SLOW_BODY_MEDIAN_OF
const FAST_ENOUGH = LAST - Math.floor(LAST * limits.FAST_BODY_STRAYS)

/**
 * Whether a body belongs on its lane, by how long its last 32 executions held a thread:
 *
 *   inline  -> promoted, when more than half of them held it for longer than SLOW_BODY_MS
 *   promoted -> inline, when all but one in eight held it for less than FAST_BODY_MS
 *
 * After each move it starts a new window of 32 executions, so that it does not oscillate.
 */
export class Pace {
  /** One bit an execution, the newest lowest. */
  #bits = 0
  #seen = 0

  /** True when the body, so far inline, is to be promoted. */
  isSlowAfter(held_ms: number): boolean {
    return this.#count(held_ms > limits.SLOW_BODY_MS) > LAST / 2 && this.#moved()
  }

  /** True when the body, so far promoted, is to go back. */
  isFastAfter(held_ms: number): boolean {
    return this.#count(held_ms < limits.FAST_BODY_MS) >= FAST_ENOUGH && this.#moved()
  }

  /** For how many of the last 32 it was true; 0 before there were 32. */
  #count(is_true: boolean): number {
    this.#bits = (this.#bits << 1) | (is_true ? 1 : 0)
    if (this.#seen < LAST) this.#seen++
    if (this.#bits === 0 || this.#seen < LAST) return 0
    let count = 0
    for (let bits = this.#bits; bits !== 0; bits &= bits - 1) count++
    return count
  }

  #moved(): true {
    this.#bits = 0
    this.#seen = 0
    return true
  }
}
