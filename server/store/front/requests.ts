import type { FingerprintParts } from '../../../core/runs/fingerprint.ts'
import type { EngineEvent } from '../../../protocol/nouns/event.ts'
import type { Flavor } from '../../../protocol/nouns/flavor.ts'
import type { Role } from '../../../protocol/words/scopes.ts'
import type { StoreBounds } from '../file/bounds.ts'
import type { UnreadablePlace } from '../file/unreadable.ts'
import type { RetainedClass } from './retention.ts'
import type { LogRequest } from './run-logs.ts'
import type {
  CachePageRequest,
  ChangedRun,
  ClaimRun,
  ExportMetricsRequest,
  ExportRunsRequest,
  FinishRun,
  NewRun,
  RepeatRun,
  RunNamesRequest,
  RunPage,
  RunSearch,
  RunSelection,
  SeriesRequest,
  SetUnbegun,
  WrittenProgress,
} from './runs.ts'

/** The requests of the front to the store thread and the reader thread. Plain data: it crosses by structured clone. */

export type FlowAction = 'save' | 'rename' | 'delete' | 'restore' | 'enable' | 'disable'
export type FlowOrigin = Record<string, unknown>

export interface SaveFlow {
  name: string
  /** JSON text, which is stored as it is. */
  document: string
  enabled: boolean
  author: string
  message: string
  action: 'save' | 'restore'
  origin: FlowOrigin | null
  /** The version that the caller read; 0 when there was no flow. Refused with `stale_version` when it has changed. */
  base_version: number | null
  /** Refuse with `flow_exists` when there is such a flow. */
  create?: boolean
  /** Messages and nodes that the save adds or removes, by qualified name: their values and states are dropped. */
  forget?: { readonly messages: readonly string[]; readonly nodes: readonly string[] }
}

export interface RenameFlow {
  from: string
  to: string
  /** Documents (as JSON) in which references were rewritten, by their flow's name; the renamed flow's own one under `from` or `to`. */
  rewritten: { name: string; document: string }[]
  /** Other records that name the flow; written in the same transaction. */
  records?: readonly RecordWrite[]
  author: string
}

export interface RemoveFlow {
  name: string
  author: string
}

export interface EnableFlow {
  name: string
  enabled: boolean
  author: string
}

export interface StoredUser {
  name: string
  /** argon2id, as PHC text. */
  password_hash: string
  role: Role
  display_name: string | null
  mail: string | null
  disabled: boolean
  /** Microseconds since 1970. */
  created_at: number
}

/** An address from which a user has signed in. */
export interface KnownAddress {
  user: string
  address: string
  /** Milliseconds since 1970. */
  seen_at: number
}

/** A token that was ended before its time; '' stands for every token of the user that was issued before `issued_at`. */
export interface RevokedToken {
  user: string
  token: string
  /** Milliseconds since 1970. */
  issued_at: number
  expires_at: number
}

export interface StoredSignIns {
  known: KnownAddress[]
  revoked: RevokedToken[]
}

export interface PutUser {
  name: string
  password_hash: string
  role: Role
  display_name: string | null
  mail: string | null
  disabled: boolean
  /** Refuse with `user_exists` when there is such a user. */
  create: boolean
}

/** The kinds of records. A record is JSON text that the service made; the store does not look into it. */
export type RecordKind = 'client' | 'grant' | 'secret' | 'panel' | 'dashboard' | 'dashboard_version'

/** The records of a kind with `from <= id < to`, by id. */
export interface RecordRange {
  kind: RecordKind
  from: string
  /** Null: up to the last record. */
  to: string | null
  limit: number
  newest_first: boolean
}

export interface StoredRecord {
  id: string
  body: string
}

/** Sets a record, or removes it where `body` is null. */
export interface RecordWrite {
  kind: RecordKind
  id: string
  body: string | null
}

export interface Registration {
  messages: [index: number, name: string, dtype: string][]
  flows: [index: number, name: string][]
  /** `<flow>.<node>`. */
  nodes: [index: number, qualified: string][]
}

/** The items that a start has put into the queue of a flow: 0, 1, ... */
export interface ResumedFlow {
  flow: number
  /** Engine-wide indexes. */
  messages: Int32Array
  versions: Float64Array
  /** `depth << 4 | group`. */
  places: Int32Array
  /** The cascade that published each item, 0 for none; see `server/store/cascades/earlier.ts`. */
  parent_seqs: Float64Array
  parent_times: Float64Array
}

/** The engine's own figures since the sample before; `waiting` and `sockets` are the most at once. */
export interface Sample {
  /** Microseconds since 1970. */
  ts: number
  published: number
  executions: number
  errors: number
  cascades: number
  waiting: number
  sockets: number
}

/** Writes of batch runs. Their effect depends only on the file and on their own data; they are sent as JSON, which the redo log keeps. */
export type RunWrite =
  | { type: 'create_run'; run: NewRun; event: EngineEvent | null; at: number }
  | { type: 'repeat_run'; repeat: RepeatRun }
  | { type: 'claim_run'; claim: ClaimRun }
  | { type: 'set_unbegun'; set: SetUnbegun }
  | { type: 'finish_run'; finish: FinishRun; progress: WrittenProgress | null; then: ClaimRun | null }
  | { type: 'cancel_run'; id: string; at: number }
  /** Absent in redo logs of older releases. */
  | { type: 'delete_run'; id: string; event?: EngineEvent | null }
  | { type: 'remove_runs'; of: RetainedClass; ids: readonly string[] }
  | { type: 'tell_removals'; at: number }
  | { type: 'change_run'; change: ChangedRun; event: EngineEvent }
  | { type: 'run_progress'; progress: WrittenProgress }

/** Writes that are answered when they are on disk. */
export type ControlRequest =
  | RunWrite
  | { type: 'save_flow'; save: SaveFlow }
  | { type: 'rename_flow'; rename: RenameFlow }
  | { type: 'delete_flow'; remove: RemoveFlow }
  | { type: 'enable_flow'; enable: EnableFlow }
  | { type: 'put_user'; user: PutUser }
  | { type: 'delete_user'; name: string }
  | { type: 'know_address'; known: KnownAddress }
  | { type: 'revoke_tokens'; revoked: readonly RevokedToken[] }
  | { type: 'put_setting'; name: string; value: string }
  | { type: 'write_records'; records: readonly RecordWrite[] }
  | { type: 'put_flavor'; flavor: Flavor }
  | { type: 'delete_flavor'; name: string }
  | { type: 'acknowledge'; node: string }
  | { type: 'drop_states'; nodes: string[] }
  /** Put a row that the reader thread could not decode into the quarantine. Answers the damage. */
  | { type: 'put_aside'; place: UnreadablePlace }
  /** Answered when everything that was marked before it is committed. */
  | { type: 'flush' }
  /**
   * The same, refused with `not_durable` when the store has dropped more history than `dropped`: the values that
   * the caller waits for may be lost.
   */
  | { type: 'durable'; dropped: number }

export type StoreRequest =
  | { type: 'control'; id: number; request: ControlRequest }
  | { type: 'run_write'; id: number; text: string }
  | { type: 'users'; id: number; name: string | null }
  | { type: 'records'; id: number; range: RecordRange }
  /** Answered at once: the thread is alive. */
  | { type: 'ping'; id: number }
  | { type: 'register'; registration: Registration }
  /** Sent once, before the first thread takes an item. */
  | { type: 'resumed'; flows: ResumedFlow[] }
  | { type: 'events'; events: EngineEvent[] }
  | { type: 'sample'; sample: Sample }
  | { type: 'close'; id: number }

/** How the store thread is started. */
export interface StoreStart {
  data_dir: string
  sab: SharedArrayBuffer
  bounds: StoreBounds
}

export interface PageQuery {
  limit: number
  offset: number
}

export interface HistoryRequest {
  name: string
  /** Microseconds since 1970, inclusive; null: from the first point. */
  since: number | null
  /** Exclusive; null: to now. */
  until: number | null
  /** Only for points: includes those at `until` itself whose version is lower. */
  until_version?: number | null
  limit: number
  bucket_s: number | null
}

export interface CascadesRequest extends PageQuery {
  flow: string | null
  status: string | null
  since: number | null
  before: number | null
}

export interface EventsRequest extends PageQuery {
  flow: string | null
  /** Absent or null: of any run. */
  run?: string | null
  type: string | null
  /** Include events of type `audit`. */
  audit?: boolean
  /** For events of type `audit`; absent or null for any. */
  actor?: string | null
  action?: string | null
  since: number | null
  until: number | null
}

export interface TimeseriesRequest {
  /** 0 means 1. */
  hours: number
  bucket_s: number
  since: number | null
  until: number | null
}

export type ReadRequest =
  /** Answers another request as JSON text in UTF-8, so that the front can pass a large answer on without parsing it. */
  | { type: 'text'; of: TextRequest }
  | { type: 'history'; query: HistoryRequest }
  | { type: 'cascades'; query: CascadesRequest }
  | { type: 'cascade'; id: string }
  | { type: 'events'; query: EventsRequest }
  | { type: 'commits'; flow: string; page: PageQuery }
  | { type: 'commit'; flow: string; hash: string }
  | { type: 'commit_detail'; flow: string; hash: string }
  | { type: 'node_errors'; node: string }
  | { type: 'fires'; node: string; page: PageQuery }
  | { type: 'fires_seen' }
  | { type: 'timeseries'; query: TimeseriesRequest }
  | { type: 'disk' }
  | { type: 'search'; text: string; limit: number }
  | { type: 'recorded_artifacts'; digests: readonly string[] }
  | { type: 'runs'; page: RunPage }
  | { type: 'search_runs'; search: RunSearch }
  | { type: 'run'; id: string }
  | { type: 'run_head'; id: string }
  | { type: 'run_ids'; from: string; most: number }
  | { type: 'run_names'; names: RunNamesRequest }
  | { type: 'run_inputs'; id: string }
  | { type: 'run_output'; id: string; name: string }
  | { type: 'run_nodes'; id: string }
  | { type: 'run_text'; id: string; cancel_requested_at: number | null }
  | { type: 'nodes_text'; id: string }
  | { type: 'run_series'; series: SeriesRequest }
  | { type: 'metric_names'; selection: RunSelection; runs: number }
  | { type: 'cached'; keys: string[] }
  | { type: 'cache_page'; page: CachePageRequest }
  | { type: 'nearest_run'; id: string; node: string; parts: FingerprintParts }
  | { type: 'run_log'; request: LogRequest }
  | { type: 'retained_use'; of: RetainedClass }
  | { type: 'retained_page'; of: RetainedClass; after: number; limit: number }
  | { type: 'export_metrics'; request: ExportMetricsRequest }
  | { type: 'export_runs'; request: ExportRunsRequest }
  | { type: 'export_page'; cursor: number; spare: ArrayBuffer | null }
  | { type: 'export_close'; cursor: number }

export type TextRequest = Extract<ReadRequest, { type: 'history' | 'commit_detail' }>

export interface ReaderStart extends Pick<StoreBounds, 'answer_bytes' | 'export_runs' | 'export_page_bytes'> {
  data_dir: string
  sab: SharedArrayBuffer
}
