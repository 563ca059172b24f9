const SPAN_MS = 10_000

/** Values a second of one message, told by its versions: also those count that never came to this page. */
export class Rate {
  readonly #seen: { at_ms: number; version: number }[] = []

  add(version: number, at_ms: number): void {
    const last = this.#seen.at(-1)
    if (last !== undefined && at_ms - last.at_ms < 250) {
      last.version = version
      return
    }
    this.#seen.push({ at_ms, version })
  }

  /** Over the last ten seconds; null before two values. */
  perSecond(now_ms: number): number | null {
    while (this.#seen.length > 1 && now_ms - this.#seen[0]!.at_ms > SPAN_MS) this.#seen.shift()
    const [first] = this.#seen
    const last = this.#seen.at(-1)
    if (first === undefined || last === undefined || first === last) return null
    return ((last.version - first.version) * 1000) / Math.max(1, now_ms - first.at_ms)
  }
}
