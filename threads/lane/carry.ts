/** The values that one owner of a flow passes to the next, in a slab that the flow's row names. */
import type { FlowTable } from '../../core/cascade/flows.ts'
import type { PlanMessage } from '../../core/flow/plan.ts'
import type { Arena } from '../../core/memory/arena.ts'
import type { Memory } from '../../core/memory/region.ts'
import { limits } from '../../protocol/limits.ts'
import type { Codec } from '../../protocol/values/codec.ts'

/** `KIND.none` with a value that is no Packed; `NO_VALUE`: the message had no value yet. */
export type Carried = [message: number, dtype: string, kind: number, value: unknown]

export const NO_VALUE = -1

/**
 * True when the plan follows a message that its own cascades publish: such values are passed from owner to owner, since the
 * table is ahead of the queue.
 */
export const isFollowed = (message: PlanMessage): boolean =>
  message.queued && (message.own || message.readers.length > 0)

export interface CarryParts {
  readonly memory: Memory
  readonly arena: Arena
  readonly flows: FlowTable
  readonly codec: Codec
}

/** By the owner, or before there are threads. A carry without room in the arena is skipped: the next owner uses the table's values. */
export function writeCarry(parts: CarryParts, flow: number, carried: readonly Carried[]): void {
  const displaced = parts.flows.setCarry(flow, carried.length === 0 ? 0 : slabOf(parts, carried))
  if (displaced !== 0) parts.arena.release(displaced)
}

export function readCarry({ memory, arena, flows, codec }: CarryParts, flow: number): Carried[] {
  const ref = flows.carry(flow)
  if (ref === 0) return []
  const at = arena.offset(ref)
  const length = memory.bytes.readUInt32LE(at)
  return codec.decodePlain(Buffer.from(memory.bytes.subarray(at + 4, at + 4 + length))) as Carried[]
}

function slabOf({ memory, arena, codec }: CarryParts, carried: readonly Carried[]): number {
  const encoded = codec.encodePlain(carried)
  if (encoded.length + 4 > limits.MESSAGE_VALUE_BYTES) return 0
  const ref = arena.allocate(encoded.length + 4)
  if (ref === 0) return 0
  const at = arena.offset(ref)
  memory.bytes.writeUInt32LE(encoded.length, at)
  encoded.copy(memory.bytes, at + 4)
  arena.commit(ref)
  return ref
}
