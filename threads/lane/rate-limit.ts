import type { FlowTable } from '../../core/cascade/flows.ts'
import type { PlanRun } from '../../core/cascade/plan-run.ts'
import { releaseHeld } from '../../core/cascade/release-held.ts'
import type { PlanMessage } from '../../core/flow/plan.ts'
import type { Arena } from '../../core/memory/arena.ts'
import type { HeldTable } from '../../core/memory/held.ts'
import type { JournalWriter } from '../../core/memory/journal/journal.ts'
import type { Memory } from '../../core/memory/region.ts'
import { limits } from '../../protocol/limits.ts'
import { type EncodedValue, isNumeric } from '../../protocol/values/encoded.ts'

export interface RateLimitParts {
  memory: Memory
  owner: number
  arena: Arena
  flows: FlowTable
  held: HeldTable
  journal: JournalWriter
  /** Told once for each interval in which something is held; the timer publishes it at `due_ms`. */
  notice(message: number, due_ms: number): void
}

type Releasing = Pick<Parameters<typeof releaseHeld>[0], 'clock' | 'publisher'>

/**
 * `rate_hz` on an output port: the first value passes, later ones within the interval are held (only the newest) and
 * published by the timer at the interval's end. The time of the last published value is in shared memory, so the limit also
 * holds when a flow changes its lane and when the timer publishes.
 */
export class RateLimit {
  readonly #parts: RateLimitParts

  constructor(parts: RateLimitParts) {
    this.#parts = parts
  }

  /** True when the value may be published now; else it is held. */
  passes(flow: number, message: PlanMessage, rate_hz: number, value: EncodedValue, steady_us: number): boolean {
    const { flows, held, owner } = this.#parts
    const interval_us = 1e6 / rate_hz
    flows.lockPublish(flow, owner)
    try {
      const passed_us = held.passed(message.index)
      if (held.due(message.index) === 0 && steady_us - passed_us >= interval_us) {
        held.setPassed(message.index, steady_us)
        return true
      }
      const due_ms = (passed_us + interval_us) / 1000
      this.#hold(message.index, due_ms, value, steady_us)
      return false
    } finally {
      flows.unlockPublish(flow, owner)
    }
  }

  /**
   * Publishes values held on the previous plan for ports that have no limit now, before any emission on this plan. Answers how
   * many were refused.
   */
  releaseUnlimited({ plan, routes }: PlanRun, { clock, publisher }: Releasing, scratch: EncodedValue): number {
    const { flows, held, journal, owner } = this.#parts
    const hands = { clock, flows, held, journal, publisher, owner }
    let refused = 0
    for (const node of plan.nodes) {
      for (const { rate_hz, message } of node.outputs) {
        if (rate_hz !== null || held.due(plan.messages[message]!.index) === 0) continue
        if (releaseHeld(hands, routes[message]!, scratch, Number.POSITIVE_INFINITY, false) === 'refused') refused++
      }
    }
    return refused
  }

  #hold(message: number, due_ms: number, value: EncodedValue, steady_us: number): void {
    const { arena, memory, held, journal, notice } = this.#parts
    let ref = 0
    if (!isNumeric(value.kind) && value.length > limits.SLOT_INLINE_BYTES) {
      ref = arena.allocate(value.length)
      // A full arena counts like a full flow: the value before it stays held, and the interval's end brings that one.
      if (ref === 0) return
      value.bytes.copy(memory.bytes, arena.offset(ref), 0, value.length)
    }
    const { unit } = journal
    journal.held(message, due_ms, steady_us, value, ref)
    if (held.hold(message, due_ms, value, ref, unit) === 'new') notice(message, due_ms)
  }
}
