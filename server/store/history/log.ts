import { putVarint, VarintReader } from './varint.ts'

/**
 * A row of the log: the points of one group commit that did not become chunks at once, grouped by series:
 * `varint series, varint length, chunk` (point-chunk.ts), repeated.
 */
export class LogRow {
  #bytes = Buffer.allocUnsafeSlow(256 * 1024)
  #length = 0

  clear(): void {
    this.#length = 0
  }

  get length(): number {
    return this.#length
  }

  add(series: number, chunk: Uint8Array, length: number): void {
    const want = this.#length + length + 16
    if (want > this.#bytes.length) {
      const grown = Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(want)))
      this.#bytes.copy(grown, 0, 0, this.#length)
      this.#bytes = grown
    }
    const at = putVarint(this.#bytes, putVarint(this.#bytes, this.#length, series), length)
    this.#bytes.set(chunk.subarray(0, length), at)
    this.#length = at + length
  }

  /** Valid until the next change. */
  view(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }
}

/** Calls `visit` with the position of each group's chunk. */
export function eachGroup(row: Buffer, visit: (series: number, at: number, end: number) => void): void {
  const reader = new VarintReader(row)
  while (reader.at < row.length) {
    const series = reader.next()
    const length = reader.next()
    const at = reader.at
    if (at + length > row.length) throw new RangeError('a row of the log ends within a group')
    reader.at = at + length
    visit(series, at, at + length)
  }
}
