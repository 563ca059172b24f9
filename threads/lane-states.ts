import type { FlowRun } from '../core/cascade/flow-run.ts'
import { Packed } from '../core/cascade/plan-run.ts'
import type { Arena } from '../core/memory/arena.ts'
import { JOURNAL, type JournalWriter } from '../core/memory/journal.ts'
import type { Memory } from '../core/memory/region.ts'
import { NodeStates } from '../core/memory/states.ts'
import type { Codec } from '../protocol/codec.ts'
import { KIND } from '../protocol/encoded.ts'
import { ServiceError } from '../protocol/errors.ts'
import { limits } from '../protocol/limits.ts'
import { encodeState, type KeptState } from './kept-state.ts'
import type { LaneSeat } from './lane-seat.ts'
import { NodeState } from './node-context.ts'

/** Moves `ctx.state` and a flow's values between what a lane holds and what the next owner, or the next engine, finds. */
export class LaneStates {
  readonly #states: NodeStates
  readonly #arena: Arena
  readonly #bytes: Buffer
  readonly #codec: Codec
  readonly #journal: JournalWriter

  constructor(parts: { memory: Memory; arena: Arena; codec: Codec; journal: JournalWriter }) {
    this.#states = new NodeStates(parts.memory, parts.arena)
    this.#arena = parts.arena
    this.#bytes = parts.memory.bytes
    this.#codec = parts.codec
    this.#journal = parts.journal
  }

  /** The seat's state, read when it is first needed. */
  of(seat: LaneSeat): NodeState {
    if (seat.state === null) {
      seat.kept = this.#states.read(seat.node.index)
      const kept = seat.kept === null ? null : (this.#codec.decodePlain(seat.kept) as KeptState)
      seat.state = new NodeState(kept !== null && kept.k === seat.node.change_key ? kept.s : {})
    }
    return seat.state
  }

  /**
   * At the end of a turn: a state that changed goes into the journal and the node's row. What cannot be kept is refused, and
   * the state falls back to what was kept last.
   */
  keep(seat: LaneSeat, ts: number): ServiceError | null {
    const state = seat.state!
    state.touched = false
    const encoded = encodeState(this.#codec, { k: seat.node.change_key, s: state.object }, seat.node.qualified)
    if (encoded instanceof ServiceError) return this.#fallBack(seat, encoded)
    if (seat.kept?.equals(encoded)) return null
    this.#journal.waitForRoom(encoded.length + 64, () => false)
    const { index } = seat.node
    this.#journal.blob(JOURNAL.state, index, ts, encoded, encoded.length, this.#states.version(index) + 1)
    this.#states.write(index, encoded)
    seat.kept = encoded
    return null
  }

  #fallBack(seat: LaneSeat, refusal: ServiceError): ServiceError {
    const kept = seat.kept === null ? null : (this.#codec.decodePlain(seat.kept) as KeptState)
    seat.state!.object = kept !== null && kept.k === seat.node.change_key ? kept.s : {}
    return refusal
  }

  /** The values that queued items have already replaced in the table, for the next owner; 0 when none are queued. */
  carryOf(flow: FlowRun, queued: number): number {
    if (queued === 0) return 0
    const { plan, value } = flow.run
    const values: [number, number, unknown][] = []
    for (const [position, message] of plan.messages.entries()) {
      const held = value[position]
      if (!message.queued || held === undefined) continue
      if (held instanceof Packed) values.push([message.index, held.kind, held.bytes])
      else values.push([message.index, KIND.none, held])
    }
    const encoded = this.#codec.encodePlain(values)
    if (encoded.length + 4 > limits.MESSAGE_VALUE_BYTES) return 0
    const ref = this.#arena.allocate(encoded.length + 4)
    if (ref === 0) return 0
    const at = this.#arena.offset(ref)
    this.#bytes.writeUInt32LE(encoded.length, at)
    encoded.copy(this.#bytes, at + 4)
    this.#arena.commit(ref)
    return ref
  }

  takeCarry(flow: FlowRun, ref: number): void {
    const at = this.#arena.offset(ref)
    const length = this.#bytes.readUInt32LE(at)
    const values = this.#codec.decodePlain(Buffer.from(this.#bytes.subarray(at + 4, at + 4 + length))) as [
      number,
      number,
      unknown,
    ][]
    for (const [message, kind, held] of values) {
      const position = flow.run.plan.by_message.get(message)
      if (position !== undefined)
        flow.run.value[position] = kind === KIND.none ? held : new Packed(kind, Buffer.from(held as Uint8Array))
    }
  }

  release(ref: number): void {
    if (ref !== 0) this.#arena.release(ref)
  }
}
