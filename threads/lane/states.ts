import type { Arena } from '../../core/memory/arena.ts'
import { JOURNAL, type JournalWriter } from '../../core/memory/journal/journal.ts'
import type { Memory } from '../../core/memory/region.ts'
import { NodeStates } from '../../core/memory/states.ts'
import { ServiceError } from '../../protocol/errors.ts'
import type { Codec } from '../../protocol/values/codec.ts'
import { NodeState } from '../calls/node-context.ts'
import { encodeState, type KeptState } from './kept-state.ts'
import type { LaneSeat } from './seat.ts'

/** Moves `ctx.state` between a lane's memory and the storage for the next owner, or the next engine. */
export class LaneStates {
  readonly #states: NodeStates
  readonly #codec: Codec
  readonly #journal: JournalWriter

  constructor(parts: { memory: Memory; arena: Arena; codec: Codec; journal: JournalWriter }) {
    this.#states = new NodeStates(parts.memory, parts.arena)
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
   * At the end of a turn: a state that changed goes into the journal and the node's row. A state that cannot be stored is
   * refused, and the last stored state is restored.
   */
  keep(seat: LaneSeat, ts: number): ServiceError | null {
    const state = seat.state!
    state.touched = false
    const encoded = encodeState(this.#codec, { k: seat.node.change_key, s: state.object }, seat.node.qualified)
    if (encoded instanceof ServiceError) return this.#fallBack(seat, encoded)
    if (seat.kept?.equals(encoded)) return null
    this.#journal.waitForRoom(encoded.length + 64, () => false)
    const { index, since } = seat.node
    const version = this.#states.nextVersion(index, since)
    this.#journal.blob(JOURNAL.state, index, ts, encoded, encoded.length, version)
    this.#states.write(index, encoded, since)
    seat.kept = encoded
    return null
  }

  #fallBack(seat: LaneSeat, refusal: ServiceError): ServiceError {
    const kept = seat.kept === null ? null : (this.#codec.decodePlain(seat.kept) as KeptState)
    seat.state!.object = kept !== null && kept.k === seat.node.change_key ? kept.s : {}
    return refusal
  }
}
