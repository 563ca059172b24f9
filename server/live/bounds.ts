import { limits } from '../../protocol/limits.ts'

/** What the live engine holds its threads to. Tests use smaller ones. */
export interface LiveBounds {
  /** A call that was told to end has so long before its thread is ended. */
  readonly call_grace_ms: number
  readonly call_heap_mb: number
  /** A flow that stands near its bound for so long degrades the engine. */
  readonly degraded_after_ms: number
}

export const liveBounds: LiveBounds = {
  call_grace_ms: limits.CANCEL_GRACE_MS,
  call_heap_mb: limits.CALL_HEAP_MB,
  degraded_after_ms: limits.DEGRADED_AFTER_MS,
}
