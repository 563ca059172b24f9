import { changedParts, type FingerprintParts } from '../../../core/runs/fingerprint.ts'
import type { RunSummary } from '../../../protocol/nouns/run.ts'
import { PageRoom, pageOf } from '../../list-page.ts'
import type { Connection, Statement } from '../file/database.ts'
import { readable } from '../file/unreadable.ts'
import type {
  CacheOrigin,
  CachePage,
  CachePageRequest,
  MetricNames,
  NearestRun,
  RunOutput,
  RunPage,
  RunSelection,
  SeriesRequest,
  StoredRun,
  StoredRunHead,
  StoredRunList,
  StoredRunNode,
  StoredSeriesPage,
} from '../front/runs.ts'
import { type RunCurves, SeriesPage } from './curves.ts'
import { DocumentReader, ELSEWHERE, type RunPart } from './documents.ts'
import {
  givenInputs,
  HEAD_COLUMNS,
  type HeadRow,
  headOf,
  ListedCounts,
  NODE_COLUMNS,
  type NodeRow,
  nodeOf,
  outputsOf,
  RUN_COLUMNS,
  type RunRow,
  runOf,
  SUMMARY_COLUMNS,
  type SummaryRow,
  shownName,
} from './rows.ts'
import { summaryOf } from './search/summary-row.ts'
import type { RunSelections, SelectedRun } from './selection.ts'

/** Most runs that one page of curves reads. */
const SERIES_RUNS = 10_000
/** Runs before a given one that are searched for the same node. */
const NEAREST_RUNS = 1_000
/** About the bytes of one page of origins, with 256 for a row and its key; and the rows that are read at a time. */
const CACHE_PAGE_BYTES = 1024 * 1024
const CACHE_ROWS = 64

interface OriginRow {
  run: number
  node: string
  key: string
  id: string
  flow: string
  emissions: number
  outputs: string | null
}

/** Reads lists and single runs. Each method is one snapshot. */
export class RunReader {
  readonly #db: Connection
  readonly #selections: RunSelections
  readonly #curves: RunCurves
  readonly #documents: DocumentReader
  readonly #now_us: () => number
  readonly #bySeqs: Statement<SummaryRow>
  readonly #head: Statement<HeadRow>
  readonly #byId: Statement<RunRow>
  readonly #short: Statement<string>
  readonly #selected: Statement<SelectedRun>
  readonly #counts: ListedCounts
  readonly #nodes: Statement<NodeRow & { run: number }>
  readonly #names: Statement<{ flow: number; name: string }>
  readonly #reusing: Statement<number>
  readonly #cached: Statement<OriginRow>
  readonly #origins: Statement<OriginRow>
  readonly #before: Statement<{ run: string; parts: string }>

  constructor(db: Connection, selections: RunSelections, curves: RunCurves, now_us: () => number) {
    this.#db = db
    this.#selections = selections
    this.#curves = curves
    this.#documents = new DocumentReader(db)
    this.#now_us = now_us
    const select = `SELECT ${RUN_COLUMNS} FROM runs r`
    // One statement for a page: each execution of a statement names its columns again, which is much of the time for a row.
    this.#bySeqs = db.prepare(
      `SELECT ${SUMMARY_COLUMNS} FROM runs r WHERE r.seq IN (SELECT value FROM json_each(?)) ORDER BY r.seq DESC`,
    )
    this.#head = db.prepare(`SELECT ${HEAD_COLUMNS} FROM runs r WHERE r.id = ?`)
    this.#byId = db.prepare(`${select} WHERE r.id = ?`)
    this.#short = db
      .prepare(
        `SELECT id FROM (SELECT id FROM runs WHERE id >= @from AND id < @to LIMIT @most)
         UNION SELECT id FROM (SELECT id FROM runs INDEXED BY runs_by_short_id
           WHERE substr(id, 25) >= @from AND substr(id, 25) < @to LIMIT @most)
         ORDER BY id LIMIT @most`,
      )
      .pluck() as Statement<string>
    this.#selected = db.prepare('SELECT seq, id, flow, created_at FROM runs WHERE id = ?')
    this.#counts = new ListedCounts(db)
    this.#nodes = db.prepare(
      `SELECT n.run, ${NODE_COLUMNS} FROM run_nodes n WHERE n.run = (SELECT seq FROM runs WHERE id = ?) ORDER BY n.position, n.node`,
    )
    this.#names = db.prepare(
      `SELECT d.flow, n.name FROM (
         SELECT DISTINCT r.flow, m.name FROM json_each(?) j JOIN runs r ON r.seq = j.value JOIN run_metrics m ON m.run = r.seq) d
       JOIN metric_names n ON n.id = d.name`,
    )
    this.#reusing = db
      .prepare(
        `SELECT j.value FROM json_each(?) j WHERE EXISTS (
           SELECT 1 FROM run_nodes n WHERE n.run = j.value AND n.status = 'cached' AND n.cached_from IS NOT NULL)`,
      )
      .pluck() as Statement<number>
    const columns = 'n.run, n.node, n.cache_key AS key, r.id, f.name AS flow, n.emissions, n.outputs'
    const itsRun = 'JOIN runs r ON r.seq = n.run JOIN flows f ON f.id = r.flow'
    const executed = (row: string): string => `${row}.cache_key IS NOT NULL AND ${row}.status = 'succeeded'`
    this.#cached = db.prepare(
      `SELECT ${columns} FROM json_each(?) j JOIN run_nodes n ON (n.run, n.node) = (
         SELECT o.run, o.node FROM run_nodes o INDEXED BY run_nodes_by_key WHERE o.cache_key = j.value AND ${executed('o')}
         ORDER BY o.run DESC, o.node DESC LIMIT 1)
       ${itsRun} ORDER BY j.key`,
    )
    this.#origins = db.prepare(
      `SELECT ${columns} FROM run_nodes n INDEXED BY run_nodes_origins ${itsRun}
       WHERE ${executed('n')} AND (n.run, n.node) < (?, ?) ORDER BY n.run DESC, n.node DESC LIMIT ?`,
    )
    this.#before = db.prepare(
      `SELECT r.id AS run, n.parts FROM run_nodes n JOIN runs r ON r.seq = n.run
       WHERE n.node = @node AND n.parts IS NOT NULL AND n.run IN (
         SELECT o.seq FROM runs o INDEXED BY runs_of_flow WHERE o.flow = @flow AND o.created_at < @before
         ORDER BY o.created_at DESC LIMIT ${NEAREST_RUNS})
       ORDER BY n.run DESC`,
    )
  }

  /** A row is read only when the ones before it had room, so memory holds no more than the page. */
  list({ limit, offset, ...selection }: RunPage): StoredRunList {
    return this.#snapshot(() => {
      const count = this.#selections.count(selection)
      const counted = this.#counts.read(selection.flow)
      const room = new PageRoom(counted)
      return {
        ...pageOf(this.#summaries(seqsOf(this.#selections.page(selection, limit, offset))), count, offset, room),
        ...counted,
      }
    })
  }

  *#summaries(seqs: string): Generator<RunSummary, void, undefined> {
    const now_us = this.#now_us()
    for (const row of this.#bySeqs.iterate(seqs)) yield summaryOf(row, now_us)
  }

  get(id: string): StoredRun | null {
    return this.#snapshot(() => {
      const row = this.#byId.get(id)
      return row ? runOf(row, this.#documents) : null
    })
  }

  head(id: string): StoredRunHead | null {
    const row = this.#head.get(id)
    return row ? headOf(row) : null
  }

  /** Sorted by id, so the newest come last. */
  idsFrom(text: string, most: number): string[] {
    // 'g' comes after all hex digits.
    return this.#short.all({ from: text, to: `${text}g`, most })
  }

  /** Null when there is no such run, or it has no such part. */
  #part(id: string, part: RunPart): Record<string, unknown> | null {
    const row = this.#byId.get(id)
    if (row === undefined || row[part] === null) return null
    const json = row[part] === ELSEWHERE ? this.#documents.text(row.seq, part) : row[part]
    return readable('runs', { seq: row.seq }, () => JSON.parse(json) as Record<string, unknown>)
  }

  /** The inputs with which it was created, also when the record has them masked. */
  given(id: string): Record<string, unknown> | null {
    return this.#snapshot(() => {
      const row = this.#byId.get(id)
      const given = row === undefined ? null : givenInputs(row, this.#documents)
      return given === null ? this.#part(id, 'inputs') : given.inputs
    })
  }

  output(id: string, name: string): RunOutput {
    const result = this.#snapshot(() => this.#part(id, 'result'))
    return {
      has_result: result !== null,
      value: result !== null && Object.hasOwn(result, name) ? result[name] : undefined,
    }
  }

  nodes(id: string): StoredRunNode[] {
    return this.#snapshot(() =>
      this.#nodes
        .all(id)
        .map(({ run, ...row }) =>
          readable('run_nodes', { run, node: row.node }, () => nodeOf(run, row, this.#documents)),
        ),
    )
  }

  /** Newest run first, its curves by name. A curve that has no room on one page goes on on the next. */
  series(request: SeriesRequest): StoredSeriesPage {
    return this.#snapshot(() => {
      const one = request.run === null ? undefined : this.#selected.get(request.run)
      const runs = request.run === null ? this.#selections.page(request, SERIES_RUNS, 0) : one ? [one] : []
      const page = new SeriesPage(request)
      for (const run of runs) {
        for (const curve of this.#curves.of(run, request.name)) {
          if (!page.begins(run.id, curve.name, () => this.#curves.points(curve, request.stride))) continue
          for (const { steps, values, first } of this.#curves.chunks(curve, request.stride, page.skipped)) {
            for (let i = first; i < steps.length; i += request.stride)
              if (!page.takes(steps[i]!, values[i]!)) return page.end(true)
          }
        }
      }
      return page.end(false)
    })
  }

  /** The names of the newest `most` runs of the selection. */
  metricNames(selection: RunSelection, most: number): MetricNames {
    return this.#snapshot(() => {
      const runs = this.#selections.page(selection, most, 0)
      const seqs = seqsOf(runs)
      const names = new Set<string>()
      const flows = new Map<number, string>()
      for (const { flow, name } of this.#names.all(seqs)) {
        let prefix = flows.get(flow)
        if (prefix === undefined) flows.set(flow, (prefix = this.#curves.flowName(flow)))
        names.add(`${prefix}.${name}`)
      }
      // One statement for all runs: most of them reuse nothing.
      const reusing = new Set(this.#reusing.all(seqs))
      for (const run of runs) if (reusing.has(run.seq)) for (const { name } of this.#curves.reused(run)) names.add(name)
      return { names: [...names], before: runs.length < most ? null : runs[runs.length - 1]!.created_at }
    })
  }

  /** The origins in the order of the keys. */
  cached(keys: readonly string[]): CacheOrigin[] {
    return this.#cached.all(JSON.stringify(keys)).map(row => this.#originOf(row))
  }

  /** The newest of each key among the rows of one page, newest first; another page may bring older ones of the same keys. */
  cachePage({ before, entries, bytes: most }: CachePageRequest): CachePage {
    const origins = new Map<string, CacheOrigin>()
    let last = before ?? { run: Number.MAX_SAFE_INTEGER, node: '' }
    let bytes = 0
    for (;;) {
      const rows = this.#origins.all(last.run, last.node, CACHE_ROWS)
      for (const row of rows) {
        last = { run: row.run, node: row.node }
        if (origins.has(row.key)) continue
        const origin = this.#originOf(row)
        origins.set(row.key, origin)
        bytes += JSON.stringify(origin.outputs).length + 256
        if (origins.size >= entries || bytes >= Math.min(most, CACHE_PAGE_BYTES)) {
          return { origins: [...origins.values()], bytes, before: last }
        }
      }
      if (rows.length < CACHE_ROWS) return { origins: [...origins.values()], bytes, before: null }
    }
  }

  nearest(id: string, node: string, parts: FingerprintParts): NearestRun | null {
    const one = this.#selected.get(id)
    if (!one) return null
    let nearest: NearestRun | null = null
    for (const row of this.#before.all({ node, flow: one.flow, before: one.created_at })) {
      const changed = changedParts(JSON.parse(row.parts) as FingerprintParts, parts)
      if (nearest === null || changed.length < nearest.changed.length) nearest = { run: row.run, changed }
    }
    return nearest
  }

  #originOf({ run, key, id, flow, node, emissions, outputs }: OriginRow): CacheOrigin {
    const values = readable('run_nodes', { run, node }, () => outputsOf(run, node, outputs, this.#documents))
    return { key, run: id, flow: shownName(flow), node, emissions, outputs: values ?? [] }
  }

  #snapshot<Result>(read: () => Result): Result {
    return this.#db.transaction(read).deferred()
  }
}

const seqsOf = (runs: readonly SelectedRun[]): string => JSON.stringify(runs.map(({ seq }) => seq))
