import { KIND } from '../../protocol/encoded.ts'
import { kindOf, lengthOf, type PointBatch } from './point-batch.ts'

export const MINUTE_US = 60_000_000
export const HOUR_US = 3_600_000_000
export const BUCKETS_S = [60, 3600] as const
/** Payloads up to here are kept in memory beside their series, and in rollups; a larger one is `last: null` in a bin whose points are gone. */
export const KEPT_BYTES = 4096
/** A lower version this much later is a flow that began again, not a record that came late. */
const BEGUN_AGAIN_US = 2_000_000

/** A bin that is being filled. `count` counts all points, the figures cover the numeric ones. */
export class Bin {
  start = 0
  count = 0
  sum = 0
  min = Number.POSITIVE_INFINITY
  max = Number.NEGATIVE_INFINITY

  begin(start: number): void {
    this.start = start
    this.count = 0
    this.sum = 0
    this.min = Number.POSITIVE_INFINITY
    this.max = Number.NEGATIVE_INFINITY
  }

  add(value: number, numeric: boolean): void {
    this.count++
    if (!numeric) return
    this.sum += value
    if (value < this.min) this.min = value
    if (value > this.max) this.max = value
  }

  join(other: Bin): void {
    this.count += other.count
    this.sum += other.sum
    if (other.min < this.min) this.min = other.min
    if (other.max > this.max) this.max = other.max
  }
}

export interface LastValue {
  version: number
  ts: number
  kind: number
  number: number
  /** Of str and json; null when it is none of them or larger than `KEPT_BYTES`. */
  bytes: Buffer | null
}

/** Where closed bins go. `replace`: the whole bin is known; else it joins what stands there (a point that came late). */
export type CloseBin = (series: Series, bucket_s: number, bin: Bin, last: LastValue, replace: boolean) => void

export const isNumber = (kind: number): boolean => kind === KIND.float || kind === KIND.int || kind === KIND.bool
export const hasPayload = (kind: number): boolean => kind === KIND.str || kind === KIND.json

function saveBin(bin: Bin, figures: Float64Array, at: number): void {
  figures[at] = bin.start
  figures[at + 1] = bin.count
  figures[at + 2] = bin.sum
  figures[at + 3] = bin.min
  figures[at + 4] = bin.max
}

function keptPayload(batch: PointBatch, i: number): Buffer | null {
  const meta = batch.meta[i]!
  return hasPayload(kindOf(meta)) && lengthOf(meta) <= KEPT_BYTES ? batch.copyPayload(i) : null
}

/** One message as the store keeps it: who it is, its newest value, and its open bins. */
export class Series {
  readonly id: number
  name: string
  dtype: string
  readonly last: LastValue = { version: 0, ts: 0, kind: KIND.none, number: 0, bytes: null }
  readonly minute = new Bin()
  readonly hour = new Bin()
  /** The row of the log up to which the stored bins are complete. */
  log = 0
  /** Is there a row in `latest`, and of which version? */
  stored_version = 0
  /** Closed bins went out with this commit: the row must move with them, or a replay of the log would count twice. */
  moved = false

  constructor(id: number, name: string, dtype: string) {
    this.id = id
    this.name = name
    this.dtype = dtype
  }

  forget(): void {
    Object.assign(this.last, { version: 0, ts: 0, kind: KIND.none, number: 0, bytes: null })
    this.stored_version = 0
  }

  isNewer(version: number, ts: number): boolean {
    return version > this.last.version || ts > this.last.ts + BEGUN_AGAIN_US
  }

  /** Takes the points `[from, to)` of the batch into the open bins and hands on the bins that they close. */
  fold(batch: PointBatch, from: number, to: number, close: CloseBin): void {
    const { ts, number, meta } = batch
    const minute = this.minute
    let at = from
    while (at < to) {
      const time = ts[at]!
      if (minute.count === 0 && time >= minute.start + MINUTE_US) {
        this.#closeHourBefore(time, close)
        minute.begin(Math.floor(time / MINUTE_US) * MINUTE_US)
      }
      const start = minute.start
      const end = start + MINUTE_US
      if (time < start) {
        this.#late(batch, at, close)
        at++
        continue
      }
      if (time >= end) {
        if (at > from) this.#see(batch, at - 1)
        this.#closeMinute(close)
        this.#closeHourBefore(time, close)
        continue
      }
      let { sum, min, max } = minute
      const before = at
      for (; at < to; at++) {
        const now = ts[at]!
        if (now < start || now >= end) break
        if (!isNumber(kindOf(meta[at]!))) continue
        const value = number[at]!
        sum += value
        if (value < min) min = value
        if (value > max) max = value
      }
      minute.count += at - before
      minute.sum = sum
      minute.min = min
      minute.max = max
    }
    this.#see(batch, to - 1)
    for (let i = to - 2; i >= from && batch.version[i]! > this.last.version; i--) this.#see(batch, i)
  }

  /** Closes what ended before `now_us`; the clock does it when no point comes. */
  closeUntil(now_us: number, close: CloseBin): void {
    if (this.minute.count > 0 && this.minute.start + MINUTE_US <= now_us) this.#closeMinute(close)
    this.#closeHourBefore(now_us, close)
  }

  hasBinBefore(now_us: number): boolean {
    return (
      (this.minute.count > 0 && this.minute.start + MINUTE_US <= now_us) ||
      (this.hour.count > 0 && this.hour.start + HOUR_US <= now_us)
    )
  }

  saveBins(): Buffer {
    const figures = new Float64Array(10)
    saveBin(this.minute, figures, 0)
    saveBin(this.hour, figures, 5)
    return Buffer.from(figures.buffer)
  }

  loadBins(bytes: Buffer): void {
    const figures = new Float64Array(10)
    new Uint8Array(figures.buffer).set(bytes)
    for (const [position, bin] of [this.minute, this.hour].entries()) {
      const [start, count, sum, min, max] = figures.subarray(position * 5, position * 5 + 5)
      Object.assign(bin, { start, count, sum, min, max })
    }
  }

  #see(batch: PointBatch, i: number): void {
    const version = batch.version[i]!
    const ts = batch.ts[i]!
    if (!this.isNewer(version, ts)) return
    const { last } = this
    const kind = kindOf(batch.meta[i]!)
    last.version = version
    last.ts = ts
    last.kind = kind
    last.number = hasPayload(kind) ? 0 : batch.number[i]!
    last.bytes = keptPayload(batch, i)
  }

  #closeMinute(close: CloseBin): void {
    const { minute, hour } = this
    close(this, 60, minute, this.last, true)
    if (hour.count === 0) hour.begin(Math.floor(minute.start / HOUR_US) * HOUR_US)
    hour.join(minute)
    this.moved = true
    // An empty bin that begins where this one ended: a point of before is late.
    minute.begin(minute.start + MINUTE_US)
  }

  /** Before a point of the next hour is seen, so that the newest value is still the hour's last. */
  #closeHourBefore(time: number, close: CloseBin): void {
    if (this.hour.count === 0 || time < this.hour.start + HOUR_US) return
    close(this, 3600, this.hour, this.last, true)
    this.moved = true
    this.hour.begin(this.hour.start + HOUR_US)
  }

  /** A point of a minute that is closed: it joins that minute's row, and its hour wherever that is. */
  #late(batch: PointBatch, at: number, close: CloseBin): void {
    const time = batch.ts[at]!
    const bin = new Bin()
    bin.begin(Math.floor(time / MINUTE_US) * MINUTE_US)
    bin.add(batch.number[at]!, isNumber(kindOf(batch.meta[at]!)))
    const kind = kindOf(batch.meta[at]!)
    const last: LastValue = {
      version: batch.version[at]!,
      ts: time,
      kind,
      number: hasPayload(kind) ? 0 : batch.number[at]!,
      bytes: keptPayload(batch, at),
    }
    close(this, 60, bin, last, false)
    this.moved = true
    const start = Math.floor(time / HOUR_US) * HOUR_US
    const { hour } = this
    if (hour.count === 0 && start >= hour.start) hour.begin(start)
    if (hour.start === start) {
      hour.join(bin)
      return
    }
    const late = new Bin()
    late.begin(start)
    late.join(bin)
    close(this, 3600, late, last, false)
  }
}
