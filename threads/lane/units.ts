import type { FlowRun } from '../../core/cascade/flow-run.ts'
import type { Cascade } from '../../core/cascade/wave.ts'
import { CASCADE_STATUS } from '../../core/memory/journal/journal.ts'
import { limits } from '../../protocol/limits.ts'
import { failureOf } from '../calls/node-call.ts'
import type { LaneMemory } from './memory.ts'
import type { LaneNotes } from './notes.ts'
import type { LaneSeat } from './seat.ts'
import type { LaneStates } from './states.ts'

/** Upper bound of the bytes of the records of an open cascade. */
const OPEN_ROOM_BYTES = 256

/**
 * The units of a lane: what its journal contains between two marks, committed whole or not at all. A mark never falls into a
 * synchronous cascade, unless that has become too long or too large; docs/decisions/0024 says why.
 *
 *   closed -> half way (a turn ended inside a cascade) -> closed (that cascade is over, or the mark is forced)
 */
export class LaneUnits {
  /** The owned flow that is in the middle of a cascade: nothing else begins before its unit is closed. */
  halfway: FlowRun | null = null
  /** Flows whose bodies have emitted outside a turn: their states are not kept yet. */
  readonly loose = new Set<FlowRun>()
  /** Seats whose state a body may have changed in the present turn. */
  readonly touched: LaneSeat[] = []

  #halfway_since = 0
  readonly #memory: LaneMemory
  readonly #states: LaneStates
  readonly #notes: LaneNotes
  readonly #lane: { clock(): number; now_us(): number }

  constructor(parts: {
    memory: LaneMemory
    states: LaneStates
    notes: LaneNotes
    lane: { clock(): number; now_us(): number }
  }) {
    this.#memory = parts.memory
    this.#states = parts.states
    this.#notes = parts.notes
    this.#lane = parts.lane
  }

  /** The store buffers unmarked records in its own memory, and commits a unit in one transaction: a unit ends at this size. */
  get isLarge(): boolean {
    return this.#memory.journal.unmarked() >= limits.UNIT_BYTES
  }

  /** Waits for the store, which also takes unmarked records; a unit that has become too large ends here. */
  makeRoom(bytes: number, flow: FlowRun | undefined, cascade: Cascade): void {
    const { journal, isStopping } = this.#memory
    journal.waitForRoom(bytes, isStopping)
    if (!this.isLarge || flow === undefined) return
    if (!cascade.recorded || cascade.fresh) this.recordAsOpen(flow, cascade)
    this.forceMark(flow)
    journal.waitForRoom(bytes, isStopping)
  }

  /** The unit ends with the turn, or, when the flow is in the middle of a cascade, with that cascade. */
  endTurn(flow: FlowRun): void {
    if (flow.isHalfway) {
      if (this.halfway === null) this.#halfway_since = this.#lane.clock()
      this.halfway = flow
      if (this.isLarge || this.#lane.clock() - this.#halfway_since > limits.UNIT_MS) this.forceMark(flow)
    } else {
      if (this.halfway === flow) this.halfway = null
      this.#close(flow)
      this.mark()
    }
  }

  /** Records the point at which the flow's next owner, or the next engine, continues: state, consumed items, open cascades. */
  #close(flow: FlowRun): void {
    this.#keepStates(flow)
    this.recordOpen(flow)
    if (!flow.hasTaken) return
    flow.hasTaken = false
    this.#memory.journal.waitForRoom(OPEN_ROOM_BYTES, this.#memory.isStopping)
    this.#memory.journal.taken(flow.index, this.#memory.flows.taken(flow.index))
  }

  recordOpen(flow: FlowRun): void {
    for (const cascade of flow.openCascades) {
      if (!cascade.recorded || (cascade.fresh && cascade.executions > 0)) this.recordAsOpen(flow, cascade)
    }
  }

  /** A crash makes it `interrupted`, or, if nothing of it has run, its items are queued again. */
  recordAsOpen(flow: FlowRun, cascade: Cascade): void {
    cascade.recorded = true
    cascade.fresh = cascade.executions === 0
    this.record(flow, cascade, CASCADE_STATUS.running)
    const { message, root_version, item, items } = cascade
    if (cascade.fresh) this.#memory.journal.fresh(flow.index, message, root_version, item, items)
  }

  /** The unit has reached its bound of time or size: the cascade that is half way counts as open from here on. */
  forceMark(flow: FlowRun): void {
    const halfway = this.halfway
    this.halfway = null
    for (const one of halfway === null || halfway === flow ? [flow] : [flow, halfway]) {
      for (const cascade of one.halfway()) if (!cascade.recorded || cascade.fresh) this.recordAsOpen(one, cascade)
      this.#close(one)
    }
    this.mark()
  }

  /** Every mark commits the values before it, so the states that belong to them come first. None falls into a cascade. */
  mark(): void {
    if (this.halfway !== null) return
    for (const flow of this.loose) this.#keepStates(flow)
    this.loose.clear()
    this.#memory.journal.mark()
    this.#memory.publisher.tell()
  }

  #keepStates(flow: FlowRun): void {
    if (flow.away > 0) this.#touchActive(flow)
    for (const seat of this.touched) {
      if (!seat.state!.touched || !seat.current) continue
      const refusal = this.#states.keep(seat, this.#lane.now_us())
      if (refusal === null) continue
      this.#memory.counters.error(seat.node.index, this.#lane.now_us() / 1000)
      const { qualified, index } = seat.node
      const good = this.#memory.counters.good(index)
      this.#notes.error(qualified, failureOf(refusal), null, seat.execution.cascade, this.#lane.now_us(), good)
    }
    this.touched.length = 0
  }

  /** A body that stays away may keep its state object and write to it at any time. */
  #touchActive(flow: FlowRun): void {
    for (const seat of flow.seats) {
      const { active, state } = seat as LaneSeat
      if (active === null || active.dispatched || state === null || !(state.used || state.touched)) continue
      state.touched = true
      this.touched.push(seat as LaneSeat)
    }
  }

  record(flow: FlowRun, cascade: Cascade, status: number): void {
    this.#memory.journal.waitForRoom(OPEN_ROOM_BYTES, this.#memory.isStopping)
    const duration_us = Math.max(0, this.#lane.now_us() - cascade.started_us)
    this.#memory.journal.cascade(
      flow.index,
      cascade.message,
      cascade.root_version,
      cascade.seq,
      cascade.started_us,
      duration_us,
      status,
      cascade.executions,
      cascade.errors,
      cascade.parent_seq,
      cascade.parent_ts,
    )
    if (status !== CASCADE_STATUS.running) this.#memory.begun.end(cascade)
  }
}
