import { ServiceError } from '../../../protocol/errors.ts'
import type { Connection } from '../file/database.ts'
import type { ExportMetricsRequest, ExportRunsRequest, OpenedExport, RunSelection } from '../front/runs.ts'
import { RunCurves } from './curves.ts'
import { metricPages } from './export-metrics.ts'
import { ExportPage } from './export-page.ts'
import { runPages } from './export-runs.ts'
import { RunSelections, type SelectedRun } from './selection.ts'

interface Bounds {
  export_runs: number
  export_page_bytes: number
}

/** KiB of pages that the connection of exports keeps: what it reads, it reads once. */
const CACHE_KIB = 1024

/**
 * The exports that somebody reads at present. What one holds is the row numbers of its runs and the page it is at. They have a
 * connection of their own, so that millions of points do not push out what lists look at.
 */
export class Exports {
  readonly #openFile: () => Connection
  readonly #most_runs: number
  /** Of whichever writes at present: none has anything in it between two of its pages. */
  readonly #page: ExportPage
  readonly #open = new Map<number, Iterator<Uint8Array<ArrayBuffer>>>()
  /** Since the first export. */
  #reading: Reading | null = null
  #next = 1

  constructor(openFile: () => Connection, bounds: Bounds) {
    this.#openFile = openFile
    this.#most_runs = bounds.export_runs
    this.#page = new ExportPage(bounds.export_page_bytes)
  }

  openMetrics(request: ExportMetricsRequest): OpenedExport {
    return this.#add(request, (runs, { curves }) => metricPages(runs, curves, request, this.#page))
  }

  openRuns(request: ExportRunsRequest): OpenedExport {
    return this.#add(request, (runs, { db, curves }) => runPages(db, runs, curves, request, this.#page))
  }

  /** Its next page, which may be empty; null, once, when there is no other. In memory of its own (`spare` if it fits), to be handed on whole. */
  page(cursor: number, spare: ArrayBuffer | null): Uint8Array<ArrayBuffer> | null {
    const pages = this.#open.get(cursor)
    if (!pages) throw new ServiceError('store_failed', 'The export was ended together with the reader thread.')
    this.#page.begin(spare)
    try {
      const { value, done } = pages.next()
      if (!done) return value
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

  end(): void {
    this.#open.clear()
    this.#reading?.db.close()
  }

  #add(
    selection: RunSelection,
    pages: (runs: readonly SelectedRun[], reading: Reading) => Iterator<Uint8Array<ArrayBuffer>>,
  ): OpenedExport {
    const reading = (this.#reading ??= readingOf(this.#openFile()))
    const runs = reading.selections.page(selection, this.#most_runs + 1, 0)
    const truncated = runs.length > this.#most_runs
    const cursor = this.#next++
    this.#open.set(cursor, pages(runs.slice(0, this.#most_runs).reverse(), reading))
    return { cursor, truncated }
  }
}

interface Reading {
  db: Connection
  selections: RunSelections
  curves: RunCurves
}

function readingOf(db: Connection): Reading {
  db.pragma(`cache_size = -${CACHE_KIB}`)
  return { db, selections: new RunSelections(db), curves: new RunCurves(db) }
}
