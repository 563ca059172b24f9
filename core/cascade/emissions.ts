import { limits } from '../../protocol/limits.ts'
import type { PlanNode, PlanOutputPort } from '../flow/plan.ts'
import { badOutput, emitsWhileRead, undeclaredKey, wrongOutput } from './failures.ts'
import { Fifo } from './fifo.ts'
import type { FlowControl } from './flow-control.ts'
import type { Host } from './host.ts'
import type { OpenWaves } from './open-waves.ts'
import { asRead, bytesOf, type OutputValues } from './plan-run.ts'
import type { Emission } from './publish/emission.ts'
import type { Execution, Failure } from './seat.ts'
import type { Place, Wave } from './wave.ts'

/** Returned instead of a failure when a body returned an object without keys: it may be a promise. */
export const NO_OUTPUTS: Failure = { code: 'bad_output', message: 'no outputs', stack: null }

/**
 * The outputs of bodies: each emission is checked as a whole, published as a whole, and passed on to its readers. The first
 * emission of an execution belongs to the wave that started it. Each further one starts its own wave, and so does a value that
 * goes back round a loop.
 */
export class Emissions {
  /** Waves that emissions have joined or started, in order. The caller that published puts them where they run next. */
  readonly next: Wave[] = []
  /** Waves that went back round a loop: all emissions of one turn of the loop run before the next turn. */
  readonly back = new Fifo<Wave>()

  readonly #host: Host
  readonly #waves: OpenWaves
  readonly #control: FlowControl
  readonly #out: OutputValues = { value: [], keys: 0 }
  readonly #emission: Emission = { count: 0, routes: [], values: [], versions: [] }
  /** Outputs are being read: their getters may run user code. */
  #taking = false

  constructor(host: Host, waves: OpenWaves, control: FlowControl) {
    this.#host = host
    this.#waves = waves
    this.#control = control
  }

  /**
   * Reads and checks what a body gave; `publish` must follow a null. NO_OUTPUTS: there is nothing to publish. Anything that
   * reading throws is the body's own error.
   */
  take(execution: Execution, outputs: unknown): Failure | null {
    if (typeof outputs !== 'object' || outputs === null) return badOutput(execution, outputs)
    if (this.#taking) return emitsWhileRead(execution)
    const { run, position } = execution
    this.#taking = true
    let refusal: Failure | null
    try {
      const undeclared = run.readOutputs[position]!(outputs as Record<string, unknown>, this.#out)
      if (this.#out.keys === 0) refusal = NO_OUTPUTS
      else if (undeclared !== null) refusal = undeclaredKey(execution, undeclared)
      else refusal = this.#encode(run.plan.nodes[position]!, this.#out.value)
    } catch (error) {
      refusal = this.#host.failureOf(error)
    }
    this.#taking = false
    return refusal
  }

  /** Publishes what `take` has just found good, whole. The steps of the loop are inlined by hand: one more call makes a body 10 % slower. */
  publish(execution: Execution, ts: number): void {
    const { run } = execution
    const together = run.together[execution.position]!
    if (together !== null) return this.#publishTogether(execution, together, ts)
    const values = this.#out.value
    const wave = this.#waveOf(execution)
    const ports = run.plan.nodes[execution.position]!.outputs
    let bytes = 0
    for (let at = 0; at < ports.length; at++) {
      if (values[at] === undefined) continue
      const port = ports[at]!
      const encoded = this.#host.scratch(at)
      if (port.gated && !this.#host.passes(run, port, encoded, ts, execution)) continue
      bytes += encoded.length
      const version = this.#host.publish(run, port.message, encoded, ts, wave.depth, execution.cascade)
      run.apply(port.message, asRead(encoded, values[at]), version, wave, this.#waves.mixed)
      const { forward } = port
      for (let reader = 0; reader < forward.length; reader++) wave.activate(forward[reader]!)
      if (port.back.length > 0) this.#goBack(execution, wave, port)
    }
    this.#waves.keeps(wave, bytes)
    if (!execution.contributed) this.contribute(execution)
  }

  /** The same when another flow reads several of the ports: it gets all that this emission has for it at once. */
  #publishTogether(execution: Execution, flows: readonly number[], ts: number): void {
    const { run } = execution
    const values = this.#out.value
    const wave = this.#waveOf(execution)
    const ports = run.plan.nodes[execution.position]!.outputs
    const emission = this.#emission
    const passed: number[] = []
    for (let at = 0; at < ports.length; at++) {
      if (values[at] === undefined) continue
      const port = ports[at]!
      const encoded = this.#host.scratch(at)
      // A value that is held back is published later, separately.
      if (port.gated && !this.#host.passes(run, port, encoded, ts, execution)) continue
      emission.routes[passed.length] = run.routes[port.message]!
      emission.values[passed.length] = encoded
      passed.push(at)
    }
    emission.count = passed.length
    for (let at = 0; at < emission.count; at++) this.#waves.keeps(wave, emission.values[at]!.length)
    if (emission.count > 0) this.#host.publishEmission(run, emission, flows, ts, wave.depth, execution.cascade)
    for (const [place, at] of passed.entries()) {
      const port = ports[at]!
      const value = asRead(emission.values[place]!, values[at])
      run.apply(port.message, value, emission.versions[place]!, wave, this.#waves.mixed)
      for (const reader of port.forward) wave.activate(reader)
      if (port.back.length > 0) this.#goBack(execution, wave, port)
    }
    if (!execution.contributed) this.contribute(execution)
  }

  /** The first emission belongs to the wave that started the execution. */
  #waveOf(execution: Execution): Wave {
    const wave = execution.contributed ? this.#furtherWave(execution) : execution.wave
    if (execution.away) {
      execution.sent = wave
      execution.sent_id = wave.id
    }
    wave.at_ms = this.#waves.now_ms
    return wave
  }

  /** The execution will give its wave no more values. */
  contribute(execution: Execution): void {
    execution.contributed = true
    if (!execution.away && !execution.ended) return
    const { wave } = execution
    execution.place = placeOf(wave)
    if (execution.away) this.#control.feeds(execution.seat.mailbox, wave)
    wave.comeBack(execution.position)
    // A wave among the arrivals runs before them: the values for its readers are older than those that follow.
    if (wave.queued && !wave.arrived) return
    wave.arrived = false
    wave.queued = true
    this.#waves.unpark(wave)
    this.next.push(wave)
  }

  /** Encodes into the host's scratch, or answers the first that its port refuses. */
  #encode(node: PlanNode, values: readonly unknown[]): Failure | null {
    const { outputs } = node
    for (let at = 0; at < outputs.length; at++) {
      if (values[at] === undefined) continue
      const refusal = this.#host.codec.encode(values[at], outputs[at]!.dtype, this.#host.scratch(at))
      if (refusal !== null) return wrongOutput(node, outputs[at]!.port, refusal)
    }
    return null
  }

  /** Each emission after the first is an item of its own and starts its own wave. */
  #furtherWave(execution: Execution): Wave {
    // A yielded value is a root of its own, unless its execution was reached through a loop: then it continues the count of
    // that loop, as what other bodies emit does.
    const is_root = execution.generator !== null && execution.depth === execution.cascade.depth
    const back = is_root ? execution.run.newBackEdgeCount() : execution.back
    const wave = this.#waves.begin(execution.run, execution.cascade, execution.depth, back)
    wave.above = execution.place ??= placeOf(execution.wave)
    wave.position = execution.position
    wave.number = ++execution.emitted
    this.#waves.emittedBy(execution, wave)
    wave.queued = true
    this.next.push(wave)
    return wave
  }

  #goBack(execution: Execution, wave: Wave, port: PlanOutputPort): void {
    const { run, cascade, position } = execution
    const reason = this.#endOfLoop(wave)
    if (reason !== null) {
      cascade.errors++
      this.#waves.broken(cascade, run, position, reason)
      return
    }
    const next = this.#waves.begin(run, cascade, wave.depth + 1, wave.back)
    next.above = wave.above
    next.position = wave.position
    next.number = wave.number
    next.turns = wave.turns + 1
    // A loop must not wait for itself: values that go round in it do not hold back nodes of the same loop.
    const { emitter } = wave
    if (emitter !== null && emitter.run === run && !run.isLoop(emitter.position, position))
      this.#waves.emittedBy(emitter, next)
    next.at_ms = wave.at_ms
    // It reads the value that went round, whatever is published in the meantime.
    const value = run.value[port.message]
    run.apply(port.message, value, run.value_version[port.message]!, next, true)
    this.#waves.keeps(next, bytesOf(value))
    for (const reader of port.back) next.activate(reader)
    next.queued = true
    this.back.push(next)
  }

  /** Why the value may not go round again; null: it may. */
  #endOfLoop(wave: Wave): string | null {
    if (wave.depth + 1 > limits.WAVE_DEPTH) return `deeper than ${limits.WAVE_DEPTH}`
    if (this.#control.isAtHardBound(this.back.size, wave.bytes)) return 'its flow holds as much as it may'
    if (++wave.back.waves > limits.BACK_EDGE_WAVES) return `more than ${limits.BACK_EDGE_WAVES} turns of one value`
    return null
  }
}

/** Below this nesting depth the order is that of arrival. */
const PLACE_DEPTH = 32

function placeOf({ above, position, number, turns }: Wave): Place {
  const depth = above === null ? 1 : above.depth + 1
  return depth > PLACE_DEPTH ? above! : { above, position, number, turns, depth }
}
