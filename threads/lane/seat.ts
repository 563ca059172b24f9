import type { FlowRun } from '../../core/cascade/flow-run.ts'
import type { Execution } from '../../core/cascade/seat.ts'
import { Seat } from '../../core/cascade/seat.ts'
import { LineBudget, type NodeState } from '../calls/node-context.ts'
import { Pace } from './pace.ts'

/** What a context of an inline body reaches back to: the execution that it speaks for. */
export interface SpeaksFor {
  readonly flow: FlowRun
  execution: Execution | null
}

/** A seat on a lane: beside what the waves need, the node's state and what its context stands on. */
export class LaneSeat extends Seat {
  state: NodeState | null = null
  /** The state as it was last kept; null when it was never kept. */
  kept: Buffer | null = null
  speaker: SpeaksFor | null = null
  readonly lines = new LineBudget()
  readonly pace = new Pace()
}
