import type { Plan } from '../../core/flow/plan.ts'

/** Bodies are files named by the digest of their source, see bodies.ts. */
const BODY = /\/bodies\/([0-9a-f]{64})\.mjs/

/**
 * The node whose body the stack of an exception goes through: its index, or null when it goes through none. Nodes with the
 * same source share a file; of those it is one of a flow that the dead thread owned.
 */
export function bodyInStack(
  error: unknown,
  plans: Iterable<Plan>,
  isOwned: (flow_index: number) => boolean,
): number | null {
  const stack = error instanceof Error ? error.stack : null
  const digest = typeof stack === 'string' ? BODY.exec(stack)?.[1] : undefined
  if (digest === undefined) return null
  let found: number | null = null
  for (const plan of plans) {
    const node = plan.nodes.find(one => one.digest === digest)
    if (node === undefined) continue
    if (isOwned(plan.flow_index)) return node.index
    found ??= node.index
  }
  return found
}
