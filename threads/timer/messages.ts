import type { MessagePort } from 'node:worker_threads'
import type { Route } from '../../core/cascade/publish/route.ts'
import type { Dtype } from '../../protocol/values/dtype.ts'

/** The data that the front passes to the timer thread at its start. */
export interface TimerTask {
  readonly sab: SharedArrayBuffer
  readonly time_zone: string
  readonly degraded_after_ms: number
}

/** Up to when the occurrences of a node are on record, for the schedule that it had then. */
export interface SeenFires {
  /** `every_s` and `cron`, see `scheduleOf`. */
  readonly schedule: string
  /** Microseconds since 1970. */
  readonly at_us: number
}

/** A text that differs when the times of an inject node do. */
export const scheduleOf = ({ every_s, cron }: { every_s: number | null; cron: string | null }): string =>
  `${every_s ?? ''} ${cron ?? ''}`

/** An `inject` node: what it publishes, and when. */
export interface InjectPlan {
  readonly node: number
  readonly qualified: string
  readonly route: Route
  readonly dtype: Dtype
  readonly value: unknown
  readonly once: boolean
  readonly every_s: number | null
  readonly cron: string | null
  readonly catch_up: 'skip' | 'once'
  /** Up to when its occurrences are on record, from an engine or a timer thread before this; null: they begin now. */
  readonly seen: SeenFires | null
}

/** An output port whose held values are published here. */
export interface RatedPlan {
  readonly route: Route
  /** Null: it was rate-limited before, and a lane that has not heard of it may still hold a value. */
  readonly rate_hz: number | null
}

/**
 * The timers of a flow, in place of those it had; an interval that is still the same goes on. `fire`: it was saved, enabled,
 * or the engine has started.
 */
export interface TimersOfFlow {
  readonly type: 'flow'
  readonly flow: number
  readonly name: string
  readonly enabled: boolean
  readonly injects: readonly InjectPlan[]
  readonly rated: readonly RatedPlan[]
  /** Messages of `delay` and `trigger` nodes. */
  readonly timed: readonly Route[]
  readonly fire: boolean
  /** Why occurrences were missed since they were seen. */
  readonly missed: 'engine_down' | 'flow_disabled'
}

/** Front to timer. */
export type ToTimer =
  | TimersOfFlow
  | { readonly type: 'drop'; readonly flow: number }
  | { readonly type: 'lane'; readonly port: MessagePort }
  /** Held values that were due when the engine ended, or whose lane died before it told. */
  | { readonly type: 'held'; readonly message: number; readonly due_ms: number }
  /** The same of scheduled values. */
  | { readonly type: 'scheduled'; readonly message: number; readonly due_ms: number }
  /** The machine's clock was set, in milliseconds since 1970. */
  | { readonly type: 'clock'; readonly from_ms: number; readonly to_ms: number }
  /** Answered at once: the thread is alive. */
  | { readonly type: 'ping' }
  | { readonly type: 'stop' }

/** Timer to front. */
export type FromTimer =
  | { readonly type: 'entered'; readonly owner: number }
  | { readonly type: 'pong' }
  | { readonly type: 'left' }
