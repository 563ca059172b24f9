/**
 * The durable state of each node between two turns: encoded, in an arena slab that the node's row names. Written by the
 * thread that owns the flow at the end of a turn, read by the next owner. A thread that dies in a turn leaves the state of
 * the turn before.
 */
import type { Arena } from './arena.ts'
import { NODE_ROW } from './counters.ts'
import type { Memory } from './region.ts'

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
    return Buffer.from(this.#bytes.subarray(at + 4, at + 4 + length))
  }

  /** False when the arena is full: the state of the turn before stays. The new slab is named before the old one is let go. */
  write(node: number, encoded: Buffer): boolean {
    const ref = this.#arena.allocate(encoded.length + 4)
    if (ref === 0) return false
    const at = this.#arena.offset(ref)
    this.#bytes.writeUInt32LE(encoded.length, at)
    encoded.copy(this.#bytes, at + 4)
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
