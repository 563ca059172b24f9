import type { EngineEvent } from '../../protocol/nouns/event.ts'
import type { Run, RunNode } from '../../protocol/nouns/run.ts'

/** `runId(7)`: an id as engines give them, another one for each number. */
export const runId = (number: number): string => `0190f3c2-7b1e-7cc3-98c4-${String(number).padStart(12, '0')}`

/** A time as engines write it, so many seconds into a day. */
export const timeAt = (second: number): string =>
  `2026-01-02T${new Date(second * 1000).toISOString().slice(11, 19)}.000006+00:00`

/** A run as it is answered: succeeded, unless the fields say otherwise. */
export const runOf = (number: number, fields: Partial<Run> = {}): Run => ({
  id: runId(number),
  flow: 'boiler',
  status: 'succeeded',
  cause: 'cli',
  created_by: 'admin',
  seed: null,
  timeout: null,
  no_cache: false,
  group: fields.groups?.[0] ?? null,
  groups: fields.group ? [fields.group] : [],
  tags: [],
  note: '',
  idempotency_key: null,
  version: 3,
  commit: 'c'.repeat(64),
  origin: null,
  origin_commit: null,
  code_commit: null,
  code_digest: null,
  inputs: {},
  inputs_resolved: fields.inputs ?? {},
  inputs_digest: 'd'.repeat(64),
  result: { mean: 1.5 },
  terminal: ['mean'],
  error: null,
  retry_of: null,
  attempt: 1,
  created_at: timeAt(number),
  started_at: timeAt(number + 1),
  finished_at: timeAt(number + 3),
  cancel_requested_at: null,
  duration: 2,
  ...fields,
})

export const queuedRun = (number: number, fields: Partial<Run> = {}): Run =>
  runOf(number, {
    status: 'queued',
    result: null,
    started_at: null,
    finished_at: null,
    duration: null,
    ...fields,
  })

export const failedRun = (number: number, fields: Partial<Run> = {}): Run =>
  runOf(number, {
    status: 'failed',
    result: null,
    error: { code: 'node_error', message: 'no sensor', node: 'read', stack: null },
    ...fields,
  })

export const runNodeOf = (node: string, fields: Partial<RunNode> = {}): RunNode => ({
  run: runId(1),
  node,
  status: 'succeeded',
  attempt: 1,
  executions: 1,
  emissions: 1,
  asked: null,
  granted: null,
  machine: 'local',
  queued_at: null,
  started_at: timeAt(1),
  finished_at: timeAt(2),
  duration: 0.5,
  duration_s: null,
  cache_key: null,
  cached_from: null,
  metrics_dropped: 0,
  outputs: null,
  error: null,
  ...fields,
})

export const runEvent = (type: string, second: number, fields: Record<string, unknown> = {}): EngineEvent => ({
  type,
  ts: timeAt(second),
  flow: 'boiler',
  run: runId(1),
  ...fields,
})

/** A page as the engine answers it. */
export const pageOf = <Item>(all: readonly Item[], offset: number, limit: number) => {
  const items = all.slice(offset, offset + limit)
  const next = offset + items.length
  return { items, count: all.length, ...(next < all.length ? { next } : {}) }
}
export const listOf = <Item>(...items: Item[]) => ({ items, count: items.length })
