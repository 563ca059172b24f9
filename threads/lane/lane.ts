import { receiveMessageOnPort } from 'node:worker_threads'
import { FlowRun } from '../../core/cascade/flow-run.ts'
import type { Host } from '../../core/cascade/host.ts'
import type { Mailbox } from '../../core/cascade/mailbox.ts'
import type { Packed, PlanRun } from '../../core/cascade/plan-run.ts'
import type { Emission } from '../../core/cascade/publish/emission.ts'
import { emissionBytes, itemRecordBytes } from '../../core/cascade/publish/record-bytes.ts'
import { type Bounds, flowBounds } from '../../core/cascade/queue/bounds.ts'
import { newItem } from '../../core/cascade/queue/item.ts'
import { SCHEDULED_ROOM_BYTES, Schedule } from '../../core/cascade/schedule/schedule.ts'
import type { Execution, Failure, Seat } from '../../core/cascade/seat.ts'
import { type BrokenLoop, Cascade } from '../../core/cascade/wave.ts'
import type { Plan, PlanNode, PlanOutputPort } from '../../core/flow/plan.ts'
import { Masks } from '../../core/masks/table.ts'
import { PLACEMENT } from '../../core/memory/counters.ts'
import { CASCADE_STATUS } from '../../core/memory/journal/journal.ts'
import { limits } from '../../protocol/limits.ts'
import { type Codec, createCodec, newEncoded } from '../../protocol/values/codec.ts'
import type { EncodedValue } from '../../protocol/values/encoded.ts'
import { bodyInStack, failureOf, NodeDoor } from '../calls/node-call.ts'
import type { NodeContext } from '../calls/node-context.ts'
import { SecretAsks } from '../secret-asks.ts'
import { LaneBodies } from './bodies.ts'
import { CallFailure, LaneCalls } from './calls.ts'
import { EventLoopTurns, hasHandles, SLEEP_MS } from './event-loop-turns.ts'
import { LanePrints } from './lane-prints.ts'
import { LaneMemory } from './memory.ts'
import type { FromLane, HeldNotice, LaneTask, Note, PurgeRequest, ToLane } from './messages.ts'
import { LaneNotes } from './notes.ts'
import { OwnedFlows } from './owned-flows.ts'
import { decodePlan } from './plan-bytes.ts'
import { RateLimit } from './rate-limit.ts'
import { RunQueue } from './run-queue.ts'
import { LaneSeat } from './seat.ts'
import { LaneStates } from './states.ts'
import { UnderWay } from './under-way.ts'
import { LaneUnits } from './units.ts'
import { LaneValues } from './values.ts'

/** A lane: one long task of a pool thread that runs live flows until it is told to retire. */
export default async function lane(task: LaneTask): Promise<void> {
  await new Lane(task).run()
}

/** `performance` is a getter of the global object; the two clock readings of a body are a fifth of the engine's overhead. */
const clock = performance

/** Journal bytes that a turn may need at its start; it waits for the store until they are free. */
const TURN_ROOM_BYTES = limits.JOURNAL_RING_BYTES / 4
/** Upper bound of the bytes of a record of a value. */
const PUBLISH_ROOM_BYTES = limits.JOURNAL_INLINE_BYTES + 128
const BROKEN_TOLD_AFTER_US = 1_000_000
/** Sleep while the bound on cascades in flight blocks the ingress. */
const CAPPED_SLEEP_MS = 2
const NO_INGRESS = { take: () => false, takeJoined: () => false }

class Lane implements Host {
  readonly codec: Codec = createCodec()
  readonly bounds: Bounds

  readonly #task: LaneTask
  readonly #memory: LaneMemory
  readonly #states: LaneStates
  readonly #values: LaneValues
  readonly #notes: LaneNotes
  readonly #units: LaneUnits
  readonly #calls: LaneCalls
  readonly #rate: RateLimit
  readonly #schedule: Schedule
  readonly #door = new NodeDoor()
  readonly #prints = new LanePrints()
  readonly #secrets = new SecretAsks((ask, name, node) => this.#post({ type: 'secret', ask, name, node }))

  /** The newest plan of each flow index. */
  readonly #plans = new Map<number, Plan>()
  readonly #flows: OwnedFlows
  readonly #bodies: LaneBodies
  readonly #scratch: EncodedValue[] = []
  readonly #item = newItem()

  /** Of the last cascade that began here; the threads of a slot number theirs one after the other. */
  #seq: number
  #retire_at = Number.POSITIVE_INFINITY
  /** The engine ends: the next engine runs the remaining items. */
  #closing = false
  #looked_at = 0
  #capped = false
  #sleeping = false
  readonly #event_loop = new EventLoopTurns()
  readonly #run_queue = new RunQueue()
  readonly #under_way: UnderWay | null

  constructor(task: LaneTask) {
    this.#task = task
    this.bounds = { ...flowBounds, items: task.waiting_items }
    const memory = new LaneMemory(task.sab, task.slot, flow =>
      this.#notes.dropped(this.#plans.get(flow)?.flow ?? String(flow), 'hard_cap'),
    )
    this.#memory = memory
    const beat = (): void => memory.beat(this.clock())
    this.#under_way = task.under_way === null ? null : new UnderWay(task.under_way, task.slot, beat)
    this.#seq = Math.max(memory.begun.last, task.slot * 2 ** 40)
    const { shared, owner, arena, journal, flows, held } = memory
    this.#values = new LaneValues(memory, this.codec)
    this.#states = new LaneStates({ memory: shared, arena, codec: this.codec, journal })
    this.#notes = new LaneNotes(journal, this.codec, new Masks(task.masks))
    this.#units = new LaneUnits({ memory, states: this.#states, notes: this.#notes, lane: this })
    this.#bodies = new LaneBodies(task, this, this.#prints, seat => this.#stateOf(seat))
    this.#flows = new OwnedFlows({
      slot: task.slot,
      memory,
      units: this.#units,
      values: this.#values,
      mayClaim: () => this.#retire_at === Number.POSITIVE_INFINITY,
      planOf: flow => this.#plans.get(flow),
      start: plan => new FlowRun(plan, this, this.#item),
      renew: (run, seat) => this.#bodies.renew(run, seat),
    })
    this.#calls = new LaneCalls({
      stateOf: seat => this.#stateOf(seat),
      post: (request, port) => task.control.postMessage({ type: 'dispatch', request } satisfies FromLane, [port]),
      withdraw: call => this.#post({ type: 'withdrawn', call }),
      note: note => this.note(note),
      executed: (execution, took_ms, held_ms) => {
        execution.took_ms = took_ms
        execution.held_ms = held_ms
        execution.ended_ms = this.clock()
        this.executed(execution)
      },
      emitted: (flow, execution) => this.emitted(flow, execution),
    })
    const tell = (notice: HeldNotice): void => task.timer.postMessage(notice)
    this.#rate = new RateLimit({
      ...{ memory: shared, owner, arena, flows, held, journal },
      notice: (message, due_ms) => tell({ message, due_ms }),
    })
    this.#schedule = new Schedule({
      ...{ owner, flows, journal, scheduled: memory.scheduled },
      notice: (message, due_ms) => tell({ message, due_ms, scheduled: true }),
      dropped: (flow, reason) => this.#notes.dropped(this.#plans.get(flow)?.flow ?? String(flow), reason),
    })
  }

  // ---- the loop

  async run(): Promise<void> {
    const escaped = (error: unknown): void => this.#escaped(error)
    process.on('uncaughtException', escaped).on('unhandledRejection', escaped)
    this.#memory.ready.enterLane(this.#task.slot)
    this.#post({ type: 'entered', owner: this.#memory.owner })
    let served_at = this.clock()
    for (;;) {
      this.#receive()
      const now = this.clock()
      this.#memory.beat(now)
      if (now - this.#looked_at > SLEEP_MS) this.#lookByTheClock(now)
      if (this.#isOver(now)) break
      const flow = this.#flows.next()
      if (flow === null) {
        await this.#idle()
        served_at = this.clock()
        continue
      }
      this.#turn(flow)
      // Promises, timers and posted messages of bodies are served at least this often.
      if (this.#flows.all.size > 0 && this.clock() - served_at >= limits.TURN_MS) {
        const from = this.clock()
        await this.#event_loop.serve(this.clock)
        served_at = this.clock()
        this.#servedFor(served_at - from)
      }
    }
    this.#leave()
    process.off('uncaughtException', escaped).off('unhandledRejection', escaped)
  }

  /** Told to retire, and no cascade is half way that continues on its own. */
  #isOver(now: number): boolean {
    if (this.#retire_at === Number.POSITIVE_INFINITY) return false
    if (this.#flows.all.size === 0 || now >= this.#retire_at + limits.UNIT_MS) return true
    if (now < this.#retire_at || this.#units.halfway !== null) return false
    for (const flow of this.#flows.all) if (flow.hasArrivals) return false
    return true
  }

  #receive(): void {
    if (!this.#memory.wasPosted()) return
    const { control } = this.#task
    for (let got = receiveMessageOnPort(control); got !== undefined; got = receiveMessageOnPort(control)) {
      const message = got.message as ToLane
      switch (message.type) {
        case 'plan':
          this.#takePlan(decodePlan(message.plan))
          break
        case 'outboxes':
          this.#bodies.takeOutboxes(message.outboxes)
          break
        case 'drop':
          this.#drop(message.flow)
          break
        case 'purge':
          this.#purge(message)
          break
        case 'retire':
          this.#retire_at = Math.min(this.#retire_at, this.clock() + message.grace_ms)
          for (const run of this.#flows.all) this.#flows.tell(run)
          this.#closing = message.closing
          break
        case 'secret':
          this.#secrets.answered(message)
          break
        case 'call_lost':
          this.#calls.lost(message.call, message.code, message.message)
          break
        default:
          message satisfies never
      }
    }
  }

  /** An owned flow takes it in its next turn: bodies away of changed nodes are told to end. */
  #takePlan(plan: Plan): void {
    this.#plans.set(plan.flow_index, plan)
    if (!plan.enabled) return this.#stop(plan.flow_index)
    const run = this.#flows.get(plan.flow_index)
    if (run !== undefined) this.#flows.tell(run)
  }

  /** The flow is deleted: the front takes it from here. */
  #drop(flow: number): void {
    this.#plans.delete(flow)
    this.#stop(flow)
  }

  /** Ends everything that the flow has begun here. Items in its queue stay. */
  #stop(flow: number): void {
    const run = this.#flows.get(flow)
    if (run === undefined) return
    this.#flows.forget(flow)
    if (!this.#flows.owns(run)) return
    this.#abandon(run)
    // Its next owner may mark before this lane does.
    if (this.#units.halfway !== null) this.#units.forceMark(this.#units.halfway)
    this.#flows.release(run)
  }

  #purge({ flow, request, appended }: PurgeRequest): void {
    const run = this.#flows.get(flow)
    let count: number | null = null
    if (run !== undefined && this.#flows.owns(run)) {
      count = run.purge(this.#memory, this.#memory.flows.queuedBefore(flow, appended))
      this.#endTurn(run)
      this.#flows.want(run)
    }
    this.#post({ type: 'purged', request, count })
  }

  #abandon(run: FlowRun): void {
    this.#units.recordOpen(run)
    for (const cascade of run.abandon()) {
      if (!this.#closing || cascade.executions > 0) this.#units.record(run, cascade, CASCADE_STATUS.interrupted)
      else if (!cascade.recorded) this.#units.recordAsOpen(run, cascade)
    }
    this.#endTurn(run)
    this.#units.loose.delete(run)
  }

  #turn(flow: FlowRun): void {
    const plan = this.#plans.get(flow.index)
    if (plan !== undefined && plan !== flow.run.plan) {
      flow.replan(plan)
      const refused = this.#rate.releaseUnlimited(flow.run, this.#memory, this.scratch(0))
      for (let left = refused; left > 0; left--) this.#notes.dropped(flow.name, 'held_refused')
    }
    if (!this.#memory.journal.waitForRoom(TURN_ROOM_BYTES, this.#memory.isStopping)) {
      this.#flows.want(flow)
      return
    }
    this.#event_loop.ran(flow.away > 0)
    // A lane that retires ends what it has begun; its successor begins the rest.
    const enabled = (plan?.enabled ?? false) && this.#retire_at === Number.POSITIVE_INFINITY
    this.#memory.queue.beginTurn(flow.index)
    const more = flow.turn(enabled ? this.#memory : NO_INGRESS, this.clock() + limits.TURN_MS)
    this.#memory.queue.endTurn()
    this.#endTurn(flow)
    const begins =
      enabled && !this.#capped && !flow.control.isFullOfBytes && this.#retire_at === Number.POSITIVE_INFINITY
    this.#flows.turned(flow, more, begins)
  }

  #endTurn(flow: FlowRun): void {
    this.#memory.counters.flush()
    this.#units.endTurn(flow)
    this.#memory.flows.setInner(flow.index, flow.inner, flow.control.bytes)
    flow.control.letEmittersGoOn()
  }

  async #idle(): Promise<void> {
    if (this.#flows.all.size === 0) return this.#rest()
    const busy = clock.eventLoopUtilization()
    await this.#rest()
    this.#servedFor(clock.eventLoopUtilization(busy).active)
  }

  async #rest(): Promise<void> {
    if (this.#event_loop.isDue(this.clock())) return this.#event_loop.serve(this.clock)
    this.#notes.flush(this.now_us())
    this.#units.mark()
    this.#memory.arena.collect()
    const ticket = this.#memory.sleeper.announce()
    if (this.#flows.mayHaveWork || this.#memory.isPosted) {
      this.#memory.sleeper.cancel()
      return
    }
    const ms = this.#capped ? CAPPED_SLEEP_MS : this.#event_loop.sleep_ms
    if (this.#flows.all.size === 0 && !this.#bodies.isLoading && !hasHandles()) {
      this.#memory.sleeper.sleep(ticket, ms)
    } else {
      this.#sleeping = true
      await this.#memory.sleeper.sleepAsync(ticket, ms)
      this.#sleeping = false
    }
    if (!this.#capped) return
    this.#capped = false
    for (const flow of this.#flows.all) if (this.mayBegin(flow)) this.#flows.tell(flow)
  }

  #lookByTheClock(now: number): void {
    this.#looked_at = now
    this.#run_queue.look(now)
    this.#memory.queue.look()
    for (const flow of this.#flows.all) {
      for (const cascade of flow.openCascades) {
        this.#memory.begun.outlives(cascade, flow.index)
        if (this.now_us() - cascade.started_us >= BROKEN_TOLD_AFTER_US) flow.waves.tellBroken(cascade)
      }
    }
    this.#notes.flush(this.now_us())
    this.#units.mark()
  }

  /** Bodies away are told to end, and their cascades recorded as interrupted; items in the queues stay for other lanes. */
  #leave(): void {
    for (const flow of [...this.#flows.all]) {
      this.#abandon(flow)
      this.#flows.release(flow)
    }
    this.#notes.flush(this.now_us())
    this.#units.mark()
    this.#under_way?.close()
    this.#memory.leave()
    this.#post({ type: 'left' })
    this.#task.control.close()
    this.#task.timer.close()
  }

  /** A timer or a floating promise of a body threw: its node failed. What no body threw is a defect and ends the thread. */
  #escaped(error: unknown): void {
    const digest = bodyInStack(error)
    const node = digest === null ? null : this.#flows.nodeOf(digest)
    if (node === null) throw error
    this.#memory.counters.error(node.index, this.now_us() / 1000)
    const good = this.#memory.counters.good(node.index)
    this.#notes.error(node.qualified, failureOf(error), null, NO_CASCADE, this.now_us(), good)
    this.#units.mark()
  }

  #post(message: FromLane): void {
    this.#task.control.postMessage(message)
  }

  // ---- Host: values

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

  get origin_us(): number {
    return this.#memory.clock.origin_us
  }

  clock(): number {
    return clock.now()
  }

  secret(name: string, node: string): Promise<string | null> {
    return this.#secrets.ask(name, node)
  }

  now_us(): number {
    return this.#memory.clock.now_us()
  }

  nextSeq(): number {
    return ++this.#seq
  }

  publish(run: PlanRun, message: number, value: EncodedValue, ts_us: number, depth: number, cascade: Cascade): number {
    const bytes = PUBLISH_ROOM_BYTES + itemRecordBytes(run.routes[message]!)
    if (!this.#memory.journal.hasRoom(bytes)) this.#makeRoom(bytes, run, cascade)
    const version = this.#memory.publisher.publishInner(
      run.routes[message]!,
      value,
      ts_us,
      depth,
      cascade.seq,
      cascade.started_us,
      cascade.root_ts,
    )
    if (version > 0) this.#memory.countPublished()
    else this.#notes.dropped(run.plan.flow, 'arena_full')
    return version
  }

  publishEmission(
    run: PlanRun,
    emission: Emission,
    flows: readonly number[],
    ts_us: number,
    depth: number,
    cascade: Cascade,
  ): void {
    const { journal, publisher } = this.#memory
    // Before the words are taken: threads that wait for them must not wait for the store.
    const bytes = emissionBytes(emission)
    if (!journal.hasRoom(bytes)) this.#makeRoom(bytes, run, cascade)
    publisher.publishEmission(emission, flows, ts_us, depth, cascade.seq, cascade.started_us, cascade.root_ts)
    for (let at = 0; at < emission.count; at++) {
      if (emission.versions[at]! > 0) this.#memory.countPublished()
      else this.#notes.dropped(run.plan.flow, 'arena_full')
    }
  }

  /** Separate from the two publishing methods, which have to stay small: V8 inlines them. */
  #makeRoom(bytes: number, run: PlanRun, cascade: Cascade): void {
    this.#units.makeRoom(bytes, this.#flows.get(run.plan.flow_index), cascade)
  }

  passes(run: PlanRun, output: PlanOutputPort, value: EncodedValue, _ts: number, execution: Execution): boolean {
    const steady_us = this.#memory.clock.steady_us()
    const message = run.plan.messages[output.message]!
    const { timing } = output
    if (timing === null) return this.#rate.passes(run.plan.flow_index, message, output.rate_hz!, value, steady_us)
    if (!this.#memory.journal.hasRoom(SCHEDULED_ROOM_BYTES))
      this.#makeRoom(SCHEDULED_ROOM_BYTES, run, execution.cascade)
    return this.#schedule.passes(run.plan.flow_index, message.index, timing, execution.inputs, value, steady_us)
  }

  // ---- Host: bodies

  newSeat(node: PlanNode, mailbox: Mailbox): Seat {
    return new LaneSeat(node, mailbox)
  }

  call(seat: Seat, inputs: Record<string, unknown>): unknown {
    const here = seat as LaneSeat
    if (here.speaker!.execution?.away) this.#bodies.renewContext(here.speaker!.flow, here)
    here.speaker!.execution = seat.execution
    if (this.#under_way !== null) this.#under_way.runs(here.speaker!.flow, seat.execution.cascade)
    this.#memory.enterBody(seat.node.index)
    this.#prints.context = seat.context as NodeContext
    const result = this.#door.enter(seat.body!, inputs, seat.context)
    this.#prints.context = null
    this.#memory.leaveBody()
    return result
  }

  thrown(): Failure {
    const thrown = this.#door.thrown
    this.#door.thrown = null
    return failureOf(thrown)
  }

  failureOf(error: unknown): Failure {
    return error instanceof CallFailure ? error.failure : failureOf(error)
  }

  loadAtOnce(flow: FlowRun, seat: Seat): boolean {
    return this.#bodies.giveAtOnce(flow, seat)
  }

  load(flow: FlowRun, seat: Seat): void {
    this.#bodies.load(flow, seat)
  }

  #stateOf(seat: LaneSeat) {
    return this.#states.of(seat)
  }

  dispatched(seat: Seat): boolean {
    return seat.node.dispatch || this.#memory.counters.placement(seat.node.index) !== PLACEMENT.inline
  }

  dispatch(flow: FlowRun, execution: Execution): void {
    this.#under_way?.runs(flow, execution.cascade)
    this.#calls.dispatch(flow, execution)
  }

  executed(execution: Execution): void {
    const { seat } = execution
    this.#memory.counters.execution(seat.node.index, execution)
    if (execution.wires !== null) this.#memory.countWires(execution, execution.wires)
    if ((seat as LaneSeat).state?.touched) this.#units.touched.push(seat as LaneSeat)
    if (execution.dispatched) this.#mayGoBack(seat as LaneSeat, execution.held_ms)
    else if ((seat as LaneSeat).pace.isSlowAfter(this.#heldBy(execution)) && !this.dispatched(seat)) this.#promote(seat)
  }

  /** The clock is read only for those that look slow: it costs as much as a body. */
  #heldBy({ held_ms }: Execution): number {
    return held_ms <= limits.SLOW_BODY_MS ? held_ms : this.#run_queue.ownPart(held_ms, this.clock())
  }

  #promote({ node }: Seat): void {
    this.#memory.counters.setPlacement(node.index, PLACEMENT.promoted)
    this.note({ type: 'promoted', node: node.qualified, median_ms: limits.SLOW_BODY_MS, ts: this.now_us() })
  }

  /** A node that declares something, or has blocked a lane, keeps its placement. */
  #mayGoBack({ node, pace }: LaneSeat, held_ms: number): void {
    if (this.#memory.counters.placement(node.index) !== PLACEMENT.promoted || !pace.isFastAfter(held_ms)) return
    this.#memory.counters.setPlacement(node.index, PLACEMENT.inline)
    this.note({ type: 'demoted', node: node.qualified, fast_ms: limits.FAST_BODY_MS, ts: this.now_us() })
  }

  /** The event loop was busy for so long: this is attributed to the body that is away, unless there are several. */
  #servedFor(ms: number): void {
    if (ms <= limits.SLOW_BODY_MS) return
    const away = this.#flows.onlyBodyAway()
    if (away !== null) away.held_ms = Math.max(away.held_ms, ms)
  }

  waitedForInput(seat: Seat): void {
    this.#memory.counters.waitingForInput(seat.node.index)
  }

  failed(_flow: FlowRun, seat: Seat, reason: Failure, inputs: unknown, cascade: Cascade): void {
    this.#memory.begun.failed(cascade)
    this.#memory.counters.error(seat.node.index, this.now_us() / 1000)
    const good = this.#memory.counters.good(seat.node.index)
    this.#notes.error(seat.node.qualified, reason, inputs, cascade, this.now_us(), good)
  }

  planChanged(flow: FlowRun, _seat: Seat | null, _cascade: Cascade): void {
    this.#notes.dropped(flow.name, 'plan_changed')
  }

  cycle(flow: FlowRun, { run, position, reason, count }: BrokenLoop): void {
    const node = run.plan.nodes[position]?.qualified ?? flow.name
    this.note({ type: 'cycle', flow: flow.name, node, text: reason, count, ts: this.now_us() })
  }

  note(note: Note): void {
    this.#notes.write(note)
  }

  // ---- Host: cascades

  begun(flow: FlowRun, cascade: Cascade): void {
    this.#memory.begun.begin(cascade, flow.index)
  }

  ended(flow: FlowRun, cascade: Cascade, _ms: number): void {
    this.#under_way?.ended(cascade)
    const { interrupted, failed, succeeded } = CASCADE_STATUS
    this.#units.record(flow, cascade, cascade.purged ? interrupted : cascade.errors > 0 ? failed : succeeded)
  }

  /** A flow may hold four times what is free: so even when many flows wait, the next one has room. */
  mayBegin(flow: FlowRun): boolean {
    if (this.#units.halfway !== null || this.#retire_at !== Number.POSITIVE_INFINITY) return false
    const free = this.#task.max_cascades - this.#memory.inFlight
    if (free > 0 && flow.openCascades.size < 4 * free) return true
    this.#capped = true
    return false
  }

  inFlight(flow: FlowRun, cascade: Cascade, change: 1 | -1): void {
    this.#memory.countInFlight(change)
    if (change > 0) this.#memory.begun.outlives(cascade, flow.index)
  }

  wants(flow: FlowRun): void {
    if (this.#flows.arrived(flow) && this.#sleeping) this.#memory.wake()
  }

  emitted(flow: FlowRun, execution: Execution): Promise<void> {
    if (flow.inside !== null) return DONE
    this.#units.loose.add(flow)
    return new Promise(resolve => flow.control.await(execution, resolve))
  }
}

/** For what escapes a body while none of its executions is known. */
const NO_CASCADE = new Cascade()
const DONE = Promise.resolve()
