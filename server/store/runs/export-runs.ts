import { limits } from '../../../protocol/limits.ts'
import type { RunError } from '../../../protocol/nouns/run.ts'
import { formatTime } from '../../../protocol/time.ts'
import type { ExportRunColumn } from '../../../protocol/words/run-columns.ts'
import { isLive, type RunStatus } from '../../../protocol/words/run-status.ts'
import type { Connection, Statement } from '../file/database.ts'
import type { ExportRunsRequest } from '../front/runs.ts'
import type { RunCurves } from './curves.ts'
import { DocumentReader, ELSEWHERE } from './documents.ts'
import { ExportColumns, isShown, leavesOf } from './export-columns.ts'
import type { ExportPage } from './export-page.ts'
import { exportText } from './export-text.ts'
import type { SelectedRun } from './selection.ts'

/** Columns that are exported on request, between the fixed ones and the inputs. */
const OPTIONAL: Readonly<Record<ExportRunColumn, (row: Row) => unknown>> = {
  seed: row => row.seed,
  group: row => row.grouped,
  groups: ({ grouped, joined }) => [...(grouped === null ? [] : [grouped]), ...(JSON.parse(joined) as string[])],
  tags: row => JSON.parse(row.tags) as string[],
  note: row => row.note,
  created_at: row => formatTime(row.created_at),
  error: ({ error }) => {
    if (error === null) return null
    const { code, message } = JSON.parse(error) as RunError
    return `${code}: ${message}`
  },
}

const FIXED = ['run', 'flow', 'status', 'duration', 'commit', 'code_digest']

interface Row {
  status: RunStatus
  commit: string
  code_digest: string | null
  started_at: number | null
  finished_at: number | null
  seed: number | null
  /** The first of its groups; the others are `joined`. */
  grouped: string | null
  joined: string
  tags: string
  note: string
  created_at: number
  error: string | null
  resolved: string
  result: string | null
}

/**
 * The pages of a runs export: a row per run. The runs are read twice, first to find the columns. A run that had not ended then
 * is written as it was then, so that its result needs no further column. Between two pages it holds nothing of
 * the database. The rows that are read for one page are bounded, too.
 */
export function* runPages(
  db: Connection,
  runs: readonly SelectedRun[],
  curves: RunCurves,
  request: ExportRunsRequest,
  page: ExportPage,
): Generator<Uint8Array<ArrayBuffer>> {
  const find = db.prepare(
    `SELECT status, "commit", code_digest, started_at, finished_at, seed, grouped, created_at, error, resolved, result, note,
     (SELECT json_group_array(g.grouped ORDER BY g.position) FROM run_groups g WHERE g.run = runs.seq) AS joined,
     (SELECT json_group_array(t.tag ORDER BY t.position) FROM run_tags t WHERE t.run = runs.seq) AS tags FROM runs WHERE seq = ?`,
  ) as Statement<Row>
  const documents = new DocumentReader(db)
  const get = (seq: number): Row => {
    const row = find.get(seq)!
    if (row.resolved === ELSEWHERE) row.resolved = documents.text(seq, 'resolved')
    if (row.result === ELSEWHERE) row.result = documents.text(seq, 'result')
    return row
  }
  const columns = new ExportColumns()
  const live = new Map<number, Row>()
  let read = 0
  const isMuch = (row: Row): boolean => {
    read += ROW_CHARACTERS + row.resolved.length + (row.result?.length ?? 0)
    if (read < limits.EXPORT_PAGE_BYTES) return false
    read = 0
    return true
  }
  for (const { seq } of runs) {
    const row = get(seq)
    if (isLive(row.status)) live.set(seq, { ...row, resolved: '', result: null })
    columns.add(JSON.parse(row.resolved), parsedResult(row))
    if (isMuch(row)) yield page.take()
  }
  const inputs = columns.inputs()
  const numbers = columns.numbers()
  const metrics = [...new Set(request.metrics)]
  const names = [...inputs, ...numbers].map(({ name }) => name)
  const text = exportText([...FIXED, ...request.columns, ...names, ...metrics.map(name => `metrics.${name}`)], request)
  page.add(text.head)
  for (const run of runs) {
    const row = get(run.seq)
    const then = live.get(run.seq) ?? row
    const given = leavesOf(JSON.parse(row.resolved))
    const result = leavesOf(then === row ? parsedResult(row) : null)
    const last = metrics.length === 0 ? [] : curves.of(run)
    const number = (value: unknown): unknown => (isShown(value) ? value : null)
    const cells = [
      run.id,
      curves.flowName(run.flow),
      then.status,
      duration(then),
      then.commit,
      then.code_digest,
      ...request.columns.map(name => OPTIONAL[name](then)),
      ...inputs.map(({ id }) => given.get(id)),
      ...numbers.map(({ id }) => number(result.get(id))),
      ...metrics.map(name => last.find(curve => curve.name === name)?.last_value),
    ]
    page.add(text.row(cells))
    if (isMuch(row) || page.isFull) yield page.take()
  }
  yield page.take()
}

/** The cost of a row besides its JSON, in characters. */
const ROW_CHARACTERS = 256

const parsedResult = ({ result }: Row): unknown => (result === null ? null : JSON.parse(result))

/** Seconds; only for a run that has ended, so that equal selections give equal texts. */
const duration = ({ started_at, finished_at }: Row): number | null =>
  started_at === null || finished_at === null ? null : (finished_at - started_at) / 1e6
