import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { Codec } from '../../protocol/values/codec.ts'

/** A stored state: with the node's change key, so that a changed node ignores it and starts fresh. */
export interface KeptState {
  k: string
  s: Record<string, unknown>
}

/** Encodes a state, or says why it cannot be kept. Reading it runs getters and proxy traps of the body: an error that they throw is a refusal. */
export function encodeState(codec: Codec, kept: KeptState, node: string): Buffer | ServiceError {
  try {
    const refusal = codec.checkPlain(kept.s)
    if (refusal !== null) return new ServiceError('bad_state', `ctx.state of ${node}: ${refusal.text}.`)
    const encoded = codec.encodePlain(kept)
    const bytes = encoded.length - kept.k.length
    if (bytes <= limits.STATE_BYTES) return encoded
    return new ServiceError('state_too_large', `ctx.state of ${node} takes ${bytes} bytes.`)
  } catch {
    return new ServiceError('bad_state', `ctx.state of ${node} cannot be read: a getter or a proxy in it threw.`)
  }
}
