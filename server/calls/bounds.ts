import { limits } from '../../protocol/limits.ts'
import { memoryMb } from './local-machine.ts'

/** What the live engine holds its threads to. Tests use smaller ones. */
export interface LiveBounds {
  /** A body that keeps its lane for so long runs in a call slot from then on. */
  readonly blocked_lane_ms: number
  /** And for so long: its thread is ended. */
  readonly node_silent_ms: number
  readonly lane_heap_mb: number
  /** A thread of the engine's own that has not answered a ping for so long is replaced; the store is waited for. */
  readonly thread_silent_ms: number
  /** A call that was told to end has so long before its thread is ended. */
  readonly call_grace_ms: number
  /** A lane that is replaced takes nothing new, and has so long for what it has begun. */
  readonly retire_grace_ms: number
  /** A call slot that has not begun a call for so long is replaced. */
  readonly slot_begin_ms: number
  readonly call_heap_mb: number
  readonly process_memory_mb: number
  /** A worker process that has had no call for so long ends. */
  readonly process_idle_ms: number
  readonly processes_idle: number
  /** A flow that stands near its bound for so long degrades the engine. */
  readonly degraded_after_ms: number
  /** Executions in the mailboxes of a flow at which it is full. */
  readonly waiting_items: number
  /** How often the watch over the front thread looks at the event loop. */
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
