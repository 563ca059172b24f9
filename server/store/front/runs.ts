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
  /** The one that it was created with comes first. */
  groups: string[]
  tags: string[]
  /** Empty: there is none. */
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

/** The store gives it its time, strictly later than that of every run before it. */
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
>

/** The answer of a write: a run with long values comes without them, so that the front does not handle them. */
export type AnsweredRun = StoredRun | StoredRunHead

/** The time that a new run got; or the run of the same flow, caller and key that was there, and nothing was written. */
export type CreatedRun = { created_at: number; there: null } | { created_at: null; there: AnsweredRun }

/** A request with a key that may name a run that is there. */
export type RepeatRun = Pick<NewRun, 'flow' | 'created_by' | 'groups' | 'tags'> & { idempotency_key: string }

/** Absent: it stays as it is. `remove_tags` comes last. */
export interface ChangedRun {
  id: string
  tags?: readonly string[]
  add_tags?: readonly string[]
  remove_tags?: readonly string[]
  note?: string
}

export interface ClaimRun {
  id: string
  /** Of this engine start: runs of an older one that are `running` at a start were interrupted. */
  epoch: number
  /** Read at the claim. */
  code_digest: string | null
  code_commit: string | null
  started_at: number
  /** The caller does not have the run: answer it. */
  whole: boolean
  /** Kept with the write; nothing is kept when the run is queued no more. */
  event: EngineEvent | null
}

/** Claimed; with the run when it was asked for. */
export interface ClaimedRun {
  run: StoredRun | null
}

/** Of a claimed run: no body of it has run, or one is about to. */
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
  /** Kept with the write, in this order; nothing is kept when it was not running. */
  events: EngineEvent[]
}

/** The last value of an output port, and the digest of the whole sequence of what it gave; see core/runs/fingerprint.ts. */
export interface StoredOutput {
  port: string
  message: string
  value: unknown
  count: number
  digest: string
}

/** One node of a run; written again whole when it has moved on. */
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
  /** Named digests of what the key is made of. */
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

/** A long value that stands beside its row, or a piece of one, whose others follow; see ../runs/documents.ts. */
export interface RunDocument {
  part: string
  json: string
}

/** As it crosses to the store. */
export interface WrittenProgress extends Pick<RunProgress, 'id' | 'artifacts'> {
  nodes: WrittenNode[]
  /** Absent in the redo log of an older engine. */
  documents?: RunDocument[]
  chunks: CurveChunk[]
  log?: LogProgress | null
}

/** A node row that a stage-cache key was found under: it executed, and its artifacts are the reader's to check. */
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
  /** The run has all of them. */
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

/** A page of the runs that fit every comparison, in an order other than that of lists, with values of the runs beside. */
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
  /** Over all runs whatever the selection. */
  counts: RunCounts
  totals: RunTotals
}

export interface SeriesRequest extends RunSelection {
  /** One run alone; the rest of the selection is empty then. */
  run: string | null
  /** `<flow>.<node>.<name>`; null: every series. */
  name: string | null
  /** Every n-th point of each series, its first among them. */
  stride: number
  /** Points over all series that come first, and are left out: the newest run's come first. */
  offset: number
  /** Points of an answer at most. */
  limit: number
  /** Of its JSON, about; one point is always in it. Absent: whatever the points take. */
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
  /** The offset of the first point that had no room; null: there is none. */
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
  /** For who does not read it to its end, or never begins to. */
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
  /** The last row that was looked at; null: from the newest on. */
  before: { run: number; node: string } | null
  entries: number
  bytes: number
}
export interface CachePage {
  origins: CacheOrigin[]
  /** About those of the origins. */
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
  /** The run that has the key, which is put into the groups and gets the tags as well; null when there is none. */
  repeat(request: RepeatRun): Promise<AnsweredRun | null>
  /** Null when it is queued no more. */
  claim(claim: ClaimRun): Promise<ClaimedRun | null>
  /** A run that is unbegun is queued again by the next start. Nothing is written when it is not running under this epoch. */
  setUnbegun(set: SetUnbegun): Promise<null>
  /** Not finished when it is not running under this epoch. `then` is claimed in the same transaction. */
  finish(finish: FinishRun, progress: RunProgress | null, then: ClaimRun | null): Promise<FinishedRun>
  /** With all that belongs to it. False when there is none; `run_not_ended`, and `run_in_use` when another run reuses its nodes. */
  delete(id: string, event: EngineEvent | null): Promise<boolean>
  /** A queued run is cancelled at once; a running one is marked. Null when it has ended, or is none. */
  requestCancel(id: string, at: number): Promise<AnsweredRun | null>
  /** The run as it is then, and the event is kept with it; null when there is none. `too_many_tags`. */
  change(change: ChangedRun, event: EngineEvent): Promise<AnsweredRun | null>
  /** Dropped when the run is not running. */
  progress(progress: RunProgress): Promise<null>

  list(page: RunPage): Promise<StoredRunList>
  /** The same as JSON, with `truncated`. `bad_filter`. */
  search(search: RunSearch): Promise<RunExport>
  /** Whole, with all that stands beside it: it may be long. */
  get(id: string): Promise<StoredRun | null>
  head(id: string): Promise<StoredRunHead | null>
  /** Ids that begin so, or whose last group does, at most so many. */
  idsFrom(text: string, most: number): Promise<string[]>
  /** The name alone if a run has it, or else some of those that there are, for a refusal. */
  namesNear(request: RunNamesRequest): Promise<string[]>
  /** As it was given. */
  inputs(id: string): Promise<Record<string, unknown>>
  /** One value of its result; undefined when there is none of that name. */
  output(id: string, name: string): Promise<RunOutput>
  nodes(id: string): Promise<StoredRunNode[]>
  /** `Run` as JSON. Made on the reader thread, which holds a page of it at most. `cancel_requested_at`: of a run whose row has none yet. */
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
