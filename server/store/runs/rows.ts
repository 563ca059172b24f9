import { isLongJson, jsonPieces } from '../../../core/json-text.ts'
import { MASK } from '../../../core/masks/table.ts'
import type { Steps } from '../../../core/steps.ts'
import { limits } from '../../../protocol/limits.ts'
import type {
  ResourceAmounts,
  RunCause,
  RunCounts,
  RunError,
  RunNodeStatus,
  RunStatus,
  RunTotals,
} from '../../../protocol/nouns/run.ts'
import type { Connection, Statement } from '../file/database.ts'
import { readable } from '../file/unreadable.ts'
import type {
  AnsweredRun,
  GivenInputs,
  RunDocument,
  StoredOutput,
  StoredRun,
  StoredRunHead,
  StoredRunNode,
  WrittenNode,
} from '../front/runs.ts'
import { type DocumentReader, ELSEWHERE, givenPart, isLong, outputPart, type RunPart } from './documents.ts'
import { cutValues } from './run-summary.ts'

/** The columns of runs and their nodes, for the writer and the reader. */

/** `run_counts` has a row for each flow and status, and under this flow one for each status alone. */
export const ALL_FLOWS = 0

/** The flow comes from a subquery, since SQLite plans a join with a parameter again for each execution, which takes longer than the row. */
const COLUMNS = `r.seq, r.id, (SELECT f.name FROM flows f WHERE f.id = r.flow) AS flow, r.status, r.cause, r.created_by, r.seed, r.timeout, r.no_cache, r.grouped,
  r.idempotency_key, r.version, r."commit", r.origin, r.origin_commit, r.code_commit, r.code_digest, r.inputs_digest, r.terminal, r.error, r.retry_of, r.attempt,
  r.created_at, r.started_at, r.finished_at, r.cancel_requested_at,
  (SELECT json_group_array(g.grouped ORDER BY g.position) FROM run_groups g WHERE g.run = r.seq) AS joined,
  (SELECT json_group_array(t.tag ORDER BY t.position) FROM run_tags t WHERE t.run = r.seq) AS tags, r.note`
export const RUN_COLUMNS = `${COLUMNS}, r.inputs, r.resolved, r.result`
/** The columns without the values. */
export const HEAD_COLUMNS = COLUMNS
/** With the part of inputs and result that lists show, or all of them when they are short. */
export const SUMMARY_COLUMNS = `${COLUMNS}, coalesce(r.inputs_summary, r.inputs) AS inputs, r.inputs_summary IS NOT NULL AS inputs_cut,
  coalesce(r.result_summary, r.result) AS result, r.result_summary IS NOT NULL AS result_cut`

export interface HeadRow {
  seq: number
  id: string
  flow: string
  status: RunStatus
  cause: RunCause
  created_by: string
  seed: number | null
  timeout: number | null
  no_cache: number
  grouped: string | null
  idempotency_key: string | null
  version: number
  commit: string
  origin: string | null
  origin_commit: string | null
  code_commit: string | null
  code_digest: string | null
  inputs_digest: string
  terminal: string
  error: string | null
  retry_of: string | null
  attempt: number
  created_at: number
  started_at: number | null
  finished_at: number | null
  cancel_requested_at: number | null
  /** The groups after `grouped`. */
  joined: string
  tags: string
  note: string
}

/** A value is `ELSEWHERE` when it is stored as a document. */
export interface RunRow extends HeadRow {
  inputs: string
  resolved: string
  result: string | null
}

export interface SummaryRow extends HeadRow {
  inputs: string
  inputs_cut: number
  result: string | null
  result_cut: number
}

/** A deleted flow whose name was taken has a prefix in its stored name; people see its old name. */
export const shownName = (name: string): string => name.replace(/^~\d+\./, '')

/** The whole run, with its documents. */
export const runOf = (row: RunRow, documents: DocumentReader): StoredRun =>
  readable('runs', { seq: row.seq }, () => {
    const part = (name: RunPart): string | null => (row[name] === ELSEWHERE ? documents.text(row.seq, name) : row[name])
    const values = { inputs: part('inputs')!, resolved: part('resolved')!, result: part('result') }
    return { ...parsedHead(row), ...parsedValues(values) }
  })

/** The run with the inputs on which it executes; its record may have them masked. */
export const executedRun = (row: RunRow, documents: DocumentReader): StoredRun => ({
  ...runOf(row, documents),
  ...givenInputs(row, documents),
})

/** The inputs as they were given, of a run whose record has them masked; null when the record has them as they are. */
export function givenInputs(row: RunRow, documents: DocumentReader): GivenInputs | null {
  if (![row.inputs, row.resolved].some(json => json === ELSEWHERE || json.includes(MASK))) return null
  const part = (name: keyof GivenInputs): Record<string, unknown> | null =>
    readable('runs', { seq: row.seq }, () => parsed(documents.text(row.seq, givenPart(name)) || null))
  const inputs = part('inputs')
  const resolved = part('resolved')
  return inputs === null || resolved === null ? null : { inputs, resolved }
}

/** The run, without its values when one of them is long. */
export const answeredRun = (row: RunRow): AnsweredRun =>
  readable('runs', { seq: row.seq }, () =>
    hasLong(row) ? parsedHead(row) : { ...parsedHead(row), ...parsedValues(row) },
  )

const hasLong = ({ inputs, resolved, result }: RunRow): boolean =>
  [inputs, resolved, result].some(json => json !== null && (json === ELSEWHERE || isLong(json)))

const parsedValues = ({ inputs, resolved, result }: Pick<RunRow, RunPart>): Pick<StoredRun, RunPart> => ({
  inputs: JSON.parse(inputs) as Record<string, unknown>,
  resolved: JSON.parse(resolved) as Record<string, unknown>,
  result: parsed<Record<string, unknown>>(result),
})

export const headOf = (row: HeadRow): StoredRunHead => readable('runs', { seq: row.seq }, () => parsedHead(row))

const parsedHead = (row: HeadRow): StoredRunHead => ({
  id: row.id,
  flow: shownName(row.flow),
  status: row.status,
  cause: row.cause,
  created_by: row.created_by,
  seed: row.seed,
  timeout: row.timeout,
  no_cache: row.no_cache === 1,
  groups: [...(row.grouped === null ? [] : [row.grouped]), ...(JSON.parse(row.joined) as string[])],
  tags: JSON.parse(row.tags) as string[],
  note: row.note,
  idempotency_key: row.idempotency_key,
  version: row.version,
  commit: row.commit,
  origin: parsed<Record<string, unknown>>(row.origin),
  origin_commit: row.origin_commit,
  code_commit: row.code_commit,
  code_digest: row.code_digest,
  inputs_digest: row.inputs_digest,
  terminal: JSON.parse(row.terminal) as string[],
  error: parsed<RunError>(row.error),
  retry_of: row.retry_of,
  attempt: row.attempt,
  created_at: row.created_at,
  started_at: row.started_at,
  finished_at: row.finished_at,
  cancel_requested_at: row.cancel_requested_at,
})

export const NODE_COLUMNS = `n.node, n.position, n.status, n.attempt, n.executions, n.emissions, n.asked, n.granted, n.machine, n.queued_at,
  n.started_at, n.finished_at, n.body_s, n.expected_s, n.cache_key, n.cached_from, n.error, n.parts, n.outputs, n.metrics_dropped`

export interface NodeRow {
  node: string
  position: number
  status: RunNodeStatus
  attempt: number
  executions: number
  emissions: number
  asked: string | null
  granted: string | null
  machine: string | null
  queued_at: number | null
  started_at: number | null
  finished_at: number | null
  body_s: number | null
  expected_s: number | null
  cache_key: string | null
  cached_from: string | null
  error: string | null
  parts: string | null
  outputs: string | null
  metrics_dropped: number
}

/** The outputs in the row; values of some may be documents. */
export const rowOutputs = (outputs: string | null): RowOutput[] | null => parsed<RowOutput[]>(outputs)

/** An output in its row: with its value, or with `document`. */
export type RowOutput = Omit<StoredOutput, 'value'> & ({ value: unknown; document?: undefined } | { document: true })

/** The outputs with the values that are documents. */
export const outputsOf = (
  run: number,
  node: string,
  outputs: string | null,
  documents: DocumentReader,
): StoredOutput[] | null =>
  rowOutputs(outputs)?.map(({ document, ...output }) =>
    document === undefined
      ? (output as StoredOutput)
      : { ...output, value: JSON.parse(documents.text(run, outputPart(node, output.port))) },
  ) ?? null

export const nodeOf = (run: number, row: NodeRow, documents: DocumentReader): StoredRunNode => ({
  ...nodeHeadOf(row),
  outputs: outputsOf(run, row.node, row.outputs, documents),
})

export const nodeHeadOf = ({ outputs: _, ...row }: NodeRow): Omit<StoredRunNode, 'outputs'> => ({
  ...row,
  asked: parsed<ResourceAmounts>(row.asked),
  granted: parsed<ResourceAmounts>(row.granted),
  parts: parsed<Record<string, string>>(row.parts),
  error: parsed<RunError>(row.error),
})

/** How many runs a flow has. Deleted flows whose name was taken are left out. */
export interface CountRow {
  flow: string
  total: number
  live: number
}
export const COUNTS = `SELECT f.name AS flow, sum(c.count) AS total,
  sum(CASE WHEN c.status IN ('queued', 'running') THEN c.count ELSE 0 END) AS live
  FROM run_counts c JOIN flows f ON f.id = c.flow WHERE f.name NOT LIKE '~%' GROUP BY f.id HAVING total > 0`
/** The flows that a list shows, the requested one first, each row with the sums over all flows. */
const LISTED_COUNTS = `SELECT *, count(*) OVER () AS flows, sum(total) OVER () AS all_total, sum(live) OVER () AS all_live
  FROM (${COUNTS}) ORDER BY flow IS @flow DESC, live DESC, total DESC, flow LIMIT ${limits.RUN_COUNTS}`

/** The counts in the answer of a list of runs. About 9 ms on the reader with 5,000 flows, as measured. */
export class ListedCounts {
  readonly #rows: Statement<CountRow & { flows: number; all_total: number; all_live: number }>

  constructor(db: Connection) {
    this.#rows = db.prepare(LISTED_COUNTS)
  }

  read(flow: string | null): { counts: RunCounts; totals: RunTotals } {
    const rows = this.#rows.all({ flow })
    const { flows = 0, all_total: total = 0, all_live: live = 0 } = rows[0] ?? {}
    return { counts: countsOf(rows), totals: { flows, total, live } }
  }
}

export const countsOf = (rows: readonly CountRow[]): Record<string, { total: number; live: number }> =>
  Object.fromEntries(rows.map(({ flow, total, live }) => [flow, { total, live }]))

/** The columns of `writtenNode`, in its order. */
export const WRITTEN_NODE =
  'node, position, status, attempt, executions, emissions, asked, granted, machine, queued_at, started_at, finished_at, body_s, ' +
  'expected_s, cache_key, cached_from, error, parts, outputs, metrics_dropped'

/**
 * A row of `run_nodes` without its run, as the values to bind. It crosses threads in this form, so the store need not parse it. Values
 * that would make it long are added to `documents`.
 */
export function* writtenNode(node: StoredRunNode, documents: RunDocument[]): Steps<WrittenNode> {
  const outputs = node.outputs === null ? null : yield* writtenOutputs(node.node, node.outputs, documents)
  return [
    node.node,
    node.position,
    node.status,
    node.attempt,
    node.executions,
    node.emissions,
    written(node.asked),
    written(node.granted),
    node.machine,
    whole(node.queued_at),
    whole(node.started_at),
    whole(node.finished_at),
    node.body_s,
    node.expected_s,
    node.cache_key,
    node.cached_from,
    written(node.error),
    written(node.parts),
    outputs,
    node.metrics_dropped,
  ]
}

/** Each value becomes JSON once; a long one as consecutive pieces in `documents`. */
export function* writtenOutputs(
  node: string,
  outputs: readonly StoredOutput[],
  documents: RunDocument[],
): Steps<string> {
  const texts: string[] = []
  for (const { value, ...output } of outputs) {
    const head = JSON.stringify(output).slice(0, -1)
    const pieces = isLongJson(value) ? yield* jsonPieces(value) : [JSON.stringify(value)]
    if (pieces.length === 1 && !isLong(pieces[0]!)) {
      texts.push(`${head},"value":${pieces[0]}}`)
      continue
    }
    const part = outputPart(node, output.port)
    for (const json of pieces) documents.push({ part, json })
    texts.push(`${head},"document":true}`)
  }
  return `[${texts.join(',')}]`
}

export const parsed = <T>(text: string | null): T | null => (text === null ? null : (JSON.parse(text) as T))
/** JSON for a column; null stays null. */
export const written = (value: unknown): string | null => (value === null ? null : JSON.stringify(value))
/** A time for a column. */
export const whole = (time: number | null): number | null => (time === null ? null : Math.floor(time))

/** A value as its row stores it: as text, or as a document (`long`) with the summary for lists. */
export function columnOf(value: Readonly<Record<string, unknown>>): {
  text: string
  summary: string | null
  long: string | null
} {
  const json = JSON.stringify(value)
  if (!isLong(json)) return { text: json, summary: null, long: null }
  return { text: ELSEWHERE, summary: JSON.stringify(cutValues(value).values), long: json }
}
