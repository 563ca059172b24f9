import type { PlanRun } from './plan-run.ts'

/** Everything that one published message started inside one flow. Counts itself; recorded when nothing of it is open any more. */
export class Cascade {
  /** Unique while the engine runs. */
  seq = 0
  started_us = 0
  /** Engine-wide index of the message that started it. */
  message = 0
  root_version = 0
  /** Back edges and child cascades passed since the root publish. */
  depth = 0
  parent_seq = 0
  parent_ts = 0
  executions = 0
  errors = 0
  /** Open waves and bodies away. */
  open = 0
  /** True once it outlived the turn that began it: it then counts against the bound on cascades in flight. */
  in_flight = false
  /** True once an open record was journalled. */
  recorded = false
}

/** Counts the waves that back edges started under one root emission; shared by all of them. */
export interface BackEdgeCount {
  waves: number
}

/**
 * One emission on its way through a plan. Nodes that it has activated wait in `pending` in wave order; a node that was
 * started and has not contributed yet (its body is away, or it waits in a mailbox) stands in `away`. A pending node may
 * start when no node that can still reach it is pending before it or away.
 */
export class Wave {
  readonly kind = 0
  id = 0
  run: PlanRun = null as never
  cascade: Cascade = null as never
  depth = 0
  /** The flow's clock when the wave began: it reads nothing that a later cascade published. */
  as_of = 0
  back: BackEdgeCount = null as never
  /** Waits for a body away; its flow knows it as open beyond the turn. */
  parked = false
  /** Positions, ascending; `count` of them. */
  readonly pending: number[] = []
  count = 0
  readonly away: number[] = []
  /** Stands on the stack or among the arrivals; never twice. */
  queued = false

  activate(position: number): void {
    const pending = this.pending
    let at = this.count
    while (at > 0 && pending[at - 1]! > position) at--
    if (at > 0 && pending[at - 1] === position) return
    for (let index = this.count; index > at; index--) pending[index] = pending[index - 1]!
    pending[at] = position
    this.count++
  }

  /** The next node that may start, taken out of `pending`; -1 when all that is pending waits for a body away. */
  next(): number {
    const pending = this.pending
    if (this.away.length === 0) return this.#takeOut(0)
    for (let at = 0; at < this.count; at++) {
      if (!this.#blocked(pending[at]!, at)) return this.#takeOut(at)
    }
    return -1
  }

  #takeOut(at: number): number {
    const position = this.pending[at]!
    this.count--
    for (let index = at; index < this.count; index++) this.pending[index] = this.pending[index + 1]!
    return position
  }

  #blocked(position: number, before: number): boolean {
    const upstream = this.run.plan.nodes[position]!.upstream
    for (const other of this.away) if ((upstream[other >>> 5]! >>> (other & 31)) & 1) return true
    for (let at = 0; at < before; at++) {
      const other = this.pending[at]!
      if ((upstream[other >>> 5]! >>> (other & 31)) & 1) return true
    }
    return false
  }

  /** The node has contributed, or never will. */
  comeBack(position: number): void {
    const at = this.away.indexOf(position)
    if (at >= 0) this.away.splice(at, 1)
  }
}
