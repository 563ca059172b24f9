import type { EngineEvent } from '../../protocol/nouns/event.ts'
import type { RunNode } from '../../protocol/nouns/run.ts'
import { Client, followLive } from '../client/client.ts'
import type { LiveSocket } from '../client/live/live-socket.ts'
import type { ListedRun } from '../client/runs/runs.ts'
import type { Address } from '../client/socket.ts'
import {
  type EngineState,
  hearActivity,
  hearEvent,
  LOG_KEPT,
  listFlows,
  newEngineState,
  type RunState,
} from './state/engine-state.ts'

/** What is asked for besides the socket, each for itself. */
type Asked = 'flows' | 'runs' | 'summary'

/** At least so long between two requests of a kind, and at most so long without one. */
const PACE_MS: Readonly<Record<Asked, readonly [least: number, most: number]>> = {
  flows: [1_000, 30_000],
  runs: [1_000, 5_000],
  summary: [5_000, 60_000],
}
/** An answer that took long is asked for so many times its time later. */
const COST = 20
const LOOK_MS = 250
/** Runs and waits that are shown at most. */
const RUNS_SHOWN = 100
/** Of so many runs the nodes are asked for. */
const RUNS_OPENED = 12
const EVENTS_AT_START = 100

const FLOW_EVENTS = /^(flow_|node_(error|acknowledged|down|up)|values_dropped|cycle_broken|engine_started)/
const RUN_EVENTS = /^(run_(created|started|finished|cancel_requested|node)|node_queued|engine_started)/

/**
 * Keeps what is known of an engine up to date: by one socket with figures and events, and by requests for what neither carries, when an event
 * says that it has changed, and now and then.
 */
export class Feed {
  readonly state: EngineState
  readonly #find: () => Address
  readonly #onFailure: (error: unknown) => void
  readonly #due = new Map<Asked, number>()
  readonly #earliest = new Map<Asked, number>()
  readonly #asking = new Set<Asked>()
  #socket: LiveSocket | null = null
  #client: { of: Address; client: Client } | null = null
  #look: NodeJS.Timeout | null = null
  #nodes_of: string | null = null
  #hasPanels = true

  private constructor(parts: { find: () => Address; name: string; onFailure: (error: unknown) => void }) {
    this.#find = parts.find
    this.#onFailure = parts.onFailure
    this.state = newEngineState(parts.find().url, parts.name)
  }

  /** Rejects when there is no engine, or when it does not let us in. */
  static async open(parts: { find: () => Address; name: string; onFailure: (error: unknown) => void }): Promise<Feed> {
    const feed = new Feed(parts)
    // The first answers are awaited, so that what is wrong is said on the first screen, and the second one begins full.
    await Promise.all([feed.#ask('summary'), feed.#ask('flows')])
    await feed.#readLog()
    await feed.#follow()
    feed.#look = setInterval(() => feed.#askWhatIsDue(), LOOK_MS)
    feed.#want('runs')
    return feed
  }

  close(): void {
    if (this.#look !== null) clearInterval(this.#look)
    this.#socket?.close()
    this.#client?.client.close()
  }

  /** A line of the log that comes from elsewhere. */
  note(text: string): void {
    hearEvent(this.state, { type: 'note', ts: new Date().toISOString(), flow: null, run: null, text })
  }

  /** The figures of its nodes come from now on. */
  openFlow(name: string | null): void {
    if (this.#nodes_of === name) return
    this.#nodes_of = name
    this.#socket?.followNodes(name)
  }

  async #follow(): Promise<void> {
    this.#socket = await followLive({
      find: this.#find,
      onActivity: frame => {
        if (hearActivity(this.state, frame, performance.now())) this.#want('flows')
      },
      onEvent: event => this.#hear(event),
      onLink: url => {
        this.state.isConnected = url !== null
        // What happened meanwhile is not told again.
        if (url !== null) for (const what of ['flows', 'runs', 'summary'] as const) this.#want(what)
      },
      onFailure: this.#onFailure,
    })
  }

  #hear(event: EngineEvent): void {
    hearEvent(this.state, event)
    if (FLOW_EVENTS.test(event.type)) this.#want('flows')
    if (RUN_EVENTS.test(event.type)) this.#want('runs')
    if (event.type === 'engine_started') this.#want('summary')
  }

  /** Soon, but not more often than its pace. */
  #want(what: Asked): void {
    const now_ms = performance.now()
    this.#due.set(what, Math.min(this.#due.get(what) ?? now_ms, Math.max(now_ms, this.#earliest.get(what) ?? 0)))
  }

  #askWhatIsDue(): void {
    const now_ms = performance.now()
    for (const what of ['flows', 'runs', 'summary'] as const) {
      if (this.#asking.has(what) || now_ms < (this.#due.get(what) ?? 0)) continue
      // A lost engine says so by its figures; a request that fails is repeated in its turn.
      this.#ask(what).catch(() => {})
    }
  }

  async #ask(what: Asked): Promise<void> {
    const [least_ms, most_ms] = PACE_MS[what]
    const began_ms = performance.now()
    this.#asking.add(what)
    this.#due.set(what, began_ms + most_ms)
    try {
      await this.#read(what, this.#asker())
    } finally {
      const now_ms = performance.now()
      const earliest_ms = now_ms + Math.max(least_ms, (now_ms - began_ms) * COST)
      this.#earliest.set(what, earliest_ms)
      this.#due.set(what, Math.max(this.#due.get(what)!, earliest_ms))
      this.#asking.delete(what)
    }
  }

  /** A restarted engine may be elsewhere, and have another token. */
  #asker(): Client {
    const { url, token } = this.#find()
    const known = this.#client
    if (known !== null && known.of.url === url && known.of.token === token) return known.client
    known?.client.close()
    const client = new Client({ url, token })
    this.#client = { of: { url, token }, client }
    return client
  }

  async #read(what: Asked, client: Client): Promise<void> {
    const { state } = this
    switch (what) {
      case 'flows':
        return listFlows(state, (await client.flows.list()).items)
      case 'summary': {
        const { version, started_at } = await client.status()
        state.version = version
        state.started_ms = Date.parse(started_at)
        if (this.#hasPanels) state.panels = await this.#panels(client)
        return
      }
      case 'runs':
        return this.#readRuns(client)
    }
  }

  /** Not everybody may list them. */
  async #panels(client: Client): Promise<number | null> {
    try {
      return (await client.panels.list(1)).count
    } catch {
      this.#hasPanels = false
      return null
    }
  }

  async #readRuns(client: Client): Promise<void> {
    const [resources, running, queued] = await Promise.all([
      client.resources(),
      client.runs.page({ status: 'running' }, RUNS_SHOWN),
      client.runs.page({ status: 'queued' }, RUNS_SHOWN),
    ])
    const opened = await Promise.all(
      running.items.map((run, at) => (at < RUNS_OPENED ? client.runs.nodes(run.id).catch(() => null) : null)),
    )
    const now_ms = Date.now()
    this.state.resources = resources
    this.state.runs = [
      ...running.items.map((run, at) => runState(run, opened[at]?.items ?? null, now_ms)).reverse(),
      ...queued.items.map(run => runState(run, null, now_ms)).reverse(),
    ]
  }

  async #readLog(): Promise<void> {
    const { items } = await this.#asker().events.list({ limit: Math.min(EVENTS_AT_START, LOG_KEPT) })
    for (const event of items.reverse()) hearEvent(this.state, event)
  }
}

const OVER = new Set<RunNode['status']>(['succeeded', 'failed', 'cancelled', 'cached', 'skipped'])

/** Each node is an equal part; one that runs counts by the time that it was said to take. */
function runState(run: ListedRun, nodes: readonly RunNode[] | null, now_ms: number): RunState {
  const { id, flow, created_at, started_at } = run
  const status = run.status === 'running' ? 'running' : 'queued'
  const known = { id, flow, status, created_at, started_at } as const
  if (nodes === null) return { ...known, progress: null, isWorking: true, doing: '' }
  const done = nodes.reduce((sum, node) => sum + shareOf(node, now_ms), 0)
  const active = nodes.filter(node => node.status === 'running')
  const waiting = nodes.filter(node => node.status === 'queued')
  const doing =
    active.length > 0
      ? active.map(({ node }) => node).join(', ')
      : waiting.length > 0
        ? `${waiting[0]!.node} waits`
        : `${nodes.filter(node => OVER.has(node.status)).length} of ${nodes.length} nodes`
  const isWorking = active.length > 0 || waiting.length === 0
  return { ...known, progress: nodes.length === 0 ? 0 : done / nodes.length, isWorking, doing }
}

function shareOf({ status, started_at, duration_s }: RunNode, now_ms: number): number {
  if (OVER.has(status)) return 1
  if (status !== 'running' || started_at === null || duration_s === null || duration_s <= 0) return 0
  return Math.min(0.95, Math.max(0, (now_ms - Date.parse(started_at)) / 1000 / duration_s))
}
