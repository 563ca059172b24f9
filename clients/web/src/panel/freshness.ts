const INTERVALS = 3
const LEAST_MS = 2_000
/** Of the last interval in the estimate. */
const WEIGHT = 0.3

/** How often a message comes, so that a value can be told from one that should have been replaced by now. */
export class Freshness {
  #last_ms: number | null = null
  #interval_ms: number | null = null

  came(at_ms: number): void {
    if (this.#last_ms !== null) {
      const interval_ms = Math.max(0, at_ms - this.#last_ms)
      this.#interval_ms =
        this.#interval_ms === null ? interval_ms : this.#interval_ms + WEIGHT * (interval_ms - this.#interval_ms)
    }
    this.#last_ms = at_ms
  }

  /** Older than three of its own intervals, and than two seconds. What came once has no interval. */
  isStale(now_ms: number): boolean {
    if (this.#last_ms === null || this.#interval_ms === null) return false
    return now_ms - this.#last_ms > Math.max(LEAST_MS, INTERVALS * this.#interval_ms)
  }
}
