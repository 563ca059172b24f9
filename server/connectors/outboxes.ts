import type { PlanNode } from '../../core/flow/plan.ts'
import { newOutbox } from '../../core/memory/outbox.ts'
import { limits } from '../../protocol/limits.ts'
import { hasOutbox, nodeTypeOf } from '../../threads/nodes/types/index.ts'

interface Kept {
  readonly target: string
  readonly sab: SharedArrayBuffer
}

/**
 * The outboxes of nodes, by their index. A node keeps its outbox as long as it points at the same thing: what waits in it goes there,
 * whatever else of the node was changed.
 */
export class Outboxes {
  readonly #kept = new Map<number, Kept>()

  /** Null: the node sends its messages by calls. */
  of(node: PlanNode): SharedArrayBuffer | null {
    if (node.dispatch || !hasOutbox(node.type)) return null
    const target = nodeTypeOf(node.type)?.targetKey?.(node.settings as never) ?? ''
    let kept = this.#kept.get(node.index)
    if (kept?.target !== target) this.#kept.set(node.index, (kept = { target, sab: newOutbox(limits.OUTBOX_BYTES) }))
    return kept.sab
  }

  all(): Map<number, SharedArrayBuffer> {
    return new Map(Array.from(this.#kept, ([index, { sab }]) => [index, sab]))
  }
}
