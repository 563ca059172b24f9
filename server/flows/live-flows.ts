import { createHash } from 'node:crypto'
import { checkDocument, type Rules } from '../../core/flow/check.ts'
import { difference } from '../../core/flow/difference.ts'
import { documentDiff } from '../../core/flow/document-diff.ts'
import { factsOf } from '../../core/flow/facts.ts'
import { issuesOf } from '../../core/flow/issues.ts'
import { compilePlan, type Plan } from '../../core/flow/plan.ts'
import { renameReferences } from '../../core/flow/rename.ts'
import { Wiring } from '../../core/flow/wiring.ts'
import { PLACEMENT } from '../../core/memory/counters.ts'
import { errorTable, ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import { isName } from '../../protocol/names.ts'
import type { EventType } from '../../protocol/nouns/event.ts'
import type {
  CreateFlow,
  Flow,
  FlowCommit,
  FlowCommitDetail,
  FlowSummary,
  NodeStatus,
  SavedFlow,
  SaveFlow,
} from '../../protocol/nouns/flow.ts'
import type { FlowDocument, NormalDocument } from '../../protocol/nouns/flow-document.ts'
import type { Issue } from '../../protocol/nouns/issue.ts'
import { formatTime, nowUs } from '../../protocol/time.ts'
import { newEncoded } from '../../protocol/values/codec.ts'
import type { Dtype } from '../../protocol/values/dtype.ts'
import { KIND } from '../../protocol/values/encoded.ts'
import type { ToLane } from '../../threads/lane/messages.ts'
import { injectPlan } from '../../threads/nodes/inject.ts'
import type { InjectPlan, ToTimer } from '../../threads/timer/messages.ts'
import type { Flows, List, Page } from '../engine.ts'
import type { FrontMemory } from '../lanes/front-memory.ts'
import type { NodeHealth } from '../observe/node-health.ts'
import type { Store } from '../store/front/client.ts'
import type { StoredFlow } from '../store/front/replies.ts'
import { Bodies } from './bodies.ts'
import { templateOf } from './body-template.ts'
import { clearMessage, type EndedFlows } from './ended-flows.ts'
import type { LiveFlow } from './live-flow.ts'
import type { MessageMap } from './message-map.ts'
import type { Names } from './names.ts'

export interface LiveFlowsParts {
  front: FrontMemory
  store: Store
  names: Names
  map: MessageMap
  bodies: Bodies
  health: NodeHealth
  ended: EndedFlows
  rules: Rules
  isolation: 'process' | null
  toLanes(message: ToLane): void
  toTimer(message: ToTimer): void
  /** An engine event that is kept and sent to those that asked for events. */
  announce(type: EventType, flow: string, more?: Record<string, unknown>): void
  /** Throws `flow_has_live_run` when batch runs of the flow wait or run. */
  assertNoLiveRun(flow: string): void
  /** Batch runs that wait or run have the new name. */
  renamed(from: string, to: string): void
  /** Messages of the flow came or went. */
  changed(flow: string, removed: readonly number[]): void
}

const hash = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 16)

/**
 * The flows: checked, stored, and made to run. A save is durable before it is deployed, and deployed before it is answered.
 *
 *   document -> check -> bodies -> store (synced) -> wiring -> plans -> lanes, timer, sockets
 */
export class LiveFlows implements Flows {
  readonly #parts: LiveFlowsParts
  readonly #wiring = new Wiring()
  readonly #flows = new Map<string, LiveFlow>()
  #last: Promise<unknown> = Promise.resolve()
  /** The timer thread runs; what is deployed before it does is posted when it starts. */
  #timing = false

  constructor(parts: LiveFlowsParts) {
    this.#parts = parts
  }

  // ---- what runs

  plans(): Iterable<Plan> {
    return [...this.#flows.values()].map(flow => flow.plan)
  }

  all(): Iterable<LiveFlow> {
    return this.#flows.values()
  }

  find(name: string): LiveFlow | undefined {
    return this.#flows.get(name)
  }

  /** What a batch run of the flow as of `commit` executes. */
  async runnable(name: string, commit: string): Promise<{ plan: Plan; document: NormalDocument }> {
    const flow = this.#flows.get(name)
    if (flow?.commit === commit) return { plan: flow.plan, document: flow.document }
    const { document } = await this.#parts.store.commit(name, commit)
    if (document === null)
      throw new ServiceError('commit_not_found', `Commit ${commit} of "${name}" holds no document.`)
    this.#ensureBodies(document)
    const plan = this.#compile({ name, version: flow?.version ?? 0, enabled: true, document })
    this.#registerNames([plan])
    return { plan, document }
  }

  /** The dtype of a message of any flow; null while nobody declares it. */
  dtypeOf(flow: string, message: string): Dtype | null {
    return this.#wiring.flow(flow)?.messages.get(message)?.dtype ?? null
  }

  cyclesThrough(flow: string): string[][] {
    return this.#wiring.cyclesThrough(flow)
  }

  /** What a start found in the store. Nobody else runs yet. */
  load(stored: readonly StoredFlow[]): void {
    for (const flow of stored) this.#wiring.set(factsOf(flow.name, flow.document, flow.enabled))
    for (const flow of stored) {
      const live: LiveFlow = {
        name: flow.name,
        index: this.#parts.names.flow(flow.name),
        enabled: flow.enabled,
        version: flow.version,
        commit: flow.commit,
        document: flow.document,
        origin: flow.origin,
        updated_at: flow.updated_at,
        updated_by: flow.updated_by,
        not_run: flow.not_run,
        seeded: new Set(),
        plan: null as never,
      }
      this.#ensureBodies(live.document)
      live.plan = this.#compile(live)
      this.#flows.set(flow.name, live)
      this.#parts.map.set(live)
    }
    this.#registerNames([...this.plans()])
    this.#parts.bodies.prune(this.#digests(), 0)
  }

  /** Timers begin, and `once` injects fire. */
  startTimers(): void {
    this.#timing = true
    for (const flow of this.#flows.values()) this.#postTimers(flow, true)
  }

  // ---- reading

  list({ limit, offset }: Page): List<FlowSummary> {
    const names = [...this.#flows.keys()].sort()
    const items = names.slice(offset, offset + limit).map(name => this.#summary(this.#flows.get(name)!))
    return { items, count: names.length }
  }

  get(name: string): Flow {
    const flow = this.existing(name)
    const { flows, counters, queue, held } = this.#parts.front
    const oldest_us = queue.oldest(flow.index)
    const statuses = flow.plan.nodes.map((node): NodeStatus => {
      const seconds = (q: number): number | null => {
        const ns = counters.quantile(node.index, 'execution', q)
        return ns === null ? null : ns / 1e9
      }
      return {
        id: node.id,
        executions: counters.get(node.index, 'executions'),
        errors: counters.get(node.index, 'errors'),
        waiting_for_input: counters.get(node.index, 'waiting_for_input'),
        replaced: node.outputs.reduce(
          (sum, output) => sum + held.replaced(flow.plan.messages[output.message]!.index),
          0,
        ),
        placement: node.dispatch || counters.placement(node.index) === PLACEMENT.dispatch ? 'dispatch' : 'inline',
        execution_p50_s: seconds(0.5),
        execution_p99_s: seconds(0.99),
        down: this.#parts.health.downText(node.qualified),
      }
    })
    return {
      ...this.#summary(flow),
      document: flow.document as FlowDocument,
      backlog: {
        flow: name,
        waiting: flows.waiting(flow.index),
        waiting_bytes: flows.waitingBytes(flow.index),
        oldest_s: oldest_us === 0 ? null : Math.max(0, (nowUs() - oldest_us) / 1e6),
        share: flows.share(flow.index),
      },
      not_run_after_restart: flow.not_run,
      node_status: statuses,
    }
  }

  issues(flow: LiveFlow) {
    const ids = flow.document.nodes.map(node => node.id)
    const wiring = issuesOf(flow.name, flow.document, this.#wiring)
    return [...wiring, ...this.#parts.health.issuesOf(flow.name, ids), ...this.#pressure(flow), ...this.#unkept()]
  }

  /** While the disk is full every flow's values are gone as soon as the next ones come. */
  #unkept(): Issue[] {
    const { disk_full, dropped } = this.#parts.store.health
    if (!disk_full) return []
    const message = `The disk is full: values are not kept (${dropped} of this engine so far). ${errorTable.disk_full.next}`
    return [{ code: 'history_dropped', advisory: false, message, node: null, since: null }]
  }

  #pressure(flow: LiveFlow): Issue[] {
    const share = this.#parts.front.flows.share(flow.index)
    if (share < limits.FLOW_PRESSURE_SHOWN) return []
    const message = `As much waits in the flow as makes ${Math.round(share * 100)} % of its bound; at 100 % it takes nothing from outside.`
    return [{ code: 'backlog', advisory: true, message, node: null, since: null }]
  }

  #summary(flow: LiveFlow): FlowSummary {
    return {
      name: flow.name,
      enabled: flow.enabled,
      version: flow.version,
      commit: flow.commit,
      nodes: flow.document.nodes.length,
      updated_at: formatTime(flow.updated_at),
      updated_by: flow.updated_by,
      origin: flow.origin as FlowSummary['origin'],
      issues: this.issues(flow),
    }
  }

  source(name: string, node: string): { source: string; missing: boolean } {
    const found = this.existing(name).document.nodes.find(one => one.id === node)
    if (found === undefined) throw new ServiceError('node_not_found', `Flow "${name}" has no node "${node}".`)
    if (found.source !== null) return { source: found.source, missing: false }
    return { source: templateOf(found), missing: true }
  }

  async history(name: string, page: Page): Promise<List<FlowCommit>> {
    const commits = await this.#parts.store.commits(name, page)
    if (commits.count === 0)
      throw new ServiceError('flow_not_found', `There is no flow "${name}", and there never was one.`)
    return commits
  }

  async commit(name: string, commit: string): Promise<FlowCommitDetail> {
    const { before, ...detail } = await this.#parts.store.commit(name, commit)
    return {
      ...detail,
      document: detail.document as FlowDocument | null,
      diff: documentDiff(before, detail.document) as FlowCommitDetail['diff'],
    }
  }

  // ---- changing

  create(request: CreateFlow, author: string): Promise<SavedFlow> {
    const { name, ...save } = request
    return this.inTurn(() => {
      if (this.#flows.has(name)) throw new ServiceError('flow_exists', `There is a flow "${name}" already.`)
      return this.#save(name, save, author, 'save')
    })
  }

  save(name: string, request: SaveFlow, author: string): Promise<SavedFlow> {
    return this.inTurn(() => this.#save(name, request, author, 'save'))
  }

  restore(name: string, commit: string, author: string): Promise<SavedFlow> {
    return this.inTurn(async () => {
      const { document, origin } = await this.#parts.store.commit(name, commit)
      if (document === null)
        throw new ServiceError('commit_not_found', `Commit ${commit} of "${name}" holds no document.`)
      // Its own origin, whose digests are those of its bodies.
      const request = { document, origin, message: `restore ${commit.slice(0, 12)}` } as SaveFlow
      return this.#save(name, request, author, 'restore')
    })
  }

  async #save(name: string, request: SaveFlow, author: string, action: 'save' | 'restore'): Promise<SavedFlow> {
    const { store, names, bodies, rules } = this.#parts
    if (!isName(name)) {
      throw new ServiceError('validation', `"${name}" is no flow name.`, {
        errors: [{ loc: 'path.name', msg: 'is no flow name' }],
      })
    }
    const before = this.#flows.get(name)
    // Who edits a flow by hand says nothing of where it came from, and it came from there all the same.
    const origin = request.origin === undefined ? (before?.origin ?? null) : request.origin
    if (before === undefined && this.#flows.size >= limits.FLOWS)
      throw new ServiceError('too_many_flows', `There are ${this.#flows.size} flows.`)
    const checked = checkDocument(name, request.document, this.#wiring, rules)
    const { document } = checked
    names.assertRoom(document.inputs.length + document.nodes.length * 2, document.nodes.length)
    if (bodies.isPassDue) bodies.prune(this.#digests())
    for (const node of document.nodes) {
      const digest = Bodies.digest(node)
      const body = checked.bodies.get(node.id)
      if (digest !== null && body !== undefined) bodies.put(digest, body.code)
    }
    const written = await store.saveFlow({
      name,
      document,
      enabled: before?.enabled ?? true,
      author,
      message: request.message ?? '',
      action,
      origin,
      base_version: request.base_version ?? null,
    })
    const change = difference(before?.document ?? null, document)
    if (before === undefined) {
      const messages = [...dtypesOf(document).keys()].map(message => names.message(`${name}.${message}`))
      await this.#parts.ended.emptied({ name, index: names.flow(name), messages })
    }
    const flow: LiveFlow = before ?? {
      name,
      index: names.flow(name),
      enabled: true,
      version: 0,
      commit: '',
      document,
      origin: null,
      updated_at: 0,
      updated_by: '',
      not_run: 0,
      seeded: new Set(),
      plan: null as never,
    }
    const old = before?.document ?? null
    Object.assign(flow, { document, origin, updated_by: author })
    this.#written(flow, written)
    this.#flows.set(name, flow)
    this.#parts.health.forget(name, [...change.restarted, ...change.removed])
    this.#clearRetyped(flow, old)
    this.#deploy(flow, true)
    for (const id of change.restarted)
      this.#parts.front.counters.setPlacement(names.node(`${name}.${id}`), PLACEMENT.inline)
    this.#parts.announce('flow_saved', name, { version: flow.version, commit: flow.commit, by: author })
    return {
      name,
      version: flow.version,
      commit: flow.commit,
      restarted: change.restarted,
      kept: change.kept,
      issues: this.issues(flow),
    }
  }

  remove(name: string, author: string): Promise<void> {
    return this.inTurn(async () => {
      const flow = this.existing(name)
      this.#parts.assertNoLiveRun(name)
      await this.#parts.store.deleteFlow({ name, author })
      this.#flows.delete(name)
      flow.enabled = false
      const stale = this.#wiring.remove(name)
      const removed = this.#parts.map.remove(name)
      this.#parts.toTimer({ type: 'drop', flow: flow.index })
      this.#parts.toLanes({ type: 'drop', flow: flow.index })
      this.#parts.ended.add({ name, index: flow.index, messages: removed })
      this.#parts.health.forgetFlow(
        name,
        flow.document.nodes.map(node => node.id),
      )
      for (const other of stale) this.#redeploy(other)
      this.#parts.changed(name, removed)
      this.#parts.announce('flow_deleted', name, { by: author })
    })
  }

  setEnabled(name: string, enabled: boolean, author: string): Promise<SavedFlow> {
    return this.inTurn(async () => {
      const flow = this.existing(name)
      const kept = flow.document.nodes.map(node => node.id)
      if (flow.enabled !== enabled) {
        const written = await this.#parts.store.setEnabled({ name, enabled, author })
        flow.enabled = enabled
        flow.updated_by = author
        this.#written(flow, written)
        this.#deploy(flow, enabled)
        this.#parts.announce(enabled ? 'flow_enabled' : 'flow_disabled', name, { by: author })
      }
      return { name, version: flow.version, commit: flow.commit, restarted: [], kept, issues: this.issues(flow) }
    })
  }

  /** References in other flows are rewritten in the same commit. */
  rename(from: string, to: string, author: string): Promise<SavedFlow> {
    return this.inTurn(async () => {
      const flow = this.existing(from)
      if (!isName(to))
        throw new ServiceError('validation', `"${to}" is no flow name.`, {
          errors: [{ loc: 'body.to', msg: 'is no flow name' }],
        })
      if (this.#flows.has(to)) throw new ServiceError('flow_exists', `There is a flow "${to}" already.`)
      const rewritten: { name: string; document: NormalDocument }[] = []
      for (const name of this.#wiring.referencing(from)) {
        const other = this.#flows.get(name)
        const document = other && renameReferences(other.document, from, to)
        if (document) rewritten.push({ name, document })
      }
      const written = await this.#parts.store.renameFlow({ from, to, rewritten, author })
      this.#renamed(flow, from, to)
      this.#written(flow, written)
      flow.updated_by = author
      for (const { name, document } of rewritten) {
        const other = this.#flows.get(name)!
        other.document = document
        const entry = written.rewritten.find(one => one.name === name)
        if (entry) this.#written(other, entry)
        this.#wiring.set(factsOf(name, document, other.enabled))
      }
      this.#deploy(flow, false)
      for (const { name } of rewritten) this.#redeploy(name)
      this.#parts.announce('flow_renamed', to, { from, by: author })
      const kept = flow.document.nodes.map(node => node.id)
      return { name: to, version: flow.version, commit: flow.commit, restarted: [], kept, issues: this.issues(flow) }
    })
  }

  #renamed(flow: LiveFlow, from: string, to: string): void {
    const { names, map, health } = this.#parts
    const ids = flow.document.nodes.map(node => node.id)
    const messages = map.ofFlow(from).map(message => message.name.slice(from.length + 1))
    const gone = map.remove(from)
    this.#wiring.remove(from)
    this.#flows.delete(from)
    names.rename(from, to, messages, ids)
    health.rename(from, to, ids)
    flow.name = to
    this.#flows.set(to, flow)
    this.#parts.renamed(from, to)
    this.#parts.changed(from, gone)
  }

  // ---- deploying

  #written(flow: LiveFlow, written: { version: number; commit: string; at: number }): void {
    flow.version = written.version
    flow.commit = written.commit
    flow.updated_at = written.at
  }

  #deploy(flow: LiveFlow, fire: boolean): void {
    const stale = this.#wiring.set(factsOf(flow.name, flow.document, flow.enabled))
    this.#run(flow, fire)
    for (const other of stale) this.#redeploy(other)
  }

  /** Another flow's wiring reaches this one: the same document, a new plan. */
  #redeploy(name: string): void {
    const flow = this.#flows.get(name)
    if (flow !== undefined) this.#run(flow, false)
  }

  #run(flow: LiveFlow, fire: boolean): void {
    const { front, map } = this.#parts
    this.#ensureBodies(flow.document)
    flow.plan = this.#compile(flow)
    this.#registerNames([flow.plan])
    const removed = map.set(flow)
    this.#seedDefaults(flow)
    flow.plan.seeded = [...flow.seeded]
    this.#parts.toLanes({ type: 'plan', plan: flow.plan })
    this.#postTimers(flow, fire)
    this.#parts.changed(flow.name, removed)
    if (flow.enabled && front.queue.length(flow.index) > 0) front.ready.markReady(flow.index)
  }

  #compile(flow: Pick<LiveFlow, 'name' | 'version' | 'enabled' | 'document'>): Plan {
    const digests = new Map(flow.document.nodes.map(node => [node.id, Bodies.digest(node)]))
    return compilePlan({
      flow: flow.name,
      version: flow.version,
      enabled: flow.enabled,
      document: flow.document,
      indexer: this.#parts.names,
      wiring: this.#wiring,
      world: this.#wiring,
      digest: id => digests.get(id) ?? null,
      isolation: this.#parts.isolation,
      hash,
    })
  }

  /** Of all bodies that the plans name. */
  #digests(): Set<string> {
    const digests = new Set<string>()
    for (const { plan } of this.#flows.values())
      for (const { digest } of plan.nodes) if (digest !== null) digests.add(digest)
    return digests
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

  #postTimers(flow: LiveFlow, fire: boolean): void {
    if (!this.#timing) return
    const injects: InjectPlan[] = []
    const rated = []
    for (const node of flow.enabled ? flow.plan.nodes : []) {
      for (const output of node.outputs) {
        const message = this.#parts.map.get(flow.plan.messages[output.message]!.name)
        if (message === undefined) continue
        if (output.rate_hz !== null) rated.push({ route: message.route, rate_hz: output.rate_hz })
        if (node.type !== 'inject') continue
        const plan = injectPlan(node.settings, output.dtype)
        injects.push({
          node: node.index,
          qualified: node.qualified,
          route: message.route,
          dtype: output.dtype,
          ...plan,
        })
      }
    }
    this.#parts.toTimer({ type: 'flow', flow: flow.index, name: flow.name, injects, rated, fire: fire && flow.enabled })
  }

  // ---- values

  /** A flow input's default, when the message has no value: bumps the version and wakes nobody. */
  #seedDefaults(flow: LiveFlow): void {
    const { front, map } = this.#parts
    for (const input of flow.document.inputs) {
      const message = map.get(`${flow.name}.${input.message}`)
      if (message === undefined || input.default === undefined || this.#hasValue(message.index)) continue
      const encoded = newEncoded()
      if (front.codec.encode(input.default, input.dtype, encoded) !== null) continue
      front.publisher.seed(message.route, encoded, nowUs())
      flow.seeded.add(message.index)
    }
    front.journal.mark()
  }

  #hasValue(message: number): boolean {
    const read = { ...newEncoded(), version: 0, ts: 0 }
    return this.#parts.front.messages.read(message, read) && read.kind !== KIND.none
  }

  /** A message whose dtype changed has no value until the next publish. */
  #clearRetyped(flow: LiveFlow, before: NormalDocument | null): void {
    if (before === null) return
    const dtypes = dtypesOf(before)
    for (const [name, dtype] of dtypesOf(flow.document)) {
      const message = this.#parts.map.get(`${flow.name}.${name}`)
      if (message !== undefined && dtypes.get(name) !== undefined && dtypes.get(name) !== dtype)
        clearMessage(this.#parts.front, message.index, flow.index)
    }
  }

  /** Throws `flow_not_found`. */
  existing(name: string): LiveFlow {
    const flow = this.#flows.get(name)
    if (flow === undefined) throw new ServiceError('flow_not_found', `There is no flow "${name}".`)
    return flow
  }

  /** One change at a time: what one check has seen holds until its deploy. */
  inTurn<Result>(change: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(change, change)
    this.#last = turn.catch(() => undefined)
    return turn
  }
}

function dtypesOf(document: NormalDocument): Map<string, string> {
  const dtypes = new Map(document.inputs.map(input => [input.message, input.dtype as string]))
  for (const node of document.nodes) for (const port of node.ports.outputs) dtypes.set(port.message, port.dtype)
  return dtypes
}
