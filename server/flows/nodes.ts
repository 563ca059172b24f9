import { ServiceError } from '../../protocol/errors.ts'
import { splitQualified } from '../../protocol/names.ts'
import type { EventType } from '../../protocol/nouns/event.ts'
import type { List } from '../../protocol/nouns/list.ts'
import type { NodeError } from '../../protocol/nouns/node-error.ts'
import type { NodeHealth } from '../observe/node-health.ts'
import type { Store } from '../store/front/client.ts'
import type { LiveFlows } from './flows.ts'

export interface Nodes {
  /** `node` is `<flow>.<node>`. Newest first. */
  errors(node: string): Promise<List<NodeError>>
  acknowledge(node: string, by: string): Promise<void>
}

export interface LiveNodesParts {
  flows: LiveFlows
  health: NodeHealth
  store: Store
  announce(type: EventType, flow: string, more?: Record<string, unknown>): void
}

/** Errors of nodes, and their acknowledgement. */
export class LiveNodes implements Nodes {
  readonly #parts: LiveNodesParts

  constructor(parts: LiveNodesParts) {
    this.#parts = parts
  }

  async errors(node: string): Promise<List<NodeError>> {
    this.#assertNode(node)
    await this.#parts.store.flush()
    const items = await this.#parts.store.nodeErrors(node)
    return { items, count: items.length }
  }

  /** Receivers of the event drop the marker without asking again. */
  async acknowledge(node: string, by: string): Promise<void> {
    const flow = this.#assertNode(node)
    await this.#parts.store.acknowledge(node)
    this.#parts.health.acknowledge(node)
    this.#parts.announce('node_acknowledged', flow, { node, by })
  }

  #assertNode(node: string): string {
    const name = splitQualified(node)
    const flow = name && this.#parts.flows.find(name.flow)
    if (!flow?.document.nodes.some(one => one.id === name?.name))
      throw new ServiceError('node_not_found', `There is no node "${node}".`)
    return flow.name
  }
}
