import type { WaitingFlows } from './flows.ts'

/**
 * The versions of a message that a restart would read from the history: those of waiting items, and the one before the first of
 * them, which a join may read. Made for one step of upkeep, which needs a message when its chunk is the oldest.
 */
export class WantedVersions {
  readonly #waiting: WaitingFlows
  /** The row of a message that an item names. */
  readonly #row: (message: number) => number
  /** By row, ascending. */
  readonly #versions = new Map<number, Float64Array>()
  #isRead = false

  constructor(waiting: WaitingFlows, row: (message: number) => number) {
    this.#waiting = waiting
    this.#row = row
  }

  /** Whether values of this message wait. */
  has(message: number): boolean {
    this.#read()
    return this.#versions.has(message)
  }

  /** Whether a wanted version lies between these two, both included. */
  within(message: number, first: number, last: number): boolean {
    this.#read()
    const versions = this.#versions.get(message)
    if (versions === undefined) return false
    let from = 0
    for (let to = versions.length; from < to; ) {
      const middle = (from + to) >>> 1
      if (versions[middle]! < first) from = middle + 1
      else to = middle
    }
    return from < versions.length && versions[from]! <= last
  }

  #read(): void {
    if (this.#isRead) return
    this.#isRead = true
    const found = new Map<number, Set<number>>()
    for (const items of this.#waiting.all()) {
      const first = new Set<number>()
      for (const { message, version } of items) {
        const row = this.#row(message)
        let versions = found.get(row)
        if (versions === undefined) found.set(row, (versions = new Set()))
        versions.add(version)
        if (!first.has(row)) versions.add(version - 1)
        first.add(row)
      }
    }
    for (const [row, versions] of found) this.#versions.set(row, Float64Array.from(versions).sort())
  }
}
