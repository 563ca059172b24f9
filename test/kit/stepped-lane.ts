import { FlowRun } from '../../core/cascade/flow-run.ts'
import { type Host, THREW } from '../../core/cascade/host.ts'
import type { Mailbox } from '../../core/cascade/mailbox.ts'
import type { Packed, PlanRun } from '../../core/cascade/plan-run.ts'
import type { Emission } from '../../core/cascade/publish/emission.ts'
import { flowBounds } from '../../core/cascade/queue/bounds.ts'
import { newItem } from '../../core/cascade/queue/item.ts'
import type { Body, Execution, Failure, Seat } from '../../core/cascade/seat.ts'
import type { Cascade } from '../../core/cascade/wave.ts'
import type { Plan, PlanNode, PlanOutputPort } from '../../core/flow/plan.ts'
import { CASCADE_STATUS } from '../../core/memory/journal/journal.ts'
import { limits } from '../../protocol/limits.ts'
import { createCodec, newEncoded } from '../../protocol/values/codec.ts'
import type { EncodedValue } from '../../protocol/values/encoded.ts'
import { LaneMemory } from '../../threads/lane/memory.ts'
import { LaneNotes } from '../../threads/lane/notes.ts'
import { OwnedFlows } from '../../threads/lane/owned-flows.ts'
import { RateLimit } from '../../threads/lane/rate-limit.ts'
import { LaneSeat } from '../../threads/lane/seat.ts'
import { LaneStates } from '../../threads/lane/states.ts'
import { LaneUnits } from '../../threads/lane/units.ts'
import { LaneValues } from '../../threads/lane/values.ts'

/** A body of these tests: a function of its inputs and its state alone. */
export type SteppedBody = (inputs: Record<string, unknown>, state: Record<string, unknown>) => unknown

export interface SteppedParts {
  readonly sab: SharedArrayBuffer
  readonly slot: number
  readonly plans: ReadonlyMap<number, Plan>
  /** By qualified node. */
  readonly bodies: ReadonlyMap<string, SteppedBody>
  /** Milliseconds; a body moves it on. */
  readonly time: { ms: number; readonly origin_us: number }
  random(): number
}

const NO_INGRESS = { take: () => false, takeJoined: () => false }

/**
 * A lane without its thread: the parts of threads/lane but its loop, of which the test makes one step at a time. Bodies are
 * functions of the test, and each takes some of the virtual time, so turns are cut short in the middle of cascades.
 */
export class SteppedLane implements Host {
  readonly codec = createCodec()
  readonly bounds = flowBounds
  readonly origin_us: number
  readonly memory: LaneMemory
  readonly units: LaneUnits
  /** Whether new cascades may begin here. */
  begins = true
  readonly #parts: SteppedParts
  readonly #states: LaneStates
  readonly #values: LaneValues
  readonly #rate: RateLimit
  readonly #flows: OwnedFlows
  readonly #loading: { flow: FlowRun; seat: LaneSeat }[] = []
  readonly #scratch: EncodedValue[] = []
  readonly #item = newItem()
  #seq: number
  #thrown: unknown = null

  constructor(parts: SteppedParts) {
    this.#parts = parts
    this.origin_us = parts.time.origin_us
    this.#seq = parts.slot * 2 ** 40
    const memory = new LaneMemory(parts.sab, parts.slot, () => {
      throw new Error('a child cascade found no room')
    })
    this.memory = memory
    const { shared, owner, arena, journal, flows, held } = memory
    this.#values = new LaneValues(memory, this.codec)
    this.#states = new LaneStates({ memory: shared, arena, codec: this.codec, journal })
    const notes = new LaneNotes(journal, this.codec, null)
    this.units = new LaneUnits({ memory, states: this.#states, notes, lane: this })
    this.#flows = new OwnedFlows({
      slot: parts.slot,
      memory,
      units: this.units,
      values: this.#values,
      mayClaim: () => this.begins,
      planOf: flow => parts.plans.get(flow),
      start: plan => new FlowRun(plan, this, this.#item),
      renew: (_run, seat) => {
        ;(seat as LaneSeat).state = null
      },
    })
    this.#rate = new RateLimit({ memory: shared, owner, arena, flows, held, journal, notice: () => {} })
    memory.ready.enterLane(parts.slot)
  }

  /** Once round a lane's loop. False: there was nothing to do. */
  step(): boolean {
    const loaded = this.#loading.shift()
    if (loaded !== undefined && this.#parts.random() < 0.5) {
      loaded.seat.body = this.#bodyOf(loaded.seat)
      loaded.flow.bodyReady(loaded.seat)
    } else if (loaded !== undefined) this.#loading.unshift(loaded)
    const flow = this.#flows.next()
    if (flow === null) {
      this.units.mark()
      return loaded !== undefined
    }
    this.#turn(flow)
    return true
  }

  #turn(flow: FlowRun): void {
    const more = flow.turn(this.begins ? this.memory : NO_INGRESS, this.clock() + limits.TURN_MS)
    this.units.endTurn(flow)
    this.memory.flows.setInner(flow.index, flow.inner, flow.control.bytes)
    flow.control.letEmittersGoOn()
    this.#flows.turned(flow, more, this.begins)
  }

  #bodyOf(seat: LaneSeat): Body {
    return this.#parts.bodies.get(seat.node.qualified)! as Body
  }

  // ---- Host

  newest(message: number): unknown {
    return this.#values.newest(message)
  }

  standing(plan: Plan): unknown[] {
    return this.#values.standing(plan)
  }

  unpack(packed: Packed): unknown {
    return this.#values.unpack(packed)
  }

  scratch(at: number): EncodedValue {
    return (this.#scratch[at] ??= newEncoded())
  }

  clock(): number {
    return this.#parts.time.ms
  }

  now_us(): number {
    return Math.floor(this.origin_us + this.clock() * 1000)
  }

  nextSeq(): number {
    return ++this.#seq
  }

  publish(run: PlanRun, message: number, value: EncodedValue, ts: number, depth: number, cascade: Cascade): number {
    const { publisher } = this.memory
    const { seq, started_us, root_ts } = cascade
    return publisher.publishInner(run.routes[message]!, value, ts, depth, seq, started_us, root_ts)
  }

  publishEmission(
    _run: PlanRun,
    emission: Emission,
    flows: readonly number[],
    ts: number,
    depth: number,
    { seq, started_us, root_ts }: Cascade,
  ): void {
    this.memory.publisher.publishEmission(emission, flows, ts, depth, seq, started_us, root_ts)
  }

  passes(run: PlanRun, output: PlanOutputPort, value: EncodedValue, ts: number): boolean {
    return this.#rate.passes(run.plan.flow_index, run.plan.messages[output.message]!, output.rate_hz!, value, ts)
  }

  newSeat(node: PlanNode, mailbox: Mailbox): Seat {
    return new LaneSeat(node, mailbox)
  }

  call(seat: Seat, inputs: Record<string, unknown>): unknown {
    const state = this.#states.of(seat as LaneSeat)
    state.used = state.touched = true
    this.#parts.time.ms += this.#parts.random() * 0.5
    try {
      return seat.body!(inputs, state.object)
    } catch (error) {
      this.#thrown = error
      return THREW
    }
  }

  thrown(): Failure {
    return this.failureOf(this.#thrown)
  }

  failureOf(error: unknown): Failure {
    return { code: 'node_error', message: String(error), stack: null }
  }

  loadAtOnce(_flow: FlowRun, seat: Seat): boolean {
    if (this.#parts.random() < 0.5) return false
    seat.body = this.#bodyOf(seat as LaneSeat)
    return true
  }

  load(flow: FlowRun, seat: Seat): void {
    this.#loading.push({ flow, seat: seat as LaneSeat })
  }

  dispatched(): boolean {
    return false
  }

  dispatch(): void {
    throw new Error('nothing is dispatched')
  }

  executed({ seat }: Execution): void {
    if ((seat as LaneSeat).state?.touched) this.units.touched.push(seat as LaneSeat)
  }

  waitedForInput(): void {}

  failed(_flow: FlowRun, _seat: Seat, _failure: Failure, _inputs: unknown, cascade: Cascade): void {
    this.memory.begun.failed(cascade)
  }

  planChanged(): void {
    throw new Error('no plan has changed')
  }

  cycle(): void {
    throw new Error('there is no loop')
  }

  begun(flow: FlowRun, cascade: Cascade): void {
    this.memory.begun.begin(cascade, flow.index)
  }

  ended(flow: FlowRun, cascade: Cascade): void {
    this.units.record(flow, cascade, cascade.errors > 0 ? CASCADE_STATUS.failed : CASCADE_STATUS.succeeded)
  }

  mayBegin(): boolean {
    return this.begins && this.units.halfway === null
  }

  inFlight(flow: FlowRun, cascade: Cascade, change: 1 | -1): void {
    this.memory.countInFlight(change)
    if (change > 0) this.memory.begun.outlives(cascade, flow.index)
  }

  wants(flow: FlowRun): void {
    this.#flows.arrived(flow)
  }
}
