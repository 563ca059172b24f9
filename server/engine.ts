import type { ArtifactSweep, StoredArtifact, VerifyLine } from '../protocol/nouns/artifact.ts'
import type { Cascade } from '../protocol/nouns/cascade.ts'
import type { EngineEvent } from '../protocol/nouns/event.ts'
import type { Flavor, PutFlavor } from '../protocol/nouns/flavor.ts'
import type {
  CreateFlow,
  Flow,
  FlowCommit,
  FlowCommitDetail,
  FlowSummary,
  SavedFlow,
  SaveFlow,
} from '../protocol/nouns/flow.ts'
import type { Message, MessageHistory, Published } from '../protocol/nouns/message.ts'
import type { NodeError } from '../protocol/nouns/node-error.ts'
import type { CreateRun, MetricSeries, Run, RunCounts, RunNode, RunNodeWhy } from '../protocol/nouns/run.ts'
import type { Summary, TimeseriesPoint } from '../protocol/nouns/summary.ts'
import type { WorkerResources } from '../protocol/worker/resources.ts'
import type { ArtifactPlace } from '../threads/calls/artifact-files.ts'
import type { ArtifactAsked } from './artifacts/artifact-answer.ts'
import type { Answer } from './http/route.ts'
import type {
  ExportMetricsRequest,
  ExportRunsRequest,
  RunExport,
  RunSelection,
  SeriesRequest,
} from './store/front/runs.ts'

/**
 * What the routes and the sockets ask of the live engine. Everything that a user can get wrong comes back as a thrown
 * `ServiceError` and leaves everything as it was. All of it runs on the front thread; promises wait for the store or the reader.
 */
export interface Engine {
  readonly flows: Flows
  readonly messages: Messages
  readonly nodes: Nodes
  readonly observe: Observe
  readonly runs: Runs
  readonly artifacts: Artifacts
  /** Loads every body anew: lanes are replaced between turns, call threads get a fresh module cache. Resolves when it is done. */
  refreshModules(): Promise<void>
}

export interface Artifacts {
  readonly place: ArtifactPlace
  /** `length`: bytes, null when nobody knows. On disk when it resolves. A piece is done with before the next is asked for. */
  put(
    bytes: AsyncIterable<Uint8Array>,
    length: number | null,
  ): Promise<{ digest: string; size: number; is_new: boolean }>
  answer(asked: ArtifactAsked): Answer
  list(page: Page): Promise<List<StoredArtifact>>
  verify(): AsyncIterable<VerifyLine>
  sweep(): Promise<ArtifactSweep>
}

export interface Page {
  limit: number
  offset: number
}

export interface List<Item> {
  items: Item[]
  count: number
}

export interface Flows {
  list(page: Page): List<FlowSummary>
  get(name: string): Flow
  /** 409 `flow_exists` when there is one. */
  create(request: CreateFlow, author: string): Promise<SavedFlow>
  /** Creates or replaces. */
  save(name: string, request: SaveFlow, author: string): Promise<SavedFlow>
  remove(name: string, author: string): Promise<void>
  rename(name: string, to: string, author: string): Promise<SavedFlow>
  setEnabled(name: string, enabled: boolean, author: string): Promise<SavedFlow>
  history(name: string, page: Page): Promise<List<FlowCommit>>
  commit(name: string, commit: string): Promise<FlowCommitDetail>
  restore(name: string, commit: string, author: string): Promise<SavedFlow>
  source(name: string, node: string): { source: string; missing: boolean }
}

export interface Flavors {
  list(page: Page): List<Flavor>
  /** Creates or replaces. */
  put(name: string, flavor: PutFlavor, by: string): Promise<Flavor>
  /** 409 `flavor_in_use`, naming the node, while one asks for it. */
  remove(name: string, by: string): Promise<void>
}

/** The machines that nodes run on. */
export interface Workers {
  resources(): WorkerResources
}

export interface HistoryQuery {
  /** Microseconds since 1970, inclusive. */
  since_us: number | null
  /** Microseconds since 1970, exclusive. */
  until_us: number | null
  /** Points only: and of those at `until_us` itself the ones of a lower version. */
  until_version?: number | null
  limit: number
  bucket_s: number | null
}

export interface Messages {
  list(page: Page & { flow: string | null }): List<Message>
  get(name: string): Message
  /** One check, then one cascade each; all or nothing. Synchronous: an accepted value is in shared memory on return. */
  publish(items: readonly { name: string; value: unknown }[]): Published[]
  history(name: string, query: HistoryQuery): Promise<MessageHistory>
}

export interface Nodes {
  /** `node` is `<flow>.<node>`. Newest first. */
  errors(node: string): Promise<List<NodeError>>
  acknowledge(node: string, by: string): Promise<void>
}

export interface Observe {
  summary(): Promise<Summary>
  timeseries(query: {
    hours: number
    bucket_s: number
    since_us: number | null
    until_us: number | null
  }): Promise<TimeseriesPoint[]>
  events(
    query: Page & {
      flow: string | null
      run?: string | null
      type: string | null
      since_us: number | null
      until_us: number | null
    },
  ): Promise<List<EngineEvent>>
  cascades(
    query: Page & { flow: string | null; status: string | null; since_us: number | null; before_us: number | null },
  ): Promise<List<Cascade>>
  cascade(id: string): Promise<Cascade>
  /** Rejects when a dependency (the store thread, a lane) stopped answering. */
  health(): Promise<{ status: 'ok' }>
  /** Prometheus text. */
  prometheus(): string
}

export type RunsPage = Page & RunSelection

export interface CreatedBatchRun {
  run: Run
  /** The key named a run that was there. */
  replayed: boolean
  /** Its inputs are others than those of the request. */
  mismatch: boolean
}

/** Batch runs. */
export interface Runs {
  /** Resolves when the run is durable. */
  create(flow: string, request: CreateRun, caller: string): Promise<CreatedBatchRun>
  list(page: RunsPage): Promise<List<Run> & { counts: RunCounts }>
  get(id: string): Promise<Run>
  nodes(id: string): Promise<List<RunNode>>
  cancel(id: string, by: string): Promise<Run>
  retry(id: string, caller: string): Promise<Run>
  why(id: string, node: string): Promise<RunNodeWhy>
  metricNames(selection: RunSelection): Promise<List<string>>
  series(request: SeriesRequest): Promise<List<MetricSeries>>
  exportMetrics(request: ExportMetricsRequest): Promise<RunExport>
  exportRuns(request: ExportRunsRequest): Promise<RunExport>
}
