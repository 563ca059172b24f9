import type { Run, RunNode } from '../../../protocol/nouns/run.ts'
import { formatTime } from '../../../protocol/time.ts'
import type { StoredRun, StoredRunHead, StoredRunNode } from './runs.ts'

/** A run in which the caller fills in the values. */
export type ShownRun<Value> = Omit<Run, 'inputs' | 'inputs_resolved' | 'result'> & {
  inputs: Value
  inputs_resolved: Value
  result: Value
}

/** A stored run as it is answered. The duration of a running run ends at `now_us`. */
export const shownRun = (run: StoredRun, now_us: number): Run =>
  shownWith(run, { inputs: run.inputs, inputs_resolved: run.resolved, result: run.result }, now_us) as Run

/** The same with these values. */
export function shownWith<Value>(
  run: StoredRunHead,
  { inputs, inputs_resolved, result }: Pick<ShownRun<Value>, 'inputs' | 'inputs_resolved' | 'result'>,
  now_us: number,
): ShownRun<Value> {
  const end = run.finished_at ?? now_us
  return {
    id: run.id,
    flow: run.flow,
    status: run.status,
    cause: run.cause,
    created_by: run.created_by,
    seed: run.seed,
    timeout: run.timeout,
    no_cache: run.no_cache,
    group: run.groups[0] ?? null,
    groups: run.groups,
    tags: run.tags,
    note: run.note,
    idempotency_key: run.idempotency_key,
    version: run.version,
    commit: run.commit,
    origin: run.origin,
    origin_commit: run.origin_commit,
    code_commit: run.code_commit,
    code_digest: run.code_digest,
    inputs,
    inputs_resolved,
    inputs_digest: run.inputs_digest,
    result,
    terminal: run.terminal,
    error: run.error,
    retry_of: run.retry_of,
    attempt: run.attempt,
    created_at: formatTime(run.created_at),
    started_at: time(run.started_at),
    finished_at: time(run.finished_at),
    cancel_requested_at: time(run.cancel_requested_at),
    duration: run.started_at === null ? null : Math.max(0, (end - run.started_at) / 1e6),
  }
}

export function shownNode(run: Pick<StoredRun, 'id' | 'flow'>, row: StoredRunNode): RunNode {
  const outputs: Record<string, unknown> = {}
  for (const { message, value } of row.outputs ?? []) outputs[`${run.flow}.${message}`] = value
  return shownNodeWith(run.id, row, row.outputs === null ? null : outputs) as RunNode
}

/** The same with these outputs. */
export function shownNodeWith<Outputs>(
  run: string,
  row: Omit<StoredRunNode, 'outputs'>,
  outputs: Outputs,
): Omit<RunNode, 'outputs'> & { outputs: Outputs } {
  return {
    run,
    node: row.node,
    status: row.status,
    attempt: row.attempt,
    executions: row.executions,
    emissions: row.emissions,
    asked: row.asked,
    granted: row.granted,
    machine: row.machine,
    queued_at: time(row.queued_at),
    started_at: time(row.started_at),
    finished_at: time(row.finished_at),
    duration: row.body_s,
    duration_s: row.expected_s,
    cache_key: row.cache_key,
    cached_from: row.cached_from,
    metrics_dropped: row.metrics_dropped,
    outputs,
    error: row.error,
  }
}

const time = (us: number | null): string | null => (us === null ? null : formatTime(us))
