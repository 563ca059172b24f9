import type { Connection, Statement } from '../../file/database.ts'
import { type DiskUse, ROW_BYTES } from '../../file/disk-use.ts'

/** Runs that one step counts. */
const RUNS = 256

/** SQL for the bytes of the chunks of a row of `run_metrics`. */
export const METRIC_BYTES = `16 * points + ${ROW_BYTES} * chunks`

interface Weighed {
  seq: number
  row: number
  nodes: number
  documents: number
  log: number
  metrics: number
}

/**
 * Counts the size of each run once, after it has ended: from then on it changes only by removal. That is done here and not
 * at the end of the run, so that the end takes no longer.
 */
export class RunBytes {
  readonly #disk: Pick<DiskUse, 'add'>
  readonly #due: Statement
  readonly #next: Statement<Weighed>
  readonly #put: Statement

  constructor(db: Connection, disk: Pick<DiskUse, 'add'>) {
    this.#disk = disk
    const length = (column: string): string => `coalesce(octet_length(${column}), 0)`
    const sum = (what: string, table: string): string =>
      `coalesce((SELECT sum(${what}) FROM ${table} WHERE run = runs.seq), 0)`
    const notCounted = 'FROM runs INDEXED BY runs_not_counted WHERE bytes IS NULL AND finished_at IS NOT NULL'
    this.#due = db.prepare(`SELECT 1 ${notCounted} LIMIT 1`)
    this.#next = db.prepare(
      `SELECT seq,
         ${['inputs', 'resolved', 'result', 'error', 'inputs_summary', 'result_summary'].map(length).join(' + ')} AS row,
         ${sum(`${ROW_BYTES} + ${length('parts')} + ${length('outputs')} + ${length('error')}`, 'run_nodes')} AS nodes,
         ${sum(`${ROW_BYTES} + octet_length(json)`, 'run_documents')} AS documents,
         ${sum('bytes', 'run_logs')} AS log,
         ${sum(METRIC_BYTES, 'run_metrics')} AS metrics
       ${notCounted} ORDER BY seq LIMIT ${RUNS}`,
    )
    this.#put = db.prepare('UPDATE runs SET bytes = ? WHERE seq = ?')
  }

  isDue(): boolean {
    return this.#due.get() !== undefined
  }

  /** Call it inside a transaction. True when there may be more. */
  step(): boolean {
    const rows = this.#next.all()
    for (const { seq, row, nodes, documents, log, metrics } of rows) {
      const bytes = ROW_BYTES + row + nodes + documents
      this.#put.run(bytes, seq)
      this.#disk.add('runs', bytes)
      this.#disk.add('run_logs', log)
      this.#disk.add('run_metrics', metrics)
    }
    return rows.length === RUNS
  }
}
