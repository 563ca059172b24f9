import { ServiceError } from '../../../protocol/errors.ts'
import type { Connection } from '../database.ts'
import { metricPages } from './export-metrics.ts'
import { runPages } from './export-runs.ts'
import type { ExportMetricsRequest, ExportRunsRequest, OpenedExport, RunSelection } from './records.ts'
import type { RunCurves } from './run-curves.ts'
import type { RunSelections, SelectedRun } from './run-selection.ts'

interface Bounds {
  export_runs: number
  export_page_bytes: number
}

/** The exports that somebody reads at present. What one holds is the row numbers of its runs and the page it is at. */
export class Exports {
  readonly #db: Connection
  readonly #selections: RunSelections
  readonly #curves: RunCurves
  readonly #bounds: Bounds
  readonly #open = new Map<number, Iterator<string>>()
  readonly #encoder = new TextEncoder()
  #next = 1

  constructor(db: Connection, selections: RunSelections, curves: RunCurves, bounds: Bounds) {
    this.#db = db
    this.#selections = selections
    this.#curves = curves
    this.#bounds = bounds
  }

  openMetrics(request: ExportMetricsRequest): OpenedExport {
    return this.#add(request, runs => metricPages(runs, this.#curves, request, this.#bounds.export_page_bytes))
  }

  openRuns(request: ExportRunsRequest): OpenedExport {
    return this.#add(request, runs => runPages(this.#db, runs, this.#curves, request, this.#bounds.export_page_bytes))
  }

  /** Its next page, which may be empty; null, once, when there is no other. In memory of its own, to be handed on whole. */
  page(cursor: number): Uint8Array<ArrayBuffer> | null {
    const pages = this.#open.get(cursor)
    if (!pages) throw new ServiceError('store_failed', 'The export was ended together with the reader thread.')
    try {
      const { value, done } = pages.next()
      if (!done) return this.#encoder.encode(value)
    } catch (error) {
      this.#open.delete(cursor)
      throw error
    }
    this.#open.delete(cursor)
    return null
  }

  close(cursor: number): void {
    this.#open.delete(cursor)
  }

  #add(selection: RunSelection, pages: (runs: readonly SelectedRun[]) => Iterator<string>): OpenedExport {
    const runs = this.#selections.page(selection, this.#bounds.export_runs + 1, 0)
    const truncated = runs.length > this.#bounds.export_runs
    const cursor = this.#next++
    this.#open.set(cursor, pages(runs.slice(0, this.#bounds.export_runs).reverse()))
    return { cursor, truncated }
  }
}
