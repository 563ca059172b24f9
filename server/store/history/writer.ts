import type { StoreBounds } from '../file/bounds.ts'
import type { Connection, Statement } from '../file/database.ts'
import { type DiskUse, ROW_BYTES } from '../file/disk-use.ts'
import { readable, readableTables } from '../file/unreadable.ts'
import type { WantedVersions } from '../waiting/wanted.ts'
import type { Registry } from '../writer/registry.ts'
import { eachGroup, LogRow } from './log.ts'
import type { PendingPoints } from './pending-points.ts'
import { kindOf, lengthOf, PointBatch } from './point-batch.ts'
import { PointDecoder, PointEncoder } from './point-chunk.ts'
import { RollupWriter } from './rollup-writer.ts'
import { hasPayload, KEPT_BYTES, type LastValue, type Series } from './series.ts'

/** Points for which the sorting batch keeps memory between commits. */
const MOST_KEPT = 1 << 20

/**
 * Points on their way into the file. Each group commit writes every point exactly once: a message with many points as
 * chunks of its own, all others together as one row of the log. When the log is large enough, `seal` reads it back and turns
 * it into chunks, one per message. So memory holds no points past a commit, whatever the number of messages.
 *
 *   pending --commit--> chunks                      (128 points or 4 KiB of payload in one commit)
 *           --commit--> log row --seal--> chunks    (fewer)
 *
 * `latest` holds a message's newest value and its open bins as of row `log` of the log; what the log holds beyond is
 * replayed by `load`. All methods but `load` run inside the caller's transaction; when that fails, `load` is the way back.
 */
export class HistoryWriter {
  readonly #db: Connection
  readonly #registry: Registry
  readonly #disk: DiskUse
  readonly #bounds: StoreBounds
  readonly #sorted = new PointBatch()
  readonly #joined = new PointBatch()
  readonly #decoded = new PointBatch()
  readonly #encoder = new PointEncoder()
  readonly #decoder = new PointDecoder()
  readonly #log = new LogRow()
  readonly #rollups: RollupWriter
  readonly #smalls = new Map<number, number>()
  /** Message indexes whose newest value was dropped. */
  readonly #unstored = new Set<number>()
  #next_log = 1
  #rolled_until = 0
  #log_bytes = 0
  #log_rows = 0
  readonly #putLog: Statement
  readonly #logRows: Statement<{ id: number; bytes: Buffer }>
  readonly #dropLog: Statement
  readonly #putChunk: Statement
  readonly #smallChunks: Statement<{ id: number; bytes: Buffer }>
  readonly #dropChunk: Statement
  readonly #oldest: Statement<{ id: number; message: number; length: number }>
  readonly #chunk: Statement<{ bytes: Buffer }>
  /** First and last version of old chunks that hold waiting values. A chunk never changes. */
  readonly #kept = new Map<number, readonly [first: number, last: number]>()
  readonly #putLatest: Statement
  readonly #moveBins: Statement
  readonly #putRolled: Statement
  readonly #rolledUntil: Statement
  readonly #forget: Statement
  readonly #forgetOne: Statement

  constructor(db: Connection, registry: Registry, disk: DiskUse, bounds: StoreBounds) {
    this.#db = db
    this.#registry = registry
    this.#disk = disk
    this.#bounds = bounds
    this.#rollups = new RollupWriter(db, disk)
    this.#putLog = db.prepare('INSERT INTO log (id, bytes) VALUES (?, ?)')
    this.#logRows = db.prepare('SELECT id, bytes FROM log ORDER BY id')
    this.#dropLog = db.prepare('DELETE FROM log WHERE id <= ?')
    this.#putChunk = db.prepare(
      'INSERT INTO chunks (message, small, count, ts_min, ts_max, bytes) VALUES (?, ?, ?, ?, ?, ?)',
    )
    this.#smallChunks = db.prepare('SELECT id, bytes FROM chunks WHERE message = ? AND small = 1 ORDER BY id')
    this.#dropChunk = db.prepare('DELETE FROM chunks WHERE id = ?')
    this.#oldest = db.prepare(
      'SELECT id, message, length(bytes) AS length FROM chunks WHERE id > ? ORDER BY id LIMIT ?',
    )
    this.#chunk = db.prepare('SELECT bytes FROM chunks WHERE id = ?')
    this.#putLatest = db.prepare(
      `INSERT INTO latest (message, version, ts, kind, number, bytes, log, bins) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (message) DO UPDATE SET version = excluded.version, ts = excluded.ts, kind = excluded.kind,
       number = excluded.number, bytes = excluded.bytes, log = excluded.log, bins = excluded.bins`,
    )
    this.#moveBins = db.prepare('UPDATE latest SET log = ?, bins = ? WHERE message = ?')
    this.#rolledUntil = db.prepare("SELECT value FROM settings WHERE name = 'rolled_until'")
    this.#putRolled = db.prepare("INSERT OR REPLACE INTO settings (name, value) VALUES ('rolled_until', ?)")
    const forget = (which: string): Statement =>
      db.prepare(
        `INSERT INTO latest (message, version, ts, kind, number, log, forgotten)
         SELECT id, 0, 0, 0, 0, 0, @log FROM messages WHERE ${which}
         ON CONFLICT (message) DO UPDATE SET version = 0, ts = 0, kind = 0, number = 0, bytes = NULL, forgotten = excluded.forgotten`,
      )
    this.#forget = forget("name >= @flow || '.' AND name < @flow || '/'")
    this.#forgetOne = forget('name = @name')
  }

  /** Loads series with their newest values and open bins from the file. */
  load(): void {
    this.#registry.reload()
    this.#smalls.clear()
    this.#log_bytes = 0
    this.#log_rows = 0
    let newest = 0
    for (const { id, bytes } of readableTables(this.#db, ['log'], () => this.#logRows.all())) {
      newest = id
      this.#log_bytes += bytes.length
      this.#log_rows++
      readable('log', { id }, () => this.#foldRow(id, bytes))
    }
    const watermark =
      (this.#db.prepare('SELECT max(max(log), max(forgotten)) AS log FROM latest').get() as { log: number | null })
        .log ?? 0
    this.#next_log = Math.max(newest, watermark) + 1
    this.#rolled_until = Number((this.#rolledUntil.get() as { value: string } | undefined)?.value ?? 0)
  }

  #foldRow(id: number, bytes: Buffer): void {
    eachGroup(bytes, (message, at, end) => {
      const series = this.#registry.byId(message)
      if (!series) return
      this.#decoded.clear()
      this.#decoder.decode(bytes, at, end, this.#decoded)
      // Bins that close here had closed before the engine died, and their rows were written with the row of the series.
      if (id > series.log) series.fold(this.#decoded, 0, this.#decoded.count, () => {}, id > series.forgotten)
    })
  }

  write(pending: PendingPoints): void {
    const batch = this.#sorted
    const log = this.#log
    log.clear()
    pending.sort(batch)
    let to = 0
    for (let i = 0; i < pending.dirtyCount; i++) {
      const index = pending.dirty[i]!
      const series = this.#registry.series(index)
      const from = to
      to = from + pending.many[index]!
      series.fold(batch, from, to, this.#rollups.close)
      if (series.hasBinBefore(this.#rolled_until)) series.closeUntil(this.#rolled_until, this.#rollups.close)
      const direct = this.#isDirect(batch, from, to)
      if (direct) this.#writeChunks(series, batch, from, to, false)
      else {
        const length = this.#encoder.encode(batch, from, to)
        log.add(series.id, this.#encoder.bytes, length)
      }
      if (direct || series.moved) this.#store(series, batch, from, to, this.#next_log)
    }
    batch.clear()
    batch.shrink(MOST_KEPT)
    const id = this.#next_log++
    if (log.length === 0) return
    this.#putLog.run(id, log.view())
    this.#log_bytes += log.length
    this.#log_rows++
    this.#disk.add('history', log.length)
  }

  /** Drops the values of the messages of a deleted flow; points and open bins stay. Call `write` before it in the same transaction. */
  forget(flow: string): void {
    this.#forget.run({ flow, log: this.#next_log - 1 })
  }

  /** The same for single messages, by qualified name. */
  forgetMessages(names: readonly string[]): void {
    for (const name of names) this.#forgetOne.run({ name, log: this.#next_log - 1 })
  }

  /** Called for points that are not stored: the newest values of their messages are read from shared memory when there is room again. */
  remember(pending: PendingPoints): void {
    for (let i = 0; i < pending.dirtyCount; i++) this.#unstored.add(pending.dirty[i]!)
  }

  /** When there is room again: takes the newest values of messages whose points were dropped from shared memory. */
  restate(read: (index: number) => LastValue | null): void {
    for (const index of this.#unstored) {
      const value = read(index)
      const series = this.#registry.series(index)
      if (value === null || value.version <= series.last.version) continue
      Object.assign(series.last, value)
      this.#store(series, null, 0, 0, this.#next_log - 1)
    }
  }

  restated(): void {
    this.#unstored.clear()
  }

  shouldSeal(): boolean {
    return this.#log_bytes >= this.#bounds.log_bytes || this.#log_rows >= this.#bounds.log_rows
  }

  /** Turns the log into chunks. */
  seal(): void {
    const rows = this.#logRows.all()
    const newest = rows.at(-1)?.id
    if (newest === undefined) return
    const places = new Map<number, number[]>()
    rows.forEach(({ id, bytes }, row) => {
      readable('log', { id }, () => {
        eachGroup(bytes, (message, at, end) => {
          const found = places.get(message)
          if (found) found.push(row, at, end)
          else places.set(message, [row, at, end])
        })
      })
    })
    const batch = this.#decoded
    for (const [message, list] of places) {
      const series = this.#registry.byId(message)
      if (!series) continue
      batch.clear()
      for (let i = 0; i < list.length; i += 3) {
        const { id, bytes } = rows[list[i]!]!
        readable('log', { id }, () => this.#decoder.decode(bytes, list[i + 1]!, list[i + 2]!, batch))
      }
      this.#writeChunks(series, batch, 0, batch.count, true)
      this.#store(series, batch, 0, batch.count, this.#next_log - 1)
    }
    this.#dropLog.run(newest)
    this.#disk.add('history', -this.#log_bytes)
    this.#log_bytes = 0
    this.#log_rows = 0
  }

  /** Closes the bins that ended before `now_us`, of at most `most` messages. True when none is left: readers may rely on rollups up to then. */
  closeBins(now_us: number, most: number): boolean {
    let count = 0
    // From here on, a bin that ended before this time is closed in the commit of its points.
    this.#rolled_until = now_us
    for (const series of this.#registry.all()) {
      if (!series.hasBinBefore(now_us)) continue
      if (count++ === most) return false
      series.closeUntil(now_us, this.#rollups.close)
      this.#store(series, null, 0, 0, this.#next_log - 1)
    }
    this.#putRolled.run(String(now_us))
    return true
  }

  /**
   * Drops the oldest chunks, at most `most` and until `bytes` are free; false when none can be dropped. A chunk with a waiting value stays,
   * since only the history has it; the queues bound how many wait.
   */
  dropOldest(most: number, bytes: number, wanted: WantedVersions): boolean {
    let freed = 0
    let dropped = 0
    let after = 0
    for (let rows = this.#oldest.all(after, most); rows.length > 0; rows = this.#oldest.all(after, most)) {
      for (const { id, message, length } of rows) {
        if (freed >= bytes || dropped === most) return dropped > 0
        after = id
        if (this.#isWanted(id, message, wanted)) continue
        this.#kept.delete(id)
        this.#dropChunk.run(id)
        this.#disk.add('history', -length - ROW_BYTES)
        freed += length + ROW_BYTES
        dropped++
      }
    }
    return dropped > 0
  }

  #isWanted(id: number, message: number, wanted: WantedVersions): boolean {
    if (!wanted.has(message)) return false
    let versions = this.#kept.get(id)
    if (versions === undefined) this.#kept.set(id, (versions = this.#versionsOf(id)))
    return wanted.within(message, versions[0], versions[1])
  }

  #versionsOf(id: number): readonly [first: number, last: number] {
    const { bytes } = this.#chunk.get(id)!
    const batch = this.#decoded
    batch.clear()
    readable('chunks', { id }, () => this.#decoder.decode(bytes, 0, bytes.length, batch))
    let first = Number.POSITIVE_INFINITY
    let last = 0
    for (let i = 0; i < batch.count; i++) {
      first = Math.min(first, batch.version[i]!)
      last = Math.max(last, batch.version[i]!)
    }
    return [first, last]
  }

  /** Whether the points are enough to be a chunk at once. */
  #isDirect(batch: PointBatch, from: number, to: number): boolean {
    const { direct_points, direct_bytes } = this.#bounds
    if (to - from >= direct_points) return true
    return payloadBytes(batch, from, to) >= direct_bytes
  }

  #writeChunks(series: Series, batch: PointBatch, begin: number, end: number, sealed: boolean): void {
    const count = end - begin
    const { chunk_points, chunk_bytes } = this.#bounds
    const parts = Math.min(
      count,
      Math.max(Math.ceil(count / chunk_points), Math.ceil(payloadBytes(batch, begin, end) / chunk_bytes)),
    )
    for (let part = 0; part < parts; part++) {
      const from = begin + Math.floor((count * part) / parts)
      const to = begin + Math.floor((count * (part + 1)) / parts)
      const small = sealed && to - from < this.#bounds.direct_points
      this.#writeChunk(series, batch, from, to, small)
      if (small) this.#countSmall(series)
    }
  }

  #writeChunk(series: Series, batch: PointBatch, from: number, to: number, small: boolean): void {
    let ts_min = batch.ts[from]!
    let ts_max = ts_min
    for (let i = from + 1; i < to; i++) {
      const ts = batch.ts[i]!
      if (ts > ts_max) ts_max = ts
      else if (ts < ts_min) ts_min = ts
    }
    const length = this.#encoder.encode(batch, from, to)
    const bytes = this.#encoder.bytes.subarray(0, length)
    this.#putChunk.run(series.id, small ? 1 : 0, to - from, ts_min, ts_max, bytes)
    this.#disk.add('history', length + ROW_BYTES)
  }

  /** Small chunks of a quiet message are joined from time to time. Messages begin to count at different numbers, so that not all are joined in one commit. */
  #countSmall(series: Series): void {
    const { join_chunks } = this.#bounds
    const count = (this.#smalls.get(series.id) ?? series.id % join_chunks) + 1
    this.#smalls.set(series.id, count % join_chunks)
    if (count < join_chunks) return
    const rows = this.#smallChunks.all(series.id)
    const batch = this.#joined
    batch.clear()
    for (const { id, bytes } of rows) {
      readable('chunks', { id }, () => this.#decoder.decode(bytes, 0, bytes.length, batch))
      this.#dropChunk.run(id)
      this.#disk.add('history', -bytes.length - ROW_BYTES)
    }
    this.#writeChunks(series, batch, 0, batch.count, false)
  }

  /** Writes the row of `latest`. A payload that is too large for memory is taken from the batch. */
  #store(series: Series, batch: PointBatch | null, from: number, to: number, log: number): void {
    const { last } = series
    let bytes = last.bytes
    series.moved = false
    series.log = log
    if (hasPayload(last.kind) && bytes === null) {
      bytes = batch === null ? null : findPayload(batch, from, to, last.version)
      if (bytes === null) {
        this.#moveBins.run(log, series.saveBins(), series.id)
        return
      }
    }
    this.#putLatest.run(series.id, last.version, last.ts, last.kind, last.number, bytes, log, series.saveBins())
  }
}

function payloadBytes(batch: PointBatch, from: number, to: number): number {
  let bytes = 0
  for (let i = from; i < to; i++) bytes += lengthOf(batch.meta[i]!)
  return bytes
}

/** The payload of a version that memory does not keep. */
function findPayload(batch: PointBatch, from: number, to: number, version: number): Buffer | null {
  for (let i = to - 1; i >= from; i--) {
    const meta = batch.meta[i]!
    if (batch.version[i] === version && hasPayload(kindOf(meta)) && lengthOf(meta) > KEPT_BYTES)
      return batch.copyPayload(i)
  }
  return null
}
