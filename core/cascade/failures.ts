import type { CodecRefusal } from '../../protocol/values/codec.ts'
import type { PlanInputPort, PlanNode } from '../flow/plan.ts'
import { RING } from './flow-control.ts'
import type { Host } from './host.ts'
import type { Execution, Failure } from './seat.ts'

/** The errors of the engine's checks of inputs and outputs of a body, naming node and port. */

const failure = (code: Failure['code'], message: string): Failure => ({ code, message, stack: null })

export function badOutput({ seat }: Execution, got: unknown): Failure {
  const what = got === null ? 'null' : typeof got
  return failure('bad_output', `${seat.node.qualified} returned ${what}, not an object of outputs.`)
}

export const emitsWhileRead = ({ seat }: Execution): Failure =>
  failure(
    'bad_output',
    `${seat.node.qualified} emits while its outputs are being read: a getter of them calls ctx.emit.`,
  )

export const emitsAfterEnd = ({ seat }: Execution): Failure =>
  failure('emit_after_end', `${seat.node.qualified} called ctx.emit after its execution had ended.`)

export const emitsInRing = ({ seat }: Execution): Failure => failure('emit_overflow', `${seat.node.qualified} ${RING}.`)

export function undeclaredKey({ seat }: Execution, key: string): Failure {
  const ports = seat.node.outputs.map(output => output.port).join(', ') || 'none'
  return failure(
    'undeclared_key',
    `${seat.node.qualified} returned the key "${key}", but its output ports are: ${ports}.`,
  )
}

export const wrongOutput = (node: PlanNode, port: string, refusal: CodecRefusal): Failure =>
  failure(refusal.code, `Output "${port}" of ${node.qualified}: ${refusal.text}.`)

/** The first input whose message has another dtype than its port, and a value that does not fit the port. */
export function wrongInput(host: Host, { seat, inputs }: Execution, ports: readonly PlanInputPort[]): Failure | null {
  for (const { port, dtype } of ports) {
    const refusal = host.codec.encode(inputs[port], dtype, host.scratch(0))
    if (refusal !== null) return failure(refusal.code, `Input "${port}" of ${seat.node.qualified}: ${refusal.text}.`)
  }
  return null
}
