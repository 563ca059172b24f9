import type { StoreBounds } from '../file/bounds.ts'
import type { Connection, Statement } from '../file/database.ts'
import { type DiskUse, ROW_BYTES } from '../file/disk-use.ts'
import { readable } from '../file/unreadable.ts'
import type { Registry } from '../writer/registry.ts'
import { CascadeEncoder, decodeCascades, encodeFlowCounts } from './chunk.ts'
import { CascadeRows, COLUMN, WIDTH } from './pending.ts'

export const STATUS = { succeeded: 1, failed: 2, interrupted: 3, running: 4 } as const

interface RunningRow {
  epoch: number
  seq: number
  flow: number
  message: number
  root_version: number
  started: number
  executions: number
  errors: number
  parent_seq: number
  parent_ts: number
}

/**
 * Cascade records on their way into the file: a commit with many writes full chunks, one with few a small chunk; small ones
 * are joined when there are many. A cascade that runs long has a row in `running` until its record comes. Inside the
 * caller's transaction.
 */
export class CascadeWriter {
  readonly #registry: Registry
  readonly #disk: DiskUse
  readonly #bounds: StoreBounds
  readonly #engine_epoch: () => number
  readonly #encoder = new CascadeEncoder()
  readonly #rows = new CascadeRows()
  readonly #running = new Set<number>()
  /** Cascades of the present commit that still run. */
  readonly #still = new Set<number>()
  #small_chunks = 0
  #small_records = 0
  readonly #put: Statement
  readonly #smalls: Statement<{ id: number; count: number; flows: Buffer; bytes: Buffer }>
  readonly #drop: Statement
  readonly #oldest: Statement<{ id: number; length: number }>
  readonly #putRunning: Statement
  readonly #dropRunning: Statement
  readonly #allRunning: Statement<RunningRow>

  constructor(db: Connection, registry: Registry, disk: DiskUse, bounds: StoreBounds, engine_epoch: () => number) {
    this.#registry = registry
    this.#disk = disk
    this.#bounds = bounds
    this.#engine_epoch = engine_epoch
    this.#put = db.prepare(
      `INSERT INTO cascades (epoch, small, count, seq_min, seq_max, started_min, started_max, flows, bytes)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    this.#smalls = db.prepare('SELECT id, count, flows, bytes FROM cascades WHERE small = 1 AND epoch = ? ORDER BY id')
    this.#drop = db.prepare('DELETE FROM cascades WHERE id = ?')
    this.#oldest = db.prepare('SELECT id, length(bytes) + length(flows) AS length FROM cascades ORDER BY id LIMIT ?')
    this.#putRunning = db.prepare(
      `INSERT INTO running (epoch, seq, flow, message, root_version, started, executions, errors, parent_seq, parent_ts)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (epoch, seq) DO UPDATE SET executions = excluded.executions, errors = excluded.errors`,
    )
    this.#dropRunning = db.prepare('DELETE FROM running WHERE epoch = ? AND seq = ?')
    this.#allRunning = db.prepare('SELECT * FROM running ORDER BY epoch, seq')
  }

  /** Loads the stored state, after a start or a failed commit. */
  load(): void {
    this.#running.clear()
    for (const row of this.#allRunning.all()) if (row.epoch === this.#engine_epoch()) this.#running.add(row.seq)
    this.#small_chunks = 0
    this.#small_records = 0
    for (const row of this.#smalls.all(this.#engine_epoch())) {
      this.#small_chunks++
      this.#small_records += row.count
    }
  }

  write(pending: CascadeRows): void {
    if (pending.count === 0) return
    const epoch = this.#engine_epoch()
    const rows = this.#rows
    rows.clear()
    rows.reserve(pending.count)
    // First the cascades that began: the ring of another lane may have the end before it. Most end in the same commit.
    const still = this.#still
    for (let row = 0; row < pending.count; row++)
      if (pending.get(row, 'status') === STATUS.running) still.add(pending.get(row, 'seq'))
    if (still.size > 0) {
      for (let row = 0; row < pending.count; row++)
        if (pending.get(row, 'status') !== STATUS.running) still.delete(pending.get(row, 'seq'))
      for (let row = 0; row < pending.count; row++)
        if (pending.get(row, 'status') === STATUS.running && still.has(pending.get(row, 'seq')))
          this.#writeRunning(pending, row)
      still.clear()
    }
    for (let row = 0; row < pending.count; row++) {
      if (pending.get(row, 'status') === STATUS.running) continue
      const from = row * WIDTH
      const flow = this.#registry.flowId(pending.values[from + COLUMN.flow]!)
      const message = this.#registry.series(pending.values[from + COLUMN.message]!).id
      const seq = pending.values[from + COLUMN.seq]!
      if (this.#running.size > 0 && this.#running.delete(seq)) this.#dropRunning.run(epoch, seq)
      const to = rows.add()
      for (let column = 0; column < WIDTH; column++) rows.values[to + column] = pending.values[from + column]!
      rows.values[to + COLUMN.flow] = flow
      rows.values[to + COLUMN.message] = message
    }
    this.#writeRows(rows, epoch, rows.count < this.#bounds.chunk_points / 4)
  }

  #writeRunning(pending: CascadeRows, row: number): void {
    const epoch = this.#engine_epoch()
    const seq = pending.get(row, 'seq')
    this.#putRunning.run(
      epoch,
      seq,
      this.#registry.flowId(pending.get(row, 'flow')),
      this.#registry.series(pending.get(row, 'message')).id,
      pending.get(row, 'root_version'),
      pending.get(row, 'started'),
      pending.get(row, 'executions'),
      pending.get(row, 'errors'),
      pending.get(row, 'parent_seq'),
      pending.get(row, 'parent_ts'),
    )
    this.#running.add(seq)
  }

  /**
   * A new engine begins: cascades that earlier engines left running are recorded `interrupted`, ended at `last_us`, the last sign of life. Returns how
   * many. A cascade of which nothing had run begins again from its items, see waiting/items.ts.
   */
  interrupt(last_us: number): number {
    for (const { epoch, seq, executions } of this.#allRunning.all())
      if (executions === 0) this.#dropRunning.run(epoch, seq)
    const left = this.#allRunning.all()
    for (const epoch of new Set(left.map(row => row.epoch))) {
      const rows = this.#rows
      rows.clear()
      for (const row of left) {
        if (row.epoch !== epoch) continue
        const at = rows.add()
        for (const [column, place] of Object.entries(COLUMN)) {
          rows.values[at + place] = (row as unknown as Record<string, number>)[column] ?? 0
        }
        rows.values[at + COLUMN.status] = STATUS.interrupted
        rows.values[at + COLUMN.duration] = Math.max(0, last_us - row.started)
        this.#dropRunning.run(row.epoch, row.seq)
      }
      this.#writeRows(rows, epoch, false)
    }
    return left.length
  }

  /** Drops the oldest chunks, at most `most` and until `bytes` are free; false when there is none. */
  dropOldest(most: number, bytes: number): boolean {
    const rows = this.#oldest.all(most)
    let freed = 0
    for (const { id, length } of rows) {
      if (freed >= bytes) break
      this.#drop.run(id)
      this.#disk.add('cascades', -length - ROW_BYTES)
      freed += length + ROW_BYTES
    }
    return rows.length > 0
  }

  #writeRows(rows: CascadeRows, epoch: number, small: boolean): void {
    if (rows.count === 0) return
    const parts = Math.ceil(rows.count / this.#bounds.chunk_points)
    for (let part = 0; part < parts; part++) {
      const from = Math.floor((rows.count * part) / parts)
      const to = Math.floor((rows.count * (part + 1)) / parts)
      this.#writeChunk(rows, from, to, epoch, small)
    }
    if (!small) return
    this.#small_chunks++
    this.#small_records += rows.count
    if (this.#small_chunks >= this.#bounds.join_chunks || this.#small_records >= this.#bounds.chunk_points)
      this.#join(epoch)
  }

  #join(epoch: number): void {
    const rows = this.#rows
    rows.clear()
    for (const { id, flows, bytes } of this.#smalls.all(epoch)) {
      readable('cascades', { id }, () => decodeCascades(bytes, rows))
      this.#drop.run(id)
      this.#disk.add('cascades', -bytes.length - flows.length - ROW_BYTES)
    }
    this.#small_chunks = 0
    this.#small_records = 0
    // Few records in many chunks: the joined chunks are joined again later, so that a quiet engine does not keep a row for each second.
    this.#writeRows(rows, epoch, rows.count < this.#bounds.chunk_points / 4)
  }

  #writeChunk(rows: CascadeRows, from: number, to: number, epoch: number, small: boolean): void {
    const edge = (column: number, pick: (a: number, b: number) => number): number => {
      let value = rows.values[from * WIDTH + column]!
      for (let row = from + 1; row < to; row++) value = pick(value, rows.values[row * WIDTH + column]!)
      return value
    }
    const length = this.#encoder.encode(rows, from, to)
    const flows = encodeFlowCounts(rows, from, to)
    this.#put.run(
      epoch,
      small ? 1 : 0,
      to - from,
      edge(COLUMN.seq, Math.min),
      edge(COLUMN.seq, Math.max),
      edge(COLUMN.started, Math.min),
      edge(COLUMN.started, Math.max),
      flows,
      this.#encoder.bytes.subarray(0, length),
    )
    this.#disk.add('cascades', length + flows.length + ROW_BYTES)
  }
}
