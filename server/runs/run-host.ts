import type { FlowRun } from '../../core/cascade/flow-run.ts'
import type { Host } from '../../core/cascade/host.ts'
import type { Mailbox } from '../../core/cascade/mailbox.ts'
import type { Packed, PlanRun } from '../../core/cascade/plan-run.ts'
import type { Emission } from '../../core/cascade/publish/emission.ts'
import { flowBounds } from '../../core/cascade/queue/bounds.ts'
import type { Failure } from '../../core/cascade/seat.ts'
import { type Execution, Seat } from '../../core/cascade/seat.ts'
import type { BrokenLoop } from '../../core/cascade/wave.ts'
import type { Plan, PlanNode } from '../../core/flow/plan.ts'
import type { EncodedValue } from '../../protocol/values/encoded.ts'
import { failure, failureOf } from '../../threads/calls/node-call.ts'
import { CallFailure } from '../../threads/lane/calls.ts'
import type { CacheOrigin } from '../store/front/runs.ts'
import type { LongValues } from './long-values.ts'

export interface RunHostParts {
  readonly codec: LongValues
  now_us(): number
  /** A buffer by output: it is read before it is written again. */
  scratch(at: number): EncodedValue
  /** The value that the run was given of another flow's message, by its engine-wide index. */
  given(message: number): unknown
  /** The cache origin in place of the execution that is about to start; null when it must be dispatched. */
  hit(position: number): CacheOrigin | null
  /** The node's outputs from the original execution. */
  restore(position: number, origin: CacheOrigin): Record<string, unknown> | undefined
  dispatch(execution: Execution): void
  /** The node at the position has failed. */
  failed(position: number, reason: Failure, inputs: unknown): void
  /** Returns how many items the message has had. */
  publish(position: number, value: EncodedValue): number
  wants(): void
}

/**
 * What a batch run needs of the front thread. Every body is dispatched, and no value leaves the run. A hit in the stage
 * cache counts as a body that runs inline.
 */
export class RunHost implements Host {
  readonly bounds = flowBounds
  readonly codec: LongValues
  /** The clock of the run's start. Times in the run are intervals, so later changes of the machine's clock do not matter. */
  readonly origin_us: number
  readonly #parts: RunHostParts
  #hit: CacheOrigin | null = null

  constructor(parts: RunHostParts) {
    this.#parts = parts
    this.codec = parts.codec
    this.origin_us = parts.now_us() - performance.now() * 1000
  }

  scratch(at: number): EncodedValue {
    return this.#parts.scratch(at)
  }

  clock(): number {
    return performance.now()
  }

  nextSeq(): number {
    return 1
  }

  newest(message: number): unknown {
    return this.#parts.given(message)
  }

  standing(plan: Plan): unknown[] {
    return new Array(plan.messages.length).fill(undefined)
  }

  unpack(packed: Packed): unknown {
    return this.codec.unpack(packed)
  }

  newSeat(node: PlanNode, mailbox: Mailbox): Seat {
    const seat = new Seat(node, mailbox)
    seat.body = nothing
    return seat
  }

  loadAtOnce(): boolean {
    return true
  }

  load(): never {
    throw impossible()
  }

  call({ node }: Seat): Record<string, unknown> | undefined {
    return this.#parts.restore(node.position, this.#hit!)
  }

  thrown(): never {
    throw impossible()
  }

  failureOf(error: unknown): Failure {
    return error instanceof CallFailure ? error.failure : failureOf(error)
  }

  /** Asked once for each execution, right before it starts. */
  dispatched({ node }: Seat): boolean {
    this.#hit = this.#parts.hit(node.position)
    return this.#hit === null
  }

  dispatch(_flow: FlowRun, execution: Execution): void {
    this.#parts.dispatch(execution)
  }

  failed(_flow: FlowRun, { node }: Seat, reason: Failure, inputs: unknown): void {
    this.#parts.failed(node.position, reason, inputs)
  }

  publish(_run: PlanRun, position: number, value: EncodedValue): number {
    return this.#parts.publish(position, value)
  }

  publishEmission(run: PlanRun, { count, routes, values, versions }: Emission): void {
    for (let at = 0; at < count; at++)
      versions[at] = this.#parts.publish(run.plan.by_message.get(routes[at]!.message)!, values[at]!)
  }

  passes(): boolean {
    return true
  }

  cycle(_flow: FlowRun, { run, position, reason }: BrokenLoop): void {
    this.#parts.failed(position, failure('cycle', `${run.plan.nodes[position]?.qualified}: ${reason}.`), null)
  }

  mayBegin(): boolean {
    return true
  }

  wants(): void {
    this.#parts.wants()
  }

  // Only lanes count executions.
  executed(): void {}
  waitedForInput(): void {}
  begun(): void {}
  ended(): void {}
  inFlight(): void {}
  planChanged(): void {}
}

/** Nothing has to be loaded before a node may start. */
const nothing = (): undefined => undefined

const impossible = (): RangeError => new RangeError('every body of a run is dispatched')
