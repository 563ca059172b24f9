import type { ResourceAmounts, RunCause, RunError, RunNodeStatus, RunStatus } from '../../../protocol/nouns/run.ts'
import { readable } from '../file/unreadable.ts'
import type { StoredOutput, StoredRun, StoredRunNode, WrittenNode } from '../front/runs.ts'

/** How runs and their nodes stand in their tables, for who writes and who reads. */

/** `run_counts` has a row for each flow and status, and under this flow one for each status alone. */
export const ALL_FLOWS = 0

/** The flow by a subquery: SQLite plans a join with a parameter anew each time that it is run, which costs more than the row. */
export const RUN_COLUMNS = `r.seq, r.id, (SELECT f.name FROM flows f WHERE f.id = r.flow) AS flow, r.status, r.cause, r.created_by, r.seed, r.timeout, r.no_cache, r.grouped,
  r.idempotency_key, r.version, r."commit", r.origin, r.origin_commit, r.code_commit, r.code_digest, r.inputs, r.resolved, r.inputs_digest, r.result,
  r.terminal, r.error, r.retry_of, r.attempt, r.created_at, r.started_at, r.finished_at, r.cancel_requested_at,
  (SELECT json_group_array(g.grouped ORDER BY g.position) FROM run_groups g WHERE g.run = r.seq) AS joined`

export interface RunRow {
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
  inputs: string
  resolved: string
  inputs_digest: string
  result: string | null
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
}

/** What stepped aside for a rename has a mark before its name; people see the name it had. */
export const shownName = (name: string): string => name.replace(/^~\d+\./, '')

export const runOf = (row: RunRow): StoredRun => readable('runs', { seq: row.seq }, () => parsedRun(row))

function parsedRun(row: RunRow): StoredRun {
  const { seq: _seq, grouped, joined, ...same } = row
  return {
    ...same,
    flow: shownName(row.flow),
    no_cache: row.no_cache === 1,
    groups: [...(grouped === null ? [] : [grouped]), ...(JSON.parse(joined) as string[])],
    origin: parsed<Record<string, unknown>>(row.origin),
    inputs: JSON.parse(row.inputs) as Record<string, unknown>,
    resolved: JSON.parse(row.resolved) as Record<string, unknown>,
    result: parsed<Record<string, unknown>>(row.result),
    terminal: JSON.parse(row.terminal) as string[],
    error: parsed<RunError>(row.error),
  }
}

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

export const nodeOf = (row: NodeRow): StoredRunNode => ({
  ...row,
  asked: parsed<ResourceAmounts>(row.asked),
  granted: parsed<ResourceAmounts>(row.granted),
  parts: parsed<Record<string, string>>(row.parts),
  outputs: parsed<StoredOutput[]>(row.outputs),
  error: parsed<RunError>(row.error),
})

/** How many runs a flow has, by the name that it can be asked for. */
export interface CountRow {
  flow: string
  total: number
  live: number
}
export const COUNTS = `SELECT f.name AS flow, sum(c.count) AS total,
  sum(CASE WHEN c.status IN ('queued', 'running') THEN c.count ELSE 0 END) AS live
  FROM run_counts c JOIN flows f ON f.id = c.flow WHERE f.name NOT LIKE '~%' GROUP BY f.id HAVING total > 0`
export const countsOf = (rows: readonly CountRow[]): Record<string, { total: number; live: number }> =>
  Object.fromEntries(rows.map(({ flow, total, live }) => [flow, { total, live }]))

/** What `writtenNode` answers, in its order. */
export const WRITTEN_NODE =
  'node, position, status, attempt, executions, emissions, asked, granted, machine, queued_at, started_at, finished_at, body_s, ' +
  'expected_s, cache_key, cached_from, error, parts, outputs, metrics_dropped'

/** A row of `run_nodes` without its run, as it is bound: it crosses threads so, and the store need not read what it only keeps. */
export const writtenNode = (node: StoredRunNode): WrittenNode => [
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
  written(node.outputs),
  node.metrics_dropped,
]

export const parsed = <T>(text: string | null): T | null => (text === null ? null : (JSON.parse(text) as T))
/** JSON for a column; null stays null. */
export const written = (value: unknown): string | null => (value === null ? null : JSON.stringify(value))
/** A time for a column. */
export const whole = (time: number | null): number | null => (time === null ? null : Math.floor(time))
