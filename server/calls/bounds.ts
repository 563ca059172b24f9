import { limits } from '../../protocol/limits.ts'
import { memoryMb } from './local-machine.ts'

/** Time bounds of the live engine's threads. Tests use smaller ones. */
export interface LiveBounds {
  /** A body that keeps its lane busy for longer runs in a call slot from then on. */
  readonly blocked_lane_ms: number
  /** When a body keeps its lane busy for longer than this, its thread is ended. */
  readonly node_silent_ms: number
  readonly lane_heap_mb: number
  /** A thread of the engine that answers no ping for this long is replaced, except the store, which is waited for. */
  readonly thread_silent_ms: number
  /** How long a call that was told to end may take; then its thread is ended. */
  readonly call_grace_ms: number
  /** How long a lane that is being replaced may take to finish what it has begun. It takes nothing new. */
  readonly retire_grace_ms: number
  /** A call slot that has not begun its call after this time is replaced. */
  readonly slot_begin_ms: number
  readonly call_heap_mb: number
  readonly process_memory_mb: number
  /** A worker process without a call for this long ends. */
  readonly process_idle_ms: number
  readonly processes_idle: number
  /** After a flow has been near its bound for this long, the engine counts as degraded. */
  readonly degraded_after_ms: number
  /** A flow with this many executions in its mailboxes is full. */
  readonly waiting_items: number
  /** Interval at which the watch over the front thread checks the event loop. */
  readonly front_look_ms: number
}

export const liveBounds: LiveBounds = {
  blocked_lane_ms: limits.BLOCKED_LANE_MS,
  node_silent_ms: limits.NODE_SILENT_MS,
  lane_heap_mb: limits.LANE_HEAP_MB,
  thread_silent_ms: limits.THREAD_SILENT_MS,
  call_grace_ms: limits.CANCEL_GRACE_MS,
  retire_grace_ms: limits.RETIRE_GRACE_MS,
  slot_begin_ms: limits.SLOT_BEGIN_MS,
  call_heap_mb: limits.CALL_HEAP_MB,
  process_memory_mb: Math.floor(memoryMb() * limits.PROCESS_MEMORY_SHARE),
  process_idle_ms: limits.PROCESS_IDLE_MS,
  processes_idle: limits.PROCESSES_IDLE,
  degraded_after_ms: limits.DEGRADED_AFTER_MS,
  waiting_items: limits.FLOW_WAITING_ITEMS,
  front_look_ms: limits.FRONT_LOOK_MS,
}
