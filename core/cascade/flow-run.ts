import type { Codec } from '../../protocol/codec.ts'
import { type EncodedValue, isNumeric, KIND } from '../../protocol/encoded.ts'
import type { ErrorCode } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { Plan, PlanNode, PlanOutputPort } from '../flow/plan.ts'

import { Fifo } from './fifo.ts'
import { type OutputValues, Packed, PlanRun, type Values } from './plan-run.ts'
import type { TakenItem } from './queue.ts'
import { type Arrival, Arrived, Execution, type Seat, type Waiting } from './seat.ts'
import { type BackEdgeCount, Cascade, Wave } from './wave.ts'

/** What ended an execution without a result. */
export interface Failure {
  readonly code: ErrorCode
  readonly message: string
  readonly stack: string | null
}

/** Answered by `Host.call` in place of a result when the body threw; the host keeps what was thrown. */
export const THREW = Symbol('threw')

/** What the flow asks of the thread that it runs on. One implementation: the lane. */
export interface Host extends Values {
  readonly codec: Codec
  /** Reused by every flow of the thread, one for each output of an emission. */
  scratch(at: number): EncodedValue
  /** Milliseconds of the thread's monotonic clock; `origin_us` added it is the time of day. */
  clock(): number
  readonly origin_us: number
  nextSeq(): number
  /** The one door into user code, for a body that runs here. */
  call(seat: Seat, inputs: Record<string, unknown>): unknown
  thrown(): Failure
  failureOf(error: unknown): Failure
  newSeat(node: PlanNode): Seat
  /** Makes the body of a seat ready and answers through `FlowRun.bodyReady`. */
  load(flow: FlowRun, seat: Seat): void
  /** True when the body is not to run on this thread. */
  dispatched(seat: Seat): boolean
  dispatch(flow: FlowRun, execution: Execution): void
  executed(seat: Seat, ms: number): void
  waitedForInput(seat: Seat): void
  queueWait(seat: Seat, us: number): void
  failed(flow: FlowRun, seat: Seat, failure: Failure, inputs: unknown, cascade: Cascade): void
  /** Publishes inside a cascade; answers the version. */
  publish(run: PlanRun, message: number, value: EncodedValue, ts_us: number, depth: number, cascade: Cascade): number
  /** True when a rate-limited port may publish now; else the value is held. */
  passes(run: PlanRun, output: PlanOutputPort, value: EncodedValue, ts_us: number): boolean
  cycle(flow: FlowRun, run: PlanRun, position: number, reason: string): void
  ended(flow: FlowRun, cascade: Cascade, ms: number): void
  /** May another cascade begin, under the engine's bound on those in flight? */
  mayBegin(): boolean
  inFlight(change: 1 | -1): void
  /** An item or a waiting execution whose ports a deploy took away. */
  planChanged(flow: FlowRun, seat: Seat | null, cascade: Cascade): void
  /** Something arrived outside a turn: the lane gives the flow a turn soon. */
  wants(flow: FlowRun): void
}

export interface Ingress {
  take(flow: number, out: TakenItem): boolean
}

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
  /** Cascades begun: the flow's clock. A wave reads nothing that a later cascade published. */
  clock = 0
  /** Items taken from the queue since the last turn's end was marked. */
  taken = 0
  /** Version of the carry that this thread left behind: another one means that another thread ran the flow since. */
  version = -1
  /** Bodies away: while there are any, the flow stays with its thread. */
  away = 0

  readonly #host: Host
  readonly #seats = new Map<string, Seat>()
  readonly #stack: (Wave | Execution)[] = []
  readonly #arrivals = new Fifo<Wave | Arrived>()
  readonly #generators = new Fifo<Execution>()
  readonly #spawned: Wave[] = []
  readonly #open = new Set<Wave>()
  readonly #open_cascades = new Set<Cascade>()
  readonly #spare: Wave[] = []
  readonly #item: TakenItem
  readonly #out: OutputValues = { value: [], keys: 0 }
  #wave_ids = 0
  #open_waves = 0
  /** Waves are open that began before the newest cascade. */
  #mixed = false
  #waiting = 0
  #now = 0
  #deadline = 0
  #pulls = 0
  /** The wave that an emission of a body away has just joined; it runs before anything that was spawned. */
  #joined: Wave | null = null
  /** The execution whose body runs now, on this thread's stack. */
  #inside: Execution | null = null

  constructor(plan: Plan, host: Host, item: TakenItem) {
    this.index = plan.flow_index
    this.#host = host
    this.#item = item
    this.run = this.#prepare(plan, new Map())
  }

  /** Executions waiting in mailboxes and results waiting for a turn. */
  get inner(): number {
    return this.#waiting + this.#arrivals.size + this.#stack.length
  }

  /** A rename changes it. */
  get name(): string {
    return this.run.plan.flow
  }

  get openCascades(): ReadonlySet<Cascade> {
    return this.#open_cascades
  }

  get seats(): ReadonlyMap<string, Seat> {
    return this.#seats
  }

  /** Nothing of the flow lives on this thread alone: another lane may own it next. */
  get isAtRest(): boolean {
    return (
      this.away === 0 &&
      this.#waiting === 0 &&
      this.#stack.length === 0 &&
      this.#arrivals.size === 0 &&
      this.#open_waves === 0
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
    this.clock++
    if (this.#open_waves > 0) this.#mixed = true
    const wave = this.#newWave(run, cascade, item.depth, { waves: 0 })
    if (position === undefined || !run.plan.messages[position]!.queued) {
      cascade.errors++
      this.#host.planChanged(this, null, cascade)
      this.#closeWave(wave)
      this.#settle(cascade)
      return
    }
    run.apply(position, this.#valueOf(item.value), wave, this.#mixed)
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

  #newWave(run: PlanRun, cascade: Cascade, depth: number, back: BackEdgeCount): Wave {
    const wave = this.#spare.pop() ?? new Wave()
    wave.id = ++this.#wave_ids
    wave.run = run
    wave.cascade = cascade
    wave.depth = depth
    wave.as_of = this.clock
    wave.back = back
    wave.count = 0
    wave.queued = false
    cascade.open++
    this.#open_waves++
    return wave
  }

  #runWave(wave: Wave): void {
    wave.queued = false
    const spawned = this.#spawned
    while (wave.count > 0) {
      const position = wave.next()
      if (position < 0) return this.#park(wave)
      this.#execute(wave, position)
      if (spawned.length > 0) this.#stackSpawned()
      if (this.#now >= this.#deadline && wave.count > 0) {
        wave.queued = true
        this.#stack.push(wave)
        return
      }
    }
    if (wave.away.length > 0) return this.#park(wave)
    const cascade = wave.cascade
    this.#closeWave(wave)
    if (cascade.open === 0) this.#settle(cascade)
  }

  /** Later waves lie deeper: the first one spawned runs first. */
  #stackSpawned(): void {
    const spawned = this.#spawned
    for (let at = spawned.length - 1; at >= 0; at--) this.#stack.push(spawned[at]!)
    spawned.length = 0
  }

  /** Waits for a body away; it comes back through the arrivals. */
  #park(wave: Wave): void {
    this.#open.add(wave)
    this.#keepOpen(wave.cascade)
  }

  #keepOpen(cascade: Cascade): void {
    if (cascade.in_flight) return
    cascade.in_flight = true
    this.#open_cascades.add(cascade)
    this.#host.inFlight(1)
  }

  #closeWave(wave: Wave): void {
    wave.cascade.open--
    wave.id = 0
    this.#open.delete(wave)
    if (--this.#open_waves === 0) {
      wave.run.forgetOlder()
      if (wave.run !== this.run) this.run.forgetOlder()
      this.#mixed = false
    } else if (this.run.wantsPruning) {
      this.#prune()
    }
    if (this.#spare.length < 64) this.#spare.push(wave)
  }

  #prune(): void {
    let as_of = this.clock
    const ids = new Set<number>()
    for (const wave of this.#open) {
      as_of = Math.min(as_of, wave.as_of)
      ids.add(wave.id)
    }
    this.run.prune(as_of, ids)
  }

  #settle(cascade: Cascade): void {
    if (cascade.open > 0) return
    if (cascade.in_flight) {
      cascade.in_flight = false
      this.#open_cascades.delete(cascade)
      this.#host.inFlight(-1)
    }
    this.#host.ended(this, cascade, this.#now)
  }

  #enqueue(wave: Wave): void {
    if (wave.queued) return
    wave.queued = true
    this.#open.delete(wave)
    this.#arrivals.push(wave)
    this.#host.wants(this)
  }

  // ---- executions

  #execute(wave: Wave, position: number): void {
    const run = wave.run
    const seat = run.seats[position]!
    if (seat.busy || seat.body === null || seat.reserved !== null) {
      if (seat.reserved === wave) {
        seat.reserved = null
      } else if (seat.busy || seat.reserved !== null || !this.#makeReady(seat)) {
        wave.away.push(position)
        seat.mailbox.push({ wave, position })
        this.#waiting++
        return
      }
    }
    this.#start(wave, run, seat, position)
    if (seat.mailbox.size > 0 && !seat.busy) this.#free(seat)
  }

  /** False while the body is being loaded; `bodyReady` goes on. */
  #makeReady(seat: Seat): boolean {
    if (seat.broken !== null || this.#host.dispatched(seat)) return true
    this.#load(seat)
    return false
  }

  /** The host has loaded the body, or found it broken. */
  bodyReady(seat: Seat): void {
    this.away--
    this.#free(seat)
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
    if (typeof result !== 'object' || result === null) {
      return this.#failHere(execution, badOutput(execution, result))
    }
    const undeclared = execution.run.readOutputs[execution.position]!(result as Record<string, unknown>, this.#out)
    if (this.#out.keys === 0) {
      const later = result as { then?: unknown; next?: unknown }
      if (typeof later.then === 'function') return this.#await(execution, result as PromiseLike<unknown>)
      if (typeof later.next === 'function') return this.#generate(execution, result as Iterator<unknown>)
      return
    }
    const failure = undeclared !== null ? undeclaredKey(execution, undeclared) : this.#publishOutputs(execution)
    if (failure !== null) this.#failHere(execution, failure)
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
    seat.busy = true
    seat.active = execution
    seat.execution = new Execution(seat)
    this.away++
    execution.cascade.open++
    this.#keepOpen(execution.cascade)
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
    if (this.#joined === null) return
    this.#stack.push(this.#joined)
    this.#joined = null
  }

  /** The execution is over: its node takes the next one that waits. */
  #end(execution: Execution): void {
    if (execution.ended) return
    execution.ended = true
    execution.away = false
    this.away--
    const generator = execution.generator
    if (generator !== null) {
      execution.generator = null
      if (generator.return !== undefined) {
        try {
          void Promise.resolve(generator.return(undefined)).catch(() => undefined)
        } catch {
          // The body's own clean-up threw; its execution has ended already.
        }
      }
    }
    execution.seat.active = null
    if (!execution.contributed) this.#contribute(execution)
    this.#free(execution.seat)
    if (--execution.cascade.open === 0) this.#settle(execution.cascade)
  }

  /** The execution has given its wave what it will ever give it. */
  #contribute(execution: Execution): void {
    execution.contributed = true
    if (!execution.away && !execution.ended) return
    const wave = execution.wave
    wave.comeBack(execution.position)
    if (wave.queued) return
    wave.queued = true
    this.#open.delete(wave)
    this.#joined = wave
  }

  #free(seat: Seat): void {
    seat.busy = false
    if (seat.heir !== null) return this.#free(seat.heir)
    const next = seat.mailbox.shift()
    if (next === undefined) return
    this.#waiting--
    // It is the next one, whoever asks for the seat before its wave has its turn.
    seat.reserved = next.wave
    next.wave.comeBack(next.position)
    next.wave.activate(next.position)
    this.#enqueue(next.wave)
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
    if (this.#joined !== null) this.#arrivals.push(this.#joined)
    this.#joined = null
    for (const wave of this.#spawned) this.#arrivals.push(wave)
    this.#spawned.length = 0
    this.#host.wants(this)
    return failure
  }

  get inside(): Execution | null {
    return this.#inside
  }

  /** More emissions of one call than may wait unprocessed. */
  overflows(): boolean {
    return this.#spawned.length + this.#arrivals.size >= limits.UNAWAITED_EMITS
  }

  #emission(execution: Execution, outputs: unknown): Failure | null {
    if (typeof outputs !== 'object' || outputs === null) return badOutput(execution, outputs)
    const undeclared = execution.run.readOutputs[execution.position]!(outputs as Record<string, unknown>, this.#out)
    if (undeclared !== null) return undeclaredKey(execution, undeclared)
    if (this.#out.keys === 0) return null
    return this.#publishOutputs(execution)
  }

  /** Checks every value first, then publishes all: an emission is published whole or not at all. */
  #publishOutputs(execution: Execution): Failure | null {
    const run = execution.run
    const node = run.plan.nodes[execution.position]!
    const outputs = node.outputs
    const values = this.#out.value
    for (let at = 0; at < outputs.length; at++) {
      if (values[at] === undefined) continue
      const encoded = this.#host.scratch(at)
      const refusal = this.#host.codec.encode(values[at], outputs[at]!.dtype, encoded)
      if (refusal !== null) {
        return {
          code: refusal.code,
          message: `Output "${outputs[at]!.port}" of ${node.qualified}: ${refusal.text}`,
          stack: null,
        }
      }
    }
    const wave = execution.contributed ? this.#furtherWave(execution) : execution.wave
    const ts = this.#time()
    for (let at = 0; at < outputs.length; at++) {
      if (values[at] === undefined) continue
      const output = outputs[at]!
      const encoded = this.#host.scratch(at)
      if (output.rate_hz !== null && !this.#host.passes(run, output, encoded, ts)) continue
      this.#host.publish(run, output.message, encoded, ts, wave.depth, execution.cascade)
      run.apply(output.message, this.#local(encoded, values[at]), wave, this.#mixed)
      const forward = output.forward
      for (let reader = 0; reader < forward.length; reader++) wave.activate(forward[reader]!)
      if (output.back.length > 0) this.#goBack(execution, wave, output)
    }
    if (!execution.contributed) this.#contribute(execution)
    return null
  }

  /** Each emission after the first is an item of its own and starts its own wave. */
  #furtherWave(execution: Execution): Wave {
    // Emissions of a generator are roots of their own; those of one call share the count of their wave.
    const back = execution.generator !== null ? { waves: 0 } : execution.wave.back
    const wave = this.#newWave(execution.run, execution.cascade, execution.depth, back)
    wave.queued = true
    this.#spawned.push(wave)
    return wave
  }

  #goBack(execution: Execution, wave: Wave, output: PlanOutputPort): void {
    const depth = wave.depth + 1
    if (depth > limits.WAVE_DEPTH || ++wave.back.waves > limits.BACK_EDGE_WAVES) {
      const reason =
        depth > limits.WAVE_DEPTH
          ? `deeper than ${limits.WAVE_DEPTH}`
          : `more than ${limits.BACK_EDGE_WAVES} turns of one value`
      execution.cascade.errors++
      this.#host.cycle(this, execution.run, execution.position, reason)
      return
    }
    const next = this.#newWave(execution.run, execution.cascade, depth, wave.back)
    // It reads the value that went round, whatever is published in the meantime.
    execution.run.apply(output.message, execution.run.value[output.message], next, true)
    for (const reader of output.back) next.activate(reader)
    next.queued = true
    this.#spawned.push(next)
  }

  /** The value as this flow's readers get it: primitives as they are, everything else encoded. */
  #local(encoded: EncodedValue, value: unknown): unknown {
    if (isNumeric(encoded.kind) || encoded.kind === KIND.str || encoded.kind === KIND.null) return value
    return new Packed(encoded.kind, Buffer.from(encoded.bytes.subarray(0, encoded.length)))
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
    const replaced = new Map<Seat, Seat | null>()
    const after = this.#prepare(plan, replaced)
    for (const [position, message] of plan.messages.entries()) {
      const old = before.plan.by_message.get(message.index)
      // What nobody here read was not followed: the table has it, and the new plan has just looked there.
      if (old !== undefined && before.plan.messages[old]!.queued) after.value[position] = before.value[old]
    }
    if (this.#open_waves > 0 || this.away > 0) before.successor = after
    this.run = after
    for (const [seat, heir] of replaced) {
      seat.active?.abort?.abort()
      for (let waiting = seat.mailbox.shift(); waiting !== undefined; waiting = seat.mailbox.shift()) {
        this.#waiting--
        this.#handOver(waiting, seat, heir)
      }
      if (heir !== null && !heir.busy) this.#free(heir)
    }
  }

  #prepare(plan: Plan, replaced: Map<Seat, Seat | null>): PlanRun {
    const seats = plan.nodes.map(node => this.#seatFor(node, replaced))
    const kept = new Set(seats)
    for (const [id, seat] of this.#seats) {
      if (kept.has(seat)) continue
      seat.current = false
      replaced.set(seat, null)
      this.#seats.delete(id)
    }
    for (const seat of seats) {
      if (seat.body === null && !seat.busy && seat.node.digest !== null && !this.#host.dispatched(seat))
        this.#load(seat)
    }
    return new PlanRun(plan, seats, this.#host)
  }

  /** Bodies are loaded together, as soon as the flow has work on this thread; until then executions wait in the mailbox. */
  #load(seat: Seat): void {
    seat.busy = true
    this.away++
    this.#host.load(this, seat)
  }

  /** An unchanged node keeps its seat; a changed one gets a fresh one, which waits until the old one's body is back. */
  #seatFor(node: PlanNode, replaced: Map<Seat, Seat | null>): Seat {
    const before = this.#seats.get(node.id)
    if (before !== undefined && before.node.change_key === node.change_key) return before
    const seat = this.#host.newSeat(node)
    if (before !== undefined) {
      before.current = false
      if (before.busy) {
        before.heir = seat
        seat.busy = true
      }
      replaced.set(before, seat)
    }
    this.#seats.set(node.id, seat)
    return seat
  }

  /** A changed node keeps its waiting items as long as the ports that they wait at still exist; the others fail, counted. */
  #handOver(waiting: Waiting, from: Seat, heir: Seat | null): void {
    const old = waiting.wave
    const before = old.run
    const after = this.run
    const position = heir === null ? -1 : after.plan.nodes.findIndex(node => node.id === heir.node.id)
    const reads = new Set(
      position < 0 ? [] : after.plan.nodes[position]!.inputs.map(input => after.plan.messages[input.message]!.index),
    )
    const inputs = before.plan.nodes[waiting.position]!.inputs.map(input => input.message)
    if (heir !== null && inputs.every(message => reads.has(before.plan.messages[message]!.index))) {
      const wave = this.#newWave(after, old.cascade, old.depth, old.back)
      wave.as_of = old.as_of
      for (const message of inputs) {
        const there = after.plan.by_message.get(before.plan.messages[message]!.index)!
        after.lend(there, before.read(message, old), wave)
      }
      wave.away.push(position)
      heir.mailbox.push({ wave, position })
      this.#waiting++
      this.#park(wave)
    } else {
      old.cascade.errors++
      this.#host.planChanged(this, from, old.cascade)
    }
    old.comeBack(waiting.position)
    this.#enqueue(old)
  }
}

const badOutput = (execution: Execution, got: unknown): Failure => ({
  code: 'bad_output',
  message: `${execution.seat.node.qualified} answered ${got === null ? 'null' : typeof got}, not an object of outputs.`,
  stack: null,
})

const undeclaredKey = (execution: Execution, key: string): Failure => ({
  code: 'undeclared_key',
  message: `${execution.seat.node.qualified} answered the key "${key}", which none of its output ports declares (${execution.seat.node.outputs.map(output => output.port).join(', ') || 'it has none'}).`,
  stack: null,
})
