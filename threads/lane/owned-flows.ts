import type { FlowRun } from '../../core/cascade/flow-run.ts'
import { SHARED_SET, setOf } from '../../core/cascade/queue/ready.ts'
import type { Execution, Seat } from '../../core/cascade/seat.ts'
import type { Plan, PlanNode } from '../../core/flow/plan.ts'
import type { LaneMemory } from './memory.ts'
import type { LaneUnits } from './units.ts'
import type { LaneValues } from './values.ts'

export interface OwnedFlowsParts {
  readonly slot: number
  readonly memory: LaneMemory
  readonly units: LaneUnits
  readonly values: LaneValues
  /** May the lane take on flows that it does not own? */
  mayClaim(): boolean
  planOf(flow: number): Plan | undefined
  start(plan: Plan): FlowRun
  /** Another lane has run the flow since: the copy here of the node's state is stale. */
  renew(run: FlowRun, seat: Seat): void
}

/**
 * The flows that a lane owns at present, and which of them has the next turn.
 *
 *   free -> owned: unready (its bodies are being loaded) -> wanting (has something to do) <-> idle (bodies are away) -> free
 *
 * The lane is the only thread that claims and releases here; the words in shared memory are those of `FlowTable` and `ReadySet`.
 */
export class OwnedFlows {
  readonly #parts: OwnedFlowsParts
  readonly #memory: LaneMemory
  readonly #units: LaneUnits
  /** Flows that this lane has run and may run again, owned or not, by index. */
  readonly #runs = new Map<number, FlowRun>()
  readonly #owned = new Set<FlowRun>()
  /** Owned flows whose bodies are being loaded before their first turn here. */
  readonly #unready = new Set<FlowRun>()
  /** Owned flows with something to do, oldest first. */
  readonly #wanting = new Set<FlowRun>()
  /** Owned flows whose values are read again at their next claim: as soon as they begin nothing here, see `LaneValues`. */
  readonly #behind = new Set<FlowRun>()
  #cursor = 0
  #prefers_free = false

  constructor(parts: OwnedFlowsParts) {
    this.#parts = parts
    this.#memory = parts.memory
    this.#units = parts.units
  }

  get all(): ReadonlySet<FlowRun> {
    return this.#owned
  }

  get(flow: number): FlowRun | undefined {
    return this.#runs.get(flow)
  }

  forget(flow: number): void {
    this.#runs.delete(flow)
  }

  owns(run: FlowRun): boolean {
    return this.#owned.has(run)
  }

  /** Some owned flow wants a turn, or there are marks of flows that are ready; before a sleep. */
  get mayHaveWork(): boolean {
    const { ready } = this.#memory
    if (this.#wanting.size > 0 || ready.mayHold(setOf(this.#parts.slot))) return true
    return this.#parts.mayClaim() && ready.mayHold(SHARED_SET)
  }

  /** A node with this body. */
  nodeOf(digest: string): PlanNode | null {
    for (const run of this.#runs.values()) {
      for (const { node } of run.seats) if (node.digest === digest) return node
    }
    return null
  }

  /** The only body away on this thread; null when there are none, or several. */
  onlyBodyAway(): Execution | null {
    let away: Execution | null = null
    for (const run of this.#owned) {
      if (run.away === 0) continue
      for (const { active } of run.seats) {
        if (active === null || active.dispatched) continue
        if (away !== null) return null
        away = active
      }
    }
    return away
  }

  /** It gets a turn, whatever is being loaded. */
  want(run: FlowRun): void {
    this.#unready.delete(run)
    this.#wanting.add(run)
  }

  /** Something has come for it: it gets a turn once the bodies of its first one are loaded. False: the flow is not owned, or not ready. */
  arrived(run: FlowRun): boolean {
    if (!this.#owned.has(run) || (this.#unready.has(run) && run.away > 0)) return false
    this.want(run)
    return true
  }

  /** Its lane has news for it. */
  tell(run: FlowRun): void {
    if (this.#owned.has(run) && !this.#unready.has(run)) this.#wanting.add(run)
  }

  /** Owned flows that want a turn, and free flows that are ready, take turns. */
  next(): FlowRun | null {
    this.#takeOwnMarks()
    const { halfway } = this.#units
    if (halfway !== null) {
      if (this.#wanting.delete(halfway)) return this.#alone(halfway)
      // It waits for others: for a mailbox with room.
      this.#units.forceMark(halfway)
    }
    this.#prefers_free = !this.#prefers_free
    if (this.#prefers_free || this.#wanting.size === 0) {
      const free = this.#claim()
      if (free !== null) {
        this.#releaseAtRest()
        return this.#alone(free)
      }
    }
    for (const run of this.#wanting) {
      this.#wanting.delete(run)
      this.#releaseAtRest()
      return this.#alone(run)
    }
    return null
  }

  /** Releases flows that have begun nothing here: they would wait for the body that runs next, and another lane may be free. */
  #releaseAtRest(): void {
    for (const run of this.#wanting) if (run.isAtRest) this.release(run)
  }

  #takeOwnMarks(): void {
    const { ready } = this.#memory
    const set = setOf(this.#parts.slot)
    for (let flow = ready.take(set, 0); flow >= 0; flow = ready.take(set, 0)) {
      const run = this.#runs.get(flow)
      if (run === undefined || !this.#owned.has(run)) ready.markReady(flow)
      else this.tell(run)
    }
  }

  /** Its bodies may block the lane: flows that have begun nothing here do not wait for them, any lane may take them. */
  #alone(run: FlowRun): FlowRun {
    for (const other of this.#unready) if (other !== run) this.release(other)
    this.#unready.clear()
    return run
  }

  #claim(): FlowRun | null {
    if (!this.#parts.mayClaim()) return null
    const { ready, flows, owner } = this.#memory
    for (;;) {
      const flow = ready.take(SHARED_SET, this.#cursor)
      if (flow < 0) return null
      this.#cursor = flow + 1
      const plan = this.#parts.planOf(flow)
      // A disabled flow keeps its waiting items; a plan that is not here yet arrives with its own mark.
      if (plan === undefined || !plan.enabled) continue
      if (!flows.claim(flow, owner)) {
        ready.markReady(flow)
        continue
      }
      const run = this.#runOf(flow, plan)
      this.#owned.add(run)
      if (run.away === 0) return run
      this.#unready.add(run)
    }
  }

  /** The flow as this lane left it, or as another one did that ran it since. */
  #runOf(flow: number, plan: Plan): FlowRun {
    let run = this.#runs.get(flow)
    const version = this.#memory.flows.carryVersion(flow)
    const { values } = this.#parts
    values.is_behind = false
    if (run === undefined) {
      run = this.#parts.start(plan)
      this.#runs.set(flow, run)
    } else if (run.version !== version) {
      run.run.reload()
      for (const seat of run.seats) this.#parts.renew(run, seat)
    }
    run.version = version
    if (values.is_behind) this.#behind.add(run)
    return run
  }

  /** After a turn. `more`: it has something to do at once. `begins`: it may begin cascades. */
  turned(run: FlowRun, more: boolean, begins: boolean): void {
    const waiting = begins && this.#memory.queue.isTakeable(run.index)
    const renews = this.#behind.size > 0 && this.#behind.has(run) && run.isAtRest
    if (more || (waiting && !renews && (this.#wanting.size === 0 || !run.isAtRest))) this.#wanting.add(run)
    else if (run.isAtRest) this.release(run)
  }

  release(run: FlowRun): void {
    this.#wanting.delete(run)
    this.#unready.delete(run)
    this.#owned.delete(run)
    this.#parts.values.keepCarry(run)
    if (this.#behind.delete(run)) run.version = -1
    const { flows, queue, ready, owner } = this.#memory
    flows.release(run.index, owner)
    if (queue.isTakeable(run.index)) ready.markReady(run.index)
  }
}
