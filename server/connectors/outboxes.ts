import type { PlanNode } from '../../core/flow/plan.ts'
import { closeOutbox, newOutbox } from '../../core/memory/outbox.ts'
import { limits } from '../../protocol/limits.ts'
import { hasOutbox } from '../../threads/nodes/types/index.ts'

/** The outboxes of nodes, by their index. A node keeps its outbox as long as it sends from one, whatever of it is changed. */
export class Outboxes {
  readonly #kept = new Map<number, SharedArrayBuffer>()

  /** Null: the node sends its messages by calls. */
  of(node: PlanNode): SharedArrayBuffer | null {
    if (node.dispatch || !hasOutbox(node.type)) return null
    let sab = this.#kept.get(node.index)
    if (sab === undefined) this.#kept.set(node.index, (sab = newOutbox(limits.OUTBOX_BYTES)))
    return sab
  }

  /** The node is gone, or sends by calls from now on. To be called before the connectors thread hears of it: that counts what is left. */
  end(node: number): void {
    const sab = this.#kept.get(node)
    if (sab === undefined) return
    this.#kept.delete(node)
    closeOutbox(sab)
  }

  /** The engine stops: an execution that has not left its message waits until it is ended, and the next engine runs it again. */
  close(): void {
    for (const sab of this.#kept.values()) closeOutbox(sab)
  }

  all(): ReadonlyMap<number, SharedArrayBuffer> {
    return this.#kept
  }
}
