import { type EncodedValue, isNumeric, KIND } from '../../protocol/encoded.ts'
import { limits } from '../../protocol/limits.ts'
import type { PlanNode, PlanOutputPort } from '../flow/plan.ts'
import type { FlowRun } from './flow-run.ts'
import type { Failure, Host } from './host.ts'
import type { OpenWaves } from './open-waves.ts'
import { type OutputValues, Packed } from './plan-run.ts'
import type { Execution } from './seat.ts'
import type { Wave } from './wave.ts'

/** Answered in place of a failure when a body gave an object with none of its outputs and no other key: perhaps a promise. */
export const NO_OUTPUTS: Failure = { code: 'bad_output', message: 'no outputs', stack: null }

/**
 * What bodies give: checked whole, published whole, and passed on to its readers. The first emission of an execution belongs
 * to the wave that started it, each further one starts its own; a value that goes back round a loop starts one, too.
 */
export class Emissions {
  /** Waves that the emission at hand started, in order; whoever published puts them where they run next. */
  readonly spawned: Wave[] = []

  readonly #flow: FlowRun
  readonly #host: Host
  readonly #waves: OpenWaves
  readonly #out: OutputValues = { value: [], keys: 0 }
  /** The wave that an emission of a body away has just joined; it runs before anything that was spawned. */
  #joined: Wave | null = null

  constructor(flow: FlowRun, host: Host, waves: OpenWaves) {
    this.#flow = flow
    this.#host = host
    this.#waves = waves
  }

  takeJoined(): Wave | null {
    const joined = this.#joined
    this.#joined = null
    return joined
  }

  /** Null when all of it is published, NO_OUTPUTS when there was nothing to publish, else why nothing was published. */
  publish(execution: Execution, outputs: unknown, ts: number): Failure | null {
    if (typeof outputs !== 'object' || outputs === null) return badOutput(execution, outputs)
    const { run, position } = execution
    const undeclared = run.readOutputs[position]!(outputs as Record<string, unknown>, this.#out)
    if (this.#out.keys === 0) return NO_OUTPUTS
    if (undeclared !== null) return undeclaredKey(execution, undeclared)
    const values = this.#out.value
    const node = run.plan.nodes[position]!
    const refused = this.#encode(node, values)
    if (refused !== null) return refused
    const wave = execution.contributed ? this.#furtherWave(execution) : execution.wave
    const ports = node.outputs
    for (let at = 0; at < ports.length; at++) {
      if (values[at] === undefined) continue
      const port = ports[at]!
      const encoded = this.#host.scratch(at)
      if (port.rate_hz !== null && !this.#host.passes(run, port, encoded, ts)) continue
      this.#host.publish(run, port.message, encoded, ts, wave.depth, execution.cascade)
      run.apply(port.message, asRead(encoded, values[at]), wave, this.#waves.mixed)
      const { forward } = port
      for (let reader = 0; reader < forward.length; reader++) wave.activate(forward[reader]!)
      if (port.back.length > 0) this.#goBack(execution, wave, port)
    }
    if (!execution.contributed) this.contribute(execution)
    return null
  }

  /** The execution has given its wave what it will ever give it. */
  contribute(execution: Execution): void {
    execution.contributed = true
    if (!execution.away && !execution.ended) return
    const { wave } = execution
    wave.comeBack(execution.position)
    if (wave.queued) return
    wave.queued = true
    this.#waves.unpark(wave)
    this.#joined = wave
  }

  /** Encodes into the host's scratch, or answers the first that its port refuses. */
  #encode(node: PlanNode, values: readonly unknown[]): Failure | null {
    const { outputs } = node
    for (let at = 0; at < outputs.length; at++) {
      if (values[at] === undefined) continue
      const refusal = this.#host.codec.encode(values[at], outputs[at]!.dtype, this.#host.scratch(at))
      if (refusal !== null) {
        const message = `Output "${outputs[at]!.port}" of ${node.qualified}: ${refusal.text}`
        return { code: refusal.code, message, stack: null }
      }
    }
    return null
  }

  /** Each emission after the first is an item of its own and starts its own wave. */
  #furtherWave(execution: Execution): Wave {
    // Emissions of a generator are roots of their own; those of one call share the count of their wave.
    const back = execution.generator !== null ? execution.run.newBackEdgeCount() : execution.back
    const wave = this.#waves.begin(execution.run, execution.cascade, execution.depth, back)
    wave.queued = true
    this.spawned.push(wave)
    return wave
  }

  #goBack(execution: Execution, wave: Wave, port: PlanOutputPort): void {
    const { run, cascade, position } = execution
    const depth = wave.depth + 1
    if (depth > limits.WAVE_DEPTH || ++wave.back.waves > limits.BACK_EDGE_WAVES) {
      const reason =
        depth > limits.WAVE_DEPTH
          ? `deeper than ${limits.WAVE_DEPTH}`
          : `more than ${limits.BACK_EDGE_WAVES} turns of one value`
      cascade.errors++
      this.#host.cycle(this.#flow, run, position, reason)
      return
    }
    const next = this.#waves.begin(run, cascade, depth, wave.back)
    // It reads the value that went round, whatever is published in the meantime.
    run.apply(port.message, run.value[port.message], next, true)
    for (const reader of port.back) next.activate(reader)
    next.queued = true
    this.spawned.push(next)
  }
}

/** The value as this flow's readers get it: primitives as they are, everything else encoded. */
function asRead(encoded: EncodedValue, value: unknown): unknown {
  if (isNumeric(encoded.kind) || encoded.kind === KIND.str || encoded.kind === KIND.null) return value
  return new Packed(encoded.kind, Buffer.from(encoded.bytes.subarray(0, encoded.length)))
}

function badOutput({ seat }: Execution, got: unknown): Failure {
  const what = got === null ? 'null' : typeof got
  return {
    code: 'bad_output',
    message: `${seat.node.qualified} answered ${what}, not an object of outputs.`,
    stack: null,
  }
}

function undeclaredKey({ seat }: Execution, key: string): Failure {
  const ports = seat.node.outputs.map(output => output.port).join(', ') || 'it has none'
  return {
    code: 'undeclared_key',
    message: `${seat.node.qualified} answered the key "${key}", which none of its output ports declares (${ports}).`,
    stack: null,
  }
}
