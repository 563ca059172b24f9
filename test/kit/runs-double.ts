import { v7 as uuidv7 } from 'uuid'
import { ServiceError } from '../../protocol/errors.ts'
import type { List } from '../../protocol/nouns/list.ts'
import {
  type CreateRun,
  isLive,
  type MetricSeries,
  type Run,
  type RunNode,
  type RunNodeWhy,
} from '../../protocol/nouns/run.ts'
import type { CreatedBatchRun, Runs, RunsPage } from '../../server/runs/batch-runs.ts'
import { shownRun } from '../../server/runs/run-view.ts'
import type { RunExport } from '../../server/store/front/runs.ts'

/** Runs in memory, for what stands in front of them: they are queued for ever, or cancelled. */
export class RunsDouble implements Runs {
  readonly #runs = new Map<string, Run>()
  readonly #flowExists: (name: string) => void
  #now_us = 1_767_225_600_000_000
  /** What exports answer. */
  exported: Uint8Array[] = []

  constructor(flowExists: (name: string) => void) {
    this.#flowExists = flowExists
  }

  async create(flow: string, request: CreateRun, caller: string): Promise<CreatedBatchRun> {
    this.#flowExists(flow)
    const key = request.idempotency_key ?? null
    const inputs = request.inputs ?? {}
    const same = (one: Run): boolean =>
      key !== null && one.flow === flow && one.created_by === caller && one.idempotency_key === key
    const before = [...this.#runs.values()].find(same)
    if (before !== undefined) {
      const mismatch = JSON.stringify(before.inputs) !== JSON.stringify(inputs)
      return { run: before, replayed: true, mismatch }
    }
    return { run: this.#add(flow, request, caller, null, 1), replayed: false, mismatch: false }
  }

  #add(flow: string, request: CreateRun, caller: string, retry_of: string | null, attempt: number): Run {
    const inputs = request.inputs ?? {}
    const now = this.#now_us++
    const run = shownRun(
      {
        id: uuidv7(),
        flow,
        status: 'queued',
        cause: request.cause ?? 'api',
        created_by: caller,
        seed: request.seed ?? null,
        timeout: request.timeout ?? null,
        no_cache: request.no_cache ?? false,
        group: request.group ?? null,
        idempotency_key: request.idempotency_key ?? null,
        version: 1,
        commit: 'c'.repeat(64),
        origin: null,
        origin_commit: request.origin_commit ?? null,
        code_digest: null,
        inputs,
        resolved: inputs,
        inputs_digest: '',
        result: null,
        terminal: [],
        error: null,
        retry_of,
        attempt,
        created_at: now,
        started_at: null,
        finished_at: null,
        cancel_requested_at: null,
      },
      now,
    )
    this.#runs.set(run.id, run)
    return run
  }

  async list({ limit, offset, flow, group, status }: RunsPage) {
    const chosen = [...this.#runs.values()]
      .filter(run => flow === null || run.flow === flow)
      .filter(run => group === null || run.group === group)
      .filter(run => status === null || run.status === status)
      .reverse()
    const counts: Record<string, { total: number; live: number }> = {}
    for (const run of this.#runs.values()) {
      const count = (counts[run.flow] ??= { total: 0, live: 0 })
      count.total++
      if (isLive(run.status)) count.live++
    }
    return { items: chosen.slice(offset, offset + limit), count: chosen.length, counts }
  }

  async get(id: string): Promise<Run> {
    const run = this.#runs.get(id)
    if (run === undefined) throw new ServiceError('run_not_found', `There is no run ${id}.`)
    return run
  }

  async nodes(id: string): Promise<List<RunNode>> {
    await this.get(id)
    return { items: [], count: 0 }
  }

  async cancel(id: string): Promise<Run> {
    const run = await this.get(id)
    if (!isLive(run.status)) throw new ServiceError('run_ended', `Run ${id} is ${run.status}.`)
    run.status = 'cancelled'
    return run
  }

  async retry(id: string, caller: string): Promise<Run> {
    const run = await this.get(id)
    if (isLive(run.status)) throw new ServiceError('run_not_ended', `Run ${id} is ${run.status}.`)
    return this.#add(run.flow, { inputs: run.inputs }, caller, id, run.attempt + 1)
  }

  async why(id: string, node: string): Promise<RunNodeWhy> {
    await this.get(id)
    throw new ServiceError('node_not_found', `Run ${id} has no node "${node}".`)
  }

  async metricNames(): Promise<List<string>> {
    return { items: [], count: 0 }
  }

  async series(): Promise<List<MetricSeries>> {
    return { items: [], count: 0 }
  }

  async exportMetrics(): Promise<RunExport> {
    return this.#export()
  }

  async exportRuns(): Promise<RunExport> {
    return this.#export()
  }

  #export(): RunExport {
    const pages = this.exported
    return {
      truncated: false,
      close() {},
      async *[Symbol.asyncIterator]() {
        yield* pages
      },
    }
  }
}
