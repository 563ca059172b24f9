import { isUpstream } from '../flow/plan.ts'
import type { Mailbox } from './mailbox.ts'
import type { PlanRun } from './plan-run.ts'
import type { Execution } from './seat.ts'

/** Everything that one published message started inside one flow. Counts its own waves and bodies; recorded when none of them is open. */
export class Cascade {
  /** Unique while the engine runs. */
  seq = 0
  started_us = 0
  /** Engine-wide index of the message that started it. */
  message = 0
  root_version = 0
  /** When the value was published from which it all came, by the thread's monotonic clock and as microseconds since 1970. */
  root_ms = 0
  root_ts = 0
  /** Back edges and child cascades passed since the root publish. */
  depth = 0
  parent_seq = 0
  parent_ts = 0
  executions = 0
  errors = 0
  /** Values of it that went round a loop without end and are not reported yet; null: none. */
  broken: BrokenLoop | null = null
  /** A purge dropped executions of it that waited. */
  purged = false
  /** Open waves and bodies away. */
  open = 0
  /** True once it outlived the turn that began it: it then counts against the bound on cascades in flight. */
  in_flight = false
  /** True once an open record was journalled: a mark may fall into it from then on. */
  recorded = false
  /** True while the last one said that nothing of it has run. */
  fresh = false
  /** Number of its first item in the flow's queue, and how many it took. */
  item = 0
  items = 0
  /** Its row in shared memory, for recovery if the lane dies, see core/memory/begun.ts. */
  row = 0
}

/** The first of the values that were stopped on their way round a loop, and how many they are. */
export interface BrokenLoop {
  readonly run: PlanRun
  /** Position of the node that published it. */
  readonly position: number
  readonly reason: string
  count: number
}

/** Counts the waves that back edges started under one root emission; shared by all of them. */
export interface BackEdgeCount {
  waves: number
}

/**
 * The position of a wave in the serial order: the order in which a flow's waves would run if every body were synchronous. A
 * root is ordered by the number of its emission. Further emissions of one of its executions come right after it, before the
 * next root; emissions of a node further down come before those of a node further up.
 */
export interface Place {
  readonly above: Place | null
  /** Position of the node that emitted; 0 at a root. */
  readonly position: number
  /** Number among the emissions of that node's execution; at a root the flow's clock. */
  readonly number: number
  /** Turns round a loop since. */
  readonly turns: number
  readonly depth: number
}

/** Negative when `a` comes first. */
export function compareWaves(a: Wave, b: Wave): number {
  if (a.above === null && b.above === null) return a.number - b.number || a.turns - b.turns
  const up_a = ancestors(a)
  const up_b = ancestors(b)
  for (let at = 0; at < up_a.length && at < up_b.length; at++) {
    const one = up_a[at]!
    const other = up_b[at]!
    const order = other.position - one.position || one.number - other.number || one.turns - other.turns
    if (order !== 0) return order
  }
  return up_a.length - up_b.length
}

type Step = Pick<Place, 'above' | 'position' | 'number' | 'turns'>

/** The root first, the wave itself last. */
function ancestors(wave: Wave): Step[] {
  const steps: Step[] = []
  for (let step: Step | null = wave; step !== null; step = step.above) steps.push(step)
  return steps.reverse()
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
  /** When its newest value was published, by the thread's monotonic clock. */
  at_ms = 0
  /** The flow's clock when the wave began: it reads nothing that a later cascade published. */
  as_of = 0
  back: BackEdgeCount = null as never
  // Its place in the serial order, see Place.
  above: Place | null = null
  position = 0
  number = 0
  turns = 0
  /** The execution whose further emission started it, directly or before it went back round a loop; null: none that waiting work here holds back. */
  emitter: Execution | null = null
  /** Of the values that it has brought and published: they are kept while it is open. */
  bytes = 0
  /** Mailboxes in which it waits. */
  waits = 0
  /** The nodes whose bodies were away and have given it something; null: none. */
  feeders: Mailbox[] | null = null
  /** Waits for a body away; its flow knows it as open beyond the turn. */
  parked = false
  /** Positions, ascending; `count` of them. */
  readonly pending: number[] = []
  count = 0
  readonly away: number[] = []
  /** Runs, or soon will: it is on the stack, among the arrivals, or among those that an emission has just started. */
  queued = false
  /** Among the arrivals. An entry there without it is stale: the wave has run already. */
  arrived = false

  /** One that is pending, or waits in its mailbox, is not woken twice. */
  activate(position: number): void {
    if (this.away.length > 0 && this.away.includes(position)) return
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
    if (this.away.length === 0) return this.#takeOut(0)
    for (let at = 0; at < this.count; at++) {
      if (!this.isBlocked(this.pending[at]!)) return this.#takeOut(at)
    }
    return -1
  }

  takeFirst(): number {
    return this.#takeOut(0)
  }

  #takeOut(at: number): number {
    const position = this.pending[at]!
    this.count--
    for (let index = at; index < this.count; index++) this.pending[index] = this.pending[index + 1]!
    return position
  }

  /** A node that is pending, waits in its mailbox, or is away may still publish something that this one reads. */
  isBlocked(position: number): boolean {
    const upstream = this.run.plan.nodes[position]!.upstream
    for (const other of this.away) if (other !== position && isUpstream(upstream, other)) return true
    for (let at = 0; at < this.count; at++) {
      const other = this.pending[at]!
      if (other !== position && isUpstream(upstream, other)) return true
    }
    return false
  }

  /** The node has contributed, or never will. */
  comeBack(position: number): void {
    const at = this.away.indexOf(position)
    if (at >= 0) this.away.splice(at, 1)
  }
}
