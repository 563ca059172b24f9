/** The journal's records of one cascade, as columns of doubles. Status as in the journal: 1 succeeded, 2 failed, 3 interrupted, 4 running. */
export const CASCADE_COLUMNS = [
  'started',
  'duration',
  'seq',
  'flow',
  'message',
  'root_version',
  'status',
  'executions',
  'errors',
  'parent_seq',
  'parent_ts',
] as const
export type CascadeColumn = (typeof CASCADE_COLUMNS)[number]
export const WIDTH = CASCADE_COLUMNS.length
export const COLUMN = Object.fromEntries(CASCADE_COLUMNS.map((name, position) => [name, position])) as {
  readonly [name in CascadeColumn]: number
}

/** Rows of `WIDTH` doubles in one reused array. */
export class CascadeRows {
  values: Float64Array
  count = 0

  constructor(capacity = 1024) {
    this.values = new Float64Array(capacity * WIDTH)
  }

  clear(): void {
    this.count = 0
    if (this.values.length > 65_536 * WIDTH) this.values = new Float64Array(1024 * WIDTH)
  }

  reserve(more: number): void {
    const want = (this.count + more) * WIDTH
    if (want <= this.values.length) return
    const grown = new Float64Array(Math.max(want, this.values.length * 2))
    grown.set(this.values.subarray(0, this.count * WIDTH))
    this.values = grown
  }

  /** Index of the first double of a new row. */
  add(): number {
    if ((this.count + 1) * WIDTH > this.values.length) this.reserve(this.count + 1)
    return this.count++ * WIDTH
  }

  get(row: number, column: CascadeColumn): number {
    return this.values[row * WIDTH + COLUMN[column]]!
  }
}
