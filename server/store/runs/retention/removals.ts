import { ServiceError } from '../../../../protocol/errors.ts'
import type { EngineEvent } from '../../../../protocol/nouns/event.ts'
import { formatTime } from '../../../../protocol/time.ts'
import { isLive, type RunStatus } from '../../../../protocol/words/run-status.ts'
import type { EventWriter } from '../../catalog/events.ts'
import type { Connection, Statement } from '../../file/database.ts'
import type { DiskUse } from '../../file/disk-use.ts'
import { RETAINED, type RetainedClass } from '../../front/retention.ts'
import type { RunCounts } from '../counts.ts'
import { METRIC_BYTES } from './run-bytes.ts'

interface EndedRow {
  seq: number
  id: string
  flow: number
  status: RunStatus
  created_at: number
  /** Null when it is not counted yet. */
  bytes: number | null
}

/** Removals of a class without an audit event yet; stored in `settings`, so that a crash in between loses no number. */
interface Untold {
  count: number
  bytes: number
  /** The first and the last in the order of their creation. */
  first: { id: string; at: number }
  last: { id: string; at: number }
}

const untoldName = (of: RetainedClass): string => `retention_untold_${of}`

/**
 * Removes runs, or their logs or metrics, from the file: one by one for a user, many at a time for the retention. Inside the caller's
 * transaction; refuses before it writes, and depends only on the file and its arguments.
 */
export class RunRemovals {
  readonly #events: Pick<EventWriter, 'write'>
  readonly #run_counts: RunCounts
  readonly #disk: Pick<DiskUse, 'add'>
  readonly #find: Statement<EndedRow>
  readonly #reuser: Statement<string>
  readonly #delete: Statement
  readonly #logBytes: Statement<number>
  readonly #dropLines: Statement
  readonly #emptyLog: Statement
  readonly #metricBytes: Statement<number>
  readonly #countPoints: Statement
  readonly #dropChunks: Statement
  readonly #dropCurves: Statement
  readonly #untold: Statement<string>
  readonly #putUntold: Statement
  readonly #dropUntold: Statement

  constructor(db: Connection, events: Pick<EventWriter, 'write'>, counts: RunCounts, disk: Pick<DiskUse, 'add'>) {
    this.#events = events
    this.#run_counts = counts
    this.#disk = disk
    const pluck = <Value>(sql: string): Statement<Value> => db.prepare(sql).pluck() as Statement<Value>
    this.#find = db.prepare('SELECT seq, id, flow, status, created_at, bytes FROM runs WHERE id = ?')
    this.#reuser = pluck(
      `SELECT r.id FROM run_nodes n INDEXED BY run_nodes_by_origin JOIN runs r ON r.seq = n.run
       WHERE n.cached_from = ? AND n.run <> ? LIMIT 1`,
    )
    this.#delete = db.prepare('DELETE FROM runs WHERE seq = ?')
    this.#logBytes = pluck('SELECT bytes FROM run_logs WHERE run = ?')
    this.#dropLines = db.prepare('DELETE FROM run_log_chunks WHERE run = ?')
    this.#emptyLog = db.prepare('UPDATE run_logs SET dropped = dropped + lines, lines = 0, bytes = 0 WHERE run = ?')
    this.#metricBytes = pluck(`SELECT coalesce(sum(${METRIC_BYTES}), 0) FROM run_metrics WHERE run = ?`)
    this.#countPoints = db.prepare(
      `UPDATE run_nodes SET metrics_dropped = metrics_dropped + coalesce((
         SELECT sum(m.points) FROM run_metrics m JOIN metric_names n ON n.id = m.name
         WHERE m.run = run_nodes.run AND substr(n.name, 1, length(node) + 1) = node || '.'), 0) WHERE run = ?`,
    )
    this.#dropChunks = db.prepare('DELETE FROM metric_chunks WHERE run = ?')
    this.#dropCurves = db.prepare('DELETE FROM run_metrics WHERE run = ?')
    this.#untold = pluck('SELECT value FROM settings WHERE name = ?')
    this.#putUntold = db.prepare(
      'INSERT INTO settings (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
    )
    this.#dropUntold = db.prepare('DELETE FROM settings WHERE name = ?')
  }

  /** Deletes a run with all that belongs to it, and stores the event. */
  delete(id: string, event: EngineEvent | null): boolean {
    const row = this.#find.get(id)
    if (!row) return false
    if (isLive(row.status)) throw new ServiceError('run_not_ended', `Run ${id} is ${row.status}.`)
    const user = this.#reuser.get(id, row.seq)
    if (user !== undefined) throw new ServiceError('run_in_use', `Run ${user} reuses nodes of run ${id}.`)
    this.#deleteRow(row)
    if (event !== null) this.#events.write(event)
    return true
  }

  /** Removes the runs that may be removed. Returns their number. */
  remove(of: RetainedClass, ids: readonly string[]): number {
    const gone: { row: EndedRow; bytes: number }[] = []
    for (const id of ids) {
      const row = this.#find.get(id)
      if (!row || isLive(row.status) || row.bytes === null) continue
      // Curves of cached nodes are read from the run that recorded them.
      if (of !== 'run_logs' && this.#reuser.get(id, row.seq) !== undefined) continue
      gone.push({ row, bytes: this.#take(of, row) })
    }
    if (gone.length > 0) this.#note(of, gone)
    return gone.length
  }

  /** One event for each class of which something was removed since the last one. */
  tell(now_us: number): EngineEvent[] {
    const events: EngineEvent[] = []
    for (const of of RETAINED) {
      const text = this.#untold.get(untoldName(of))
      if (text === undefined) continue
      const { count, bytes, first, last } = JSON.parse(text) as Untold
      const range = {
        first: first.id,
        last: last.id,
        created_from: formatTime(first.at),
        created_to: formatTime(last.at),
      }
      const audit = { action: `${of}_removed`, actor: null, object: of, address: '', result: 'ok' }
      const event = { type: 'audit', ts: formatTime(now_us), flow: null, run: null, ...audit, count, bytes, ...range }
      this.#events.write(event)
      this.#dropUntold.run(untoldName(of))
      events.push(event)
    }
    return events
  }

  #take(of: RetainedClass, row: EndedRow): number {
    switch (of) {
      case 'runs':
        return this.#deleteRow(row)
      case 'run_logs': {
        const bytes = this.#logBytes.get(row.seq) ?? 0
        this.#dropLines.run(row.seq)
        this.#emptyLog.run(row.seq)
        this.#disk.add('run_logs', -bytes)
        return bytes
      }
      case 'run_metrics': {
        const bytes = this.#metricBytes.get(row.seq) ?? 0
        this.#countPoints.run(row.seq)
        this.#dropChunks.run(row.seq)
        this.#dropCurves.run(row.seq)
        this.#disk.add('run_metrics', -bytes)
        return bytes
      }
      default:
        return of satisfies never
    }
  }

  /** Triggers delete all that belongs to the row. */
  #deleteRow({ seq, flow, status, bytes }: EndedRow): number {
    let all = 0
    if (bytes !== null) {
      const freed = {
        runs: bytes,
        run_logs: this.#logBytes.get(seq) ?? 0,
        run_metrics: this.#metricBytes.get(seq) ?? 0,
      }
      for (const of of RETAINED) {
        this.#disk.add(of, -freed[of])
        all += freed[of]
      }
    }
    this.#delete.run(seq)
    this.#run_counts.remove(flow, status)
    return all
  }

  #note(of: RetainedClass, gone: readonly { row: EndedRow; bytes: number }[]): void {
    const text = this.#untold.get(untoldName(of))
    const before = text === undefined ? null : (JSON.parse(text) as Untold)
    const ends = gone.map(({ row: { id, created_at: at } }) => ({ id, at }))
    if (before !== null) ends.push(before.first, before.last)
    ends.sort((one, other) => one.at - other.at)
    const untold: Untold = {
      count: gone.length + (before?.count ?? 0),
      bytes: gone.reduce((sum, { bytes }) => sum + bytes, before?.bytes ?? 0),
      first: ends[0]!,
      last: ends.at(-1)!,
    }
    this.#putUntold.run(untoldName(of), JSON.stringify(untold))
  }
}
