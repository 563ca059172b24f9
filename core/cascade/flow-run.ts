import { type EncodedValue, KIND } from '../../protocol/encoded.ts'
import { limits } from '../../protocol/limits.ts'
import type { Plan } from '../flow/plan.ts'
import { Emissions, NO_OUTPUTS } from './emissions.ts'
import { Fifo } from './fifo.ts'
import { type Failure, type Host, type Ingress, THREW } from './host.ts'
import { OpenWaves } from './open-waves.ts'
import { Packed, PlanRun } from './plan-run.ts'
import type { TakenItem } from './queue.ts'
import { type Arrival, Arrived, Execution, type Mailbox, type Seat } from './seat.ts'
import { Seats } from './seats.ts'
import { Cascade, type Wave } from './wave.ts'

/**
 * One flow on the lane that owns it: takes what was published, orders waves, starts bodies, publishes what they emit.
 *
 * Order of work in a turn: the stack (the present wave and what it spawned, depth first, so that each reader sees emissions in
 * order), then arrivals (bodies that came back), then ingress, then generators. A generator lies under its last wave on the
 * stack, so it is pulled again when the inline part of that wave is done.
 */
export class FlowRun {
  readonly index: number
  run: PlanRun
  /** Items taken from the queue since the last turn's end was marked. */
  taken = 0
  /** Version of the carry that this thread left behind: another one means that another thread ran the flow since. */
  version = -1
  /** Bodies away or being loaded: while there are any, the flow stays with its thread. */
  away = 0

  readonly #host: Host
  readonly #waves: OpenWaves
  readonly #seats: Seats
  readonly #emissions: Emissions
  readonly #stack: (Wave | Execution)[] = []
  readonly #arrivals = new Fifo<Wave | Arrived>()
  readonly #generators = new Fifo<Execution>()
  readonly #item: TakenItem
  #waiting = 0
  #now = 0
  #deadline = 0
  #pulls = 0
  /** The execution whose body runs now, on this thread's stack. */
  #inside: Execution | null = null

  constructor(plan: Plan, host: Host, item: TakenItem) {
    this.index = plan.flow_index
    this.#host = host
    this.#item = item
    this.#waves = new OpenWaves(this, host)
    this.#seats = new Seats(host)
    this.#emissions = new Emissions(this, host, this.#waves)
    this.run = this.#prepare(plan)
  }

  /** Executions waiting in mailboxes and results waiting for a turn. */
  get inner(): number {
    return this.#waiting + this.#arrivals.size + this.#stack.length
  }

  /** A rename changes it. */
  get name(): string {
    return this.run.plan.flow
  }

  /** Cascades that outlived the turn that began them. */
  get openCascades(): ReadonlySet<Cascade> {
    return this.#waves.cascades
  }

  get seats(): Iterable<Seat> {
    return this.#seats.all()
  }

  /** Nothing of the flow lives on this thread alone: another lane may own it next. */
  get isAtRest(): boolean {
    return (
      this.away === 0 &&
      this.#waiting === 0 &&
      this.#stack.length === 0 &&
      this.#arrivals.size === 0 &&
      this.#waves.size === 0
    )
  }

  /**
   * One turn: at most TURN_ITEMS items and until `deadline_ms`. True when there is more to do at once.
   */
  turn(ingress: Ingress, deadline_ms: number): boolean {
    this.#deadline = deadline_ms
    this.#pulls = 0
    this.#now = this.#host.clock()
    let items = 0
    for (;;) {
      const top = this.#stack.pop()
      if (top !== undefined) {
        if (top.kind === 0) this.#runWave(top)
        else this.#pull(top)
      } else if (this.#arrivals.size > 0) {
        this.#arrive(this.#arrivals.shift()!)
      } else if (items < limits.TURN_ITEMS && this.#host.mayBegin() && ingress.take(this.index, this.#item)) {
        items++
        this.taken++
        this.#begin(this.#item)
      } else if (this.#mayPull() && this.#pulls < limits.GENERATOR_PULLS_PER_TURN) {
        this.#stack.push(this.#generators.shift()!)
      } else {
        break
      }
      if (this.#now >= deadline_ms) break
    }
    return this.#stack.length > 0 || this.#arrivals.size > 0 || this.#mayPull()
  }

  /** A generator waits while the mailboxes of its flow are full. */
  #mayPull(): boolean {
    return this.#generators.size > 0 && this.#waiting < limits.FLOW_WAITING_ITEMS
  }

  // ---- cascades and waves

  #begin(item: TakenItem): void {
    const run = this.run
    const position = run.plan.by_message.get(item.message)
    const cascade = new Cascade()
    cascade.seq = this.#host.nextSeq()
    cascade.message = item.message
    cascade.root_version = item.version
    cascade.depth = item.depth
    cascade.parent_seq = item.parent_seq
    cascade.parent_ts = item.parent_ts
    cascade.started_us = this.#time()
    this.#waves.tick()
    const wave = this.#waves.begin(run, cascade, item.depth, run.newBackEdgeCount())
    if (position === undefined || !run.plan.messages[position]!.queued) {
      cascade.errors++
      this.#host.planChanged(this, null, cascade)
      this.#waves.close(wave)
      this.#waves.settle(cascade, this.#now)
      return
    }
    run.apply(position, this.#valueOf(item.value), wave, this.#waves.mixed)
    const readers = run.plan.messages[position]!.readers
    if (item.depth > limits.WAVE_DEPTH) {
      this.#host.cycle(this, run, readers[0] ?? 0, `deeper than ${limits.WAVE_DEPTH} through other flows`)
      cascade.errors++
    } else {
      const waited_us = cascade.started_us - item.ts
      for (let at = 0; at < readers.length; at++) {
        wave.activate(readers[at]!)
        this.#host.queueWait(run.seats[readers[at]!]!, waited_us)
      }
    }
    wave.queued = true
    this.#stack.push(wave)
  }

  #runWave(wave: Wave): void {
    wave.queued = false
    const { spawned } = this.#emissions
    while (wave.count > 0) {
      const position = wave.next()
      if (position < 0) return this.#waves.park(wave)
      this.#execute(wave, position)
      if (spawned.length > 0) this.#stackSpawned()
      if (this.#now >= this.#deadline && wave.count > 0) {
        wave.queued = true
        this.#stack.push(wave)
        return
      }
    }
    if (wave.away.length > 0) return this.#waves.park(wave)
    const cascade = wave.cascade
    this.#waves.close(wave)
    if (cascade.open === 0) this.#waves.settle(cascade, this.#now)
  }

  /** Later waves lie deeper: the first one spawned runs first. */
  #stackSpawned(): void {
    const { spawned } = this.#emissions
    for (let at = spawned.length - 1; at >= 0; at--) this.#stack.push(spawned[at]!)
    spawned.length = 0
  }

  #enqueue(wave: Wave): void {
    if (wave.queued) return
    wave.queued = true
    this.#waves.unpark(wave)
    this.#arrivals.push(wave)
    this.#host.wants(this)
  }

  // ---- executions

  #execute(wave: Wave, position: number): void {
    const run = wave.run
    const seat = run.seats[position]!
    const mailbox = seat.mailbox
    if (mailbox.closed || seat.body === null) {
      if (mailbox.reserved === wave) mailbox.reserved = null
      else if (mailbox.closed || !this.#isReady(seat)) return this.#wait(wave, position, seat)
    }
    this.#start(wave, run, seat, position)
    if (mailbox.closed && !mailbox.busy) this.#next(mailbox)
  }

  #wait(wave: Wave, position: number, seat: Seat): void {
    const { mailbox } = seat
    wave.away.push(position)
    mailbox.waiting.push({ wave, position })
    mailbox.closed = true
    this.#waiting++
    if (mailbox.waiting.size === 1 && !mailbox.busy && mailbox.reserved === null) this.#next(mailbox)
  }

  /** Its body can be called, sent away, or found broken. */
  #isReady(seat: Seat): boolean {
    return seat.body !== null || seat.broken !== null || this.#host.dispatched(seat)
  }

  /** Bodies are loaded together, as soon as the flow has work on this thread; until then executions wait in the mailbox. */
  #load(seat: Seat): void {
    if (seat.loading) return
    seat.loading = true
    this.away++
    this.#host.load(this, seat)
  }

  /** The host has loaded the body, or found it broken. */
  bodyReady(seat: Seat): void {
    seat.loading = false
    this.away--
    const { mailbox } = seat
    if (!mailbox.busy && mailbox.reserved === null) this.#next(mailbox)
    this.#host.wants(this)
  }

  #start(wave: Wave, run: PlanRun, seat: Seat, position: number): void {
    const host = this.#host
    const cascade = wave.cascade
    const inputs = run.makeInputs[position]!(run, wave)
    if (inputs === undefined) {
      host.waitedForInput(seat)
      return
    }
    const execution = seat.execution
    execution.run = run
    execution.cascade = cascade
    execution.wave = wave
    execution.position = position
    execution.depth = wave.depth
    execution.inputs = inputs
    execution.back = wave.back
    execution.contributed = false
    execution.started_ms = this.#now
    cascade.executions++
    if (seat.broken !== null) return this.#failHere(execution, host.failureOf(seat.broken))
    if (host.dispatched(seat)) {
      execution.dispatched = true
      this.#leave(execution)
      host.dispatch(this, execution)
      return
    }
    this.#inside = execution
    const result = host.call(seat, inputs)
    this.#inside = null
    const now = host.clock()
    const ms = now - this.#now
    this.#now = now
    if (result === THREW) this.#failHere(execution, host.thrown())
    else if (result !== undefined) this.#result(execution, result)
    if (!execution.away) host.executed(seat, ms)
  }

  /** What a body handed back within its call: outputs, a promise, or a generator. */
  #result(execution: Execution, result: unknown): void {
    const failure = this.#emissions.publish(execution, result, this.#time())
    if (failure === null) return
    if (failure === NO_OUTPUTS) {
      const later = result as { then?: unknown; next?: unknown }
      if (typeof later.then === 'function') return this.#await(execution, result as PromiseLike<unknown>)
      if (typeof later.next === 'function') return this.#generate(execution, result as Iterator<unknown>)
      return
    }
    this.#failHere(execution, failure)
  }

  #failHere(execution: Execution, failure: Failure): void {
    execution.cascade.errors++
    this.#host.failed(this, execution.seat, failure, execution.inputs, execution.cascade)
    if (execution.away) this.#end(execution)
  }

  /** The body goes on outside this call: its node is taken, its wave waits for its first contribution. */
  #leave(execution: Execution): void {
    const seat = execution.seat
    execution.away = true
    execution.ended = false
    seat.mailbox.busy = true
    seat.mailbox.closed = true
    seat.active = execution
    seat.execution = new Execution(seat)
    this.away++
    execution.cascade.open++
    this.#waves.keepOpen(execution.cascade)
    if (!execution.contributed) execution.wave.away.push(execution.position)
  }

  #await(execution: Execution, promise: PromiseLike<unknown>): void {
    this.#leave(execution)
    promise.then(
      value => this.arrive(execution, { type: 'returned', value }),
      error => this.arrive(execution, { type: 'threw', error }),
    )
  }

  #generate(execution: Execution, generator: Iterator<unknown>): void {
    this.#leave(execution)
    execution.generator = generator
    this.#stack.push(execution)
  }

  /** A result of a body away: kept until the flow's next turn. Called from the event loop or by the dispatcher. */
  arrive(execution: Execution, arrival: Arrival): void {
    if (execution.ended) return
    this.#arrivals.push(new Arrived(execution, arrival))
    this.#host.wants(this)
  }

  #arrive(arrived: Wave | Arrived): void {
    if (arrived.kind === 0) this.#stack.push(arrived)
    else this.#handle(arrived.execution, arrived.arrival)
  }

  #handle(execution: Execution, arrival: Arrival): void {
    if (execution.ended) return
    switch (arrival.type) {
      case 'returned':
        this.#finalResult(execution, arrival.value)
        break
      case 'threw':
        this.#failHere(execution, this.#host.failureOf(arrival.error))
        break
      case 'stepped':
        this.#stepped(execution, arrival.step)
        break
      case 'emitted': {
        const failure = this.#emission(execution, arrival.outputs)
        this.#stackEmitted()
        if (failure !== null) this.#failHere(execution, failure)
        arrival.processed()
        break
      }
      default:
        arrival satisfies never
    }
  }

  #finalResult(execution: Execution, value: unknown): void {
    if (!execution.dispatched) this.#host.executed(execution.seat, this.#now - execution.started_ms)
    const failure = value === undefined || value === null ? null : this.#emission(execution, value)
    if (failure !== null) this.#failHere(execution, failure)
    else this.#end(execution)
    this.#stackEmitted()
  }

  /** What a body away has just emitted runs next: the wave that it joined, then the waves of its own. */
  #stackEmitted(): void {
    this.#stackSpawned()
    const joined = this.#emissions.takeJoined()
    if (joined !== null) this.#stack.push(joined)
  }

  /** The execution is over: its node takes the next one that waits. */
  #end(execution: Execution): void {
    if (execution.ended) return
    execution.ended = true
    execution.away = false
    this.away--
    this.#closeGenerator(execution)
    const { seat } = execution
    seat.active = null
    seat.mailbox.busy = false
    if (!execution.contributed) this.#emissions.contribute(execution)
    this.#next(seat.mailbox)
    if (--execution.cascade.open === 0) this.#waves.settle(execution.cascade, this.#now)
  }

  #closeGenerator(execution: Execution): void {
    const generator = execution.generator
    execution.generator = null
    if (generator?.return === undefined) return
    try {
      void Promise.resolve(generator.return(undefined)).catch(() => undefined)
    } catch {
      // The body's own clean-up threw; its execution has ended already.
    }
  }

  /** Nobody is inside: the head of the line is the next one, whoever comes before its wave has its turn. */
  #next(mailbox: Mailbox): void {
    const head = mailbox.waiting.first
    if (head === undefined) {
      mailbox.closed = false
      return
    }
    const { wave, position } = head
    const seat = wave.run.seats[position]!
    if (!this.#isReady(seat)) return this.#load(seat)
    mailbox.waiting.shift()
    this.#waiting--
    mailbox.reserved = wave
    wave.comeBack(position)
    wave.activate(position)
    this.#enqueue(wave)
  }

  // ---- generators

  #pull(execution: Execution): void {
    const generator = execution.generator
    if (generator === null || execution.ended) return
    if (!execution.seat.current) {
      this.#end(execution)
      return this.#stackEmitted()
    }
    if (this.#pulls >= limits.GENERATOR_PULLS_PER_TURN || this.#waiting >= limits.FLOW_WAITING_ITEMS) {
      this.#generators.push(execution)
      return
    }
    this.#pulls++
    let step: unknown
    this.#inside = execution
    try {
      step = generator.next()
    } catch (error) {
      this.#inside = null
      this.#now = this.#host.clock()
      execution.generator = null
      return this.#failHere(execution, this.#host.failureOf(error))
    }
    this.#inside = null
    if (typeof (step as PromiseLike<unknown>).then === 'function') {
      ;(step as PromiseLike<IteratorResult<unknown>>).then(
        later => this.arrive(execution, { type: 'stepped', step: later }),
        error => this.arrive(execution, { type: 'threw', error }),
      )
      return
    }
    this.#stepped(execution, step as IteratorResult<unknown>)
  }

  #stepped(execution: Execution, step: IteratorResult<unknown>): void {
    if (step.done) {
      execution.generator = null
      return this.#finalResult(execution, step.value)
    }
    this.#stack.push(execution)
    const failure = this.#emission(execution, step.value)
    if (failure !== null) {
      this.#stack.pop()
      this.#failHere(execution, failure)
    }
    this.#stackEmitted()
  }

  // ---- emissions

  /**
   * `ctx.emit` and every emission of a body away. Within the body's own call it is published at once; null or what is wrong.
   */
  emit(execution: Execution, outputs: unknown): Failure | null {
    if (execution.ended && execution.away) return null
    if (this.#inside !== null) return this.#emission(execution, outputs)
    this.#now = this.#host.clock()
    const failure = this.#emission(execution, outputs)
    const joined = this.#emissions.takeJoined()
    if (joined !== null) this.#arrivals.push(joined)
    const { spawned } = this.#emissions
    for (const wave of spawned) this.#arrivals.push(wave)
    spawned.length = 0
    this.#host.wants(this)
    return failure
  }

  get inside(): Execution | null {
    return this.#inside
  }

  /** More emissions of one call than may wait unprocessed. */
  overflows(): boolean {
    return this.#emissions.spawned.length + this.#arrivals.size >= limits.UNAWAITED_EMITS
  }

  #emission(execution: Execution, outputs: unknown): Failure | null {
    const failure = this.#emissions.publish(execution, outputs, this.#time())
    return failure === NO_OUTPUTS ? null : failure
  }

  #valueOf(encoded: EncodedValue): unknown {
    if (encoded.kind === KIND.float || encoded.kind === KIND.int) return encoded.number
    if (encoded.kind === KIND.json)
      return new Packed(encoded.kind, Buffer.from(encoded.bytes.subarray(0, encoded.length)))
    return this.#host.codec.decode(encoded.kind, encoded.number, encoded.bytes, 0, encoded.length)
  }

  #time(): number {
    return Math.floor(this.#host.origin_us + this.#now * 1000)
  }

  // ---- deploy

  /** New cascades take `plan`; those that have begun finish on the one that they began with. */
  replan(plan: Plan): void {
    const before = this.run
    const after = this.#prepare(plan)
    for (const [position, message] of plan.messages.entries()) {
      const old = before.plan.by_message.get(message.index)
      // What nobody here read was not followed: the table has it, and the new plan has just looked there.
      if (old !== undefined && before.plan.messages[old]!.queued) after.value[position] = before.value[old]
    }
    if (this.#waves.size > 0 || this.away > 0) before.successor = after
    this.run = after
    for (const seat of this.#seats.takeReplaced()) {
      seat.active?.abort?.abort()
      this.#handOver(seat.mailbox)
    }
  }

  #prepare(plan: Plan): PlanRun {
    const seats = this.#seats.of(plan)
    for (const seat of seats) if (!this.#isReady(seat) && seat.node.digest !== null) this.#load(seat)
    return new PlanRun(plan, seats, this.#host)
  }

  /** Those who wait for a seat that was replaced go on, in their order, on the new plan; or they fail, counted. */
  #handOver(mailbox: Mailbox): void {
    const { waiting } = mailbox
    for (let left = waiting.size; left > 0; left--) {
      const one = waiting.shift()!
      const { wave, position } = one
      const seat = wave.run.seats[position]!
      if (seat.current) {
        waiting.push(one)
        continue
      }
      const heir = this.#waves.carryOver(wave, position, this.run)
      if (heir === null) {
        this.#waiting--
        wave.cascade.errors++
        this.#host.planChanged(this, seat, wave.cascade)
      } else {
        waiting.push({ wave: heir, position: heir.away[0]! })
        this.#waves.park(heir)
      }
      wave.comeBack(position)
      this.#enqueue(wave)
    }
    if (!mailbox.busy && mailbox.reserved === null) this.#next(mailbox)
  }

  // ---- end

  /** Every wave that has begun and not ended and does not wait for a body away. */
  *queuedWaves(): Iterable<Wave> {
    for (const one of this.#stack) if (one.kind === 0) yield one
    for (const one of this.#arrivals) if (one.kind === 0) yield one
    yield* this.#emissions.spawned
  }

  /**
   * The flow is gone, or leaves this thread with its bodies still away: they are told to end, what they still bring is
   * ignored, and nothing waits any more. Answers the cascades that had begun and will not end.
   */
  abandon(): Set<Cascade> {
    const interrupted = new Set(this.#waves.cascades)
    for (const wave of this.queuedWaves()) interrupted.add(wave.cascade)
    for (const seat of this.#seats.all()) {
      const { active } = seat
      if (active === null) continue
      active.ended = true
      active.abort?.abort()
      this.#closeGenerator(active)
    }
    for (const cascade of interrupted) this.#waves.forget(cascade)
    this.#stack.length = 0
    this.#emissions.spawned.length = 0
    while (this.#arrivals.shift() !== undefined);
    while (this.#generators.shift() !== undefined);
    this.#waiting = 0
    return interrupted
  }
}
