import type { RunStatus } from '../../../protocol/nouns/run.ts'
import type { Connection, Statement } from '../file/database.ts'
import { ALL_FLOWS } from './rows.ts'

/**
 * How many runs each flow has in each status. The writer holds the counts and writes them in the transaction that changes them, each row
 * once, however many changes there were.
 */
export class RunCounts {
  readonly #all: Statement<{ flow: number; status: RunStatus; count: number }>
  readonly #put: Statement
  /** By flow and status. */
  readonly #counts = new Map<number, Map<RunStatus, number>>()
  readonly #moved = new Map<number, Set<RunStatus>>()

  constructor(db: Connection) {
    this.#all = db.prepare('SELECT flow, status, count FROM run_counts')
    this.#put = db.prepare(
      'INSERT INTO run_counts (flow, status, count) VALUES (?, ?, ?) ON CONFLICT (flow, status) DO UPDATE SET count = excluded.count',
    )
    this.reload()
  }

  /** The count of a flow, by its row, or of all flows. */
  of(status: RunStatus, flow = ALL_FLOWS): number {
    return this.#counts.get(flow)?.get(status) ?? 0
  }

  /** `from` is null for a new run. */
  move(flow: number, from: RunStatus | null, to: RunStatus): void {
    for (const which of [flow, ALL_FLOWS]) {
      if (from !== null) this.#add(which, from, -1)
      this.#add(which, to, 1)
    }
  }

  /** A run was deleted. */
  remove(flow: number, from: RunStatus): void {
    for (const which of [flow, ALL_FLOWS]) this.#add(which, from, -1)
  }

  /** Call it at the end of a transaction. */
  write(): void {
    for (const [flow, statuses] of this.#moved)
      for (const status of statuses) this.#put.run(flow, status, this.of(status, flow))
    this.#moved.clear()
  }

  /** Loads the stored counts, after a transaction was undone. */
  reload(): void {
    this.#moved.clear()
    this.#counts.clear()
    for (const { flow, status, count } of this.#all.all()) this.#row(flow).set(status, count)
  }

  #add(flow: number, status: RunStatus, by: number): void {
    this.#row(flow).set(status, this.of(status, flow) + by)
    const moved = this.#moved.get(flow)
    if (moved) moved.add(status)
    else this.#moved.set(flow, new Set([status]))
  }

  #row(flow: number): Map<RunStatus, number> {
    let row = this.#counts.get(flow)
    if (row === undefined) this.#counts.set(flow, (row = new Map()))
    return row
  }
}
