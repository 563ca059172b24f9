import type { Worker } from 'node:worker_threads'
import { SLOT, THREAD_KIND, THREAD_ROW, THREAD_STATE } from '../../core/memory/threads.ts'
import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { Cascade } from '../../protocol/nouns/cascade.ts'
import type { EngineEvent } from '../../protocol/nouns/event.ts'
import type { FlowBacklog } from '../../protocol/nouns/flow.ts'
import type { List, Page } from '../../protocol/nouns/list.ts'
import type { DiskClass, Health, Summary, ThreadStatus, TimeseriesPoint } from '../../protocol/nouns/summary.ts'
import { formatTime } from '../../protocol/time.ts'
import { VERSION } from '../../protocol/version.ts'
import type { CascadeCounts } from '../fanout/cascade-counts.ts'
import type { Fanout } from '../fanout/fanout.ts'
import type { JournalTap } from '../fanout/journal-tap.ts'
import type { LiveFlows } from '../flows/flows.ts'
import type { LiveMessages } from '../flows/messages.ts'
import type { Names } from '../flows/names.ts'
import type { Latencies } from '../health/latencies.ts'
import type { NodeHealth } from '../health/node-health.ts'
import type { FrontMemory } from '../lanes/front-memory.ts'
import type { LaneTeam } from '../lanes/lane-team.ts'
import type { Store } from '../store/front/client.ts'
import { RETAINED, type RetainedClass } from '../store/front/retention.ts'
import type { FrontWatch } from '../watch/front-watch.ts'
import { inSlices } from '../watch/slices.ts'
import type { ThreadWatch } from '../watch/thread-watch.ts'
import type { Overload } from './overload.ts'
import { prometheusText } from './prometheus.ts'

export interface Observe {
  summary(): Promise<Summary>
  timeseries(query: {
    hours: number
    bucket_s: number
    since_us: number | null
    until_us: number | null
  }): Promise<TimeseriesPoint[]>
  events(
    query: Page & {
      flow: string | null
      run?: string | null
      type: string | null
      /** Those of type `audit`, too: for superusers. */
      audit?: boolean
      actor?: string | null
      action?: string | null
      since_us: number | null
      until_us: number | null
    },
  ): Promise<List<EngineEvent>>
  cascades(
    query: Page & { flow: string | null; status: string | null; since_us: number | null; before_us: number | null },
  ): Promise<List<Cascade>>
  cascade(id: string): Promise<Cascade>
  /** Rejects when a dependency (the store thread, a lane) stopped answering. */
  health(): Promise<Health>
  /** Prometheus text, in pieces of whole lines. */
  prometheus(): Iterable<string>
}

export interface LiveObserveParts {
  front: FrontMemory
  store: Store
  flows: LiveFlows
  messages: LiveMessages
  names: Names
  health: NodeHealth
  latencies: Latencies
  overload: Overload
  team: LaneTeam
  fanout: Fanout
  tap: JournalTap
  cascades: CascadeCounts
  watch: Pick<ThreadWatch, 'silent' | 'running'>
  max_cascades: number
  /** Of a class of run data; null: none. */
  budget(of: RetainedClass): number | null
  /** Of the artifacts; nothing before they were counted. */
  artifactDisk(): DiskClass[]
  front_watch: FrontWatch
}

const isRetained = (name: string): name is RetainedClass => (RETAINED as readonly string[]).includes(name)
const BACKLOGS_SHOWN = 100
const KIND_NAMES: Readonly<Record<number, string>> = Object.fromEntries(
  Object.entries(THREAD_KIND).map(([name, kind]) => [kind, name]),
)

/** What the engine says about itself. */
export class LiveObserve implements Observe {
  readonly #parts: LiveObserveParts
  readonly #started_us: number
  readonly #started_steady_us: number

  constructor(parts: LiveObserveParts) {
    this.#parts = parts
    this.#started_us = parts.front.clock.now_us()
    this.#started_steady_us = parts.front.clock.steady_us()
  }

  get #isDegraded(): boolean {
    const { store, health, watch, overload } = this.#parts
    const { fault, failure } = store.health
    const is_ill = fault !== null || failure !== null || health.downCount > 0 || watch.silent.length > 0
    return is_ill || overload.isOverloaded
  }

  get status(): 'ok' | 'degraded' {
    return this.#isDegraded ? 'degraded' : 'ok'
  }

  async summary(): Promise<Summary> {
    const { front, store, flows, health, fanout, tap, front_watch, max_cascades } = this.#parts
    const all = [...flows.all()]
    const held = front_watch.counts()
    const [disk, threads, troubles] = await Promise.all([store.disk(), this.#threads(), inSlices(flows.troubles())])
    const with_issues = troubles.values().reduce((count, { issues }) => count + Number(issues > 0), 0)
    const { dropped: history } = store.health
    const dropped = {
      ...health.droppedByReason(),
      history,
      journal_lapped: tap.counts().missed,
      fanout: fanout.counts().dropped,
    }
    return {
      version: VERSION,
      status: this.status,
      started_at: formatTime(this.#started_us),
      uptime_s: (front.clock.steady_us() - this.#started_steady_us) / 1e6,
      flows: { total: all.length, enabled: all.filter(flow => flow.enabled).length, with_issues },
      backlog: this.backlogs(),
      nodes_down: health.downCount,
      node_errors: health.unacknowledged,
      cascades: { in_flight: front.cascadesInFlight, limit: max_cascades },
      threads,
      dropped,
      front: { held: held.stretches, longest_ms: Math.round(held.longest_ms) },
      disk: [
        ...disk.map(part =>
          isRetained(part.class) ? { ...part, budget_bytes: this.#parts.budget(part.class) } : part,
        ),
        ...this.#parts.artifactDisk(),
      ],
      memory: {
        rss_bytes: process.memoryUsage.rss(),
        arena_bytes: front.arena.used(),
        arena_limit_bytes: limits.ARENA_BYTES,
      },
    }
  }

  /** Flows in which something waits, the fullest first. */
  backlogs(): FlowBacklog[] {
    const { front, flows } = this.#parts
    const backlogs: FlowBacklog[] = []
    const now_us = this.#parts.front.clock.now_us()
    for (const flow of flows.all()) {
      const waiting = front.flows.waiting(flow.index)
      if (waiting <= 0) continue
      const oldest_us = front.queue.oldest(flow.index)
      backlogs.push({
        flow: flow.name,
        waiting,
        waiting_bytes: front.flows.waitingBytes(flow.index),
        oldest_s: oldest_us === 0 ? null : Math.max(0, (now_us - oldest_us) / 1e6),
        share: front.flows.share(flow.index),
      })
    }
    return backlogs.sort((a, b) => b.share - a.share).slice(0, BACKLOGS_SHOWN)
  }

  async #threads(): Promise<ThreadStatus[]> {
    const { front, names, team, watch } = this.#parts
    const { memory, threads } = front
    const silent = new Set(watch.silent)
    const heaps = new Map(await Promise.all(team.workers.map(heapOf)))
    const statuses: ThreadStatus[] = []
    for (let slot = 1; slot < SLOT.lane + limits.LANE_SLOTS; slot++) {
      if (threads.state(slot) !== THREAD_STATE.running) continue
      const row = threads.row(slot) >> 2
      const node = memory.i32[row + THREAD_ROW.word.current_node]!
      const sleeping = Atomics.load(memory.i32, row + THREAD_ROW.word.sleeping) !== 0
      const kind = KIND_NAMES[threads.kind(slot)] ?? 'none'
      statuses.push({
        slot,
        kind,
        epoch: memory.i32[row + THREAD_ROW.word.epoch]!,
        state: silent.has(kind) ? 'silent' : sleeping ? 'idle' : 'busy',
        heap_bytes:
          slot === SLOT.front
            ? process.memoryUsage().heapUsed
            : slot >= SLOT.lane
              ? (heaps.get(memory.i32[row + THREAD_ROW.word.thread]!) ?? null)
              : null,
        node: node === 0 ? null : names.nodeName(node - 1),
      })
    }
    for (const kind of watch.running) {
      if (statuses.some(status => status.kind === kind)) continue
      const state = silent.has(kind) ? 'silent' : 'running'
      statuses.push({ slot: 0, kind, epoch: 0, state, heap_bytes: null, node: null })
    }
    return statuses
  }

  timeseries(query: {
    hours: number
    bucket_s: number
    since_us: number | null
    until_us: number | null
  }): Promise<TimeseriesPoint[]> {
    const { hours, bucket_s, since_us, until_us } = query
    return this.#parts.store.timeseries({ hours, bucket_s, since: since_us, until: until_us })
  }

  events(query: Parameters<Observe['events']>[0]): Promise<List<EngineEvent>> {
    const { since_us, until_us, ...rest } = query
    return this.#parts.store.events({ ...rest, since: since_us, until: until_us })
  }

  cascades(query: Parameters<Observe['cascades']>[0]): Promise<List<Cascade>> {
    const { limit, offset, flow, status, since_us, before_us } = query
    return this.#parts.store.cascades({ limit, offset, flow, status, since: since_us, before: before_us })
  }

  cascade(id: string): Promise<Cascade> {
    return this.#parts.store.cascade(id)
  }

  /** The store answers a synced write's flush, and the lanes have not all gone. */
  async health(): Promise<Health> {
    const { store, team, watch } = this.#parts
    const [silent] = watch.silent
    if (silent !== undefined) throw new ServiceError('unhealthy', `The ${silent} thread does not answer.`)
    const { fault } = store.health
    // Without room it does its work, less history; a disk that fails is no state to go on in.
    if (fault !== null && fault.code !== 'disk_full') throw new ServiceError(fault.code, `${fault.reason}.`)
    if (store.health.failure !== null) throw new ServiceError('store_failed', store.health.failure)
    const late = new Promise<'late'>(resolve => setTimeout(resolve, limits.STORE_ANSWER_MS, 'late').unref())
    if ((await Promise.race([store.flush(), late])) === 'late')
      throw new ServiceError('store_failed', `The store did not answer for ${limits.STORE_ANSWER_MS / 1000} s.`)
    if (team.size === 0) throw new ServiceError('starting', 'No lane runs yet.')
    return { status: this.#isDegraded ? 'degraded' : 'ok' }
  }

  prometheus(): Iterable<string> {
    return prometheusText({ ...this.#parts, backlogs: this.backlogs(), started_us: this.#started_us })
  }
}

const heapOf = async (worker: Worker): Promise<[thread: number, bytes: number | null]> => {
  const thread = worker.threadId
  return [thread, (await worker.getHeapStatistics().catch(() => null))?.used_heap_size ?? null]
}
