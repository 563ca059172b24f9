import type { EngineEvent, EventType } from '../../protocol/nouns/event.ts'
import type { Run, RunNode } from '../../protocol/nouns/run.ts'
import { formatTime } from '../../protocol/time.ts'
import type { NewRun, StoredRun, StoredRunNode } from '../store/front/runs.ts'

export const eventOf = (
  type: EventType,
  flow: string,
  now_us: number,
  more: Record<string, unknown> & { run: string },
): EngineEvent => ({
  type,
  ts: formatTime(now_us),
  flow,
  ...more,
})

/** A run as the store has just written it. */
export const queuedRun = (run: NewRun, created_at: number): StoredRun => ({
  ...run,
  status: 'queued',
  code_commit: null,
  code_digest: null,
  result: null,
  terminal: [],
  error: null,
  created_at,
  started_at: null,
  finished_at: null,
  cancel_requested_at: null,
})

/** A stored run as it is answered; `now_us` is what the duration of a running one ends at. */
export function shownRun(run: StoredRun, now_us: number): Run {
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
    idempotency_key: run.idempotency_key,
    version: run.version,
    commit: run.commit,
    origin: run.origin,
    origin_commit: run.origin_commit,
    code_commit: run.code_commit,
    code_digest: run.code_digest,
    inputs: run.inputs,
    inputs_resolved: run.resolved,
    inputs_digest: run.inputs_digest,
    result: run.result,
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

export function shownNode(run: StoredRun, row: StoredRunNode): RunNode {
  const outputs: Record<string, unknown> = {}
  for (const { message, value } of row.outputs ?? []) outputs[`${run.flow}.${message}`] = value
  return {
    run: run.id,
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
    outputs: row.outputs === null ? null : outputs,
    error: row.error,
  }
}

const time = (us: number | null): string | null => (us === null ? null : formatTime(us))
