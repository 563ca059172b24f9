import { ServiceError } from '../../../protocol/errors.ts'
import type { Connection, Statement } from '../file/database.ts'
import type {
  ExportMetricsRequest,
  ExportRunsRequest,
  OpenedExport,
  OpenedText,
  RunSearch,
  RunSelection,
} from '../front/runs.ts'
import { RunCurves } from './curves.ts'
import { DocumentReader } from './documents.ts'
import { metricPages } from './export-metrics.ts'
import { ExportPage } from './export-page.ts'
import { runPages } from './export-runs.ts'
import { NODE_COLUMNS, type NodeRow, RUN_COLUMNS, type RunRow, shownName } from './rows.ts'
import { nodesText, runText, type TextPages } from './run-text.ts'
import { searchPages } from './search/search.ts'
import { RunSelections, type SelectedRun } from './selection.ts'

interface Bounds {
  export_runs: number
  export_page_bytes: number
}

/** KiB of pages that the connection of exports caches; it reads each page once. */
const CACHE_KIB = 1024

/**
 * The exports and long answers that are being read. Each holds the row numbers of its runs and its present page. They have a
 * connection of their own, so that millions of points do not displace the cached pages of lists.
 */
export class Exports {
  readonly #openFile: () => Connection
  readonly #most_runs: number
  /** The page of the export that writes at present. Exports keep nothing in it between two pages. */
  readonly #page: ExportPage
  readonly #open = new Map<number, Iterator<Uint8Array<ArrayBuffer>>>()
  /** Made at the first export. */
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

  openSearch(search: RunSearch, now_us: number): OpenedExport {
    const cursor = this.#next++
    this.#open.set(cursor, searchPages(this.#read(), search, this.#page, now_us))
    return { cursor, truncated: false }
  }

  /** Null: there is no such run. */
  openRun(id: string, now_us: number, cancel_requested_at: number | null): OpenedText | null {
    const { run, documents } = this.#read()
    const row = run.get(id)
    if (row === undefined) return null
    row.cancel_requested_at ??= cancel_requested_at
    return this.#begun(runText(row, documents, this.#page, now_us))
  }

  openNodes(id: string): OpenedText {
    const { run_of, node_names, node, documents } = this.#read()
    const row = run_of.get(id) ?? { seq: -1, flow: '' }
    const { seq, flow } = row
    const names = node_names.all(seq)
    const rowOf = (name: string): NodeRow | undefined => node.get(seq, name)
    return this.#begun(nodesText({ seq, id, flow: shownName(flow) }, names, rowOf, documents, this.#page))
  }

  /** The next page, which may be empty; null, once, after the last. In memory of its own (`spare` if it fits), to be transferred. */
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
    const reading = this.#read()
    const runs = reading.selections.page(selection, this.#most_runs + 1, 0)
    const truncated = runs.length > this.#most_runs
    const cursor = this.#next++
    this.#open.set(cursor, pages(runs.slice(0, this.#most_runs).reverse(), reading))
    return { cursor, truncated }
  }

  /** Makes the first page; most texts have only one. */
  #begun(pages: TextPages): OpenedText {
    this.#page.begin(null)
    const { value, done } = pages.next()
    if (done) return { page: value, cursor: null }
    const cursor = this.#next++
    this.#open.set(cursor, rest(pages))
    return { page: value, cursor }
  }

  #read(): Reading {
    this.#reading ??= readingOf(this.#openFile())
    return this.#reading
  }
}

function* rest(pages: TextPages): Generator<Uint8Array<ArrayBuffer>, void, undefined> {
  yield yield* pages
}

interface Reading {
  db: Connection
  selections: RunSelections
  curves: RunCurves
  documents: DocumentReader
  run: Statement<RunRow>
  run_of: Statement<{ seq: number; flow: string }>
  node_names: Statement<string>
  node: Statement<NodeRow>
}

function readingOf(db: Connection): Reading {
  db.pragma(`cache_size = -${CACHE_KIB}`)
  return {
    db,
    selections: new RunSelections(db),
    curves: new RunCurves(db),
    documents: new DocumentReader(db),
    run: db.prepare(`SELECT ${RUN_COLUMNS} FROM runs r WHERE r.id = ?`),
    run_of: db.prepare('SELECT seq, (SELECT f.name FROM flows f WHERE f.id = flow) AS flow FROM runs WHERE id = ?'),
    node_names: db
      .prepare('SELECT node FROM run_nodes WHERE run = ? ORDER BY position, node')
      .pluck() as Statement<string>,
    node: db.prepare(`SELECT ${NODE_COLUMNS} FROM run_nodes n WHERE n.run = ? AND n.node = ?`),
  }
}
