import type { PlanRun } from './plan-run.ts'
import type { Wave } from './wave.ts'

/** A flow as its own parts see it. `FlowRun` is the only implementation: a host may rely on getting the one that was made with it. */
export interface Flow {
  readonly index: number
  /** The newest plan. */
  readonly run: PlanRun
  /** Bodies away or being loaded: while there are any, the flow stays with its thread. */
  away: number
  /** Items were taken since the last mark. */
  hasTaken: boolean
  /** Executions waiting in mailboxes and results waiting for a turn. */
  readonly inner: number
  /** Something that the wave waited for has come: it goes on with the other arrivals. */
  enqueue(wave: Wave): void
  /** Every wave that has begun and not ended and does not wait for a body away. */
  queuedWaves(): Iterable<Wave>
}
