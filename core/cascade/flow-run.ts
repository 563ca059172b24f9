import { limits } from '../../protocol/limits.ts'
import type { Plan } from '../flow/plan.ts'
import { Beginning } from './beginning.ts'
import { Emissions } from './emissions.ts'
import { Executions } from './executions.ts'
import { Fifo } from './fifo.ts'
import type { Flow } from './flow.ts'
import { FlowControl } from './flow-control.ts'
import type { Host, Ingress } from './host.ts'
import { Lines } from './lines.ts'
import { OpenWaves } from './open-waves.ts'
import { PlanRun } from './plan-run.ts'
import type { TakenItem } from './queue/item.ts'
import type { Arrival, Arrived, Execution, Failure, Seat } from './seat.ts'
import { Seats } from './seats.ts'
import type { Cascade, Wave } from './wave.ts'

/** `Wave.kind`: tells a wave from an execution on the stack and from an arrival. */
const WAVE = 0

/**
 * One flow on the lane that owns it: takes what was published, orders waves, starts bodies, publishes what they emit.
 *
 * Order of work in a turn: the stack (the present wave and what it spawned, depth first, so that each reader sees emissions in
 * order), then values that go back round a loop, then arrivals (bodies that came back), then ingress, then generators. A
 * generator lies under its last wave on the stack, so it is pulled again when the inline part of that wave is done. After a
 * turn that ran out of time, arrivals, ingress and generators take turns in being first: none of them starves the others.
 */
export class FlowRun implements Flow {
  readonly index: number
  run: PlanRun
  readonly control: FlowControl
  readonly waves: OpenWaves
  /** Items were taken since the last mark. */
  hasTaken = false
  /** Version of the carry that this thread left behind: another one means that another thread ran the flow since. */
  version = -1
  /** Bodies away or being loaded: while there are any, the flow stays with its thread. */
  away = 0

  /** The newest. */
  #plan: Plan
  readonly #host: Host
  readonly #seats: Seats
  readonly #lines: Lines
  readonly #emissions: Emissions
  readonly #beginning: Beginning
  readonly #executions: Executions
  readonly #stack: (Wave | Execution)[] = []
  readonly #arrivals = new Fifo<Wave | Arrived>()
  readonly #item: TakenItem
  #deadline = 0
  /** Which of arrivals, ingress and generators comes first in the next turn that follows one cut short. */
  #rotation = 0
  #cut_short = false

  constructor(plan: Plan, host: Host, item: TakenItem) {
    this.index = plan.flow_index
    this.#plan = plan
    this.#host = host
    this.#item = item
    this.control = new FlowControl(host.bounds)
    this.waves = new OpenWaves(this, host, this.control)
    this.#seats = new Seats(host, this.waves)
    this.#lines = new Lines(this, host, this.waves, this.#seats, this.control)
    this.#emissions = new Emissions(host, this.waves, this.control)
    this.#beginning = new Beginning(this, host, this.waves)
    this.#executions = new Executions({
      flow: this,
      host,
      waves: this.waves,
      control: this.control,
      lines: this.#lines,
      emissions: this.#emissions,
      stack: this.#stack,
      arrivals: this.#arrivals,
    })
    this.run = this.#prepare(plan)
  }

  /** Executions waiting in mailboxes and results waiting for a turn. */
  get inner(): number {
    return this.control.waiting + this.#arrivals.size + this.#stack.length + this.#emissions.back.size
  }

  /** A rename changes it. */
  get name(): string {
    return this.#plan.flow
  }

  /** Cascades that outlived the turn that began them. */
  get openCascades(): ReadonlySet<Cascade> {
    return this.waves.cascades
  }

  get seats(): Iterable<Seat> {
    return this.#seats.all()
  }

  /** No state of the flow is on this thread only: another lane may own it next. */
  get isAtRest(): boolean {
    return (
      this.away === 0 &&
      this.control.waiting === 0 &&
      this.#stack.length === 0 &&
      this.#arrivals.size === 0 &&
      this.waves.size === 0
    )
  }

  /**
   * A cascade has begun, is not recorded as open and has not ended: a mark now would commit half of it. Executions away or in a
   * mailbox are recorded at the mark. A cascade that had run nothing and runs now is half way again.
   */
  get isHalfway(): boolean {
    const { next, back } = this.#emissions
    if (this.#stack.length === 0 && !this.control.hasGenerators && next.length === 0 && back.size === 0) return false
    for (const cascade of this.halfway()) if (!cascade.recorded || cascade.fresh) return true
    return false
  }

  /** Bodies have come back, and their results wait for a turn. */
  get hasArrivals(): boolean {
    return this.#arrivals.size > 0
  }

  /** The cascades of everything that waits to be run on here, synchronously; some more than once. */
  *halfway(): Iterable<Cascade> {
    const { next, back } = this.#emissions
    for (const one of this.#stack) if (one.kind === WAVE || !one.ended) yield one.cascade
    yield* this.control.pulled()
    for (const { cascade } of next) yield cascade
    for (const { cascade } of back) yield cascade
    const { inside } = this.#executions
    if (inside !== null) yield inside.cascade
  }

  /**
   * One turn: at most TURN_ITEMS items and until `deadline_ms`. True when there is more to do at once.
   */
  turn(ingress: Ingress, deadline_ms: number): boolean {
    this.#deadline = deadline_ms
    this.#executions.pulls = 0
    const { waves } = this
    waves.now_ms = this.#host.clock()
    let items = 0
    let first = this.#cut_short ? this.#nextFirst() : 0
    if (this.#stack.length > 0) this.control.deferAll(this.#stack)
    const { back } = this.#emissions
    for (;;) {
      const top = this.#stack[this.#stack.length - 1]
      if (back.size > 0 && top?.kind !== WAVE) {
        this.#stack.push(back.shift()!)
      } else if (top !== undefined) {
        this.#stack.pop()
        if (top.kind === WAVE) this.#runWave(top)
        else this.#executions.pull(top)
      } else if (first === 0 && this.#arrivals.size > 0) {
        this.#arrive(this.#arrivals.shift()!)
      } else if (first === 0 && this.#lines.startHeld()) {
        // It is among the arrivals now.
      } else if (
        first < 2 &&
        items < limits.TURN_ITEMS &&
        !this.control.isFullOfBytes &&
        this.#host.mayBegin(this) &&
        ingress.take(this.index, this.#item)
      ) {
        this.#stack.push(this.#beginning.fromItem(this.#item, ingress, this.#executions.time()))
        items += this.#beginning.items
        first = 0
      } else if (this.#pullNext()) {
        first = 0
      } else if (first > 0) {
        first = 0
      } else if (!this.#letOneHeldGo()) {
        break
      }
      if (this.#emissions.next.length > 0) this.#stackNext()
      if (waves.now_ms >= deadline_ms) break
    }
    if (items > 0) this.#leaveOver()
    const more = this.#stack.length > 0 || back.size > 0 || this.#arrivals.size > 0
    this.#cut_short = waves.now_ms >= deadline_ms
    return more || this.control.mayPull || this.control.mayStart || this.#isRing
  }

  #nextFirst(): number {
    this.#rotation = (this.#rotation + 1) % 3
    return this.#rotation
  }

  #pullNext(): boolean {
    if (this.#executions.pulls >= limits.GENERATOR_PULLS_PER_TURN) return false
    const generator = this.control.nextGenerator()
    if (generator !== null) this.#stack.push(generator)
    return generator !== null
  }

  /** For a flow without progress: no body away will come back without a release, so the held nodes hold each other. */
  get #isRing(): boolean {
    return this.control.isFull && this.away <= this.control.held && this.control.holdsAny
  }

  #letOneHeldGo(): boolean {
    if (this.#executions.pulls >= limits.GENERATOR_PULLS_PER_TURN || !this.#isRing) return false
    return this.control.letOneGo(
      generator => this.#executions.step(generator),
      mailbox => this.#lines.letInHeld(mailbox),
    )
  }

  /** The last cascade that the turn began still has waves on the stack: it outlives the turn. There is at most one. */
  #leaveOver(): void {
    for (const { cascade } of this.#stack) if (!cascade.in_flight) return this.waves.keepOpen(cascade)
    for (const { cascade } of this.#emissions.back) if (!cascade.in_flight) return this.waves.keepOpen(cascade)
  }

  // ---- cascades and waves

  /** Begins a cascade from several values at once, as a batch run does; see `Beginning`. */
  beginWith(values: ReadonlyMap<number, unknown>, sources: readonly number[]): void {
    this.#stack.push(this.#beginning.fromValues(values, sources, this.#executions.time()))
  }

  #runWave(wave: Wave): void {
    const { waves } = this
    const { next } = this.#emissions
    const executions = this.#executions
    while (wave.count > 0) {
      const position = wave.next()
      if (position < 0) return this.#park(wave)
      executions.execute(wave, position)
      // At once: emissions of a node further down come before further emissions of the nodes above it.
      if (next.length > 0) this.#stackNext()
      if (waves.now_ms >= this.#deadline && wave.count > 0) {
        this.#stack.push(wave)
        return
      }
    }
    if (wave.away.length > 0) return this.#park(wave)
    const cascade = wave.cascade
    waves.close(wave)
    if (cascade.open === 0) waves.settle(cascade, waves.now_ms)
  }

  /** Later waves lie deeper: the first one runs first. */
  #stackNext(): void {
    const { next } = this.#emissions
    for (let at = next.length - 1; at >= 0; at--) this.#stack.push(next[at]!)
    next.length = 0
  }

  /**
   * The wave waits for bodies away. Its nodes that wait for them wait in their mailboxes, where no later wave overtakes them;
   * nodes that wait for nothing else are started.
   */
  #park(wave: Wave): void {
    const { seats } = wave.run
    while (wave.count > 0) this.#lines.enter(wave, wave.takeFirst())
    wave.queued = false
    this.waves.park(wave)
    for (const position of [...wave.away]) this.#lines.letIn(seats[position]!.mailbox)
  }

  /** Something that the wave waited for has come: it goes on with the other arrivals. */
  enqueue(wave: Wave): void {
    if (wave.queued) return
    wave.queued = true
    wave.arrived = true
    this.waves.unpark(wave)
    this.#arrivals.push(wave)
    this.#host.wants(this)
  }

  // ---- executions

  /** The host has loaded the body, or found it broken. */
  bodyReady(seat: Seat): void {
    this.#lines.bodyReady(seat)
    this.#host.wants(this)
  }

  /** A result of a body away: kept until the flow's next turn. Called from the event loop or by the dispatcher. */
  arrive(execution: Execution, arrival: Arrival): void {
    this.#executions.arrive(execution, arrival)
  }

  #arrive(arrived: Wave | Arrived): void {
    if (arrived.kind !== WAVE) return this.#executions.handle(arrived.execution, arrived.arrival)
    if (!arrived.arrived) return
    arrived.arrived = false
    this.#stack.push(arrived)
  }

  /** `ctx.emit`. Published at once; null or what is wrong. */
  emit(execution: Execution, outputs: unknown): Failure | null {
    return this.#executions.emit(execution, outputs)
  }

  /** The execution whose body runs now, on this thread's stack. */
  get inside(): Execution | null {
    return this.#executions.inside
  }

  /** Too many emissions that the body did not await: why they are refused, or null. */
  overflow(execution: Execution): string | null {
    return this.#executions.overflow(execution)
  }

  // ---- deploy

  /** New cascades take `plan`; those that have begun finish on the one that they began with. */
  replan(plan: Plan): void {
    const before = this.run
    const after = this.#prepare(plan)
    after.takeOver(before)
    if (this.waves.size > 0 || this.away > 0) before.successor = after
    this.run = after
    const replaced = this.#seats.takeReplaced()
    for (const seat of replaced) seat.active?.abort?.abort()
    this.#lines.handOver(new Set(replaced.map(seat => seat.mailbox)), after)
  }

  #prepare(plan: Plan): PlanRun {
    this.#plan = plan
    const seats = this.#seats.of(plan)
    for (const seat of seats) if (!this.#lines.isReady(seat) && seat.node.digest !== null) this.#lines.load(seat)
    return new PlanRun(plan, seats, this.#host)
  }

  /** Drops all executions in mailboxes and `queued` items; running executions continue. Returns the number of both. */
  purge(ingress: Ingress, queued: number): number {
    return this.#lines.purge(this.#seats.mailboxes) + this.#beginning.purge(this.#item, ingress, queued)
  }

  // ---- end

  /** Every wave that has begun and not ended and does not wait for a body away. */
  *queuedWaves(): Iterable<Wave> {
    for (const one of this.#stack) if (one.kind === WAVE) yield one
    for (const one of this.#arrivals) if (one.kind === WAVE) yield one
    yield* this.#emissions.next
    yield* this.#emissions.back
  }

  /**
   * The flow is gone, or leaves this thread with its bodies still away: they are told to end, their results are ignored, and
   * all waiting work is dropped. Answers the cascades that had begun and will not end.
   */
  abandon(): Set<Cascade> {
    const interrupted = new Set(this.waves.cascades)
    for (const wave of this.queuedWaves()) interrupted.add(wave.cascade)
    for (const seat of this.#seats.all()) {
      const { active } = seat
      if (active !== null) this.#executions.giveUp(active)
    }
    for (const cascade of interrupted) {
      this.waves.tellBroken(cascade)
      this.waves.forget(cascade)
    }
    this.#stack.length = 0
    this.#emissions.next.length = 0
    while (this.#emissions.back.shift() !== undefined);
    while (this.#arrivals.shift() !== undefined);
    this.control.end()
    return interrupted
  }
}
