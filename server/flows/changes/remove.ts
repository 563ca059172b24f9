import type { EventType } from '../../../protocol/nouns/event.ts'
import type { ConnectorsOfFlow } from '../../../threads/connectors/messages.ts'
import type { ToLane } from '../../../threads/lane/messages.ts'
import type { ToTimer } from '../../../threads/timer/messages.ts'
import type { NodeHealth } from '../../health/node-health.ts'
import type { Store } from '../../store/front/client.ts'
import type { Catalog } from '../catalog.ts'
import type { MessageMap } from '../message-map.ts'
import type { Deploy } from './deploy.ts'
import type { EndedFlows } from './ended-flows.ts'

export interface RemoveParts {
  store: Pick<Store, 'deleteFlow'>
  catalog: Catalog
  map: MessageMap
  health: NodeHealth
  ended: EndedFlows
  deploy: Deploy
  toLanes(message: ToLane): void
  toTimer(message: ToTimer): void
  toConnectors(flow: ConnectorsOfFlow): void
  announce(type: EventType, flow: string, more?: Record<string, unknown>): void
  /** Throws `flow_has_live_run` when batch runs of the flow wait or run. */
  assertNoLiveRun(flow: string): void
  /** Messages of the flow went. */
  changed(flow: string, removed: readonly number[]): void
}

/** Ends a flow and removes it; its history stays. */
export async function remove(parts: RemoveParts, name: string, author: string): Promise<void> {
  const { catalog, map, health, ended, deploy } = parts
  const flow = catalog.existing(name)
  parts.assertNoLiveRun(name)
  await parts.store.deleteFlow({ name, author })
  catalog.delete(name)
  flow.enabled = false
  const stale = catalog.wiring.remove(name)
  const nodes = flow.plan.nodes.map(node => node.index)
  const removed = map.remove(name)
  parts.toTimer({ type: 'drop', flow: flow.index })
  deploy.endOutboxes(flow.plan.nodes)
  parts.toConnectors({ type: 'flow', flow: flow.index, name, nodes: [] })
  parts.toLanes({ type: 'drop', flow: flow.index })
  ended.add({ name, index: flow.index, messages: removed, nodes, version: flow.version })
  health.forgetFlow(
    name,
    flow.document.nodes.map(node => node.id),
  )
  parts.changed(name, removed)
  for (const other of stale) await deploy.redeploy(other)
  parts.announce('flow_deleted', name, { by: author })
}
