import { ServiceError } from '../../../protocol/errors.ts'
import type { HistoryBin, HistoryPoint, MessageHistory } from '../../../protocol/nouns/message.ts'
import { formatTime } from '../../../protocol/time.ts'
import type { Codec } from '../../../protocol/values/codec.ts'
import type { Dtype } from '../../../protocol/values/dtype.ts'
import type { Connection, Statement } from '../file/database.ts'
import { readable } from '../file/unreadable.ts'
import type { HistoryRequest } from '../front/requests.ts'
import { BinTable, type ReadBin } from './bin-table.ts'
import { eachGroup } from './log.ts'
import { kindOf, lengthOf, PointBatch } from './point-batch.ts'
import { PointDecoder } from './point-chunk.ts'
import { hasPayload } from './series.ts'
import { type PointOrder, SetBackReader } from './set-backs.ts'

interface ChunkRow {
  id: number
  ts_max: number
}
interface RollupRow {
  start: number
  count: number
  sum: number | null
  min: number | null
  max: number | null
  last_ts: number
  kind: number
  number: number
  bytes: Buffer | null
}

const FIRST = 0
const PAGE = 1000
const CHUNKS = 64
const KEPT_BATCH_BYTES = 1024 * 1024
const NEVER = Number.MAX_SAFE_INTEGER

/** Reads points and bins of one message: chunks, and the newer points in the log, in one snapshot. */
export class HistoryReader {
  readonly #db: Connection
  readonly #codec: Codec
  readonly #answer_bytes: number
  readonly #decoder = new PointDecoder()
  #batch = new PointBatch()
  readonly #message: Statement<{ id: number; dtype: Dtype }>
  readonly #log: Statement<{ id: number; bytes: Buffer }>
  readonly #chunks: Statement<ChunkRow>
  readonly #bytes: Statement<{ bytes: Buffer }>
  readonly #rollups: Statement<RollupRow>
  readonly #rolledUntil: Statement<{ value: string }>
  readonly #set_backs: SetBackReader

  /** An answer ends before its payloads pass `answer_bytes`, but has at least one point or bin. */
  constructor(db: Connection, codec: Codec, answer_bytes: number) {
    this.#db = db
    this.#codec = codec
    this.#answer_bytes = answer_bytes
    this.#set_backs = new SetBackReader(db)
    this.#message = db.prepare('SELECT id, dtype FROM messages WHERE name = ?')
    this.#log = db.prepare('SELECT id, bytes FROM log ORDER BY id DESC')
    this.#chunks = db.prepare(
      `SELECT id, ts_max FROM chunks WHERE message = ? AND ts_max >= ? AND ts_min < ? AND (ts_max, id) < (?, ?)
       ORDER BY ts_max DESC, id DESC LIMIT ${CHUNKS}`,
    )
    this.#bytes = db.prepare('SELECT bytes FROM chunks WHERE id = ?')
    this.#rollups = db.prepare(
      `SELECT start, count, sum, min, max, last_ts, kind, number, bytes FROM rollups
       WHERE message = ? AND bucket_s = ? AND start >= ? AND start < ? ORDER BY start DESC LIMIT ${PAGE}`,
    )
    this.#rolledUntil = db.prepare("SELECT value FROM settings WHERE name = 'rolled_until'")
  }

  /** `now_us` decides which bins are closed, and which points lie in the future. */
  read(query: HistoryRequest, now_us: number): MessageHistory {
    const snapshot = this.#db.transaction(() => {
      const message = this.#message.get(query.name)
      if (!message) throw new ServiceError('message_not_found', `No history is recorded for message "${query.name}".`)
      const shape = { name: query.name, dtype: message.dtype, bucket_s: query.bucket_s }
      if (query.bucket_s === null) return { ...shape, ...this.#points(message.id, message.dtype, query, now_us) }
      return { ...shape, ...this.#bins(message.id, message.dtype, query, query.bucket_s, now_us) }
    })
    try {
      return snapshot.deferred()
    } finally {
      // Memory that a large answer has needed is freed.
      if (this.#batch.bytes.length > KEPT_BATCH_BYTES) this.#batch = new PointBatch()
    }
  }

  /** The newest points of the window that fit into one answer, oldest first. */
  #points(
    message: number,
    dtype: Dtype,
    query: HistoryRequest,
    now_us: number,
  ): { items: HistoryPoint[]; truncated: boolean } {
    const since = query.since ?? FIRST
    const until = query.until ?? NEVER
    const until_version = query.until_version ?? 0
    const by = this.#set_backs.order(now_us)
    const window = { since, until, until_version }
    const batch = this.#batch
    batch.clear()
    this.#readLog(message, batch)
    let order = newest(batch, window, by)
    let held = this.#holds(batch, order, query.limit)
    for (const chunk of this.#newestChunks(message, since, until_version > 0 ? by.latest(until) + 1 : until)) {
      // Chunks are ordered by their newest point. Stop when the answer is full of points newer than all that follow.
      if (held < order.length && !by.mayBeNewer(chunk.ts_max, batch.ts[order[held]!]!)) break
      this.#readChunk(chunk, batch)
      order = newest(batch, window, by)
      held = this.#holds(batch, order, query.limit)
    }
    const truncated = held < order.length
    const items = Array.from(order.subarray(0, held).reverse(), i => ({
      ts: formatTime(batch.ts[i]!),
      version: batch.version[i]!,
      value: this.#value(batch, i, dtype),
    }))
    return { items, truncated }
  }

  /** How many of the points, newest first, fit into one answer. */
  #holds(batch: PointBatch, order: Uint32Array, limit: number): number {
    const most = Math.min(order.length, limit)
    let bytes = 0
    for (let held = 0; held < most; held++) {
      bytes += lengthOf(batch.meta[order[held]!]!)
      if (bytes > this.#answer_bytes && held > 0) return held
    }
    return most
  }

  /** Whole closed bins that overlap the window: the newest that fit into one answer, oldest first. */
  #bins(
    message: number,
    dtype: Dtype,
    query: HistoryRequest,
    bucket_s: number,
    now_us: number,
  ): { items: HistoryBin[]; truncated: boolean } {
    const width = Math.max(1, Math.round(bucket_s * 1e6))
    const start = Math.floor((query.since ?? FIRST) / width) * width
    const closed = Math.floor(now_us / width) * width
    const until = query.until === null ? closed : Math.min(closed, Math.ceil(query.until / width) * width)
    const bins = new BinTable(width)
    // Buckets of whole minutes or hours are made from rollups; only bins that are still open come from points.
    const rollup_s = width % 3_600_000_000 === 0 ? 3600 : width % 60_000_000 === 0 ? 60 : 0
    const rolled =
      rollup_s === 0 ? start : Math.max(start, Math.floor(this.#rolled() / (rollup_s * 1e6)) * rollup_s * 1e6)
    // Newer bins first, so that older ones without room are not read.
    if (rolled < until) this.#joinPoints(message, rolled, until, query.limit, bins)
    if (bins.beyond(query.limit, this.#answer_bytes) === null && start < rolled)
      this.#joinRollups(message, rollup_s, start, Math.min(until, rolled), query.limit, bins)
    const newest = bins.newest(query.limit, this.#answer_bytes)
    return { items: newest.bins.reverse().map(bin => this.#bin(bin, dtype)), truncated: newest.beyond !== null }
  }

  #joinRollups(message: number, rollup_s: number, start: number, until: number, limit: number, bins: BinTable): void {
    // Keyset pages, newest first. The rows of a bin may come on two pages; they are joined.
    for (let before = until; before > start; ) {
      const found = this.#rollups.all(message, rollup_s, start, before)
      for (const row of found) {
        bins.joinRollup(row.start, row.count, row.sum, row.min, row.max, { ...row, ts: row.last_ts, version: 0 })
      }
      if (found.length < PAGE) return
      before = found.at(-1)!.start
      // A bin beyond the answer has begun, so all newer ones are whole.
      if (bins.beyond(limit, this.#answer_bytes) !== null) return
    }
  }

  #joinPoints(message: number, start: number, until: number, limit: number, bins: BinTable): void {
    const batch = this.#batch
    batch.clear()
    this.#readLog(message, batch)
    bins.joinPoints(batch, start, until)
    for (const chunk of this.#newestChunks(message, start, until)) {
      const beyond = bins.beyond(limit, this.#answer_bytes)
      if (beyond !== null && chunk.ts_max < beyond) return
      batch.clear()
      this.#readChunk(chunk, batch)
      bins.joinPoints(batch, start, until)
    }
  }

  /** By their newest point, newest first, a page at a time: most readers stop early. */
  *#newestChunks(message: number, since: number, until: number): Iterable<ChunkRow> {
    let before: ChunkRow = { id: NEVER, ts_max: NEVER }
    for (;;) {
      const page = this.#chunks.all(message, since, until, before.ts_max, before.id)
      yield* page
      if (page.length < CHUNKS) return
      before = page.at(-1)!
    }
  }

  #rolled(): number {
    return Number(this.#rolledUntil.get()?.value ?? 0)
  }

  #readChunk({ id }: ChunkRow, batch: PointBatch): void {
    const { bytes } = this.#bytes.get(id)!
    readable('chunks', { id }, () => this.#decoder.decode(bytes, 0, bytes.length, batch))
  }

  #readLog(message: number, batch: PointBatch): void {
    for (const { id, bytes } of this.#log.all()) {
      readable('log', { id }, () =>
        eachGroup(bytes, (series, at, end) => {
          if (series === message) this.#decoder.decode(bytes, at, end, batch)
        }),
      )
    }
  }

  /** A bool is recorded as 0 or 1. */
  #value(batch: PointBatch, i: number, dtype: Dtype): unknown {
    if (dtype === 'bool') return batch.number[i]!
    const kind = kindOf(batch.meta[i]!)
    const number = batch.number[i]!
    if (!hasPayload(kind)) return this.#codec.decode(kind, number, batch.bytes, 0, 0)
    return this.#codec.decode(kind, 0, batch.bytes, number, lengthOf(batch.meta[i]!))
  }

  #bin(bin: ReadBin, dtype: Dtype): HistoryBin {
    const numeric = dtype === 'float' || dtype === 'int' || dtype === 'bool'
    const figures = numeric && bin.numbers > 0
    return {
      ts: formatTime(bin.start),
      count: bin.count,
      min: figures ? bin.min : null,
      max: figures ? bin.max : null,
      mean: figures ? bin.sum / bin.numbers : null,
      last: this.#last(bin, dtype),
    }
  }

  #last({ last }: ReadBin, dtype: Dtype): unknown {
    if (dtype === 'bool') return last.number
    if (!hasPayload(last.kind)) return this.#codec.decode(last.kind, last.number, Buffer.alloc(0), 0, 0)
    // Too large to be kept in a rollup, and its point is gone.
    if (last.bytes === null) return null
    return this.#codec.decode(last.kind, 0, last.bytes, 0, last.bytes.length)
  }
}

interface Window {
  readonly since: number
  readonly until: number
  /** Version of the point before which the window ends; 0 when it ends before the time `until`. */
  readonly until_version: number
}

/** Positions of the batch that lie in the window, newest first. */
function newest(batch: PointBatch, { since, until, until_version }: Window, by: PointOrder): Uint32Array {
  const { ts, version } = batch
  const order = new Uint32Array(batch.count)
  const end = until_version > 0 ? by.place(until) : until
  let count = 0
  for (let i = 0; i < batch.count; i++) {
    const time = ts[i]!
    if (time < since) continue
    if (until_version === 0) {
      if (time < until) order[count++] = i
      continue
    }
    const place = by.place(time)
    if (place < end || (place === end && version[i]! < until_version)) order[count++] = i
  }
  return order.subarray(0, count).sort((a, b) => by.place(ts[b]!) - by.place(ts[a]!) || version[b]! - version[a]!)
}
