import { kindOf, type PointBatch } from './point-batch.ts'
import { hasPayload, isNumber, type LastValue } from './series.ts'

export interface ReadBin {
  /** Microseconds since 1970. */
  start: number
  count: number
  /** Points whose value is a number; the figures cover only these. */
  numbers: number
  sum: number
  min: number
  max: number
  last: LastValue
}

/** Bins of one width while they are being read, from points and from rollups in any order. */
export class BinTable {
  readonly #width: number
  readonly #bins = new Map<number, ReadBin>()
  #bytes = 0

  constructor(width_us: number) {
    this.#width = width_us
  }

  joinPoints(batch: PointBatch, since: number, until: number): void {
    for (let i = 0; i < batch.count; i++) {
      const ts = batch.ts[i]!
      if (ts < since || ts >= until) continue
      const bin = this.#bin(ts)
      bin.count++
      const kind = kindOf(batch.meta[i]!)
      const number = batch.number[i]!
      if (isNumber(kind)) {
        bin.numbers++
        bin.sum += number
        if (number < bin.min) bin.min = number
        if (number > bin.max) bin.max = number
      }
      const version = batch.version[i]!
      const { last } = bin
      if (ts < last.ts || (ts === last.ts && version < last.version)) continue
      last.ts = ts
      last.version = version
      last.kind = kind
      last.number = hasPayload(kind) ? 0 : number
      this.#bytes -= last.bytes?.length ?? 0
      last.bytes = hasPayload(kind) ? batch.copyPayload(i) : null
      this.#bytes += last.bytes?.length ?? 0
    }
  }

  joinRollup(
    start: number,
    count: number,
    sum: number | null,
    min: number | null,
    max: number | null,
    last: LastValue,
  ): void {
    const bin = this.#bin(start)
    bin.count += count
    if (sum !== null) {
      bin.numbers += count
      bin.sum += sum
      bin.min = Math.min(bin.min, min!)
      bin.max = Math.max(bin.max, max!)
    }
    if (last.ts < bin.last.ts) return
    this.#bytes += (last.bytes?.length ?? 0) - (bin.last.bytes?.length ?? 0)
    bin.last = last
  }

  /** The newest bins that fit into one answer, newest first, and the start of the first that does not fit; null when all fit. */
  newest(limit: number, answer_bytes: number): { bins: ReadBin[]; beyond: number | null } {
    const all = [...this.#bins.values()].sort((a, b) => b.start - a.start)
    let bytes = 0
    let held = 0
    for (; held < Math.min(all.length, limit); held++) {
      bytes += all[held]!.last.bytes?.length ?? 0
      if (bytes > answer_bytes && held > 0) break
    }
    return { bins: all.slice(0, held), beyond: all[held]?.start ?? null }
  }

  /** Up to where bins no longer fit into one answer; null while there is room. Cheaper than `newest` in that case. */
  beyond(limit: number, answer_bytes: number): number | null {
    return this.#bins.size > limit || this.#bytes > answer_bytes ? this.newest(limit, answer_bytes).beyond : null
  }

  #bin(ts: number): ReadBin {
    const start = Math.floor(ts / this.#width) * this.#width
    let bin = this.#bins.get(start)
    if (!bin) {
      bin = {
        start,
        count: 0,
        numbers: 0,
        sum: 0,
        min: Number.POSITIVE_INFINITY,
        max: Number.NEGATIVE_INFINITY,
        last: { version: 0, ts: Number.NEGATIVE_INFINITY, kind: 0, number: 0, bytes: null },
      }
      this.#bins.set(start, bin)
    }
    return bin
  }
}
