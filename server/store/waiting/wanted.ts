import type { WaitingFlows } from './flows.ts'

/**
 * Which versions of a message a restart would read from the history: those of items that wait, and the one before the first of
 * them, which a join may read. For one step of upkeep: asked of each message once, when a chunk of it is the oldest.
 */
export class WantedVersions {
  readonly #waiting: WaitingFlows
  /** From a message as the items name it to its row. */
  readonly #row: (message: number) => number
  /** By row, ascending. */
  readonly #versions = new Map<number, Float64Array>()
  #isRead = false

  constructor(waiting: WaitingFlows, row: (message: number) => number) {
    this.#waiting = waiting
    this.#row = row
  }

  /** Does anything wait whose value is of this message? */
  has(message: number): boolean {
    this.#read()
    return this.#versions.has(message)
  }

  /** Is one of them between these two versions, both included? */
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
