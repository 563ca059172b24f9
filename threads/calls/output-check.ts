import { compileOutputs, type OutputValues } from '../../core/cascade/plan-run.ts'
import { ServiceError } from '../../protocol/errors.ts'
import { createCodec, newEncoded } from '../../protocol/values/codec.ts'
import type { Dtype } from '../../protocol/values/dtype.ts'

export interface CheckedNode {
  /** `flow.node` */
  readonly qualified: string
  readonly outputs: readonly { readonly port: string; readonly dtype: Dtype }[]
}

/** The same checks that an inline emission passes, made here so that `ctx.emit` throws where the mistake is. */
export class OutputCheck {
  readonly codec = createCodec()
  readonly #node: CheckedNode
  readonly #read: ReturnType<typeof compileOutputs>
  readonly #out: OutputValues = { value: [], keys: 0 }
  readonly #scratch = newEncoded()

  constructor(node: CheckedNode) {
    this.#node = node
    this.#read = compileOutputs(node)
  }

  /** Throws when they are not what the node declares; answers the bytes of their values. */
  refuse(outputs: unknown): number {
    const { qualified } = this.#node
    if (typeof outputs !== 'object' || outputs === null) {
      throw new ServiceError(
        'bad_output',
        `${qualified} returned ${outputs === null ? 'null' : typeof outputs}, not an object of outputs.`,
      )
    }
    const undeclared = this.#read(outputs as Record<string, unknown>, this.#out)
    if (undeclared !== null) {
      throw new ServiceError(
        'undeclared_key',
        `${qualified} returned the key "${undeclared}", but it has no output port of that name.`,
      )
    }
    let bytes = 0
    for (const [at, port] of this.#node.outputs.entries()) {
      if (this.#out.value[at] === undefined) continue
      const refusal = this.codec.encode(this.#out.value[at], port.dtype, this.#scratch)
      if (refusal !== null)
        throw new ServiceError(refusal.code, `Output "${port.port}" of ${qualified}: ${refusal.text}.`)
      bytes += this.#scratch.length
    }
    return bytes
  }
}
