import type { MessagePort } from 'node:worker_threads'
import type { PlanNode } from '../../core/flow/plan.ts'
import type { PackedLines } from '../../core/runs/log-lines.ts'
import type { ErrorCode } from '../../protocol/errors.ts'
import type { FireRun } from '../../protocol/nouns/fire.ts'
import type { ResourceAmounts } from '../../protocol/nouns/run.ts'
import type { LogLevel } from '../../protocol/nouns/run-log.ts'
import type { ArtifactPlace } from '../calls/artifact-files.ts'
import type { PlanBytes } from './plan-bytes.ts'
import type { UnderWayTask } from './under-way.ts'

/** The data that the front passes to a lane at its start. */
export interface LaneTask {
  readonly sab: SharedArrayBuffer
  readonly slot: number
  readonly control: MessagePort
  /** Directly to the timer thread: values held by a rate limit. */
  readonly timer: MessagePort
  /** Folder of the stripped bodies, each named by its digest. */
  readonly bodies: string
  readonly artifacts: ArtifactPlace
  /** What is masked in texts (`core/masks/table.ts`). */
  readonly masks: SharedArrayBuffer
  readonly max_cascades: number
  readonly waiting_items: number
  /** Null: nothing is marked. */
  readonly under_way: UnderWayTask | null
}

/** Front to lane. Read at the start of a turn: a lane that sleeps is woken after the post. */
export type ToLane =
  | { readonly type: 'plan'; readonly plan: PlanBytes }
  /** Those of some nodes, by their index: they come before the plan. */
  | { readonly type: 'outboxes'; readonly outboxes: ReadonlyMap<number, SharedArrayBuffer> }
  | { readonly type: 'drop'; readonly flow: number }
  | PurgeRequest
  /**
   * Take no further flow and begin nothing; end when no flow is held any more, or after the grace: then abort what is away.
   * `closing`: the engine ends; the next one queues again what has not run.
   */
  | { readonly type: 'retire'; readonly grace_ms: number; readonly closing: boolean }
  /** What a body has asked for; null: there is no such secret. */
  | { readonly type: 'secret'; readonly ask: number; readonly text: string | null }
  /** The call's thread is gone, or never took it. */
  | { readonly type: 'call_lost'; readonly call: number; readonly code: LostCode; readonly message: string }

/** `not_begun`: nothing of the call has run, and it is to be dispatched again. */
export type LostCode = ErrorCode | 'not_begun'

/**
 * The flow's owner drops the executions in its mailboxes, and the items of its queue that were there when `appended` was read.
 * A lane reads its messages before it claims a flow, so a lane that reads this late has owned the flow since then.
 */
export interface PurgeRequest {
  readonly type: 'purge'
  readonly request: number
  readonly flow: number
  readonly appended: number
}

/** Lane to front. */
export type FromLane =
  | { readonly type: 'entered'; readonly owner: number }
  | { readonly type: 'dispatch'; readonly request: CallRequest }
  /** The call was withdrawn: its flow or its run has ended. */
  | { readonly type: 'withdrawn'; readonly call: number }
  /** `secret` with the same number follows, to this lane alone. */
  | { readonly type: 'secret'; readonly ask: number; readonly name: string; readonly node: string }
  /** By every lane, once for each request; null: it does not own the flow. */
  | { readonly type: 'purged'; readonly request: number; readonly count: number | null }
  | { readonly type: 'left' }

/** Lane to timer: `message` holds a value that is due; it lies in the held table, or with `scheduled` in that of scheduled values. */
export interface HeldNotice {
  readonly message: number
  readonly due_ms: number
  readonly scheduled?: true
}

/** A body for a call slot. `port` leads straight back to the lane. */
export interface CallRequest {
  readonly call: number
  readonly flow: string
  readonly node: PlanNode
  readonly inputs: Record<string, unknown>
  readonly state: Record<string, unknown>
  readonly port: MessagePort
}

/** The resources held for a call. */
export interface CallGrant {
  readonly granted: ResourceAmounts
  /** Numbers of its cards. */
  readonly cards: readonly number[]
}

/** What a body in a batch run knows of its run. */
export interface RunIdentity {
  readonly id: string
}

/** A body of a batch run for a call slot: it answers to the front. */
export interface RunCallRequest {
  readonly flow: string
  readonly run: RunIdentity
  readonly node: PlanNode
  readonly inputs: Record<string, unknown>
  /** Null: the node declares nothing. */
  readonly grant: CallGrant | null
}

/** Call slot to lane, over the call's own port; in a batch run to the front, see `slot-messages.ts`. */
export type FromCall =
  | { readonly type: 'emit'; readonly outputs: unknown }
  | {
      readonly type: 'returned'
      readonly outputs: unknown
      readonly state: Record<string, unknown>
      readonly ms: number
      /** How long its thread was busy meanwhile; `ms` when nobody knows. */
      readonly held_ms?: number
    }
  | {
      readonly type: 'threw'
      readonly failure: { code: ErrorCode; message: string; stack: string | null }
      readonly state: Record<string, unknown>
      readonly ms: number
      /** How long its thread was busy meanwhile; `ms` when nobody knows. */
      readonly held_ms?: number
    }
  | { readonly type: 'note'; readonly note: Note }
  /** Digest of what the body of a batch run has stored. */
  | { readonly type: 'artifact'; readonly digest: string }
  /** Points of a batch run; `dropped`: those that nobody took in time. */
  | { readonly type: 'metrics'; readonly points: CallMetric[]; readonly dropped: number }
  /** Lines of a batch run; `dropped`: those that nobody took in time. */
  | { readonly type: 'lines'; readonly lines: PackedLines; readonly dropped: number }

/** The last of a call. */
export type CallOutcome = Extract<FromCall, { ms: number }>

export interface CallMetric {
  readonly name: string
  readonly value: number
  /** Null: one after the last of that name. */
  readonly step: number | null
}

/** Lane to call slot, over the call's own port. */
export type ToCall =
  /** The inline part of one emission's wave is done. */
  | { readonly type: 'processed' }
  /**
   * The front has taken so many of its points, or so much of its lines. Also sent over shared memory to the thread itself,
   * which may be blocked on them.
   */
  | { readonly type: 'taken'; readonly what: 'points' | 'lines'; readonly count: number }
  | { readonly type: 'abort'; readonly reason: string }

/** What a thread reports to the front and the store about a node or a flow, besides values: journalled as a note. */
export type Note =
  | {
      type: 'error'
      node: string
      code: ErrorCode
      message: string
      stack: string | null
      ts: number
      inputs: unknown
      cascade_seq: number
      cascade_ts: number
      /** Executions of the node that had gone well by then; absent when the sender does not count them. */
      good?: number
    }
  | { type: 'log'; node: string; level: LogLevel; text: string; ts: number; run?: string }
  | { type: 'gauge'; node: string; name: string; value: number; step: number | null; ts: number }
  | { type: 'report'; node: string; status: 'ok' | 'down'; text: string; ts: number }
  | { type: 'promoted'; node: string; median_ms: number; ts: number }
  | { type: 'demoted'; node: string; fast_ms: number; ts: number }
  | { type: 'cycle'; flow: string; node: string; text: string; count: number; ts: number }
  | { type: 'dropped'; flow: string; reason: string; count: number; ts: number }
  /** What became of occurrences of inject nodes, and up to when all of them are on record. */
  | { type: 'fires'; runs: readonly FireRun[]; ts: number }
  | { type: 'fires_seen'; nodes: readonly (readonly [node: string, schedule: string])[]; ts: number }

export type { LogLevel }
