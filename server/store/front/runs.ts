import type { FingerprintParts } from '../../../core/runs/fingerprint.ts'
import type { Comparison, RunField, RunOrder } from '../../../core/runs/run-query.ts'
import type { EngineEvent } from '../../../protocol/nouns/event.ts'
import type {
  ResourceAmounts,
  Run,
  RunCause,
  RunCounts,
  RunError,
  RunNodeStatus,
  RunStatus,
  RunSummary,
  RunTotals,
} from '../../../protocol/nouns/run.ts'
import type { ExportRunColumn } from '../../../protocol/words/run-columns.ts'
import type { CurveChunk, MetricPoint } from '../runs/metric-chunk.ts'
import type { LogProgress } from './run-logs.ts'

/** The stored data of a run, and the requests for it. Plain data that crosses threads; times are microseconds since 1970. */

export type { MetricPoint } from '../runs/metric-chunk.ts'

export interface StoredRun {
  id: string
  /** The flow's present name. */
  flow: string
  status: RunStatus
  cause: RunCause
  created_by: string
  seed: number | null
  timeout: number | null
  no_cache: boolean
  /** The group that it was created with comes first. */
  groups: string[]
  tags: string[]
  /** Empty when there is none. */
  note: string
  idempotency_key: string | null
  version: number
  commit: string
  origin: Record<string, unknown> | null
  origin_commit: string | null
  code_commit: string | null
  code_digest: string | null
  inputs: Record<string, unknown>
  resolved: Record<string, unknown>
  inputs_digest: string
  result: Record<string, unknown> | null
  terminal: string[]
  error: RunError | null
  retry_of: string | null
  attempt: number
  created_at: number
  started_at: number | null
  finished_at: number | null
  cancel_requested_at: number | null
}

/** A run without its long values. */
export type StoredRunHead = Omit<StoredRun, 'inputs' | 'resolved' | 'result'>

/** The store sets its creation time, strictly later than that of every earlier run. */
export type NewRun = Pick<
  StoredRun,
  | 'id'
  | 'flow'
  | 'cause'
  | 'created_by'
  | 'seed'
  | 'timeout'
  | 'no_cache'
  | 'groups'
  | 'tags'
  | 'note'
  | 'idempotency_key'
  | 'version'
  | 'commit'
  | 'origin'
  | 'origin_commit'
  | 'inputs'
  | 'resolved'
  | 'inputs_digest'
  | 'retry_of'
  | 'attempt'
> & {
  /** Of a run whose inputs hold secrets: `inputs` and `resolved` are masked, and it executes on these. */
  given?: GivenInputs
}

export type GivenInputs = Pick<StoredRun, 'inputs' | 'resolved'>

/** The answer of a write: a run with long values comes without them, so that the front does not handle them. */
export type AnsweredRun = StoredRun | StoredRunHead

/** The creation time of a new run; or the existing run of the same flow, caller and key, when nothing was written. */
export type CreatedRun = { created_at: number; there: null } | { created_at: null; there: AnsweredRun }

/** A request whose key may name an existing run. */
export type RepeatRun = Pick<NewRun, 'flow' | 'created_by' | 'groups' | 'tags'> & { idempotency_key: string }

/** Absent members stay unchanged. `remove_tags` is applied last. */
export interface ChangedRun {
  id: string
  tags?: readonly string[]
  add_tags?: readonly string[]
  remove_tags?: readonly string[]
  note?: string
}

export interface ClaimRun {
  id: string
  /** Epoch of this engine. At a start, `running` runs of an older epoch were interrupted. */
  epoch: number
  /** Read at the claim. */
  code_digest: string | null
  code_commit: string | null
  started_at: number
  /** Answer the run, because the caller does not have it. */
  whole: boolean
  /** Stored with the write, unless the run is no longer queued. */
  event: EngineEvent | null
}

/** A claimed run; `run` is set when it was requested. */
export interface ClaimedRun {
  run: StoredRun | null
}

/** Records for a claimed run that no body of it has run, or that one is about to. */
export interface SetUnbegun {
  id: string
  epoch: number
  unbegun: boolean
}

export interface FinishRun {
  id: string
  epoch: number
  status: 'succeeded' | 'failed' | 'cancelled'
  result: Record<string, unknown> | null
  terminal: string[]
  error: RunError | null
  finished_at: number
  /** Stored with the write, in this order, unless the run was not running. */
  events: EngineEvent[]
}

/** The last value of an output port, and the digest of the sequence of all its values; see core/runs/fingerprint.ts. */
export interface StoredOutput {
  port: string
  message: string
  value: unknown
  count: number
  digest: string
}

/** One node of a run; written whole after each change. */
export interface StoredRunNode {
  node: string
  position: number
  status: RunNodeStatus
  attempt: number
  executions: number
  emissions: number
  asked: ResourceAmounts | null
  granted: ResourceAmounts | null
  machine: string | null
  queued_at: number | null
  started_at: number | null
  finished_at: number | null
  body_s: number | null
  expected_s: number | null
  cache_key: string | null
  /** The digests that the key is made of, by name. */
  parts: Record<string, string> | null
  outputs: StoredOutput[] | null
  cached_from: string | null
  error: RunError | null
  metrics_dropped: number
}

/** The progress of a run since its last record: one write, in order with other writes. */
export interface RunProgress {
  id: string
  nodes: StoredRunNode[]
  metrics: MetricPoint[]
  artifacts: string[]
  log: LogProgress | null
}

/** Columns of a node's row, in the order of `WRITTEN_NODE` of ../runs/rows.ts. */
export type WrittenNode = (string | number | null)[]

/** A long value that is stored beside its row, or one of its pieces; see ../runs/documents.ts. */
export interface RunDocument {
  part: string
  json: string
}

/** Progress in the form for the store. */
export interface WrittenProgress extends Pick<RunProgress, 'id' | 'artifacts'> {
  nodes: WrittenNode[]
  /** Absent in the redo log of an older engine. */
  documents?: RunDocument[]
  chunks: CurveChunk[]
  log?: LogProgress | null
}

/** The node row that executed under a key of the stage cache. The reader must check that its artifacts still exist. */
export interface CacheOrigin {
  key: string
  /** The run that executed it. */
  run: string
  flow: string
  node: string
  emissions: number
  outputs: StoredOutput[]
}

export interface RunSelection {
  flow: string | null
  group: string | null
  /** Only runs that have all of these tags. */
  tags?: readonly string[]
  status: RunStatus | null
  /** Inclusive, compared with `created_at`. */
  since: number | null
  /** Exclusive. */
  before: number | null
}

export interface RunPage extends RunSelection {
  limit: number
  offset: number
}

/** A group or a tag, by its name. */
export interface RunNamesRequest {
  of: 'group' | 'tag'
  name: string
}

/** A page of the runs that fit every comparison, in a given order, with values of the runs as columns. */
export interface RunSearch extends RunPage {
  where: readonly Comparison[]
  /** Null: newest first. */
  order: RunOrder | null
  columns: readonly RunField[]
}

/** At most `limits.LIST_BYTES` of JSON: a page may end before its limit. */
export interface StoredRunList {
  items: RunSummary[]
  count: number
  next?: number
  /** Counts all runs, whatever the selection is. */
  counts: RunCounts
  totals: RunTotals
}

export interface SeriesRequest extends RunSelection {
  /** Only this run; the rest of the selection is empty then. */
  run: string | null
  /** `<flow>.<node>.<name>`; null: every series. */
  name: string | null
  /** Every n-th point of each series, its first among them. */
  stride: number
  /** Points to pass over, counted over all series, the newest run first. */
  offset: number
  /** Points of an answer at most. */
  limit: number
  /** About the bytes of its JSON; it has at least one point. Absent for no bound. */
  bytes?: number
}

export interface StoredSeries {
  run: string
  name: string
  steps: number[]
  values: number[]
}

export interface StoredSeriesPage {
  items: StoredSeries[]
  /** The offset of the first point that had no room; null when all had room. */
  next: number | null
}

export interface ExportForm {
  format: 'csv' | 'jsonl'
  /** csv: cells stay as they are, also those that a spreadsheet takes for a formula. */
  raw: boolean
}

/** A row per run, curve and step. */
export interface ExportMetricsRequest extends RunSelection, ExportForm {
  /** `<flow>.<node>.<name>`; null: every curve. */
  name: string | null
  /** Every n-th point of each curve, its first among them. */
  stride: number
}

/** A row per run. */
export interface ExportRunsRequest extends RunSelection, ExportForm {
  /** `<flow>.<node>.<name>`: a column each, with the last value of the curve. */
  metrics: string[]
  /** In this order, before the inputs. */
  columns: ExportRunColumn[]
}

/**
 * Pages of text in UTF-8, made one by one as they are asked for. A page is emptied when the next one is asked for: its memory is used
 * again. A `break` out of the loop closes the export; it can be read once.
 */
export interface RunExport extends AsyncIterable<Uint8Array> {
  /** The selection has more runs than `EXPORT_RUNS`; the newest are here. */
  readonly truncated: boolean
  /** Call it when the export is not read to its end. */
  close(): void
}

export interface RunOutput {
  has_result: boolean
  value: unknown
}

/** JSON in UTF-8: whole when it is short, else in pages as an export. */
export type JsonText = Uint8Array<ArrayBuffer> | RunExport

/** A run to be answered: one with long values as the JSON that the reader thread makes. */
export type RunAnswer = Run | JsonText

/** `<flow>.<node>.<name>`, sorted, of the newest runs of a selection. */
export interface MetricNames {
  names: string[]
  /** `created_at` of the oldest run that was read; null when the selection has no older ones. */
  before: number | null
}
export interface CachePageRequest {
  /** The last row that was read; null to begin with the newest. */
  before: { run: number; node: string } | null
  entries: number
  bytes: number
}
export interface CachePage {
  origins: CacheOrigin[]
  /** About the bytes of the origins. */
  bytes: number
  before: { run: number; node: string } | null
}
export interface OpenedExport {
  cursor: number
  truncated: boolean
}
/** The first page of a text, and the cursor of the others; null when it is the only one. */
export interface OpenedText {
  page: Uint8Array<ArrayBuffer>
  cursor: number | null
}

/** The runs at a start: queued runs, oldest first, and how many were running when the previous engine ended. */
export interface LoadedRuns {
  queued: { id: string; flow: string }[]
  interrupted: number
  counts: Record<string, { total: number; live: number }>
}

/** The front's side: writes resolve when they are on disk, in the order they were called; reads see the writes that were answered before them. */
export interface RunStore {
  create(run: NewRun, event: EngineEvent | null): Promise<CreatedRun>
  /** Finds the run of the key and adds the groups and tags to it; null when there is none. */
  repeat(request: RepeatRun): Promise<AnsweredRun | null>
  /** Null when the run is no longer queued. */
  claim(claim: ClaimRun): Promise<ClaimedRun | null>
  /** The next start queues an unbegun run again. Writes nothing when the run is not running under this epoch. */
  setUnbegun(set: SetUnbegun): Promise<null>
  /** Not finished when it is not running under this epoch. `then` is claimed in the same transaction. */
  finish(finish: FinishRun, progress: RunProgress | null, then: ClaimRun | null): Promise<FinishedRun>
  /** Deletes the run and all that belongs to it. False when there is none. Refused with `run_not_ended`, or `run_in_use` when another run reuses its nodes. */
  delete(id: string, event: EngineEvent | null): Promise<boolean>
  /** Cancels a queued run at once, and marks a running one. Null when it has ended or does not exist. */
  requestCancel(id: string, at: number): Promise<AnsweredRun | null>
  /** Changes the run and stores the event. Answers the changed run; null when there is none. Refused with `too_many_tags`. */
  change(change: ChangedRun, event: EngineEvent): Promise<AnsweredRun | null>
  /** Dropped when the run is not running. */
  progress(progress: RunProgress): Promise<null>

  list(page: RunPage): Promise<StoredRunList>
  /** The same as JSON, with `truncated`. Refused with `bad_filter`. */
  search(search: RunSearch): Promise<RunExport>
  /** The whole run with its long values. */
  get(id: string): Promise<StoredRun | null>
  head(id: string): Promise<StoredRunHead | null>
  /** At most `most` ids that begin with `text`, or whose last group does. */
  idsFrom(text: string, most: number): Promise<string[]>
  /** Only the name itself if a run has it; otherwise some similar names, for the refusal. */
  namesNear(request: RunNamesRequest): Promise<string[]>
  /** The inputs as they were given. */
  inputs(id: string): Promise<Record<string, unknown>>
  /** One value of its result; undefined when there is none of that name. */
  output(id: string, name: string): Promise<RunOutput>
  nodes(id: string): Promise<StoredRunNode[]>
  /** `Run` as JSON, made on the reader thread a page at a time. `cancel_requested_at` is used when the row has none yet. */
  runText(id: string, cancel_requested_at?: number | null): Promise<JsonText | null>
  /** `{items, count}` of `RunNode`, in their order. */
  nodesText(id: string): Promise<JsonText>
  series(request: SeriesRequest): Promise<StoredSeriesPage>
  /** Reads the newest `METRIC_NAME_RUNS` runs of the selection. */
  metricNames(selection: RunSelection): Promise<MetricNames>
  /** Newest origin of each key that has one. */
  cached(keys: string[]): Promise<CacheOrigin[]>
  /** The newest origins, at most `entries` of them and about `bytes`; `complete` when there are no others. */
  cacheIndex(entries: number, bytes: number): Promise<{ origins: CacheOrigin[]; complete: boolean }>
  /** Of the newest 1,000 runs of the same flow before this one the one in which the parts of the node differ least; the newest of several. */
  nearest(id: string, node: string, parts: FingerprintParts): Promise<NearestRun | null>

  /** Oldest run first, its curves by name. Resolves with the first page at hand, so that a refusal comes before the first byte. */
  exportMetrics(request: ExportMetricsRequest): Promise<RunExport>
  /** Oldest run first. `too_large` when there are more than `EXPORT_COLUMNS` different paths in the inputs and results. */
  exportRuns(request: ExportRunsRequest): Promise<RunExport>
}

export interface NearestRun {
  run: string
  /** Parts that differ. */
  changed: string[]
}

export interface FinishedRun {
  finished: boolean
  claimed: ClaimedRun | null
}
