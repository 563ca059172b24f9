import type { Body } from '../../core/cascade/seat.ts'
import type { PlanNode } from '../../core/flow/plan.ts'
import type { OutboxWriter } from '../../core/memory/outbox.ts'
import { mqttOutBody } from './mqtt-out-body.ts'

/** The outboxes of nodes, by their index. */
export type Outboxes = ReadonlyMap<number, OutboxWriter>

/** Types with a body of their own on a lane; null: the node has what it takes not yet. */
const BODIES: Readonly<Record<string, (node: PlanNode, outboxes: Outboxes) => Body | null>> = {
  'mqtt-out'(node, outboxes) {
    const outbox = outboxes.get(node.index)
    return outbox === undefined ? null : mqttOutBody(node.settings, outbox)
  },
}

export const builtInBody = (node: PlanNode, outboxes: Outboxes): Body | null =>
  Object.hasOwn(BODIES, node.type) ? BODIES[node.type]!(node, outboxes) : null
