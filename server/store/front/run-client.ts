import type { FingerprintParts } from '../../../core/runs/fingerprint.ts'
import type { Steps } from '../../../core/steps.ts'
import { limits } from '../../../protocol/limits.ts'
import type { EngineEvent } from '../../../protocol/nouns/event.ts'
import { chunksOf } from '../runs/metric-chunk.ts'
import { writtenNode } from '../runs/rows.ts'
import { type Cursor, PulledExport } from './pulled-export.ts'
import type { ReadRequest, RunWrite } from './requests.ts'
import type {
  AnsweredRun,
  CacheOrigin,
  CachePage,
  ChangedRun,
  ClaimedRun,
  ClaimRun,
  CreatedRun,
  ExportMetricsRequest,
  ExportRunsRequest,
  FinishedRun,
  FinishRun,
  JsonText,
  MetricNames,
  NearestRun,
  NewRun,
  OpenedExport,
  OpenedText,
  RepeatRun,
  RunDocument,
  RunExport,
  RunNamesRequest,
  RunOutput,
  RunPage,
  RunProgress,
  RunSearch,
  RunSelection,
  RunStore,
  SeriesRequest,
  SetUnbegun,
  StoredRun,
  StoredRunHead,
  StoredRunList,
  StoredRunNode,
  StoredSeriesPage,
  WrittenNode,
  WrittenProgress,
} from './runs.ts'

interface Parts {
  write<Result>(request: UnwrittenRun): Promise<Result>
  read<Result>(request: ReadRequest, given?: ArrayBuffer[]): Promise<Result>
  /** Resolves when readers see all answered writes; null: they already do. */
  seen(): Promise<unknown> | null
  now_us(): number
}

/** Origins in one page of the cache index. */
const CACHE_PAGE_ENTRIES = 2000
/** Runs that one page of metric names reads. */
const NAMES_PAGE_RUNS = 1000

/** Reads see all writes that were answered before them, except reads of the stage cache, whose index on the front is newer than any reader. */
export class RunClient implements RunStore {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  create(run: NewRun, event: EngineEvent | null): Promise<CreatedRun> {
    return this.#write({ type: 'create_run', run, event, at: this.#parts.now_us() })
  }

  repeat(repeat: RepeatRun): Promise<AnsweredRun | null> {
    return this.#write({ type: 'repeat_run', repeat })
  }

  claim(claim: ClaimRun): Promise<ClaimedRun | null> {
    return this.#write({ type: 'claim_run', claim })
  }

  setUnbegun(set: SetUnbegun): Promise<null> {
    return this.#write({ type: 'set_unbegun', set })
  }

  finish(finish: FinishRun, progress: RunProgress | null, then: ClaimRun | null): Promise<FinishedRun> {
    return this.#write({ type: 'finish_run', finish, progress, then })
  }

  delete(id: string, event: EngineEvent | null): Promise<boolean> {
    return this.#write({ type: 'delete_run', id, event })
  }

  change(change: ChangedRun, event: EngineEvent): Promise<AnsweredRun | null> {
    return this.#write({ type: 'change_run', change, event })
  }

  requestCancel(id: string, at: number): Promise<AnsweredRun | null> {
    return this.#write({ type: 'cancel_run', id, at })
  }

  progress(progress: RunProgress): Promise<null> {
    return this.#write({ type: 'run_progress', progress })
  }

  list(page: RunPage): Promise<StoredRunList> {
    return this.#read({ type: 'runs', page })
  }

  search(search: RunSearch): Promise<RunExport> {
    return this.#export({ type: 'search_runs', search })
  }

  get(id: string): Promise<StoredRun | null> {
    return this.#read({ type: 'run', id })
  }

  head(id: string): Promise<StoredRunHead | null> {
    return this.#read({ type: 'run_head', id })
  }

  idsFrom(text: string, most: number): Promise<string[]> {
    return this.#read({ type: 'run_ids', from: text, most })
  }

  namesNear(names: RunNamesRequest): Promise<string[]> {
    return this.#read({ type: 'run_names', names })
  }

  inputs(id: string): Promise<Record<string, unknown>> {
    return this.#read({ type: 'run_inputs', id })
  }

  output(id: string, name: string): Promise<RunOutput> {
    return this.#read({ type: 'run_output', id, name })
  }

  async runText(id: string, cancel_requested_at: number | null = null): Promise<JsonText | null> {
    const opened = await this.#read<OpenedText | null>({ type: 'run_text', id, cancel_requested_at })
    return opened && this.#textOf(opened)
  }

  async nodesText(id: string): Promise<JsonText> {
    return this.#textOf(await this.#read<OpenedText>({ type: 'nodes_text', id }))
  }

  nodes(id: string): Promise<StoredRunNode[]> {
    return this.#read({ type: 'run_nodes', id })
  }

  series(series: SeriesRequest): Promise<StoredSeriesPage> {
    return this.#read({ type: 'run_series', series })
  }

  /** In pages, so that other reads come in between. */
  async metricNames(selection: RunSelection): Promise<MetricNames> {
    const names = new Set<string>()
    let next = selection
    for (let left = limits.METRIC_NAME_RUNS; left > 0; left -= NAMES_PAGE_RUNS) {
      const runs = Math.min(left, NAMES_PAGE_RUNS)
      const page: MetricNames = await this.#read({ type: 'metric_names', selection: next, runs })
      for (const name of page.names) names.add(name)
      next = { ...selection, before: page.before }
      if (page.before === null) return { names: [...names].sort(), before: null }
    }
    return { names: [...names].sort(), before: next.before }
  }

  cached(keys: string[]): Promise<CacheOrigin[]> {
    return this.#parts.read({ type: 'cached', keys })
  }

  /** In pages, so that other reads come in between. */
  async cacheIndex(entries: number, bytes: number): Promise<{ origins: CacheOrigin[]; complete: boolean }> {
    const origins = new Map<string, CacheOrigin>()
    let before: CachePage['before'] = null
    let left = bytes
    do {
      const most = Math.min(CACHE_PAGE_ENTRIES, entries - origins.size)
      const page: CachePage = await this.#parts.read({
        type: 'cache_page',
        page: { before, entries: most, bytes: left },
      })
      for (const origin of page.origins) if (!origins.has(origin.key)) origins.set(origin.key, origin)
      before = page.before
      left -= page.bytes
    } while (before !== null && origins.size < entries && left > 0)
    return { origins: [...origins.values()], complete: before === null }
  }

  nearest(id: string, node: string, parts: FingerprintParts): Promise<NearestRun | null> {
    return this.#read({ type: 'nearest_run', id, node, parts })
  }

  exportMetrics(request: ExportMetricsRequest): Promise<RunExport> {
    return this.#export({ type: 'export_metrics', request })
  }

  exportRuns(request: ExportRunsRequest): Promise<RunExport> {
    return this.#export({ type: 'export_runs', request })
  }

  async #export(request: ReadRequest): Promise<RunExport> {
    const { cursor, truncated } = await this.#read<OpenedExport>(request)
    const pulled = new PulledExport(truncated, this.#cursor(cursor))
    await pulled.begin()
    return pulled
  }

  #textOf({ page, cursor }: OpenedText): JsonText {
    return cursor === null ? page : new PulledExport(false, this.#cursor(cursor), page)
  }

  #cursor(cursor: number): Cursor {
    return {
      page: spare =>
        this.#parts.read<Uint8Array<ArrayBuffer> | null>(
          { type: 'export_page', cursor, spare },
          spare === null ? [] : [spare],
        ),
      close: () => void this.#parts.read({ type: 'export_close', cursor }).catch(() => {}),
    }
  }

  #write<Result>(request: UnwrittenRun): Promise<Result> {
    return this.#parts.write(request)
  }

  #read<Result>(request: ReadRequest): Promise<Result> {
    const seen = this.#parts.seen()
    return seen === null ? this.#parts.read(request) : seen.then(() => this.#parts.read(request))
  }
}

/** A write of a run whose progress is not JSON yet, since that may take long. */
export type UnwrittenRun =
  | Exclude<RunWrite, { type: 'finish_run' | 'run_progress' }>
  | { type: 'finish_run'; finish: FinishRun; progress: RunProgress | null; then: ClaimRun | null }
  | { type: 'run_progress'; progress: RunProgress }

/** The write in the form for the store, made in steps of one output. */
export function* writtenRun(request: UnwrittenRun): Steps<RunWrite> {
  if (request.type === 'run_progress') return { ...request, progress: yield* written(request.progress) }
  if (request.type !== 'finish_run') return request
  return { ...request, progress: request.progress && (yield* written(request.progress)) }
}

function* written({ id, nodes, metrics, artifacts, log }: RunProgress): Steps<WrittenProgress> {
  const documents: RunDocument[] = []
  const rows: WrittenNode[] = []
  for (const node of nodes) rows.push(yield* writtenNode(node, documents))
  return { id, nodes: rows, documents, chunks: chunksOf(metrics), artifacts, log }
}
