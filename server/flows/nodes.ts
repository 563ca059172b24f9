import type { PlanInputPort, PlanNode } from '../../core/flow/plan.ts'
import { PLACEMENT } from '../../core/memory/counters.ts'
import { ServiceError } from '../../protocol/errors.ts'
import { splitQualified } from '../../protocol/names.ts'
import { didYouMean, nearest } from '../../protocol/nearest.ts'
import type { EventType } from '../../protocol/nouns/event.ts'
import type { Fire } from '../../protocol/nouns/fire.ts'
import type { List, Page } from '../../protocol/nouns/list.ts'
import type { NodeDetail, NodeWire } from '../../protocol/nouns/node.ts'
import type { NodeError } from '../../protocol/nouns/node-error.ts'
import { formatTime } from '../../protocol/time.ts'
import { nodeTypeOf } from '../../threads/nodes/types/index.ts'
import { type Latencies, measuredOf } from '../health/latencies.ts'
import type { NodeHealth } from '../health/node-health.ts'
import type { FrontMemory } from '../lanes/front-memory.ts'
import type { Store } from '../store/front/client.ts'
import type { LiveFlow } from './flow.ts'
import type { LiveFlows } from './flows.ts'

export interface Nodes {
  /** `node` is `<flow>.<node>`. */
  get(node: string): NodeDetail
  /** Newest first. */
  errors(node: string): Promise<List<NodeError>>
  acknowledge(node: string, by: string): Promise<void>
  /** What became of the occurrences of an inject node, newest first. */
  fires(node: string, page: Page): Promise<List<Fire>>
}

export interface LiveNodesParts {
  flows: LiveFlows
  health: NodeHealth
  store: Store
  front: FrontMemory
  latencies: Latencies
  announce(type: EventType, flow: string, more?: Record<string, unknown>): void
}

/** What there is to know of one node: counts, latencies, errors and their acknowledgement. */
export class LiveNodes implements Nodes {
  readonly #parts: LiveNodesParts

  constructor(parts: LiveNodesParts) {
    this.#parts = parts
  }

  get(node: string): NodeDetail {
    const flow = this.#parts.flows.find(this.#assertNode(node))!
    const { counters } = this.#parts.front
    const { latencies, health } = this.#parts
    const plan = flow.plan.nodes.find(({ qualified }) => qualified === node)!
    const { index, type, dispatch, inputs } = plan
    const { minute } = latencies
    return {
      name: node,
      type,
      place: nodeTypeOf(type)?.place ?? 'lane',
      placement: dispatch || counters.placement(index) !== PLACEMENT.inline ? 'dispatch' : 'inline',
      executions: counters.get(index, 'executions'),
      errors: counters.get(index, 'errors'),
      waiting_for_input: counters.get(index, 'waiting_for_input'),
      dropped: counters.get(index, 'dropped'),
      down: health.downText(node),
      down_since: health.downSince(node),
      target: targetOf(plan),
      gauges: health.gaugesOf(node),
      minute: minute && { since: formatTime(minute.since_us), until: formatTime(minute.until_us) },
      since_start: latencies.sinceStart({ node: index }),
      last_minute: latencies.lastMinute({ node: index }),
      wires: inputs.map(input => this.#wire(flow, plan, input)),
    }
  }

  #wire(flow: LiveFlow, node: PlanNode, input: PlanInputPort): NodeWire {
    const { latencies, flows } = this.#parts
    const { name: message } = flow.plan.messages[input.message]!
    const row = measuredOf(node, input)
    return {
      from: producerOf(flows, message),
      message,
      port: input.port,
      trigger: input.trigger,
      since_start: row && latencies.sinceStart(row),
      last_minute: row && latencies.lastMinute(row),
    }
  }

  async errors(node: string): Promise<List<NodeError>> {
    this.#assertNode(node)
    await this.#parts.store.flush()
    const items = await this.#parts.store.nodeErrors(node)
    return { items, count: items.length }
  }

  async fires(node: string, page: Page): Promise<List<Fire>> {
    this.#assertNode(node)
    return this.#parts.store.fires(node, page)
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
      throw new ServiceError('node_not_found', `There is no node "${node}".${this.#meant(node)}`)
    return flow.name
  }

  /** A node of that flow, or of the flow that may have been meant. */
  #meant(node: string): string {
    const { flows } = this.#parts
    const given = node.slice(0, Math.max(0, node.indexOf('.')))
    const flow = flows.find(given) ?? flows.find(nearest(given, names(flows.all())) ?? '')
    if (flow === undefined) return ''
    const asked = `${flow.name}${node.slice(given.length)}`
    const ids = flow.document.nodes.map(({ id }) => `${flow.name}.${id}`)
    return ids.includes(asked) ? ` Did you mean "${asked}"?` : didYouMean(asked, ids)
  }
}

function* names(flows: Iterable<LiveFlow>): Iterable<string> {
  for (const { name } of flows) yield name
}

/** The port that publishes the message: `flow.node.port`. */
function producerOf(flows: LiveFlows, message: string): string | null {
  const nodes = flows.find(message.slice(0, message.indexOf('.')))?.plan
  const position = nodes?.messages.findIndex(({ name }) => name === message) ?? -1
  for (const node of nodes?.nodes ?? []) {
    const output = node.outputs.find(output => output.message === position)
    if (output !== undefined) return `${node.qualified}.${output.port}`
  }
  return null
}

/** The settings were checked when the flow was saved; a secret names no thing. */
function targetOf({ type, settings }: PlanNode): string | null {
  try {
    return nodeTypeOf(type)?.targetKey?.(settings as never) ?? null
  } catch {
    return null
  }
}
