/** Runs as the store is given them, with everything that a test does not speak of filled in. */
import { v7 } from 'uuid'
import type {
  ClaimRun,
  ExportForm,
  FinishRun,
  MetricPoint,
  NewRun,
  RunProgress,
  RunSelection,
  RunStore,
  StoredRun,
  StoredRunNode,
} from '../../server/store/front/runs.ts'

export const newRun = (flow: string, more: Partial<NewRun> = {}): NewRun => ({
  id: v7(),
  flow,
  cause: 'api',
  created_by: 'ada',
  seed: null,
  timeout: null,
  no_cache: false,
  groups: [],
  tags: [],
  note: '',
  idempotency_key: null,
  version: 1,
  commit: 'c0ffee',
  origin: null,
  origin_commit: null,
  inputs: {},
  resolved: {},
  inputs_digest: 'd1',
  retry_of: null,
  attempt: 1,
  ...more,
})

export const claimOf = (id: string, more: Partial<ClaimRun> = {}): ClaimRun => ({
  id,
  epoch: 1,
  code_digest: null,
  code_commit: null,
  started_at: 1_000_000,
  whole: true,
  event: null,
  ...more,
})

export const finishOf = (id: string, more: Partial<FinishRun> = {}): FinishRun => ({
  id,
  epoch: 1,
  status: 'succeeded',
  result: {},
  terminal: [],
  error: null,
  finished_at: 3_500_000,
  events: [],
  ...more,
})

export const nodeRow = (node: string, more: Partial<StoredRunNode> = {}): StoredRunNode => ({
  node,
  position: 0,
  status: 'succeeded',
  attempt: 1,
  executions: 1,
  emissions: 1,
  asked: null,
  granted: null,
  machine: null,
  queued_at: null,
  started_at: null,
  finished_at: null,
  body_s: null,
  expected_s: null,
  cache_key: null,
  parts: null,
  outputs: null,
  cached_from: null,
  metrics_dropped: 0,
  error: null,
  ...more,
})

export const progressOf = (id: string, more: Partial<RunProgress> = {}): RunProgress => ({
  id,
  nodes: [],
  metrics: [],
  artifacts: [],
  log: null,
  ...more,
})

/** `count` points of one curve: steps from 0, values given by `value`. */
export const curve = (name: string, count: number, value = (step: number): number => step / 4): MetricPoint[] =>
  Array.from({ length: count }, (_, step) => ({ name, step, value: value(step) }))

export const everyRun: RunSelection = { flow: null, group: null, status: null, since: null, before: null }

/** A run from its creation to its end. */
export async function ranRun(
  runs: RunStore,
  run: NewRun,
  progress: Partial<RunProgress> = {},
  end: Partial<FinishRun> = {},
): Promise<StoredRun> {
  await runs.create(run, null)
  await runs.claim(claimOf(run.id))
  await runs.finish(finishOf(run.id, end), progressOf(run.id, progress), null)
  return (await runs.get(run.id))!
}

/** Creates it, or finds the one that was there, and reads it. */
export async function created(runs: RunStore, run: NewRun): Promise<{ run: StoredRun; replayed: boolean }> {
  const { there } = await runs.create(run, null)
  return {
    run: (there !== null && 'inputs' in there ? there : null) ?? (await runs.get(there?.id ?? run.id))!,
    replayed: there !== null,
  }
}

export async function textOf(pages: AsyncIterable<Uint8Array>): Promise<string> {
  let text = ''
  const decoder = new TextDecoder()
  for await (const page of pages) text += decoder.decode(page, { stream: true })
  return text + decoder.decode()
}

export const csv: ExportForm = { format: 'csv', raw: false }
export const jsonl: ExportForm = { format: 'jsonl', raw: false }
