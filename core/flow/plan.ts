import { qualify } from '../../protocol/names.ts'
import type { NormalDocument, NormalNode } from '../../protocol/nouns/flow-document.ts'
import type { Dtype } from '../../protocol/values/dtype.ts'
import { finish, type Steps } from '../steps.ts'
import { changeKey, type Hash } from './difference.ts'
import type { World } from './facts.ts'
import { arrangeSteps } from './order.ts'
import type { Timing } from './timing.ts'

/**
 * A flow document made ready to run: names resolved to engine-wide indexes, nodes in wave order, edges split into forward
 * and back. Plain data: it crosses threads by structured clone and is never changed after it was compiled.
 */
export interface Plan {
  flow: string
  flow_index: number
  version: number
  enabled: boolean
  /** In wave order: topological over forward edges, ties by document order. A node's place here is its `position`. */
  nodes: PlanNode[]
  messages: PlanMessage[]
  /** Engine-wide message index -> position in `messages`. */
  by_message: Map<number, number>
  /** Engine-wide indexes of messages that got their default as their first value while the flow may have run. */
  seeded: readonly number[]
}

export interface PlanMessage {
  /** Qualified: `flow.message`. */
  name: string
  index: number
  /** Belongs to this flow; the others are read here and published elsewhere. */
  own: boolean
  /** As its producer declares it; as its first reader expects it while nobody declares it. */
  dtype: Dtype
  /** Positions of the nodes with a trigger port on it, ascending. */
  readers: number[]
  /** Position of the node that produces it, or -1. */
  producer: number
  /** Some node of this flow reads it, with or without trigger. */
  queued: boolean
  /** Indexes of the other flows whose nodes trigger on it, ascending; empty when it is not our own. */
  foreign: number[]
  /** Indexes of this flow and of every flow reachable from it, ascending; empty when it is not our own. */
  downstream: number[]
}

export interface PlanInputPort {
  port: string
  dtype: Dtype
  /** Position in `Plan.messages`. */
  message: number
  trigger: boolean
  /** Row of the wire's own latencies; -1: the node's are the wire's, or the port wakes nobody, or no row was left. */
  wire: number
}

export interface PlanOutputPort {
  port: string
  dtype: Dtype
  /** Position in `Plan.messages`. */
  message: number
  rate_hz: number | null
  /** Of a node that publishes its values later. */
  timing: Timing | null
  /** Not every value is published at once: `rate_hz` or `timing` is set. */
  gated: boolean
  /** Positions of the triggered readers that come later in wave order, ascending. */
  forward: number[]
  /** Positions of the triggered readers reached by a back edge, ascending: they run in a wave one deeper. */
  back: number[]
}

export interface PlanNode {
  id: string
  /** `flow.node` */
  qualified: string
  index: number
  position: number
  type: string
  settings: Record<string, unknown>
  language: NormalNode['language']
  /** SHA-256 (hex) of the stripped body; null for a type without one. */
  digest: string | null
  /** The version of the flow with which it began: saves that left it alone did not change it. 0: not known, it was there at the start. */
  since: number
  /** Differs when the node must start again with fresh state: another node, or the same one that was gone in between. */
  change_key: string
  inputs: PlanInputPort[]
  outputs: PlanOutputPort[]
  /**
   * Bitset over positions: the nodes that may still publish something that this one reads in the same wave, directly or
   * through others. Reads without trigger count too, unless the read takes part in a loop.
   */
  upstream: Uint32Array
  /** Declares resources, a timeout, a device or isolation, or is of a type that runs elsewhere: never runs on the lane. */
  dispatch: boolean
  timeout_s: number | null
  resources: NormalNode['resources']
  device: string | null
  isolation: NormalNode['isolation']
}

/** Hands out engine-wide indexes; the same name always gets the same index while the engine runs. */
export interface Indexer {
  /** `name` is qualified. */
  message(name: string): number
  /** `flow.node` */
  node(qualified: string): number
  flow(name: string): number
  /** Of the wire from a message to a port of a node; -1 when no row is left for it. */
  wire(message: number, node: number, port: string): number
}

/** The facts about the other flows' wiring that a plan needs; implemented by `Wiring`. */
export interface FlowWiring {
  /** The other flows whose nodes trigger on the message (qualified). */
  readersOf(message: string): Iterable<string>
  /** The flows that a publish in this one can wake, directly or through others; without itself. */
  reachable(flow: string): Iterable<string>
}

export interface PlanInput {
  flow: string
  version: number
  enabled: boolean
  /** Checked: one producer a message, unique ids. */
  document: NormalDocument
  indexer: Indexer
  /** Must know this flow's facts already. */
  wiring: FlowWiring
  /** For the dtypes of other flows' messages. */
  world: World
  /** SHA-256 of a node's stripped body; null for a type without one. */
  digest(node_id: string): string | null
  /** The version with which a node began; 0 when absent. */
  since?(node_id: string): number
  /** Of a node that publishes its values later. */
  timingOf?(node: NormalNode): Timing | null
  /** Does the node run away from the lanes because of its type, whatever it declares? */
  runsAway?(node: NormalNode): boolean
  /** Of nodes with a body that do not say it. */
  isolation?: NormalNode['isolation']
  /** A digest of a text, short and without collisions; makes the change keys. */
  hash: Hash
}

const ascending = (a: number, b: number): number => a - b

export const compilePlan = (input: PlanInput): Plan => finish(compileSteps(input))

/** The same in steps, of a node or a message each: 2,000 nodes take 60 ms. Its inputs must not change meanwhile. */
export function* compileSteps(input: PlanInput): Steps<Plan> {
  const { flow, document, indexer, world } = input
  const nodes = document.nodes
  const messages = new Messages(input)
  // Declared first, so that a message has its producer's dtype wherever it stands in the document.
  for (const port of document.inputs) messages.own(port.message, port.dtype)
  for (const node of nodes) {
    for (const port of node.ports.outputs) messages.own(port.message, port.dtype)
    yield
  }
  for (const node of nodes) {
    for (const port of node.ports.inputs) {
      const [owner, name] = split(flow, port.message)
      if (owner === flow) messages.own(name, port.dtype)
      else messages.foreign(owner, name, world.flow(owner)?.messages.get(name)?.dtype ?? port.dtype)
    }
    yield
  }

  const readers = messages.list.map(() => ({ triggered: new Set<number>(), reading: new Set<number>() }))
  for (const [number, node] of nodes.entries()) {
    for (const port of node.ports.inputs) {
      const at = messages.at(port.message)
      ;(port.trigger ? readers[at]!.triggered : readers[at]!.reading).add(number)
    }
    yield
  }
  const targetsOf = (node: NormalNode, of: 'triggered' | 'reading'): number[] => {
    const targets = new Set<number>()
    for (const port of node.ports.outputs) for (const to of readers[messages.at(port.message)]![of]) targets.add(to)
    return [...targets].sort(ascending)
  }
  const triggers: number[][] = []
  const reads: number[][] = []
  for (const node of nodes) {
    triggers.push(targetsOf(node, 'triggered'))
    reads.push(targetsOf(node, 'reading'))
    yield
  }
  const arrangement = yield* arrangeSteps({ count: nodes.length, triggers, reads })
  const positions = (numbers: Iterable<number>): number[] =>
    Array.from(numbers, number => arrangement.position[number]!).sort(ascending)

  nodes.forEach((node, number) => {
    for (const port of node.ports.outputs)
      messages.list[messages.at(port.message)]!.producer = arrangement.position[number]!
  })
  for (const [at, message] of messages.list.entries()) {
    message.readers = positions(readers[at]!.triggered)
    message.queued = readers[at]!.triggered.size + readers[at]!.reading.size > 0
    yield
  }

  const planned: PlanNode[] = []
  for (const [position, number] of arrangement.order.entries()) {
    const node = nodes[number]!
    const digest = input.digest(node.id)
    const timing = input.timingOf?.(node) ?? null
    const isolation = node.isolation ?? (digest === null || timing !== null ? null : (input.isolation ?? null))
    const since = input.since?.(node.id) ?? 0
    const index = indexer.node(`${flow}.${node.id}`)
    const woken_by = new Set(node.ports.inputs.filter(({ trigger }) => trigger).map(port => messages.at(port.message)))
    planned.push({
      id: node.id,
      qualified: `${flow}.${node.id}`,
      index,
      position,
      type: node.type,
      settings: node.settings,
      language: node.language,
      digest,
      since,
      change_key: stateKey(changeKey(node, input.hash), since),
      inputs: node.ports.inputs.map(port => {
        const message = messages.at(port.message)
        const wire = port.trigger && woken_by.size > 1
        return {
          port: port.name,
          dtype: port.dtype,
          message,
          trigger: port.trigger,
          wire: wire ? indexer.wire(messages.list[message]!.index, index, port.name) : -1,
        }
      }),
      outputs: node.ports.outputs.map(port => {
        const message = messages.at(port.message)
        const woken = [...readers[message]!.triggered]
        return {
          port: port.name,
          dtype: port.dtype,
          message,
          rate_hz: port.rate_hz,
          timing,
          gated: port.rate_hz !== null || timing !== null,
          forward: positions(woken.filter(to => !arrangement.isBack(number, to))),
          back: positions(woken.filter(to => arrangement.isBack(number, to))),
        }
      }),
      upstream: arrangement.upstream[position]!,
      dispatch: isolation !== null || isDispatched(node) || (input.runsAway?.(node) ?? false),
      timeout_s: node.timeout,
      resources: node.resources,
      device: node.device,
      isolation,
    })
    yield
  }
  return {
    flow,
    flow_index: indexer.flow(flow),
    version: input.version,
    enabled: input.enabled,
    nodes: planned,
    messages: messages.list,
    seeded: [],
    by_message: new Map(messages.list.map((message, at) => [message.index, at])),
  }
}

const stateKey = (hash: string, since: number): string => (since === 0 ? hash : `${hash}.${since}`)

/** The version with which a node began, as its change key has it. */
export const sinceOf = (change_key: string): number => Number(change_key.split('.', 2)[1] ?? 0)

/** Is the bit of `position` set in the bitset `upstream`? */
export const isUpstream = (upstream: Uint32Array, position: number): boolean =>
  (upstream[position >>> 5]! & (1 << (position & 31))) !== 0

/** A node that declares nothing runs on the lane; `env` alone is a wish for a process, so it counts. */
function isDispatched(node: NormalNode): boolean {
  const { cpus, gpus, ram, env, flavor } = node.resources
  const asks = cpus !== null || gpus !== null || ram !== null || flavor !== null || Object.keys(env).length > 0
  return asks || node.timeout !== null || node.device !== null
}

/** `raw` and `flow.raw` are the flow's own message `raw`. */
function split(flow: string, reference: string): [owner: string, name: string] {
  const dot = reference.indexOf('.')
  return dot === -1 ? [flow, reference] : [reference.slice(0, dot), reference.slice(dot + 1)]
}

/** The messages of a plan, each once, in the order in which they were first named. */
class Messages {
  readonly list: PlanMessage[] = []
  readonly #position = new Map<string, number>()
  readonly #input: PlanInput
  /** One array for all own messages: structured clone keeps it one. */
  readonly #downstream: number[]

  constructor(input: PlanInput) {
    this.#input = input
    const { indexer, wiring, flow } = input
    this.#downstream = Array.from(new Set([flow, ...wiring.reachable(flow)]), name => indexer.flow(name)).sort(
      ascending,
    )
  }

  own(name: string, dtype: Dtype): void {
    const { flow, wiring, indexer } = this.#input
    const qualified = `${flow}.${name}`
    if (this.#position.has(qualified)) return
    const foreign = Array.from(wiring.readersOf(qualified), reader => indexer.flow(reader)).sort(ascending)
    this.#add(qualified, true, dtype, foreign, this.#downstream)
  }

  foreign(owner: string, name: string, dtype: Dtype): void {
    const qualified = `${owner}.${name}`
    if (!this.#position.has(qualified)) this.#add(qualified, false, dtype, [], [])
  }

  /** Position of a message as a port of this flow names it. */
  at(reference: string): number {
    const position = this.#position.get(qualify(this.#input.flow, reference))
    if (position === undefined) throw new RangeError(`no message ${reference} in the plan of ${this.#input.flow}`)
    return position
  }

  #add(name: string, own: boolean, dtype: Dtype, foreign: number[], downstream: number[]): void {
    this.#position.set(name, this.list.length)
    const index = this.#input.indexer.message(name)
    this.list.push({ name, index, own, dtype, readers: [], producer: -1, queued: false, foreign, downstream })
  }
}
