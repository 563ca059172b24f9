import { deserialize, serialize } from 'node:v8'
import type { PlanNode } from '../core/flow/plan.ts'

/**
 * A node of a plan in shared memory. Batch runs send the same few nodes to the call slots again and again: this crosses for
 * next to nothing, and a slot reads it once.
 */
export interface PackedNode {
  /** Unique in the process. */
  readonly key: number
  readonly bytes: Uint8Array
}

/** On the front: each node is packed once. */
export class NodePacker {
  readonly #packed = new WeakMap<PlanNode, PackedNode>()
  #keys = 0

  pack(node: PlanNode): PackedNode {
    const known = this.#packed.get(node)
    if (known !== undefined) return known
    const written = serialize(node)
    const bytes = new Uint8Array(new SharedArrayBuffer(written.length))
    bytes.set(written)
    const packed = { key: ++this.#keys, bytes }
    this.#packed.set(node, packed)
    return packed
  }
}

export const unpackNode = ({ bytes }: PackedNode): PlanNode => deserialize(Buffer.from(bytes)) as PlanNode
