import { createHash } from 'node:crypto'
import type { Route } from '../../../core/cascade/publish/route.ts'
import { releaseHeld } from '../../../core/cascade/release-held.ts'
import type { Rules } from '../../../core/flow/check.ts'
import { factsOf } from '../../../core/flow/facts.ts'
import { compileSteps, type Plan, type PlanNode } from '../../../core/flow/plan.ts'
import { finish, type Steps } from '../../../core/steps.ts'
import type { NormalDocument } from '../../../protocol/nouns/flow-document.ts'
import { newEncoded } from '../../../protocol/values/codec.ts'
import type { ConnectorPlan, ConnectorsOfFlow } from '../../../threads/connectors/messages.ts'
import type { ToLane } from '../../../threads/lane/messages.ts'
import { encodePlanSteps, planBytes } from '../../../threads/lane/plan-bytes.ts'
import { timingOf } from '../../../threads/nodes/timing.ts'
import { isConnector, runsOnLane } from '../../../threads/nodes/types/index.ts'
import { injectPlan } from '../../../threads/nodes/types/inject.ts'
import type { InjectPlan, RatedPlan, SeenFires, TimersOfFlow, ToTimer } from '../../../threads/timer/messages.ts'
import type { FrontMemory } from '../../lanes/front-memory.ts'
import type { Store } from '../../store/front/client.ts'
import { inSlices, nextTurn } from '../../watch/slices.ts'
import { Bodies } from '../bodies.ts'
import type { Catalog } from '../catalog.ts'
import type { LiveFlow } from '../flow.ts'
import type { MessageMap } from '../message-map.ts'
import type { Names } from '../names.ts'
import { seedDefaults } from './seeding.ts'

export interface DeployParts {
  front: FrontMemory
  store: Pick<Store, 'register'>
  catalog: Catalog
  names: Names
  map: MessageMap
  bodies: Bodies
  rules: Rules
  isolation: 'process' | null
  /** `of`: null, the node has none. */
  outboxes: { of(node: PlanNode): SharedArrayBuffer | null; end(node: number): void }
  toLanes(message: ToLane): void
  toTimer(message: ToTimer): void
  /** The connectors of a flow, none while it is disabled. */
  toConnectors(flow: ConnectorsOfFlow): void
  /** Values that nobody will get: counted, and told. */
  dropped(flow: string, reason: string, count: number): void
  /** Messages of the flow came or went. */
  changed(flow: string, removed: readonly number[]): void
}

export const hash = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 16)

/** What a plan is made of. */
type Compiled = Pick<LiveFlow, 'name' | 'version' | 'enabled' | 'document'> & Partial<Pick<LiveFlow, 'since'>>

/**
 * Makes stored flows run.
 *
 *   document -> wiring -> plans (its own, and those of flows that it reaches) -> lanes, timer, sockets
 */
export class Deploy {
  readonly #parts: DeployParts
  /** The timer thread runs; what is deployed before it does is posted when it starts. */
  #timing = false
  /** Told to the timer with the flow, when it is enabled. */
  #seen = new Map<string, SeenFires>()
  /** The same of connectors. */
  #connecting = false

  constructor(parts: DeployParts) {
    this.#parts = parts
  }

  /** At a start, when nobody else runs yet. Their facts are in the wiring. */
  load(flows: readonly LiveFlow[]): void {
    const { catalog, map, bodies } = this.#parts
    for (const flow of flows) {
      this.#ensureBodies(flow.document)
      flow.plan = finish(this.#compileSteps(flow))
      flow.plan_bytes = planBytes(flow.plan, finish(encodePlanSteps(flow.plan)))
      catalog.add(flow)
      map.set(flow)
      this.#outboxesOf(flow.plan)
    }
    this.#registerNames([...catalog.plans()])
    bodies.prune(catalog.digests(), 0)
  }

  /** Timers begin, and `once` injects fire. `seen`: up to when what injects did is on record, by node. */
  startTimers(seen: ReadonlyMap<string, SeenFires>): void {
    this.#timing = true
    this.#seen = new Map(seen)
    for (const flow of this.#parts.catalog.all()) this.#postTimers(flow, true, 'engine_down')
  }

  /** Connectors begin. A thread that ends and comes back is told of them by itself. */
  startConnectors(): void {
    this.#connecting = true
    for (const flow of this.#parts.catalog.all()) this.#postConnectors(flow)
  }

  /** `fire`: `once` injects do. The flow runs on its old plan until the new one is there, and what runs it changes at once. */
  async deploy(flow: LiveFlow, fire: boolean): Promise<void> {
    const stale = this.#parts.catalog.wiring.set(factsOf(flow.name, flow.document, flow.enabled))
    await this.#run(flow, fire)
    for (const other of stale) await this.redeploy(other)
  }

  /** Another flow's wiring reaches this one: the same document, a new plan. */
  async redeploy(name: string): Promise<void> {
    const flow = this.#parts.catalog.find(name)
    if (flow !== undefined) await this.#run(flow, false)
  }

  /** The plan of a document that is not deployed, for a batch run of it. */
  async compile(flow: Compiled): Promise<Plan> {
    this.#ensureBodies(flow.document)
    const plan = await inSlices(this.#compileSteps(flow))
    this.#registerNames([plan])
    return plan
  }

  async #run(flow: LiveFlow, fire: boolean): Promise<void> {
    const plan = await this.compile(flow)
    const parts = await inSlices(encodePlanSteps(plan))
    // What follows cannot be divided, so it begins in a turn of its own.
    await nextTurn()
    this.#replace(flow, plan, parts, fire)
    await nextTurn()
  }

  #replace(flow: LiveFlow, plan: Plan, parts: Buffer, fire: boolean): void {
    const { front, map, catalog } = this.#parts
    // A flow that is new has none.
    const before = (flow.plan as Plan | null)?.nodes ?? []
    flow.plan = plan
    catalog.add(flow)
    const removed = map.set(flow)
    seedDefaults(flow, front, map)
    flow.plan.seeded = [...flow.seeded]
    this.#releaseUnlimited(flow)
    flow.plan_bytes = planBytes(flow.plan, parts)
    // Before the plan: bodies that the lanes make for it look there.
    const outboxes = this.#outboxesOf(flow.plan)
    this.endOutboxes(before, outboxes)
    if (outboxes.size > 0) this.#parts.toLanes({ type: 'outboxes', outboxes })
    this.#parts.toLanes({ type: 'plan', plan: flow.plan_bytes })
    this.#postTimers(flow, fire)
    this.#postConnectors(flow)
    this.#parts.changed(flow.name, removed)
    if (flow.enabled && front.queue.length(flow.index) > 0) front.ready.markReady(flow.index)
  }

  /** What ports hold that have no limit any more comes before anything that their nodes emit on the new plan. */
  #releaseUnlimited(flow: LiveFlow): void {
    const { front, map, dropped } = this.#parts
    for (const node of flow.plan.nodes) {
      for (const { rate_hz, message } of node.outputs) {
        const { name, index } = flow.plan.messages[message]!
        if (rate_hz !== null || front.held.due(index) !== 0) flow.rated.add(index)
        const route = map.get(name)?.route
        if (rate_hz !== null || !flow.enabled || route === undefined || !flow.rated.has(index)) continue
        const released = releaseHeld(front, route, newEncoded(), Number.POSITIVE_INFINITY, true)
        if (released === 'refused') dropped(flow.name, 'held_refused', 1)
      }
    }
    front.journal.mark()
  }

  /** Of nodes that are gone, or have none any more. */
  endOutboxes(nodes: readonly PlanNode[], kept: ReadonlyMap<number, SharedArrayBuffer> = new Map()): void {
    for (const { index } of nodes) if (!kept.has(index)) this.#parts.outboxes.end(index)
  }

  #outboxesOf({ nodes }: Plan): Map<number, SharedArrayBuffer> {
    const found = new Map<number, SharedArrayBuffer>()
    for (const node of nodes) {
      const sab = this.#parts.outboxes.of(node)
      if (sab !== null) found.set(node.index, sab)
    }
    return found
  }

  *#compileSteps(flow: Compiled): Steps<Plan> {
    const { names, catalog, isolation } = this.#parts
    const digests = new Map<string, string | null>()
    for (const node of flow.document.nodes) {
      digests.set(node.id, Bodies.digest(node))
      yield
    }
    return yield* compileSteps({
      flow: flow.name,
      version: flow.version,
      enabled: flow.enabled,
      document: flow.document,
      indexer: names,
      wiring: catalog.wiring,
      world: catalog.wiring,
      digest: id => digests.get(id) ?? null,
      since: id => flow.since?.get(id) ?? 0,
      isolation,
      timingOf,
      runsAway: node => isConnector(node.type) && !runsOnLane(node),
      hash,
    })
  }

  /** Bodies are written at the save; a file that went missing since is made again. */
  #ensureBodies(document: NormalDocument): void {
    const { bodies, rules } = this.#parts
    for (const node of document.nodes) {
      const digest = Bodies.digest(node)
      if (digest === null || bodies.has(digest)) continue
      const body = rules.types[node.type]?.check(node, () => undefined)
      if (body) bodies.put(digest, body.code)
    }
  }

  #registerNames(plans: readonly Plan[]): void {
    const fresh = this.#parts.names.takeNew()
    if (fresh.messages.length + fresh.flows.length + fresh.nodes.length === 0) return
    const dtypes = new Map<number, string>()
    for (const plan of plans) for (const message of plan.messages) dtypes.set(message.index, message.dtype)
    this.#parts.store.register({
      messages: fresh.messages.map(([index, name]) => [index, name, dtypes.get(index) ?? 'json']),
      flows: fresh.flows,
      nodes: fresh.nodes,
    })
  }

  #postTimers(flow: LiveFlow, fire: boolean, missed: TimersOfFlow['missed'] = 'flow_disabled'): void {
    if (!this.#timing) return
    const { name, enabled } = flow
    const injects: InjectPlan[] = []
    const rated: RatedPlan[] = []
    const timed: Route[] = []
    for (const node of enabled ? flow.plan.nodes : []) {
      for (const output of node.outputs) {
        const message = this.#parts.map.get(flow.plan.messages[output.message]!.name)
        if (message === undefined) continue
        const { route } = message
        if (output.rate_hz !== null || flow.rated.has(route.message)) rated.push({ route, rate_hz: output.rate_hz })
        if (output.timing !== null) timed.push(route)
        if (node.type !== 'inject') continue
        const plan = injectPlan(node.settings, output.dtype)
        injects.push({
          node: node.index,
          qualified: node.qualified,
          route,
          dtype: output.dtype,
          ...plan,
          seen: this.#seen.get(node.qualified) ?? null,
        })
        this.#seen.delete(node.qualified)
      }
    }
    this.#parts.toTimer({
      type: 'flow',
      flow: flow.index,
      name,
      enabled,
      injects,
      rated,
      timed,
      fire: fire && enabled,
      missed,
    })
  }

  #postConnectors({ name, index, enabled, plan }: LiveFlow): void {
    if (!this.#connecting) return
    const nodes: ConnectorPlan[] = []
    for (const node of enabled ? plan.nodes : []) {
      if (!isConnector(node.type)) continue
      const outputs = node.outputs.map(({ port, dtype, message, rate_hz }) => {
        const route = this.#parts.map.get(plan.messages[message]!.name)?.route ?? null
        return { name: port, dtype, route, rate_hz }
      })
      const { qualified, type, change_key, settings } = node
      const inputs = node.inputs.map(({ port, dtype }) => ({ name: port, dtype }))
      const outbox = this.#parts.outboxes.of(node)
      nodes.push({ node: node.index, qualified, type, change_key, settings, inputs, outputs, outbox })
    }
    this.#parts.toConnectors({ type: 'flow', flow: index, name, nodes })
  }
}
