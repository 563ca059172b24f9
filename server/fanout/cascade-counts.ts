import { CASCADE_STATUS } from '../../core/memory/journal/record.ts'

export interface CascadeTotals {
  succeeded: number
  failed: number
  interrupted: number
  executions: number
  errors: number
}

/** What the cascade records of the journal add up to since the engine started: in all, and finished ones by flow. */
export class CascadeCounts {
  readonly #totals: CascadeTotals = { succeeded: 0, failed: 0, interrupted: 0, executions: 0, errors: 0 }
  readonly #finished: Float64Array
  readonly #busy_us: Float64Array

  constructor(flows: number) {
    this.#finished = new Float64Array(flows)
    this.#busy_us = new Float64Array(flows)
  }

  /** An open record (`running`) counts nothing: the cascade has a record of its end too. */
  add(flow: number, duration_us: number, status: number, executions: number, errors: number): void {
    const totals = this.#totals
    if (status === CASCADE_STATUS.succeeded) totals.succeeded++
    else if (status === CASCADE_STATUS.failed) totals.failed++
    else if (status === CASCADE_STATUS.interrupted) totals.interrupted++
    else return
    totals.executions += executions
    totals.errors += errors
    this.#finished[flow]!++
    this.#busy_us[flow]! += duration_us
  }

  totals(): CascadeTotals {
    return { ...this.#totals }
  }

  finished(flow: number): number {
    return this.#finished[flow] ?? 0
  }

  /** Time that the finished cascades of the flow took, added up. */
  busy_us(flow: number): number {
    return this.#busy_us[flow] ?? 0
  }
}
