/**
 * The durable state of each node between two turns: encoded, in an arena slab that the node's row names. Written by the
 * thread that owns the flow at the end of a turn, read by the next owner. A thread that dies in a turn leaves the state of
 * the turn before. Its version goes up with each write, whichever thread makes it. A node that began with a later version of
 * its flow writes higher versions than all its predecessors. The journal rings of two lanes are not ordered, so the store
 * orders states by this version.
 */
import * as atomics from '#atomics'
import type { Arena } from './arena.ts'
import { NODE_ROW } from './counters.ts'
import { layout } from './layout.ts'
import type { Memory } from './region.ts'

export const STATE_SLAB = layout('STATE_SLAB', [
  ['version', 'f64', 'goes up with each write'],
  ['length', 'i32', 'bytes of the encoded state'],
  ['spare', 'i32', ''],
  ['encoded', 'bytes:0', 'what the codec made of it'],
])

const W = STATE_SLAB.word
/** Writes of one node between two saves that start it again. */
const WRITES = 2 ** 32

/** The lowest version that the state of a node has which began with version `since` of its flow. */
export const firstStateVersion = (since: number): number => since * WRITES + 1

export class NodeStates {
  readonly #i32: Int32Array
  readonly #f64: Float64Array
  readonly #bytes: Buffer
  readonly #base: number
  readonly #rows: number
  readonly #arena: Arena

  constructor(memory: Memory, arena: Arena) {
    this.#i32 = memory.i32
    this.#f64 = memory.f64
    this.#bytes = memory.bytes
    this.#base = memory.regions.nodes.offset
    this.#rows = memory.sizes.nodes
    this.#arena = arena
  }

  /** A copy of the encoded state; null when none was kept. */
  read(node: number): Buffer | null {
    const ref = this.#i32[this.#word(node)]!
    if (ref === 0) return null
    const at = this.#arena.offset(ref)
    const from = at + STATE_SLAB.offset.encoded
    return Buffer.from(this.#bytes.subarray(from, from + this.#i32[(at >> 2) + W.length]!))
  }

  /**
   * The same by a thread that does not own the flow: the owner may write another state meanwhile, whose slab may have been this one, so what
   * was copied counts only when the row still names the same version.
   */
  readShared(node: number): { version: number; encoded: Buffer } | null {
    for (;;) {
      const version = this.version(node)
      if (version === 0) return null
      const ref = atomics.acquire(this.#i32, this.#word(node))
      if (ref === 0) continue
      const at = this.#arena.offset(ref)
      const from = at + STATE_SLAB.offset.encoded
      const length = this.#i32[(at >> 2) + W.length]!
      if (length < 0 || from + length > this.#bytes.length) continue
      const encoded = Buffer.from(this.#bytes.subarray(from, from + length))
      if (atomics.recheck(this.#i32, this.#word(node)) === ref && this.version(node) === version)
        return { version, encoded }
    }
  }

  /** 0: no state is kept. */
  version(node: number): number {
    const ref = this.#i32[this.#word(node)]!
    return ref === 0 ? 0 : this.#f64[(this.#arena.offset(ref) >> 3) + W.version]!
  }

  /** The version that the next write has, of a node that began with version `since` of its flow. */
  nextVersion(node: number, since: number): number {
    return Math.max(this.version(node) + 1, firstStateVersion(since))
  }

  /**
   * False when the arena is full: the state of the turn before stays. No function is called between the hand-over of the new
   * slab and its naming, so no death can happen there; a death before the old slab is released leaks that slab.
   */
  write(node: number, encoded: Buffer, since = 0): boolean {
    const word = this.#word(node)
    const version = this.nextVersion(node, since)
    const ref = this.#arena.allocate(STATE_SLAB.size + encoded.length)
    if (ref === 0) return false
    const at = this.#arena.offset(ref)
    encoded.copy(this.#bytes, at + STATE_SLAB.offset.encoded)
    this.#i32[(at >> 2) + W.length] = encoded.length
    this.#f64[(at >> 3) + W.version] = version
    const old = this.#i32[word]!
    this.#arena.commit(ref)
    this.#i32[word] = ref
    if (old !== 0) this.#arena.release(old)
    return true
  }

  #word(node: number): number {
    if (!(node >= 0 && node < this.#rows)) throw new RangeError(`no node ${node}`)
    return ((this.#base + node * NODE_ROW.size) >> 2) + NODE_ROW.word.state_ref
  }
}
