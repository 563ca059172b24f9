import type { FlowRun } from '../../core/cascade/flow-run.ts'
import type { Execution } from '../../core/cascade/seat.ts'
import { Seat } from '../../core/cascade/seat.ts'
import { limits } from '../../protocol/limits.ts'
import { LineBudget, type NodeState } from '../calls/node-context.ts'

const MEDIAN_OF = limits.SLOW_BODY_MEDIAN_OF

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
  /** One bit an execution, the newest lowest: it took longer than SLOW_BODY_MS. */
  #slow = 0
  #seen = 0

  /** True when the median of the last 32 executions has just passed SLOW_BODY_MS. */
  isSlowAfter(ms: number): boolean {
    this.#slow = (this.#slow << 1) | (ms > limits.SLOW_BODY_MS ? 1 : 0)
    if (this.#seen < MEDIAN_OF) this.#seen++
    if (this.#slow === 0 || this.#seen < MEDIAN_OF) return false
    let slow = 0
    for (let bits = this.#slow; bits !== 0; bits &= bits - 1) slow++
    return slow > MEDIAN_OF / 2
  }
}
