import { createHash } from 'node:crypto'
import { ServiceError } from '../../protocol/errors.ts'
import type { Cascade, Rerun } from '../../protocol/nouns/cascade.ts'
import type { EngineEvent } from '../../protocol/nouns/event.ts'
import type {
  CreateFlow,
  Flow,
  FlowCommit,
  FlowCommitDetail,
  FlowSummary,
  SavedFlow,
  SaveFlow,
} from '../../protocol/nouns/flow.ts'
import { FlowDocument } from '../../protocol/nouns/flow-document.ts'
import type { List, Page } from '../../protocol/nouns/list.ts'
import type { HistoryPoint, Message, MessageHistory, Published } from '../../protocol/nouns/message.ts'
import type { NodeError } from '../../protocol/nouns/node-error.ts'
import type { Summary, TimeseriesPoint } from '../../protocol/nouns/summary.ts'
import { formatTime, parseTime } from '../../protocol/time.ts'
import { agrees, type Dtype } from '../../protocol/values/dtype.ts'
import { createChecker } from '../../protocol/values/explain.ts'
import { VERSION } from '../../protocol/version.ts'
import type { Engine } from '../../server/engine.ts'
import type { Flows } from '../../server/flows/flows.ts'
import type { HistoryQuery, Messages } from '../../server/flows/messages.ts'
import type { Nodes } from '../../server/flows/nodes.ts'
import type { Hooks } from '../../server/hooks/hooks.ts'
import { pageOf } from '../../server/list-page.ts'
import type { Observe } from '../../server/observe/observe.ts'
import type { RunLogs } from '../../server/runs/run-logs.ts'
import { artifactsOf } from './artifacts.ts'
import { RunsDouble } from './runs-double.ts'

const shape = createChecker(FlowDocument)

interface HeldCommit extends FlowCommit {
  document: FlowDocument | null
}
interface HeldFlow {
  enabled: boolean
  version: number
  origin: Record<string, unknown> | null
  document: FlowDocument
  updated_by: string
}
interface HeldMessage {
  dtype: Dtype
  publisher: string | null
  points: HistoryPoint[]
}

const paged = <Item>(items: Item[], { limit, offset }: Page): List<Item> =>
  pageOf(items.slice(offset, offset + limit), items.length, offset)

/**
 * The engine in memory, for what stands in front of it: flows with history, messages with values and history. It executes
 * nothing, checks values by their dtype alone, and is what the routes are tested against. Time is a counter, so that two
 * answers never have the same.
 */
export class EngineDouble implements Engine {
  readonly #flows = new Map<string, HeldFlow>()
  readonly #commits = new Map<string, HeldCommit[]>()
  readonly #messages = new Map<string, HeldMessage>()
  readonly #nodeErrors = new Map<string, NodeError[]>()
  readonly #cascades: Cascade[] = []
  readonly #events: EngineEvent[] = []
  #now_us = 1_767_225_600_000_000
  /** What every call of the engine throws, when set. */
  broken: Error | null = null
  /** Flows whose ingress is refused. */
  readonly backlogged = new Set<string>()
  refreshed = 0
  readonly runs = new RunsDouble(name => void this.#held(name))
  readonly run_logs: RunLogs = {
    page: async ({ run, after }) => {
      await this.runs.get(run)
      return { run, items: [], next_after: after, dropped: 0 }
    },
    onWritten: () => {},
  }
  readonly artifacts = artifactsOf()
  readonly hooks: Hooks = {
    take: async () => {
      throw new ServiceError('hook_not_found')
    },
  }

  async refreshModules(): Promise<void> {
    this.#check()
    this.refreshed++
  }

  /** Puts an error on a node, as a body that threw would. */
  fail(node: string, message: string): void {
    const error: NodeError = {
      node,
      code: 'node_error',
      message,
      stack: null,
      ts: this.#tick(),
      inputs: { x: 1 },
      cascade: null,
      acknowledged: false,
    }
    this.#nodeErrors.set(node, [error, ...(this.#nodeErrors.get(node) ?? [])])
  }

  #tick(): string {
    return formatTime(this.#now_us++)
  }

  #check(): void {
    if (this.broken) throw this.broken
  }

  #held(name: string): HeldFlow {
    this.#check()
    const flow = this.#flows.get(name)
    if (!flow) throw new ServiceError('flow_not_found', `There is no flow ${name}.`)
    return flow
  }

  #event(type: string, flow: string, more: Record<string, unknown> = {}): void {
    this.#events.unshift({ type, ts: this.#tick(), flow, run: null, ...more })
  }

  #commit(name: string, author: string, action: string, message = ''): SavedFlow {
    const flow = this.#held(name)
    const before = this.#commits.get(name) ?? []
    const parent = before[0]?.commit ?? null
    const at = this.#tick()
    if (action !== 'enable' && action !== 'disable') flow.version++
    flow.updated_by = author
    const commit = createHash('sha256')
      .update(JSON.stringify([name, flow, parent, at]))
      .digest('hex')
    const held = {
      commit,
      parent,
      flow: name,
      version: flow.version,
      author,
      message,
      at,
      action,
      document: flow.document,
    }
    this.#commits.set(name, [held, ...before])
    this.#declare(name, flow.document)
    this.#event(`flow_${action}d`, name)
    const nodes = flow.document.nodes.map(node => node.id)
    return { name, version: flow.version, commit, restarted: nodes, kept: [], issues: [] }
  }

  #declare(name: string, document: FlowDocument): void {
    const put = (message: string, dtype: Dtype, publisher: string | null): void => {
      const full = `${name}.${message}`
      this.#messages.set(full, { dtype, publisher, points: this.#messages.get(full)?.points ?? [] })
    }
    for (const input of document.inputs ?? []) put(input.message, input.dtype, null)
    for (const node of document.nodes)
      for (const port of node.ports.outputs ?? []) put(port.message ?? port.name, port.dtype, `${name}.${node.id}`)
  }

  #summary(name: string, flow: HeldFlow): FlowSummary {
    const newest = this.#commits.get(name)![0]!
    return {
      name,
      enabled: flow.enabled,
      version: flow.version,
      commit: newest.commit,
      nodes: flow.document.nodes.length,
      updated_at: newest.at,
      updated_by: flow.updated_by,
      origin: flow.origin,
      issues: [],
    }
  }

  readonly flows: Flows = {
    list: page => {
      this.#check()
      return paged(
        [...this.#flows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, flow]) => this.#summary(name, flow)),
        page,
      )
    },
    get: (name): Flow => {
      const flow = this.#held(name)
      return {
        ...this.#summary(name, flow),
        document: flow.document,
        backlog: { flow: name, waiting: 0, waiting_bytes: 0, oldest_s: null, share: 0 },
        resumed_after_restart: 0,
        not_run_after_restart: 0,
        node_status: flow.document.nodes.map(({ id }) => ({
          id,
          executions: 0,
          errors: 0,
          waiting_for_input: 0,
          replaced: 0,
          placement: 'inline',
          execution_p50_s: null,
          execution_p99_s: null,
          down: null,
        })),
      }
    },
    create: async (request: CreateFlow, author) => {
      this.#check()
      if (this.#flows.has(request.name)) throw new ServiceError('flow_exists', `There is a flow ${request.name}.`)
      return this.flows.save(request.name, request, author)
    },
    save: async (name: string, request: SaveFlow, author) => {
      this.#check()
      const { document, message, base_version, origin = null } = request
      const errors = shape.refusals(document)
      if (errors.length > 0) throw new ServiceError('validation', 'The document was refused.', { errors })
      const before = this.#flows.get(name)
      if (base_version !== undefined && base_version !== (before?.version ?? 0))
        throw new ServiceError('stale_version', `${name} is at version ${before?.version ?? 0}.`)
      const ids = document.nodes.map(node => node.id)
      const twice = ids.findIndex((id, index) => ids.indexOf(id) !== index)
      if (twice >= 0)
        throw new ServiceError('duplicate_name', `Two nodes are called ${ids[twice]}.`, {
          errors: [{ loc: `nodes[${twice}].id`, msg: 'is taken' }],
        })
      this.#flows.set(name, {
        enabled: before?.enabled ?? true,
        version: before?.version ?? 0,
        origin,
        document,
        updated_by: author,
      })
      return this.#commit(name, author, 'save', message)
    },
    check: async (name, document) => {
      const errors = shape.refusals(document)
      if (errors.length > 0) throw new ServiceError('validation', 'The document was refused.', { errors })
      const restarted = document.nodes.map(({ id }) => id)
      return { version: this.#flows.get(name)?.version ?? 0, restarted, removed: [], kept: [] }
    },
    remove: async name => {
      this.#held(name)
      this.#flows.delete(name)
      for (const message of [...this.#messages.keys()])
        if (message.startsWith(`${name}.`)) this.#messages.delete(message)
    },
    rename: async (name, to, author) => {
      const flow = this.#held(name)
      if (this.#flows.has(to)) throw new ServiceError('flow_exists', `There is a flow ${to}.`)
      this.#flows.set(to, flow)
      this.#commits.set(to, this.#commits.get(name)!)
      this.#flows.delete(name)
      return this.#commit(to, author, 'rename')
    },
    setEnabled: async (name, enabled, author) => {
      const flow = this.#held(name)
      const { commit } = this.#commits.get(name)![0]!
      const kept = flow.document.nodes.map(node => node.id)
      if (flow.enabled === enabled) return { name, version: flow.version, commit, restarted: [], kept, issues: [] }
      flow.enabled = enabled
      return { ...this.#commit(name, author, enabled ? 'enable' : 'disable'), restarted: [], kept }
    },
    purge: async name => {
      this.#held(name)
      return { name, dropped: 0 }
    },
    history: async (name, page) => {
      this.#held(name)
      return paged(
        this.#commits.get(name)!.map(({ document: _document, ...commit }) => commit),
        page,
      )
    },
    commitText: async (name, commit) => {
      this.#held(name)
      const found = this.#commits.get(name)!.find(held => held.commit === commit)
      if (!found) throw new ServiceError('commit_not_found', `${name} has no commit ${commit}.`)
      const detail: FlowCommitDetail = { ...found, origin: null, diff: [{ path: '', after: found.document }] }
      return Buffer.from(JSON.stringify(detail))
    },
    restore: async (name, commit, author) => {
      const text = Buffer.from(await this.flows.commitText(name, commit)).toString()
      const { document } = JSON.parse(text) as FlowCommitDetail
      this.#held(name).document = document!
      return this.#commit(name, author, 'restore')
    },
    source: (name, node) => {
      const found = this.#held(name).document.nodes.find(({ id }) => id === node)
      if (!found) throw new ServiceError('node_not_found', `${name} has no node ${node}.`)
      return { source: found.source ?? 'export default inputs => ({})\n', missing: !found.source }
    },
  }

  #message(name: string): HeldMessage {
    this.#check()
    const message = this.#messages.get(name)
    if (!message) throw new ServiceError('message_not_found', `There is no message ${name}.`)
    return message
  }

  #shown(name: string, { dtype, publisher, points }: HeldMessage): Message {
    const last = points.at(-1)
    return {
      name,
      dtype,
      publisher,
      version: last?.version ?? 0,
      value: last?.value ?? null,
      updated_at: last?.ts ?? null,
    }
  }

  /** Publishes that were answered when they were on disk. */
  synced = 0

  readonly messages: Messages = {
    list: ({ flow, ...page }) => {
      this.#check()
      const all = [...this.#messages].filter(([name]) => flow === null || name.startsWith(`${flow}.`))
      return paged(
        all.map(([name, message]) => this.#shown(name, message)),
        page,
      )
    },
    get: name => this.#shown(name, this.#message(name)),
    publish: (items): Published[] => {
      const messages = items.map(({ name, value }) => {
        const message = this.#message(name)
        const flow = name.slice(0, name.indexOf('.'))
        if (this.backlogged.has(flow))
          throw new ServiceError('backlogged', `${flow} is at its bound.`, { retry_after_s: 2 })
        if (!agrees(dtypeOf(value), message.dtype))
          throw new ServiceError('wrong_dtype', `${name} takes ${message.dtype}, not ${dtypeOf(value)}.`)
        return message
      })
      return items.map(({ name, value }, index) => {
        const { points } = messages[index]!
        const version = (points.at(-1)?.version ?? 0) + 1
        points.push({ ts: this.#tick(), version, value })
        if (points.length > 1_000) points.shift()
        return { name, version }
      })
    },
    publishDurably: async items => {
      const published = this.messages.publish(items)
      this.synced++
      return published
    },
    history: async (
      name,
      { since_us, until_us, until_version, limit, bucket_s }: HistoryQuery,
    ): Promise<MessageHistory> => {
      const { dtype, points } = this.#message(name)
      const inside = points.filter(({ ts, version }) => {
        const us = parseTime(ts)!
        if (us === until_us) return version < (until_version ?? 0)
        return us >= (since_us ?? 0) && us < (until_us ?? Number.POSITIVE_INFINITY)
      })
      const items =
        bucket_s === null || inside.length === 0
          ? inside.slice(-limit)
          : [{ ts: inside[0]!.ts, count: inside.length, min: 0, max: 1, mean: 0.5, last: inside.at(-1)!.value }]
      return { name, dtype, bucket_s, items, truncated: bucket_s === null && inside.length > limit }
    },
    historyText: async (name, query) => Buffer.from(JSON.stringify(await this.messages.history(name, query))),
  }

  #nodeExists(node: string): void {
    const [flow = '', id] = node.split('.')
    this.#check()
    if (!this.#flows.get(flow)?.document.nodes.some(held => held.id === id))
      throw new ServiceError('node_not_found', `There is no node ${node}.`)
  }

  readonly nodes: Nodes = {
    get: node => {
      this.#nodeExists(node)
      const none = { wait: null, execution: null, total: null }
      return {
        ...{
          name: node,
          type: 'code',
          placement: 'inline',
          executions: 0,
          errors: 0,
          waiting_for_input: 0,
          dropped: 0,
          down: null,
          gauges: {},
          place: 'lane',
          down_since: null,
          target: null,
        },
        ...{ minute: null, since_start: none, last_minute: null, wires: [] },
      }
    },
    errors: async node => {
      this.#nodeExists(node)
      const items = this.#nodeErrors.get(node) ?? []
      return { items, count: items.length }
    },
    fires: async node => {
      this.#nodeExists(node)
      return { items: [], count: 0 }
    },
    try: async (node, { inputs = {} }) => {
      this.#nodeExists(node)
      const nothing = { emissions: [], emitted: 0, log: [], log_dropped: 0, metrics: {}, report: null, left_out: [] }
      return { inputs, outputs: null, ...nothing, state: {}, duration_s: 0, error: null }
    },
    acknowledge: async node => {
      this.#nodeExists(node)
      for (const error of this.#nodeErrors.get(node) ?? []) error.acknowledged = true
      this.#event('node_acknowledged', node.split('.')[0]!, { node })
    },
  }

  readonly observe: Observe = {
    summary: async (): Promise<Summary> => {
      this.#check()
      const flows = [...this.#flows.values()]
      return {
        version: VERSION,
        status: 'ok',
        started_at: formatTime(1_767_225_600_000_000),
        uptime_s: 1.5,
        flows: { total: flows.length, enabled: flows.filter(flow => flow.enabled).length, with_issues: 0 },
        backlog: [],
        nodes_down: 0,
        node_errors: 0,
        cascades: { in_flight: 0, limit: 1000 },
        threads: [{ slot: 1, kind: 'front', epoch: 1, state: 'busy', heap_bytes: 1, node: null }],
        dropped: {},
        disk: [{ class: 'history', bytes: 0, budget_bytes: 1 }],
        front: { held: 0, longest_ms: 0 },
        memory: { rss_bytes: 1, arena_bytes: 0, arena_limit_bytes: 1 },
      }
    },
    timeseries: async (): Promise<TimeseriesPoint[]> => {
      this.#check()
      const ts = formatTime(1_767_225_600_000_000)
      return [{ ts, published: 1, executions: 1, errors: 0, cascades: 1, waiting: 0, sockets: 0 }]
    },
    events: async ({ flow, type, audit = false, actor = null, action = null, ...page }) => {
      this.#check()
      const matching = this.#events.filter(
        event =>
          (flow === null || event.flow === flow) &&
          (type === null || event.type === type) &&
          (actor === null || event['actor'] === actor) &&
          (action === null || event['action'] === action) &&
          (audit || event.type !== 'audit'),
      )
      return paged(matching, page)
    },
    cascades: async page => {
      this.#check()
      return paged(this.#cascades, page)
    },
    cascade: async id => {
      this.#check()
      const found = this.#cascades.find(cascade => cascade.id === id)
      if (!found) throw new ServiceError('cascade_not_found', `There is no cascade ${id}.`)
      return found
    },
    health: async () => {
      this.#check()
      return { status: 'ok' }
    },
    prometheus: () => ['# TYPE flow_engine_flows gauge\nflow_engine_flows 0\n'],
  }

  readonly cascades = {
    rerun: async (id: string): Promise<Rerun> => {
      const { flow, root, root_version, status } = await this.observe.cascade(id)
      if (status === 'succeeded') throw new ServiceError('cascade_succeeded', `Cascade ${id} has succeeded.`)
      this.#event('cascade_rerun', flow, { cascade: id })
      return { rerun_of: id, flow, root, root_version }
    },
  }

  fails(cascade: string): void {
    this.#cascades.find(one => one.id === cascade)!.status = 'failed'
  }

  /** Records a cascade, as the lanes would. */
  ran(flow: string, root: string): Cascade {
    const cascade: Cascade = {
      id: `019b0000-0000-7000-8000-${String(this.#cascades.length).padStart(12, '0')}`,
      flow,
      root,
      root_version: 1,
      parent: null,
      rerun_of: null,
      started_at: this.#tick(),
      duration: 0.001,
      status: 'succeeded',
      executions: 1,
      errors: 0,
    }
    this.#cascades.unshift(cascade)
    return cascade
  }
}

function dtypeOf(value: unknown): Dtype {
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'number') return Number.isInteger(value) ? 'int' : 'float'
  return typeof value === 'string' ? 'str' : 'json'
}
