import { limits } from '../../../protocol/limits.ts'
import type { EngineEvent } from '../../../protocol/nouns/event.ts'
import type {
  ChangeRun,
  CreateRun,
  Run,
  RunCounts,
  RunNode,
  RunNodeWhy,
  Runnable,
  RunStatus,
  RunSummary,
  RunTotals,
} from '../../../protocol/nouns/run.ts'
import type { RunLogLine, RunLogPage } from '../../../protocol/nouns/run-log.ts'
import type { ExportRunColumn } from '../../../protocol/words/run-columns.ts'
import type { Calls } from '../calls.ts'
import { type Export, type ExportForm, openExport } from '../exports/exports.ts'
import { type List, readPages } from '../pages.ts'
import { type CreatedRun, KeyedRuns } from './keyed-runs.ts'
import { followRun } from './run-follow.ts'
import { followLog, type LogSelection, readLog } from './run-logs.ts'
import { type Attempt, signalOf, type WaitOptions, waitForRun } from './run-wait.ts'

/** Which runs are meant; times are RFC 3339. */
export interface RunSelection {
  flow?: string
  group?: string
  /** The run has all of them. */
  tag?: readonly string[]
  status?: RunStatus
  /** Created at this time or later. */
  since?: string
  /** Created before this time. */
  before?: string
}

/** What a list may ask beside its selection. A field is `input.<name>`, `result.<name>`, `metric.<name>`, `duration`, `seed`, `created_at`. */
export interface RunSearch extends RunSelection {
  /** `input.lr<0.1`: runs that fit all of them. */
  where?: readonly string[]
  /** A field; with a minus before it the greatest first. */
  sort?: string
  /** Fields, with commas between them, that each run carries under `columns`. */
  columns?: string
}
export type ListedRun = RunSummary & { columns?: Record<string, unknown> }

export interface RunsPage extends List<ListedRun> {
  /** By flow, over all runs whatever the selection; of a bounded number of flows. */
  counts: RunCounts
  /** Over all flows; absent from an engine of a release without it. */
  totals?: RunTotals
  /** With `where` or `sort`: older runs of the selection were not looked at. */
  truncated?: boolean
}

/** Batch runs. */
export class Runs {
  readonly #calls: Calls
  readonly #token: string | null

  constructor(calls: Calls, token: string | null) {
    this.#calls = calls
    this.#token = token
  }

  /** Durable once it resolves. With an `idempotency_key` it is tried again like a read; without one it is sent once. */
  async create(flow: string, request: CreateRun = {}): Promise<CreatedRun> {
    const { body, headers } = await this.#calls.json<Run>({
      method: 'POST',
      path: `/runs/flows/${encodeURIComponent(flow)}`,
      json: request,
      idempotent: request.idempotency_key !== undefined,
    })
    return {
      run: body,
      replayed: headers['idempotency-replayed'] === 'true',
      mismatch: headers['idempotency-mismatch'] !== undefined,
    }
  }

  /** What a run of the flow would execute now. */
  runnable(flow: string): Promise<Runnable> {
    return this.#calls.get(`/runs/flows/${encodeURIComponent(flow)}`)
  }

  /**
   * The run of what the flow would execute now with this request, started unless there is one that did not fail. The same seed,
   * inputs, timeout and use of the cache of the same flow and code are the same run; so is an `idempotency_key`, if one is given.
   */
  once(flow: string, request: CreateRun = {}): Promise<CreatedRun> {
    return new KeyedRuns(this, flow, 'once').start(request)
  }

  /** Whole, however long its result is; lists have summaries. */
  get(id: string, options: Attempt = {}): Promise<Run> {
    return this.#calls.get(pathOf(id), {}, options)
  }

  /** Of a short id, the id: by a page of its log, since the run itself may be long. */
  async whole(id: string): Promise<string> {
    return id.length === WHOLE_ID ? id : (await this.logPage(id, { after: Number.MAX_SAFE_INTEGER, limit: 1 })).run
  }

  /** One page, newest first. */
  page(selection: RunSearch = {}, limit: number = limits.LIST_LIMIT_DEFAULT, offset = 0): Promise<RunsPage> {
    return this.#calls.get('/runs', { ...selection, limit, ...(offset === 0 ? {} : { offset }) })
  }

  /** Every run of the selection, newest first, read as the loop goes on. Runs that are created meanwhile are not among them. */
  list(selection: RunSearch = {}, page = 500): AsyncGenerator<ListedRun, void, undefined> {
    const isSearch = selection.where !== undefined || selection.sort !== undefined
    return isSearch ? this.#searched(selection, page) : this.#listed(selection, page)
  }

  /** In another order there is no time to go on from: a run that moved between two pages comes once. */
  async *#searched(search: RunSearch, page: number): AsyncGenerator<ListedRun, void, undefined> {
    const seen = new Set<string>()
    for (let offset: number | undefined = 0; offset !== undefined; ) {
      const { items, next }: RunsPage = await this.page(search, page, offset)
      for (const run of items) if (!seen.has(run.id)) yield run
      for (const { id } of items) seen.add(id)
      offset = next
    }
  }

  async *#listed(selection: RunSearch, page: number): AsyncGenerator<ListedRun, void, undefined> {
    let before = selection.before
    for (;;) {
      const { items, next } = await this.page({ ...selection, ...(before === undefined ? {} : { before }) }, page)
      yield* items
      if (next === undefined) return
      before = items.at(-1)!.created_at
    }
  }

  /** Ends the run; a running one is `cancelled` once its bodies have ended. */
  async cancel(id: string): Promise<Run> {
    return (await this.#calls.json<Run>({ method: 'POST', path: `${pathOf(id)}/cancel` })).body
  }

  /** Its tags or its note; what is not named stays. */
  async change(id: string, change: ChangeRun): Promise<Run> {
    return (await this.#calls.json<Run>({ method: 'PATCH', path: pathOf(id), json: change })).body
  }

  /** With its nodes, metrics and logs; one that has ended, and whose nodes no other run reuses. */
  async delete(id: string): Promise<void> {
    await this.#calls.json({ method: 'DELETE', path: pathOf(id) })
  }

  /** A new run with the inputs of this one, of the flow as it stands now. */
  async retry(id: string): Promise<Run> {
    return (await this.#calls.json<Run>({ method: 'POST', path: `${pathOf(id)}/retry` })).body
  }

  /** In the order of its waves. */
  nodes(id: string): Promise<List<RunNode>> {
    return this.#calls.get(`${pathOf(id)}/nodes`)
  }

  /** All that happened in it, oldest first. */
  async events(id: string): Promise<EngineEvent[]> {
    const { items } = await readPages<EngineEvent>(this.#calls, `${pathOf(id)}/events`)
    return items.reverse()
  }

  /** As many as a page takes, newest first. */
  eventsPage(id: string, offset: number, options: Attempt = {}): Promise<List<EngineEvent>> {
    return this.#calls.get(`${pathOf(id)}/events`, { limit: limits.LIST_LIMIT, offset }, options)
  }

  /** How a node came by its outputs: from which run, or what changed since the nearest one. */
  why(id: string, node: string): Promise<RunNodeWhy> {
    return this.#calls.get(`${pathOf(id)}/nodes/${encodeURIComponent(node)}/why`)
  }

  /** The run once it has ended, however it ended. */
  wait(id: string, options: WaitOptions = {}): Promise<Run> {
    return waitForRun(() => this.get(id, { ...signalOf(options), once: true }), options)
  }

  /** A page of what its bodies have logged and printed. */
  logPage(id: string, selection: LogSelection & { limit?: number } = {}): Promise<RunLogPage> {
    return this.#calls.get(`${pathOf(id)}/logs`, { ...selection })
  }

  /** Every line that is there now. */
  async *log(id: string, selection: LogSelection = {}): AsyncGenerator<RunLogLine, void, undefined> {
    yield* readLog(page => this.logPage(id, page), selection)
  }

  /** The same, and then each line as it is stored, until the run has ended. */
  followLog(
    id: string,
    selection: LogSelection = {},
    { signal }: { signal?: AbortSignal } = {},
  ): AsyncGenerator<RunLogLine, void, undefined> {
    const address = { url: this.#calls.url, token: this.#token }
    return followLog(page => this.logPage(id, page), address, id, selection, signal)
  }

  /** What happens in the run, from its creation to its end, each event once. */
  follow(id: string, options: WaitOptions = {}): AsyncGenerator<EngineEvent, Run, undefined> {
    return followRun(this, { url: this.#calls.url, token: this.#token }, id, options)
  }

  /** A row per run: the inputs that vary over the selection, the numbers of the result, and a column for each metric named. */
  export(
    selection: RunSelection = {},
    form: ExportForm & { metrics?: readonly string[]; columns?: readonly ExportRunColumn[] } = {},
  ): Promise<Export> {
    const query = { ...selection, metrics: form.metrics?.join(','), columns: form.columns?.join(',') }
    return openExport(this.#calls, { path: '/runs/export', query, form, parquet: 'runsParquet' })
  }
}

const WHOLE_ID = 36
const pathOf = (id: string): string => `/runs/${encodeURIComponent(id)}`
