import type { Route } from '../../core/cascade/publish/route.ts'
import type { ErrorCode } from '../../protocol/errors.ts'
import type { ArtifactPlace } from '../calls/artifact-files.ts'
import type { ServedPort } from './connector.ts'
import type { ReachRules } from './reach.ts'

/** What the front hands the connectors thread when it starts. */
export interface ConnectorsTask {
  readonly sab: SharedArrayBuffer
  readonly artifacts: ArtifactPlace
  /** What is masked in texts. */
  readonly masks: SharedArrayBuffer
  /** Where relative paths in settings begin. */
  readonly folder: string
  readonly reach: ReachRules
  readonly timezone: string
}

/** An output port, and where its message goes; null: to whoever calls the node. */
export interface RoutedPort extends ServedPort {
  readonly route: Route | null
  /** At most so many values a second; null: all. */
  readonly rate_hz: number | null
}

/** A connector node: what makes it begin anew is in `change_key`. */
export interface ConnectorPlan {
  readonly node: number
  readonly qualified: string
  readonly type: string
  readonly change_key: string
  /** Secrets in them are texts. */
  readonly settings: Record<string, unknown>
  /** Why a secret of its settings has no text: the node is down with it. */
  readonly refusal?: { readonly code: ErrorCode; readonly message: string } | null
  readonly inputs: readonly ServedPort[]
  readonly outputs: readonly RoutedPort[]
  /** Where its lane leaves messages that are to be sent. */
  readonly outbox?: SharedArrayBuffer | null
}

/** The connector nodes of a flow, in place of those it had. Those with the same change key keep what they hold. */
export interface ConnectorsOfFlow {
  readonly type: 'flow'
  readonly flow: number
  readonly name: string
  readonly nodes: readonly ConnectorPlan[]
}

/** Front to connectors. */
export type ToConnectors =
  | ConnectorsOfFlow
  | { readonly type: 'drop'; readonly flow: number }
  /** An execution of a node that its inputs have woken: `answered` or `failed` follows. */
  | {
      readonly type: 'call'
      readonly call: number
      readonly plan: ConnectorPlan
      readonly inputs: Readonly<Record<string, unknown>>
    }
  | { readonly type: 'abort'; readonly call: number; readonly reason: string }
  /** Answered at once: the thread is alive. */
  | { readonly type: 'ping' }
  | { readonly type: 'stop' }

/** Connectors to front. */
export type FromConnectors =
  | { readonly type: 'entered'; readonly owner: number }
  | {
      readonly type: 'answered'
      readonly call: number
      readonly outputs: Readonly<Record<string, unknown>>
      readonly ms: number
    }
  | {
      readonly type: 'failed'
      readonly call: number
      readonly failure: { readonly code: string; readonly message: string; readonly stack: string | null }
      readonly ms: number
    }
  /** Something is wrong with the engine itself: for its log. */
  | { readonly type: 'defect'; readonly text: string }
  | { readonly type: 'pong' }
  | { readonly type: 'left' }
