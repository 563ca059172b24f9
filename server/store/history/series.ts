import { KIND } from '../../../protocol/values/encoded.ts'
import { kindOf, lengthOf, type PointBatch } from './point-batch.ts'

export const MINUTE_US = 60_000_000
export const HOUR_US = 3_600_000_000
/** Payloads up to this size are kept in memory and in rollups. A larger one becomes `last: null` in a bin whose points were removed. */
export const KEPT_BYTES = 4096
/**
 * Most points in one call of `Bin.take`. When the first call is long, V8 compiles only its loop, without the code that follows it,
 * and then every call ends with a deoptimization.
 */
const POINTS_AT_ONCE = 256
/** A lower version that is this much later than all before it comes from a flow that began again; it is not a late record. */
const BEGUN_AGAIN_US = 2_000_000

export interface LastValue {
  version: number
  ts: number
  kind: number
  number: number
  /** The payload of a str or json value of at most `KEPT_BYTES`; otherwise null. */
  bytes: Buffer | null
}

export const noValue = (): LastValue => ({ version: 0, ts: 0, kind: KIND.none, number: 0, bytes: null })

/** A bin that is being filled. `count` counts all points, the figures cover the numeric ones, `last` is the one with the latest time. */
export class Bin {
  start = 0
  count = 0
  sum = 0
  min = Number.POSITIVE_INFINITY
  max = Number.NEGATIVE_INFINITY
  readonly last = noValue()

  begin(start: number): void {
    this.start = start
    this.count = 0
    this.sum = 0
    this.min = Number.POSITIVE_INFINITY
    this.max = Number.NEGATIVE_INFINITY
    this.last.ts = 0
    this.last.bytes = null
  }

  /** Takes the points from `from` on that lie within `width` of its start; returns the position behind them. */
  take(batch: PointBatch, from: number, to: number, width: number): number {
    const { ts, number, meta } = batch
    const { start } = this
    const end = start + width
    let { sum, min, max } = this
    let last_ts = this.last.ts
    let last = -1
    let at = from
    for (; at < to; at++) {
      const time = ts[at]!
      if (time < start || time >= end) break
      if (time >= last_ts) {
        last_ts = time
        last = at
      }
      if (!isNumber(kindOf(meta[at]!))) continue
      const value = number[at]!
      sum += value
      if (value < min) min = value
      if (value > max) max = value
    }
    this.count += at - from
    this.sum = sum
    this.min = min
    this.max = max
    if (last >= 0) setLast(this.last, batch, last)
    return at
  }

  join(other: Bin): void {
    this.count += other.count
    this.sum += other.sum
    if (other.min < this.min) this.min = other.min
    if (other.max > this.max) this.max = other.max
    if (other.last.ts >= this.last.ts) Object.assign(this.last, other.last)
  }
}

function setLast(last: LastValue, batch: PointBatch, i: number): void {
  const meta = batch.meta[i]!
  const kind = kindOf(meta)
  last.version = batch.version[i]!
  last.ts = batch.ts[i]!
  last.kind = kind
  last.number = hasPayload(kind) ? 0 : batch.number[i]!
  last.bytes = hasPayload(kind) && lengthOf(meta) <= KEPT_BYTES ? batch.copyPayload(i) : null
}

/** The point with the highest version. Points of a flow's earlier lane may come after those of its later lane, since rings are read one after the other. */
function newestOf({ version }: PointBatch, from: number, to: number): number {
  let newest = to - 1
  for (let i = newest - 1; i >= from; i--) if (version[i]! > version[newest]!) newest = i
  return newest
}

/** Takes closed bins. `replace`: the bin is complete; otherwise it is added to the stored one (a late point). */
export type CloseBin = (series: Series, bucket_s: number, bin: Bin, replace: boolean) => void

export const isNumber = (kind: number): boolean => kind === KIND.float || kind === KIND.int || kind === KIND.bool
export const hasPayload = (kind: number): boolean => kind === KIND.str || kind === KIND.json

/** Doubles of a saved bin before its payload. */
const BIN_FIELDS = 9

function saveBin({ start, count, sum, min, max, last }: Bin, fields: Float64Array, at: number): void {
  fields[at] = start
  fields[at + 1] = count
  fields[at + 2] = sum
  fields[at + 3] = min
  fields[at + 4] = max
  fields[at + 5] = last.ts
  fields[at + 6] = last.kind
  fields[at + 7] = last.number
  fields[at + 8] = last.bytes === null ? -1 : last.bytes.length
}

/** `payload` is the position of the payload of its last value; returns the position behind it. */
function loadBin(bin: Bin, fields: Float64Array, at: number, bytes: Buffer, payload: number): number {
  const [start, count, sum, min, max, ts, kind, number, length] = fields.subarray(
    at,
    at + BIN_FIELDS,
  ) as unknown as number[]
  Object.assign(bin, { start, count, sum, min, max })
  const end = payload + Math.max(0, length!)
  Object.assign(bin.last, { ts, kind, number, bytes: length! < 0 ? null : Buffer.from(bytes.subarray(payload, end)) })
  return end
}

const NOTHING = Buffer.alloc(0)

/** One message in the store: its identity, its newest value, and its open bins. */
export class Series {
  readonly id: number
  name: string
  dtype: string
  readonly last = noValue()
  readonly minute = new Bin()
  readonly hour = new Bin()
  /** The row of the log up to which the stored bins are complete. */
  log = 0
  /** Values in the log up to this row belong to a deleted flow. */
  forgotten = 0
  /** The latest time of a value that was its newest: after the machine's clock was set back, its newest value is an earlier one. */
  #latest_us = 0
  /** Closed bins are written with this commit, so the row must be, too; otherwise a replay of the log would count points twice. */
  moved = false

  constructor(id: number, name: string, dtype: string) {
    this.id = id
    this.name = name
    this.dtype = dtype
  }

  forget(): void {
    Object.assign(this.last, noValue())
    this.#latest_us = 0
  }

  isNewer(version: number, ts: number): boolean {
    return version > this.last.version || ts > Math.max(this.last.ts, this.#latest_us) + BEGUN_AGAIN_US
  }

  /** Adds the points `[from, to)` of the batch to the open bins and passes on the bins that they close. `see`: also takes the newest as the value. */
  fold(batch: PointBatch, from: number, to: number, close: CloseBin, see = true): void {
    const { minute } = this
    for (let at = from; at < to; ) {
      const time = batch.ts[at]!
      if (time < minute.start) {
        at = this.#late(batch, at, to, close)
        continue
      }
      if (time >= minute.start + MINUTE_US) {
        if (minute.count > 0) this.#closeMinute(close)
        minute.begin(Math.floor(time / MINUTE_US) * MINUTE_US)
      }
      at = minute.take(batch, at, Math.min(to, at + POINTS_AT_ONCE), MINUTE_US)
    }
    if (!see) return
    const newest = newestOf(batch, from, to)
    if (!this.isNewer(batch.version[newest]!, batch.ts[newest]!)) return
    setLast(this.last, batch, newest)
    if (this.last.ts > this.#latest_us) this.#latest_us = this.last.ts
  }

  /** Closes bins that ended before `now_us`, also when no point comes. */
  closeUntil(now_us: number, close: CloseBin): void {
    if (this.minute.count > 0 && this.minute.start + MINUTE_US <= now_us) this.#closeMinute(close)
    if (this.hour.count > 0 && this.hour.start + HOUR_US <= now_us) this.#closeHour(close)
  }

  hasBinBefore(now_us: number): boolean {
    return (
      (this.minute.count > 0 && this.minute.start + MINUTE_US <= now_us) ||
      (this.hour.count > 0 && this.hour.start + HOUR_US <= now_us)
    )
  }

  saveBins(): Buffer {
    const { minute, hour } = this
    const fields = new Float64Array(2 * BIN_FIELDS)
    saveBin(minute, fields, 0)
    saveBin(hour, fields, BIN_FIELDS)
    const bytes = Buffer.from(fields.buffer)
    if (minute.last.bytes === null && hour.last.bytes === null) return bytes
    return Buffer.concat([bytes, minute.last.bytes ?? NOTHING, hour.last.bytes ?? NOTHING])
  }

  loadBins(bytes: Buffer): void {
    const fields = new Float64Array(2 * BIN_FIELDS)
    if (bytes.length < fields.byteLength)
      throw new RangeError(`open bins take at least ${fields.byteLength} bytes, and there are ${bytes.length}`)
    new Uint8Array(fields.buffer).set(bytes.subarray(0, fields.byteLength))
    const minute = loadBin(this.minute, fields, 0, bytes, fields.byteLength)
    loadBin(this.hour, fields, BIN_FIELDS, bytes, minute)
  }

  #closeMinute(close: CloseBin): void {
    const { minute } = this
    close(this, 60, minute, true)
    this.#joinHour(minute, close)
    this.moved = true
    // An empty bin that begins where this one ended, so that an earlier point counts as late.
    minute.begin(minute.start + MINUTE_US)
  }

  #closeHour(close: CloseBin): void {
    close(this, 3600, this.hour, true)
    this.moved = true
    this.hour.begin(this.hour.start + HOUR_US)
  }

  /** Adds late points of a closed minute to its row and to its hour. Returns the position behind them. */
  #late(batch: PointBatch, from: number, to: number, close: CloseBin): number {
    const bin = new Bin()
    bin.begin(Math.floor(batch.ts[from]! / MINUTE_US) * MINUTE_US)
    const at = bin.take(batch, from, to, MINUTE_US)
    close(this, 60, bin, false)
    this.#joinHour(bin, close)
    this.moved = true
    return at
  }

  /** Adds a closed minute to its hour: the open one, or the row of a closed one. */
  #joinHour(minute: Bin, close: CloseBin): void {
    const start = Math.floor(minute.start / HOUR_US) * HOUR_US
    const { hour } = this
    if (start > hour.start) {
      if (hour.count > 0) this.#closeHour(close)
      hour.begin(start)
    }
    if (start === hour.start) {
      hour.join(minute)
      return
    }
    const late = new Bin()
    late.begin(start)
    late.join(minute)
    close(this, 3600, late, false)
  }
}
