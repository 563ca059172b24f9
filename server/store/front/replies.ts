import type { DocumentPieces } from '../../../core/flow/document-text.ts'
import type { DiskFault } from '../../../protocol/disk-faults.ts'
import type { Problem } from '../../../protocol/errors.ts'
import type { Flavor } from '../../../protocol/nouns/flavor.ts'
import type { NormalDocument } from '../../../protocol/nouns/flow-document.ts'
import type { NodeError } from '../../../protocol/nouns/node-error.ts'
import type { StoredSeen } from '../catalog/fires.ts'
import type { Damage } from '../file/quarantine.ts'
import type { FlowOrigin, StoredSignIns } from './requests.ts'
import type { LoadedRuns } from './runs.ts'

export { type Damage, damageText } from '../file/quarantine.ts'

/** The answers of the store thread and the reader thread. Times are microseconds since 1970 unless the shape is one of protocol/. */

export interface FlowWritten {
  name: string
  version: number
  commit: string
  at: number
}

export interface FlowRenamed extends FlowWritten {
  rewritten: FlowWritten[]
}

export interface StoredFlow {
  name: string
  enabled: boolean
  version: number
  commit: string
  document: NormalDocument
  origin: FlowOrigin | null
  updated_at: number
  updated_by: string
}

export interface StoredValue {
  name: string
  version: number
  ts: number
  kind: number
  number: number
  bytes: Uint8Array
}

export interface StoredHeld {
  name: string
  due_ms: number
  ts: number
  kind: number
  number: number
  bytes: Uint8Array
}

/** A value that a `delay` or `trigger` node publishes later. */
export interface StoredScheduled extends StoredHeld {
  /** Its number among the scheduled values of its message. */
  entry: number
}

/** The items that a flow had accepted and not consumed when the engine ended, in order. */
export interface StoredWaiting {
  flow: string
  items: {
    message: string
    version: number
    ts: number
    depth: number
    /** Bits of GROUP, see core/cascade/queue/queue.ts. */
    group: number
    /** The parent as the record of its cascade will have it. */
    parent_seq: number
    parent_ts: number
    kind: number
    number: number
    bytes: Uint8Array
  }[]
  /** The value that each of these messages had before the items; `KIND.none` when there was none or it was removed. */
  standing: { message: string; dtype: string; version: number; kind: number; number: number; bytes: Uint8Array }[]
  /** Number of items whose value was removed. */
  lost: number
}

/** The stored state at a start. */
export interface Loaded {
  /** Counts the starts on this data directory, from 1. */
  engine_epoch: number
  flows: StoredFlow[]
  values: StoredValue[]
  /** `node` is `<flow>.<node>`; `bytes` is what the journal carried. */
  states: { node: string; bytes: Uint8Array }[]
  held: StoredHeld[]
  /** The entries of each message in their order. */
  scheduled: StoredScheduled[]
  waiting: StoredWaiting[]
  /** The newest of each node. */
  node_errors: NodeError[]
  /** Up to when the fires of inject nodes are on record. */
  fires_seen: StoredSeen[]
  settings: Record<string, string>
  users: number
  sign_ins: StoredSignIns
  flavors: Flavor[]
  /** Cascades that an earlier engine had begun and not ended; they are recorded `interrupted`. */
  interrupted: number
  runs: LoadedRuns
}

/** The health of the store; sent when it changes. */
export interface StoreHealth {
  /** The disk takes no commits. */
  fault: DiskFault | null
  /** History points and cascade records that were dropped since the start. */
  dropped: number
  /** The newest failure that the disk did not cause; null without one. */
  failure: string | null
}

export type Answer = { id: number; result: unknown } | { id: number; problem: Problem }

export type StoreReply =
  | { type: 'loaded'; loaded: Loaded }
  | { type: 'not_started'; problem: Problem }
  /** `unseen`: some answered writes are on disk, but readers see them only after the next commit. */
  | { type: 'answers'; answers: Answer[]; unseen: boolean }
  | { type: 'health'; health: StoreHealth }
  | { type: 'log'; text: string }
  | { type: 'damaged'; damage: Damage }

/** The result of a commit; without a document when the flow was deleted. */
export interface StoredCommit {
  origin: FlowOrigin | null
  document: DocumentPieces | null
}
