import type { MessagePort } from 'node:worker_threads'
import type { FromCall, ToCall } from '../lane/messages.ts'
import type { CallNode, CallPlace, NodeCall } from './call.ts'
import type { Taken } from './send-window.ts'

/** The data that the front passes to a call slot at its start. */
export interface SlotTask {
  readonly port: MessagePort
  readonly place: CallPlace
  /** What is masked in texts. */
  readonly masks: SharedArrayBuffer
  readonly taken: Taken
  /** What bodies print is printed, too. */
  readonly prints: boolean
}

/** Front to call slot. */
export type ToSlot =
  | CallTask
  | { readonly type: 'told'; readonly call: number; readonly message: ToCall }
  /** What a body has asked for; null: there is no such secret. */
  | { readonly type: 'secret'; readonly ask: number; readonly text: string | null }

export interface CallTask extends Omit<NodeCall, 'node'> {
  readonly type: 'call'
  readonly call: number
  /** Null when the slot knows it by its key. */
  readonly node: CallNode | null
  /** Unique in the process; null when the node is not to be kept. */
  readonly key: number | null
  /** Of a live node: the call answers its lane. */
  readonly port: MessagePort | null
}

/** Call slot to front. */
export type FromSlot =
  /** It has loaded its modules. */
  | { readonly type: 'ready'; readonly thread: number }
  /** The call that was handed over last begins. */
  | { readonly type: 'begun' }
  /** A call has said its last to its lane. */
  | { readonly type: 'done' }
  /** By the body that runs: `secret` with the same number follows. */
  | { readonly type: 'secret'; readonly ask: number; readonly name: string }
  /** A call of a batch run; `returned` and `threw` end it. */
  | FromCall

/** Nodes that a slot keeps. It forgets all of them when one more comes, and so does the front of what the slot knows. */
const NODES_KNOWN = 1_000

export function makeRoom(nodes: Pick<Map<number, unknown>, 'size' | 'clear'>): void {
  if (nodes.size >= NODES_KNOWN) nodes.clear()
}
