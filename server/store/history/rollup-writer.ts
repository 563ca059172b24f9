import type { Connection, Statement } from '../file/database.ts'
import { type DiskUse, ROW_BYTES } from '../file/disk-use.ts'
import type { CloseBin } from './series.ts'

/** Closed bins on their way into the file. Inside the caller's transaction. */
export class RollupWriter {
  readonly #disk: DiskUse
  readonly #insert: Statement
  readonly #replace: Statement
  readonly #join: Statement

  constructor(db: Connection, disk: DiskUse) {
    this.#disk = disk
    this.#insert = db.prepare(
      `INSERT INTO rollups (count, sum, min, max, last_ts, kind, number, bytes, message, bucket_s, start)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (message, bucket_s, start) DO NOTHING`,
    )
    this.#replace = db.prepare(
      `UPDATE rollups SET count = ?, sum = ?, min = ?, max = ?, last_ts = ?, kind = ?, number = ?, bytes = ?
       WHERE message = ? AND bucket_s = ? AND start = ?`,
    )
    // Late points add to the figures; the last value is the one with the later time.
    const later = (column: string): string =>
      `${column} = CASE WHEN @last_ts >= last_ts THEN @${column} ELSE ${column} END`
    this.#join = db.prepare(
      `UPDATE rollups SET count = count + @count, sum = CASE WHEN @sum IS NULL THEN sum ELSE coalesce(sum, 0) + @sum END,
       min = coalesce(min(min, @min), min, @min), max = coalesce(max(max, @max), max, @max),
       ${later('kind')}, ${later('number')}, ${later('bytes')}, last_ts = max(last_ts, @last_ts)
       WHERE message = @message AND bucket_s = @bucket_s AND start = @start`,
    )
  }

  readonly close: CloseBin = (series, bucket_s, bin, replace) => {
    const { start, count, last } = bin
    const numeric = bin.min <= bin.max
    const sum = numeric ? bin.sum : null
    const min = numeric ? bin.min : null
    const max = numeric ? bin.max : null
    const { ts: last_ts, kind, number, bytes } = last
    const message = series.id
    const fields = [count, sum, min, max, last_ts, kind, number, bytes, message, bucket_s, start]
    if (this.#insert.run(...fields).changes === 1) this.#disk.add('rollups', ROW_BYTES + (bytes?.length ?? 0))
    else if (replace) this.#replace.run(...fields)
    else this.#join.run({ count, sum, min, max, last_ts, kind, number, bytes, message, bucket_s, start })
  }
}
