import type { PlanNode } from '../flow/plan.ts'
import { Fifo } from './fifo.ts'
import type { PlanRun } from './plan-run.ts'
import type { Cascade, Wave } from './wave.ts'

/** A node body as the user exports it. */
export type Body = (inputs: Record<string, unknown>, context: unknown) => unknown

/**
 * A node's place in its flow, across plans: its one-at-a-time, its mailbox, its loaded body and its state. An unchanged node
 * keeps its seat when the flow is deployed again; a changed one gets a fresh seat.
 */
export class Seat {
  readonly node: PlanNode
  readonly mailbox = new Fifo<Waiting>()
  /** A body is away or is being loaded. */
  busy = false
  /** The wave whose execution was taken out of the mailbox and has not begun yet; others wait behind it. */
  reserved: Wave | null = null
  /** Null until loaded; the host loads it before the first execution. */
  body: Body | null = null
  /** What `body` receives beside its inputs; made by the host. */
  context: unknown = null
  /** Why the body cannot be loaded; every execution then fails with it. */
  broken: unknown = null
  /** Reused by executions that end within the call; replaced when one goes away. */
  execution: Execution
  /** The execution that is away. */
  active: Execution | null = null
  /** False once a deploy replaced or removed the node. */
  current = true
  /** The seat that replaced this one: one-at-a-time goes by node id, so it waits until this one is free. */
  heir: Seat | null = null

  constructor(node: PlanNode) {
    this.node = node
    this.execution = new Execution(this)
  }
}

export interface Waiting {
  wave: Wave
  position: number
}

type Generator = Iterator<unknown, unknown> | AsyncIterator<unknown, unknown>

/** One execution of a body, from its start to its end. */
export class Execution {
  readonly kind = 1
  readonly seat: Seat
  run: PlanRun = null as never
  cascade: Cascade = null as never
  /** The wave that started it, until its first emission joined that wave. */
  wave: Wave = null as never
  position = 0
  depth = 0
  inputs: Record<string, unknown> = null as never
  contributed = false
  /** The body is away: a promise, a generator between pulls, or a call slot holds it. */
  away = false
  /** Ended or given up; a late result is dropped and counted. */
  ended = false
  generator: Generator | null = null
  /** A call slot runs the body; it measures the time that the body took. */
  dispatched = false
  started_ms = 0
  abort: { abort(reason?: unknown): void; readonly signal: unknown } | null = null

  constructor(seat: Seat) {
    this.seat = seat
  }
}

/** A result of a body away, until the flow's next turn. */
export class Arrived {
  readonly kind = 2
  readonly execution: Execution
  readonly arrival: Arrival

  constructor(execution: Execution, arrival: Arrival) {
    this.execution = execution
    this.arrival = arrival
  }
}

export type Arrival =
  | { readonly type: 'returned'; readonly value: unknown }
  | { readonly type: 'threw'; readonly error: unknown }
  | { readonly type: 'stepped'; readonly step: IteratorResult<unknown, unknown> }
  /** By a body in a call slot. `processed` tells it that the inline part of the emission's wave is done. */
  | { readonly type: 'emitted'; readonly outputs: unknown; readonly processed: () => void }
