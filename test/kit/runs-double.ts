import { hash } from 'node:crypto'
import { v7 as uuidv7 } from 'uuid'
import { ServiceError } from '../../protocol/errors.ts'
import type { List } from '../../protocol/nouns/list.ts'
import type {
  ChangeRun,
  CreateRun,
  MetricSeriesList,
  Run,
  RunNode,
  RunNodeWhy,
  Runnable,
  RunSummary,
} from '../../protocol/nouns/run.ts'
import { keyText } from '../../protocol/values/canonical-json.ts'
import { isLive } from '../../protocol/words/run-status.ts'
import { PageRoom, pageOf } from '../../server/list-page.ts'
import type { CreatedBatchRun, Runs, RunsPage } from '../../server/runs/batch-runs.ts'
import type { JsonText, MetricNames, RunExport, RunSearch, StoredRun } from '../../server/store/front/runs.ts'
import { shownRun } from '../../server/store/front/shown-run.ts'
import { shownSummary } from '../../server/store/runs/run-summary.ts'

/** Runs in memory, for what stands in front of them: they are queued for ever, or cancelled. Passes `runStories`. */
export class RunsDouble implements Runs {
  /** Oldest first. */
  readonly #runs = new Map<string, StoredRun>()
  readonly #flowExists: (name: string) => void
  #now_us = 1_767_225_600_000_000
  /** What exports answer. */
  exported: Uint8Array[] = []

  constructor(flowExists: (name: string) => void) {
    this.#flowExists = flowExists
  }

  async create(flow: string, request: CreateRun, caller: string): Promise<CreatedBatchRun> {
    this.#flowExists(flow)
    const run = this.#new(flow, request, caller)
    const there = [...this.#runs.values()].find(
      one =>
        one.idempotency_key !== null &&
        one.idempotency_key === run.idempotency_key &&
        one.flow === flow &&
        one.created_by === caller,
    )
    for (const group of run.groups) if (there?.groups.includes(group) === false) there.groups.push(group)
    if (there !== undefined) there.tags = [...new Set([...there.tags, ...run.tags])]
    if (there !== undefined)
      return { run: this.#shown(there), replayed: true, mismatch: there.inputs_digest !== run.inputs_digest }
    this.#runs.set(run.id, run)
    return { run: this.#shown(run), replayed: false, mismatch: false }
  }

  createShown(flow: string, request: CreateRun, caller: string): Promise<CreatedBatchRun> {
    return this.create(flow, request, caller)
  }

  #new(flow: string, request: CreateRun, created_by: string): StoredRun {
    const inputs = request.inputs ?? {}
    const seed = request.seed ?? null
    return {
      id: uuidv7(),
      flow,
      status: 'queued',
      cause: request.cause ?? 'api',
      created_by,
      seed,
      timeout: request.timeout ?? null,
      no_cache: request.no_cache ?? false,
      groups: request.group === undefined ? [] : [request.group],
      tags: [...new Set(request.tags)],
      note: request.note ?? '',
      idempotency_key: request.idempotency_key ?? null,
      version: 1,
      commit: 'c'.repeat(64),
      origin: null,
      origin_commit: request.origin_commit ?? null,
      code_commit: null,
      code_digest: null,
      inputs,
      resolved: inputs,
      inputs_digest: hash('sha256', keyText({ inputs, seed }), 'hex'),
      result: null,
      terminal: [],
      error: null,
      retry_of: null,
      attempt: 1,
      created_at: this.#now_us++,
      started_at: null,
      finished_at: null,
      cancel_requested_at: null,
    }
  }

  async runnable(flow: string): Promise<Runnable> {
    this.#flowExists(flow)
    const digests = { content_digest: 'd'.repeat(64), code_digest: null, origin_commit: null }
    return { flow, version: 1, commit: 'c'.repeat(64), ...digests }
  }

  #shown(run: StoredRun): Run {
    return shownRun(run, this.#now_us)
  }

  #summary(run: StoredRun): RunSummary {
    const [inputs, result] = [JSON.stringify(run.inputs), run.result && JSON.stringify(run.result)]
    return shownSummary(run, { inputs, inputs_cut: false, result, result_cut: false }, this.#now_us)
  }

  #existing(id: string): StoredRun {
    const run = this.#runs.get(id)
    if (run === undefined) throw new ServiceError('run_not_found', `There is no run ${id}.`)
    return run
  }

  async list({ limit, offset, flow, group, tags = [], status, since, before }: RunsPage) {
    const chosen = [...this.#runs.values()]
      .filter(run => flow === null || run.flow === flow)
      .filter(run => group === null || run.groups.includes(group))
      .filter(run => tags.every(tag => run.tags.includes(tag)))
      .filter(run => status === null || run.status === status)
      .filter(run => since === null || run.created_at >= since)
      .filter(run => before === null || run.created_at < before)
      .reverse()
    const counts: Record<string, { total: number; live: number }> = {}
    for (const run of this.#runs.values()) {
      const count = (counts[run.flow] ??= { total: 0, live: 0 })
      count.total++
      if (isLive(run.status)) count.live++
    }
    const sum = (of: 'total' | 'live') => Object.values(counts).reduce((all, each) => all + each[of], 0)
    const totals = { flows: Object.keys(counts).length, total: sum('total'), live: sum('live') }
    const items = chosen.slice(offset, offset + limit).map(run => this.#summary(run))
    return { ...pageOf(items, chosen.length, offset, new PageRoom(counts)), counts, totals }
  }

  async search(search: RunSearch): Promise<JsonText> {
    return Uint8Array.from(Buffer.from(JSON.stringify({ ...(await this.list(search)), truncated: false })))
  }

  async get(id: string): Promise<Run> {
    return this.#shown(this.#existing(id))
  }

  async text(id: string): Promise<JsonText> {
    return Uint8Array.from(Buffer.from(JSON.stringify(await this.get(id))))
  }

  async idsFrom(text: string, most: number): Promise<string[]> {
    const ids = [...this.#runs.keys()].filter(id => id.startsWith(text) || id.slice(24).startsWith(text))
    return ids.slice(0, most)
  }

  async exists(id: string): Promise<void> {
    this.#existing(id)
  }

  async nodesText(id: string): Promise<List<RunNode>> {
    return this.nodes(id)
  }

  async nodes(id: string): Promise<List<RunNode>> {
    await this.get(id)
    return { items: [], count: 0 }
  }

  async cancel(id: string): Promise<Run> {
    const run = this.#existing(id)
    if (!isLive(run.status)) throw new ServiceError('run_ended', `Run ${id} is ${run.status}.`)
    run.status = 'cancelled'
    run.cancel_requested_at = run.finished_at = this.#now_us++
    return this.#shown(run)
  }

  async change(id: string, { tags, add_tags = [], remove_tags = [], note }: ChangeRun): Promise<Run> {
    const run = this.#existing(id)
    run.tags = [...new Set([...(tags ?? run.tags), ...add_tags])].filter(tag => !remove_tags.includes(tag))
    run.note = note ?? run.note
    return this.#shown(run)
  }

  cancelShown(id: string): Promise<Run> {
    return this.cancel(id)
  }

  changeShown(id: string, change: ChangeRun): Promise<Run> {
    return this.change(id, change)
  }

  async delete(id: string): Promise<void> {
    const { status } = this.#existing(id)
    if (isLive(status)) throw new ServiceError('run_not_ended', `Run ${id} is ${status}.`)
    this.#runs.delete(id)
  }

  async retry(id: string, caller: string): Promise<Run> {
    const before = this.#existing(id)
    if (isLive(before.status)) throw new ServiceError('run_not_ended', `Run ${id} is ${before.status}.`)
    const { flow, cause, seed, timeout, no_cache, groups, tags, inputs, origin_commit, attempt } = before
    this.#flowExists(flow)
    const run = this.#new(flow, { cause, no_cache, inputs }, caller)
    Object.assign(run, { seed, timeout, groups, tags, origin_commit, retry_of: id, attempt: attempt + 1 })
    run.inputs_digest = before.inputs_digest
    this.#runs.set(run.id, run)
    return this.#shown(run)
  }

  places() {
    return { count: 4, free: 4, set_aside: 0, wanting: 0 }
  }

  async why(id: string, node: string): Promise<RunNodeWhy> {
    await this.get(id)
    throw new ServiceError('node_not_found', `Run ${id} has no node "${node}".`)
  }

  async metricNames(): Promise<MetricNames> {
    return { names: [], before: null }
  }

  async series(): Promise<MetricSeriesList> {
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
