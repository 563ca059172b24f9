import type { Connection, Statement } from '../../file/database.ts'
import type { RetainedClass, RetainedPage, RetainedRun, RetainedUse } from '../../front/retention.ts'
import { ALL_FLOWS } from '../rows.ts'
import { METRIC_BYTES } from './run-bytes.ts'

interface Row extends Omit<RetainedRun, 'reused'> {
  seq: number
  reused: 0 | 1
}

/** Lists runs that have data of a class, for the retention. On the reader thread; each page is one snapshot. */
export class RetainedRuns {
  readonly #pages: Readonly<Record<RetainedClass, Statement<Row>>>
  readonly #bytes: Statement<number>
  readonly #ended: Statement<number>

  constructor(db: Connection) {
    const run = 'r.seq, r.id, r.created_at, r.finished_at'
    const reused =
      'EXISTS (SELECT 1 FROM run_nodes n INDEXED BY run_nodes_by_origin WHERE n.cached_from = r.id AND n.run <> r.seq) AS reused'
    const log = 'coalesce((SELECT l.bytes FROM run_logs l WHERE l.run = r.seq), 0)'
    const metrics = `coalesce((SELECT sum(${METRIC_BYTES}) FROM run_metrics m WHERE m.run = r.seq), 0)`
    // `bytes` of a run is set when it has ended and is counted.
    this.#pages = {
      runs: db.prepare(
        `SELECT ${run}, r.bytes, r.bytes + ${log} + ${metrics} AS weight, ${reused}
         FROM runs r WHERE r.seq > ? AND r.bytes IS NOT NULL ORDER BY r.seq LIMIT ?`,
      ),
      run_logs: db.prepare(
        `SELECT ${run}, l.bytes, l.bytes AS weight, 0 AS reused FROM run_logs l INDEXED BY run_logs_kept
         JOIN runs r ON r.seq = l.run WHERE l.run > ? AND l.bytes > 0 AND r.bytes IS NOT NULL ORDER BY l.run LIMIT ?`,
      ),
      run_metrics: db.prepare(
        `SELECT ${run}, ${metrics} AS bytes, ${metrics} AS weight, ${reused} FROM runs r
         WHERE r.seq > ? AND r.bytes IS NOT NULL AND EXISTS (SELECT 1 FROM run_metrics m WHERE m.run = r.seq) ORDER BY r.seq LIMIT ?`,
      ),
    }
    this.#bytes = db.prepare('SELECT bytes FROM disk WHERE class = ?').pluck() as Statement<number>
    this.#ended = db
      .prepare(
        `SELECT coalesce(sum(count), 0) FROM run_counts WHERE flow = ${ALL_FLOWS} AND status NOT IN ('queued', 'running')`,
      )
      .pluck() as Statement<number>
  }

  use(of: RetainedClass): RetainedUse {
    return { bytes: Math.max(0, this.#bytes.get(of) ?? 0), runs: this.#ended.get()! }
  }

  page(of: RetainedClass, after: number, limit: number): RetainedPage {
    const rows = this.#pages[of].all(after, limit)
    return {
      runs: rows.map(({ seq: _, reused, ...rest }) => ({ ...rest, reused: reused === 1 })),
      next: rows.length < limit ? null : rows.at(-1)!.seq,
    }
  }
}
