import type { FlowRun } from '../../core/cascade/flow-run.ts'
import type { Execution } from '../../core/cascade/seat.ts'
import { Seat } from '../../core/cascade/seat.ts'
import { LineBudget, type NodeState } from '../calls/node-context.ts'
import { Pace } from './pace.ts'

/** The link from the context of an inline body to its execution. */
export interface SpeaksFor {
  readonly flow: FlowRun
  execution: Execution | null
}

/** A seat on a lane: in addition to the fields for waves, the node's state and the data of its context. */
export class LaneSeat extends Seat {
  state: NodeState | null = null
  /** The state as it was last kept; null when it was never kept. */
  kept: Buffer | null = null
  speaker: SpeaksFor | null = null
  readonly lines = new LineBudget()
  readonly pace = new Pace()
}
