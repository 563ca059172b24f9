import { limits } from '../../protocol/limits.ts'

/**
 * Is the engine overloaded? The fullest flow decides: over FLOW_PRESSURE_DEGRADED of its bound for OVERLOADED_AFTER_MS it is,
 * and no longer once all have been below for OVERLOAD_OVER_AFTER_MS. Looked at every OVERLOAD_LOOK_MS.
 */
export class Overload {
  #overloaded = false
  /** Since when the looks say the other thing; null: they do not. */
  #since_ms: number | null = null
  #timer: NodeJS.Timeout | null = null

  get isOverloaded(): boolean {
    return this.#overloaded
  }

  /** `shares`: of each flow what of its bound is taken. */
  start(shares: () => Iterable<number>): void {
    this.#timer = setInterval(() => this.look(Math.max(0, ...shares()), performance.now()), limits.OVERLOAD_LOOK_MS)
    this.#timer.unref()
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
  }

  /** `share`: of the fullest flow. */
  look(share: number, now_ms: number): void {
    const is_full = share >= limits.FLOW_PRESSURE_DEGRADED
    if (is_full === this.#overloaded) {
      this.#since_ms = null
      return
    }
    this.#since_ms ??= now_ms
    const after_ms = is_full ? limits.OVERLOADED_AFTER_MS : limits.OVERLOAD_OVER_AFTER_MS
    if (now_ms - this.#since_ms < after_ms) return
    this.#overloaded = is_full
    this.#since_ms = null
  }
}
