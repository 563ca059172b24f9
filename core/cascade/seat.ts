import type { ErrorCode } from '../../protocol/errors.ts'
import type { PlanNode } from '../flow/plan.ts'
import type { Mailbox } from './mailbox.ts'
import type { PlanRun } from './plan-run.ts'
import type { BackEdgeCount, Cascade, Place, Wave } from './wave.ts'

/** A node body as the user exports it. */
export type Body = (inputs: Record<string, unknown>, context: unknown) => unknown

/**
 * A node's place in one plan: its loaded body, its context and its state. An unchanged node keeps its seat when the flow is
 * deployed again; a changed one gets a fresh seat.
 */
export class Seat {
  readonly node: PlanNode
  /** The mailbox of the node, which it keeps across plans. */
  readonly mailbox: Mailbox
  /** Null until loaded; the host loads it before the first execution. */
  body: Body | null = null
  /** The host is loading the body. */
  loading = false
  /** The second argument of `body`; made by the host. */
  context: unknown = null
  /** Why the body cannot be loaded; every execution then fails with it. */
  broken: unknown = null
  /** Reused by executions that end within the call; replaced when one goes away. */
  execution: Execution
  /** The execution that is away. */
  active: Execution | null = null
  /** False once a deploy replaced or removed the node. */
  current = true
  /** An execution has begun here. */
  begun = false

  constructor(node: PlanNode, mailbox: Mailbox) {
    this.node = node
    this.mailbox = mailbox
    this.execution = new Execution(this)
  }
}

/** What ended an execution without a result. */
export interface Failure {
  readonly code: ErrorCode
  readonly message: string
  readonly stack: string | null
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
  back: BackEdgeCount = null as never
  inputs: Record<string, unknown> = null as never
  /** The place of `wave` in the serial order, once further emissions stand under it. */
  place: Place | null = null
  /** Further emissions so far. */
  emitted = 0
  /** Waves that they started and that have not ended. */
  open = 0
  /** The wave of the last emission while the body was away, and its id. */
  sent: Wave | null = null
  sent_id = 0
  contributed = false
  /** It was released at the hard bound, from a ring of held nodes: see `FlowControl`. */
  let_go = false
  /** The body is away: a promise, a generator between pulls, or a call slot holds it. */
  away = false
  /** Ended or given up; a late result is dropped and counted. */
  ended = false
  generator: Generator | null = null
  /** A call slot runs the body; it measures the time that the body took. */
  dispatched = false
  started_ms = 0
  ended_ms = 0
  /** The time of the body itself; less than from start to end when a call slot runs it. */
  took_ms = 0
  /** How long it blocked its thread without a pause; a promise that waits blocks none. */
  held_ms = 0
  /** Of its cascade. */
  root_ms = 0
  /** When the newest of the values that woke it was published. */
  published_ms = 0
  /** When each of them was, by input; -1: another value woke it. Null while one message alone wakes the node. */
  wires: number[] | null = null
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
  | { readonly type: 'stepped'; readonly step: unknown }
  /** By a body in a call slot. `processed` tells it that the inline part of the emission's wave is done. */
  | { readonly type: 'emitted'; readonly outputs: unknown; readonly processed: () => void }
