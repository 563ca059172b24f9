import { type Comparison, compare, fits, type RunField, type RunOrder } from '../../../../core/runs/run-query.ts'
import { ServiceError } from '../../../../protocol/errors.ts'
import { limits } from '../../../../protocol/limits.ts'
import { didYouMean } from '../../../../protocol/nearest.ts'
import { PageRoom, pageOf } from '../../../list-page.ts'
import type { Connection, Statement } from '../../file/database.ts'
import type { RunSearch } from '../../front/runs.ts'
import type { RunCurves } from '../curves.ts'
import type { ExportPage } from '../export-page.ts'
import { ListedCounts, SUMMARY_COLUMNS, type SummaryRow } from '../rows.ts'
import type { RunSelections, SelectedRun } from '../selection.ts'
import { RunFields } from './run-fields.ts'
import { summaryOf } from './summary-row.ts'

/** A search lets other reads in after this time, and continues in its next page. */
const SLICE_MS = 5
/** Runs that are read for the names in a refusal, and names that it shows. */
const NAMED_RUNS = 100
const NAMES = 20

interface Reading {
  db: Connection
  selections: RunSelections
  curves: RunCurves
}
interface Found {
  run: SelectedRun
  /** The value to sort by. */
  key: unknown
}

/**
 * The runs of a selection that fit every comparison, in an order, as one page of JSON. The newest `RUNS_SEARCHED` of the selection are
 * read one by one, since values of runs have no index. Empty pages before the answer let other reads in.
 */
export function* searchPages(
  { db, selections, curves }: Reading,
  search: RunSearch,
  page: ExportPage,
  now_us: number,
): Generator<Uint8Array<ArrayBuffer>> {
  const { where, order, columns, limit, offset } = search
  const isLooked = where.length > 0 || order !== null
  const all = isLooked ? selections.page(search, limits.RUNS_SEARCHED + 1, 0) : selections.page(search, limit, offset)
  const truncated = isLooked && all.length > limits.RUNS_SEARCHED
  const runs = truncated ? all.slice(0, -1) : all
  const fields = [...where.map(({ field }) => field), ...(order === null ? [] : [order.field])]
  const looked = new Look(new RunFields(db, curves, fields, now_us), fields, where, order)
  if (isLooked) {
    let until = performance.now() + SLICE_MS
    for (const run of runs) {
      looked.at(run)
      if (performance.now() < until) continue
      yield page.take()
      until = performance.now() + SLICE_MS
    }
    looked.assertNamed(runs)
  }
  const chosen = isLooked ? looked.sorted().slice(offset, offset + limit) : runs
  const count = isLooked ? looked.found.length : selections.count(search)
  const counted = new ListedCounts(db).read(search.flow)
  const summaries = shown(db, chosen, new RunFields(db, curves, columns, now_us), columns, now_us)
  page.add(JSON.stringify({ ...pageOf(summaries, count, offset, new PageRoom(counted)), ...counted, truncated }))
  yield page.take()
}

function* shown(
  db: Connection,
  runs: readonly SelectedRun[],
  values: RunFields,
  columns: readonly RunField[],
  now_us: number,
): Generator<unknown, void, undefined> {
  const find = db.prepare(`SELECT ${SUMMARY_COLUMNS} FROM runs r WHERE r.seq = ?`) as Statement<SummaryRow>
  for (const run of runs) {
    const row = find.get(run.seq)
    // It was deleted after it was found.
    if (row === undefined) continue
    const summary = summaryOf(row, now_us)
    const cells = columns.length === 0 ? null : values.of(run)
    yield cells === null
      ? summary
      : { ...summary, columns: Object.fromEntries(columns.map(({ text }, at) => [text, cellOf(cells[at])])) }
  }
}

/** A value as lists show it; long values are read at the run. */
const cellOf = (value: unknown): unknown => {
  if (value === undefined || (typeof value === 'object' && value !== null)) return null
  return typeof value === 'string' && value.length > limits.RUN_SUMMARY_CHARACTERS ? null : value
}

class Look {
  readonly found: Found[] = []
  readonly #values: RunFields
  readonly #fields: readonly RunField[]
  readonly #where: readonly Comparison[]
  readonly #order: RunOrder | null
  readonly #seen = new Set<RunField>()

  constructor(values: RunFields, fields: readonly RunField[], where: readonly Comparison[], order: RunOrder | null) {
    this.#values = values
    this.#fields = fields
    this.#where = where
    this.#order = order
  }

  at(run: SelectedRun): void {
    const values = this.#values.of(run)
    if (values === null) return
    for (const [at, field] of this.#fields.entries()) if (values[at] !== undefined) this.#seen.add(field)
    if (this.#where.every((comparison, at) => fits(values[at], comparison)))
      this.found.push({ run, key: this.#order === null ? undefined : values.at(-1) })
  }

  /** Runs without the value come last; of equal ones the newest first. */
  sorted(): SelectedRun[] {
    if (this.#order !== null) {
      const sign = this.#order.descending ? -1 : 1
      const isLast = ({ key }: Found): number => (key === undefined ? 1 : 0)
      this.found.sort((a, b) => isLast(a) - isLast(b) || sign * compare(a.key, b.key) || b.run.seq - a.run.seq)
    }
    return this.found.map(({ run }) => run)
  }

  /** Refuses a name that no run has, since an empty list would hide the mistake, and a name that stands for several metrics. */
  assertNamed(runs: readonly SelectedRun[]): void {
    if (runs.length === 0) return
    for (const field of this.#fields) {
      const { kind, path, text } = field
      if (kind !== 'input' && kind !== 'result' && kind !== 'metric') continue
      const metrics = [...(this.#values.metrics.get(text) ?? [])].sort()
      if (metrics.length > 1)
        throw new ServiceError('bad_filter', `"${text}" stands for ${metrics.slice(0, NAMES).join(', ')}.`)
      if (this.#seen.has(field)) continue
      const names = this.#values.names(runs.slice(0, NAMED_RUNS), kind)
      const what = { input: 'inputs', result: 'values of results', metric: 'metrics' }[kind]
      const there = names.length === 0 ? `They have no ${what}.` : `Their ${what}: ${names.slice(0, NAMES).join(', ')}.`
      throw new ServiceError('bad_filter', `None of these runs has ${text}.${didYouMean(path, names)} ${there}`)
    }
  }
}
