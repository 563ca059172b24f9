import type { FlowRun } from '../../core/cascade/flow-run.ts'
import { Packed, type Values } from '../../core/cascade/plan-run.ts'
import type { Plan } from '../../core/flow/plan.ts'
import type { ReadValue } from '../../core/memory/messages.ts'
import { type Codec, newEncoded } from '../../protocol/values/codec.ts'
import { KIND } from '../../protocol/values/encoded.ts'
import { type Carried, type CarryParts, isFollowed, NO_VALUE, readCarry, writeCarry } from './carry.ts'
import type { LaneMemory } from './memory.ts'

/** The values of a flow's messages when a lane takes the flow, and when it passes the flow on. */
export class LaneValues implements Values {
  readonly #memory: LaneMemory
  readonly #codec: Codec
  readonly #carry: CarryParts
  readonly #read: ReadValue = { ...newEncoded(), version: 0, ts: 0 }
  /**
   * Of the last `standing`: another flow's message has a newer value than those that wait. What is published while the flow is
   * disabled does not come into its queue, so once those are consumed, the values have to be read again.
   */
  is_behind = false

  constructor(memory: LaneMemory, codec: Codec) {
    this.#memory = memory
    this.#codec = codec
    const { shared, arena, flows } = memory
    this.#carry = { memory: shared, arena, flows, codec }
  }

  newest(message: number): unknown {
    return this.#memory.messages.read(message, this.#read) ? this.#decoded() : undefined
  }

  unpack(packed: Packed): unknown {
    return this.#codec.decode(packed.kind, 0, packed.bytes, 0, packed.bytes.length)
  }

  /** Under the flow's publish word, which holds back every publisher of what it reads. The carry of the last owner has priority, see `#takeCarry`. */
  standing(plan: Plan): unknown[] {
    const { flows, queue, messages, owner } = this.#memory
    const { flow_index } = plan
    flows.lockPublish(flow_index, owner)
    const waiting = queue.length(flow_index) > 0 ? queue.versions(flow_index) : null
    this.is_behind = false
    const values = plan.messages.map(message => {
      if (!isFollowed(message)) return undefined
      const versions = waiting?.get(message.index)
      if (!message.own && versions !== undefined && versions.last < messages.version(message.index))
        this.is_behind = true
      return this.#before(message.index, versions?.first ?? 0)
    })
    flows.unlockPublish(flow_index, owner)
    this.#takeCarry(plan, values, waiting)
    return values
  }

  /** The value before `version` (0: the newest). The table keeps two; for a value that it no longer has, the newest is used. */
  #before(message: number, version: number): unknown {
    if (version === 1) return undefined
    const { messages } = this.#memory
    if (version > 1 && messages.readBefore(message, this.#read) && this.#read.version === version - 1)
      return this.#decoded()
    return this.newest(message)
  }

  #decoded(): unknown {
    const { kind, number, bytes, length } = this.#read
    if (kind === KIND.json) return new Packed(kind, Buffer.from(bytes.subarray(0, length)))
    return this.#codec.decode(kind, number, bytes, 0, length)
  }

  /**
   * Of another flow's message of which nothing waits, the flow has come to the newest value. It may be newer than the carry, see
   * `is_behind`.
   */
  #takeCarry(plan: Plan, values: unknown[], waiting: ReadonlyMap<number, unknown> | null): void {
    for (const [message, dtype, kind, value] of readCarry(this.#carry, plan.flow_index)) {
      const position = plan.by_message.get(message)
      if (position === undefined || plan.messages[position]!.dtype !== dtype) continue
      if (!plan.messages[position]!.own && waiting?.has(message) !== true) continue
      if (kind === NO_VALUE) values[position] = undefined
      else values[position] = kind === KIND.none ? value : new Packed(kind, Buffer.from(value as Uint8Array))
    }
  }

  /** Before the flow is released. With one message to follow there is no carry: all items in the queue are of that message. */
  keepCarry(flow: FlowRun): void {
    writeCarry(this.#carry, flow.index, carriedBy(flow))
    flow.version = this.#memory.flows.carryVersion(flow.index)
  }
}

function carriedBy({ run: { plan, value } }: FlowRun): Carried[] {
  const carried: Carried[] = []
  let followed = 0
  for (const [position, message] of plan.messages.entries()) {
    if (!isFollowed(message)) continue
    followed++
    const held = value[position]
    if (held instanceof Packed) carried.push([message.index, message.dtype, held.kind, held.bytes])
    else if (held !== undefined) carried.push([message.index, message.dtype, KIND.none, held])
  }
  return followed < 2 ? [] : carried
}
