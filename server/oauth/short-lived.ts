/** A bounded table of what is good for a time only; with one more than its bound the oldest goes. The clock is in milliseconds. */
export class ShortLived<Value> {
  readonly #most: number
  readonly #lifetime_ms: number
  readonly #now: () => number
  readonly #held = new Map<string, { value: Value; until: number }>()

  constructor(most: number, lifetime_ms: number, now: () => number) {
    this.#most = most
    this.#lifetime_ms = lifetime_ms
    this.#now = now
  }

  put(key: string, value: Value): void {
    this.#held.delete(key)
    const now = this.#now()
    // All live equally long, so those that have ended come first.
    for (const [oldest, { until }] of this.#held) {
      if (until > now && this.#held.size < this.#most) break
      this.#held.delete(oldest)
    }
    this.#held.set(key, { value, until: now + this.#lifetime_ms })
  }

  /** Forgets the oldest of those that match, until fewer than `most` of them are left. */
  thin(most: number, matches: (value: Value) => boolean): void {
    const matching = [...this.#held].filter(([, { value }]) => matches(value))
    for (const [key] of matching.slice(0, Math.max(0, matching.length - most + 1))) this.#held.delete(key)
  }

  get(key: string): Value | null {
    const found = this.#held.get(key)
    return found !== undefined && this.#now() < found.until ? found.value : null
  }

  /** Gives it out once. */
  take(key: string): Value | null {
    const value = this.get(key)
    this.#held.delete(key)
    return value
  }

  /** Oldest first. */
  values(): Value[] {
    const now = this.#now()
    return [...this.#held.values()].filter(({ until }) => now < until).map(({ value }) => value)
  }

  get size(): number {
    return this.#held.size
  }
}
