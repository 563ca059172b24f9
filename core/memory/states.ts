/**
 * The durable state of each node between two turns: encoded, in an arena slab that the node's row names. Written by the
 * thread that owns the flow at the end of a turn, read by the next owner. A thread that dies in a turn leaves the state of
 * the turn before. Its version counts the writes, whichever thread made them: the journal rings of two lanes have no order
 * among each other, so the store goes by it.
 *
 *   slab: length u32, version u32, the encoded state
 */
import type { Arena } from './arena.ts'
import { NODE_ROW } from './counters.ts'
import type { Memory } from './region.ts'

const HEADER_BYTES = 8

export class NodeStates {
  readonly #i32: Int32Array
  readonly #bytes: Buffer
  readonly #base: number
  readonly #arena: Arena

  constructor(memory: Memory, arena: Arena) {
    this.#i32 = memory.i32
    this.#bytes = memory.bytes
    this.#base = memory.regions.nodes.offset
    this.#arena = arena
  }

  /** A copy of the encoded state; null when none was kept. */
  read(node: number): Buffer | null {
    const ref = this.#i32[this.#word(node)]!
    if (ref === 0) return null
    const at = this.#arena.offset(ref)
    const length = this.#bytes.readUInt32LE(at)
    return Buffer.from(this.#bytes.subarray(at + HEADER_BYTES, at + HEADER_BYTES + length))
  }

  /** Writes so far since the engine started; 0: no state is kept. */
  version(node: number): number {
    const ref = this.#i32[this.#word(node)]!
    return ref === 0 ? 0 : this.#bytes.readUInt32LE(this.#arena.offset(ref) + 4)
  }

  /** False when the arena is full: the state of the turn before stays. The new slab is named before the old one is let go. */
  write(node: number, encoded: Buffer): boolean {
    const ref = this.#arena.allocate(encoded.length + HEADER_BYTES)
    if (ref === 0) return false
    const at = this.#arena.offset(ref)
    this.#bytes.writeUInt32LE(encoded.length, at)
    this.#bytes.writeUInt32LE((this.version(node) + 1) >>> 0, at + 4)
    encoded.copy(this.#bytes, at + HEADER_BYTES)
    this.#arena.commit(ref)
    const old = this.#i32[this.#word(node)]!
    this.#i32[this.#word(node)] = ref
    if (old !== 0) this.#arena.release(old)
    return true
  }

  #word(node: number): number {
    return ((this.#base + node * NODE_ROW.size) >> 2) + NODE_ROW.word.state_ref
  }
}
