import type { PlanInputPort, PlanNode } from '../../core/flow/plan.ts'
import type { Masks } from '../../core/masks/table.ts'
import { PLACEMENT } from '../../core/memory/counters.ts'
import { type ErrorPlace, ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import { splitQualified } from '../../protocol/names.ts'
import { didYouMean, nearest } from '../../protocol/nearest.ts'
import type { EventType } from '../../protocol/nouns/event.ts'
import type { Fire } from '../../protocol/nouns/fire.ts'
import type { List, Page } from '../../protocol/nouns/list.ts'
import type { NodeDetail, NodeWire, TriedNode, TryNode } from '../../protocol/nouns/node.ts'
import type { NodeError } from '../../protocol/nouns/node-error.ts'
import { formatTime } from '../../protocol/time.ts'
import { newEncoded } from '../../protocol/values/codec.ts'
import { KIND } from '../../protocol/values/encoded.ts'
import type { KeptState } from '../../threads/lane/kept-state.ts'
import { isConnector, nodeTypeOf } from '../../threads/nodes/types/index.ts'
import { type Latencies, measuredOf } from '../health/latencies.ts'
import type { NodeHealth } from '../health/node-health.ts'
import type { FrontMemory } from '../lanes/front-memory.ts'
import type { Store } from '../store/front/client.ts'
import { nextTurn } from '../watch/slices.ts'
import type { NodeDraft } from './draft.ts'
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
  /** Runs its body once on the side. Rejects with `interrupted` when the client has left before that. */
  try(node: string, request: TryNode, gone: AbortSignal | null): Promise<TriedNode>
}

/** Runs a body once, without anybody else hearing of it. */
export interface TryPlaces {
  run(request: {
    flow: string
    node: PlanNode
    inputs: Record<string, unknown>
    state: Record<string, unknown>
    timeout_s: number
    gone: AbortSignal | null
  }): Promise<TriedNode>
}

export interface LiveNodesParts {
  flows: LiveFlows
  health: NodeHealth
  store: Store
  front: FrontMemory
  latencies: Latencies
  tries: TryPlaces
  masks: Masks
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

  async try(name: string, request: TryNode, gone: AbortSignal | null): Promise<TriedNode> {
    const { flows, tries, masks } = this.#parts
    const flow = flows.find(this.#assertNode(name))!
    const id = name.slice(flow.name.length + 1)
    const { source, settings, timeout_s = limits.TRY_S } = request
    const isDraft = source !== undefined || settings !== undefined
    const present = flow.plan.nodes.find(node => node.id === id)!
    const node = isDraft
      ? await flows.draft(flow.name, id, { source, settings: settings as NodeDraft['settings'] })
      : present
    if (node.digest === null || isConnector(node.type))
      throw new ServiceError('no_body', `${name} is of type "${node.type}", which runs no body of its own.`)
    // Reading the request, checking its values and sending them to a thread take their time: each has a turn of its own.
    await nextTurn()
    const inputs = this.#inputs(flow, node, request.inputs ?? {})
    await nextTurn()
    const state = this.#stateOf(present)
    return masks.deep(await tries.run({ flow: flow.name, node, inputs, state, timeout_s, gone }))
  }

  /** By port: what is given, else the newest value. */
  #inputs(flow: LiveFlow, node: PlanNode, given: Record<string, unknown>): Record<string, unknown> {
    const errors: ErrorPlace[] = []
    for (const port of Object.keys(given))
      if (errors.length < limits.ERROR_PLACES && !node.inputs.some(input => input.port === port))
        errors.push({ loc: `body.inputs.${port}`, msg: `is not an input port of ${node.qualified}` })
    const inputs: Record<string, unknown> = {}
    for (const input of node.inputs) {
      const { port } = input
      const value = Object.hasOwn(given, port)
        ? this.#given(input, given[port], errors)
        : this.#newest(flow.plan.messages[input.message]!.index)
      if (value === undefined) errors.push({ loc: `body.inputs.${port}`, msg: 'has no value yet; give one' })
      else inputs[port] = value
    }
    if (errors.length > 0)
      throw new ServiceError(
        'bad_input',
        `The inputs of ${node.qualified} cannot be used: ${errors[0]!.loc} ${errors[0]!.msg}.`,
        {
          errors,
        },
      )
    return inputs
  }

  /** What JSON has is what its port would get. */
  #given({ port, dtype }: PlanInputPort, value: unknown, errors: ErrorPlace[]): unknown {
    const refusal = this.#parts.front.codec.encode(value, dtype, newEncoded())
    if (refusal !== null) errors.push({ loc: `body.inputs.${port}`, msg: refusal.text })
    return value
  }

  #newest(message: number): unknown {
    const { codec, messages } = this.#parts.front
    const read = { ...newEncoded(), version: 0, ts: 0 }
    if (!messages.read(message, read) || read.kind === KIND.none) return undefined
    return codec.decode(read.kind, read.number, read.bytes, 0, read.length)
  }

  /** A copy of what the node keeps. */
  #stateOf({ index, change_key }: PlanNode): Record<string, unknown> {
    const kept = this.#parts.front.states.readShared(index)
    if (kept === null) return {}
    const { k, s } = this.#parts.front.codec.decodePlain(kept.encoded) as KeptState
    return k === change_key ? s : {}
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
