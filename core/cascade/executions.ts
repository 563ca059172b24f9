import { limits } from '../../protocol/limits.ts'
import { type Emissions, NO_OUTPUTS } from './emissions.ts'
import { emitsAfterEnd, emitsInRing, wrongInput } from './failures.ts'
import type { Fifo } from './fifo.ts'
import type { Flow } from './flow.ts'
import type { FlowControl } from './flow-control.ts'
import { type Host, THREW } from './host.ts'
import type { Lines } from './lines.ts'
import type { OpenWaves } from './open-waves.ts'
import type { PlanRun } from './plan-run.ts'
import type { Failure } from './seat.ts'
import { type Arrival, Arrived, Execution, type Seat } from './seat.ts'
import type { Wave } from './wave.ts'

interface ExecutionsParts {
  flow: Flow
  host: Host
  waves: OpenWaves
  control: FlowControl
  lines: Lines
  emissions: Emissions
  /** Of the flow's turns: generators are pushed here. */
  stack: (Wave | Execution)[]
  /** Of the flow's turns: results of bodies away are kept here. */
  arrivals: Fifo<Wave | Arrived>
}

/**
 * Starts the bodies of one flow and takes their outputs: at once, later from a promise or a call slot, or step by step from a
 * generator. The turns of the flow decide which of them continues next.
 */
export class Executions {
  /** Generators pulled in this turn. */
  pulls = 0
  /** The execution whose body runs now, on this thread's stack. */
  inside: Execution | null = null
  readonly #flow: Flow
  readonly #host: Host
  readonly #waves: OpenWaves
  readonly #control: FlowControl
  readonly #lines: Lines
  readonly #emissions: Emissions
  readonly #stack: (Wave | Execution)[]
  readonly #arrivals: Fifo<Wave | Arrived>

  constructor(parts: ExecutionsParts) {
    this.#flow = parts.flow
    this.#host = parts.host
    this.#waves = parts.waves
    this.#control = parts.control
    this.#lines = parts.lines
    this.#emissions = parts.emissions
    this.#stack = parts.stack
    this.#arrivals = parts.arrivals
  }

  execute(wave: Wave, position: number): void {
    const run = wave.run
    const seat = run.seats[position]!
    const mailbox = seat.mailbox
    if (
      mailbox.closed ||
      seat.body === null ||
      mailbox.unread > 0 ||
      mailbox.fed > 0 ||
      (!seat.current && this.#lines.isOvertaken(seat))
    ) {
      if (mailbox.reserved === wave) mailbox.reserved = null
      else if (this.#lines.mustWait(seat)) return this.#lines.wait(wave, position)
    }
    this.#start(wave, run, seat, position)
    if (mailbox.closed && !mailbox.busy) this.#lines.next(mailbox)
  }

  #start(wave: Wave, run: PlanRun, seat: Seat, position: number): void {
    const host = this.#host
    const waves = this.#waves
    const cascade = wave.cascade
    const inputs = run.makeInputs[position]!(run, wave)
    if (inputs === undefined) {
      host.waitedForInput(seat)
      return
    }
    seat.begun = true
    const execution = seat.execution
    execution.run = run
    execution.cascade = cascade
    execution.wave = wave
    execution.position = position
    execution.depth = wave.depth
    execution.inputs = inputs
    execution.back = wave.back
    execution.place = null
    execution.contributed = false
    execution.started_ms = waves.now_ms
    execution.root_ms = cascade.root_ms
    execution.published_ms = run.wokenAt(position, wave, execution)
    cascade.executions++
    const mismatch = run.mismatches[position]
    if (mismatch !== null) {
      const refused = wrongInput(host, execution, mismatch!)
      if (refused !== null) return this.#failHere(execution, refused)
    }
    if (seat.broken !== null) return this.#failHere(execution, host.failureOf(seat.broken))
    if (host.dispatched(seat)) {
      execution.dispatched = true
      this.#leave(execution)
      host.dispatch(this.#flow, execution)
      return
    }
    this.inside = execution
    const result = host.call(seat, inputs)
    this.inside = null
    const now = host.clock()
    execution.took_ms = execution.held_ms = now - waves.now_ms
    execution.ended_ms = waves.now_ms = now
    if (result === undefined || result === null) return host.executed(execution)
    if (result !== THREW) return this.#result(execution, result)
    host.executed(execution)
    this.#failHere(execution, host.thrown())
  }

  /**
   * What a body handed back within its call: outputs, a promise, or a generator. An execution that is over is counted before
   * its outputs are published, so that a reader of the values finds it counted.
   */
  #result(execution: Execution, result: unknown): void {
    let failure = this.#emissions.take(execution, result)
    if (failure === NO_OUTPUTS) {
      let later: 'promise' | 'generator' | null = null
      try {
        const { then, next } = result as { then?: unknown; next?: unknown }
        if (typeof then === 'function') later = 'promise'
        else if (typeof next === 'function') later = 'generator'
      } catch (error) {
        failure = this.#host.failureOf(error)
      }
      if (later === 'promise') return this.#await(execution, result)
      if (later === 'generator') return this.#generate(execution, result as Iterator<unknown>)
    }
    this.#host.executed(execution)
    if (failure === null) this.#emissions.publish(execution, this.time())
    else if (failure !== NO_OUTPUTS) this.#failHere(execution, failure)
  }

  /** One that was away on this thread. */
  #executed(execution: Execution): void {
    execution.ended_ms = this.#waves.now_ms
    execution.took_ms = this.#waves.now_ms - execution.started_ms
    this.#host.executed(execution)
  }

  /** `counted`: the execution has been, among those that are over. */
  #failHere(execution: Execution, failure: Failure, counted = false): void {
    execution.cascade.errors++
    this.#host.failed(this.#flow, execution.seat, failure, execution.inputs, execution.cascade)
    if (!execution.away) return
    if (!execution.dispatched && !counted) this.#executed(execution)
    this.#end(execution)
  }

  /** The body continues after this call: its node is busy, and its wave waits for the first emission. */
  #leave(execution: Execution): void {
    const seat = execution.seat
    execution.away = true
    execution.ended = false
    seat.mailbox.busy = true
    seat.mailbox.closed = true
    seat.active = execution
    seat.execution = new Execution(seat)
    this.#flow.away++
    execution.cascade.open++
    this.#waves.keepOpen(execution.cascade)
    if (!execution.contributed) execution.wave.away.push(execution.position)
  }

  /** A promise of our own around the body's: whatever its `then` does, it settles once. */
  #await(execution: Execution, promise: unknown): void {
    this.#leave(execution)
    new Promise(resolve => resolve(promise)).then(
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
    this.#host.wants(this.#flow)
  }

  handle(execution: Execution, arrival: Arrival): void {
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
        // Counted before it fails: an execution that is counted after an error ends the issue of the error.
        arrival.processed()
        if (failure !== null) {
          this.#failHere(execution, failure)
          // Further emissions of the body are dropped: it is told to end, and frees its slot.
          execution.abort?.abort(failure.message)
        }
        break
      }
      default:
        arrival satisfies never
    }
  }

  #finalResult(execution: Execution, value: unknown): void {
    if (!execution.dispatched) this.#executed(execution)
    const failure = value === undefined || value === null ? null : this.#emission(execution, value)
    if (failure !== null) this.#failHere(execution, failure, true)
    else this.#end(execution)
  }

  /** The execution is over: its node takes the next one that waits. */
  #end(execution: Execution): void {
    if (execution.ended) return
    execution.ended = true
    execution.away = false
    this.#flow.away--
    this.#closeGenerator(execution)
    const { seat } = execution
    seat.active = null
    seat.mailbox.busy = false
    if (!execution.contributed) this.#emissions.contribute(execution)
    this.#lines.next(seat.mailbox)
    if (--execution.cascade.open === 0) this.#waves.settle(execution.cascade, this.#waves.now_ms)
  }

  /** The flow ends on this thread: the body is told to end, and its later results are ignored. */
  giveUp(execution: Execution): void {
    execution.ended = true
    execution.abort?.abort()
    this.#closeGenerator(execution)
  }

  #closeGenerator(execution: Execution): void {
    const { generator } = execution
    execution.generator = null
    try {
      const ended = generator?.return?.(undefined)
      if (ended !== undefined) new Promise(resolve => resolve(ended)).catch(() => undefined)
    } catch {
      // The body's own clean-up threw; its execution has ended already.
    }
  }

  // ---- generators

  pull(execution: Execution): void {
    if (execution.generator === null || execution.ended) return
    if (!execution.seat.current) return this.#end(execution)
    if (this.pulls >= limits.GENERATOR_PULLS_PER_TURN || this.#control.holdsPull(execution))
      return this.#control.defer(execution)
    this.step(execution)
  }

  step(execution: Execution): void {
    const generator = execution.generator!
    this.pulls++
    let step: unknown
    let later = false
    this.inside = execution
    try {
      step = generator.next()
      later = typeof (step as PromiseLike<unknown>).then === 'function'
    } catch (error) {
      this.inside = null
      this.#waves.now_ms = this.#host.clock()
      execution.generator = null
      return this.#failHere(execution, this.#host.failureOf(error))
    }
    this.inside = null
    if (!later) return this.#stepped(execution, step)
    new Promise(resolve => resolve(step)).then(
      step => this.arrive(execution, { type: 'stepped', step }),
      error => this.arrive(execution, { type: 'threw', error }),
    )
  }

  #stepped(execution: Execution, step: unknown): void {
    let done: unknown
    let value: unknown
    try {
      ;({ done, value } = step as IteratorResult<unknown>)
    } catch (error) {
      return this.#failHere(execution, this.#host.failureOf(error))
    }
    if (done) {
      execution.generator = null
      return this.#finalResult(execution, value)
    }
    const failure = this.#emission(execution, value)
    if (failure !== null) this.#failHere(execution, failure)
    else this.#stack.push(execution)
  }

  // ---- emissions

  /**
   * `ctx.emit`. Published at once; null or what is wrong. An execution that is over emits nothing more: its cascade may have
   * ended.
   */
  emit(execution: Execution, outputs: unknown): Failure | null {
    if (execution.ended || (this.inside !== execution && !execution.away)) return emitsAfterEnd(execution)
    if (this.inside !== null) return this.#emission(execution, outputs)
    this.#waves.now_ms = this.#host.clock()
    const failure = this.#emission(execution, outputs)
    const { next } = this.#emissions
    for (const wave of next) {
      wave.arrived = true
      this.#arrivals.push(wave)
    }
    next.length = 0
    this.#host.wants(this.#flow)
    return failure
  }

  /** Too many emissions that the body did not await: why they are refused, or null. */
  overflow(execution: Execution): string | null {
    return this.#control.overflow(execution, this.#emissions.next.length, this.#flow.inner)
  }

  #emission(execution: Execution, outputs: unknown): Failure | null {
    const failure = this.#emissions.take(execution, outputs)
    if (failure !== null) return failure === NO_OUTPUTS ? null : failure
    if (this.#control.endsRing(execution)) return emitsInRing(execution)
    this.#emissions.publish(execution, this.time())
    return null
  }

  time(): number {
    return Math.floor(this.#host.origin_us + this.#waves.now_ms * 1000)
  }
}
