import { limits } from '../protocol/limits.ts'
import { VERSION } from '../protocol/version.ts'
import type { EngineArtifacts } from './artifacts/artifacts.ts'
import type { ProcessDoor } from './calls/processes/process-pool.ts'
import type { WorkerHub } from './calls/processes/worker-hub.ts'
import type { ResourceDesk } from './calls/resource-desk.ts'
import { compose } from './compose.ts'
import type { Dashboards } from './dashboards/dashboards.ts'
import type { Locks } from './dashboards/locks.ts'
import type { Engine } from './engine.ts'
import type { LiveEngineOptions } from './engine-options.ts'
import { seenByNode, shares } from './every-flow.ts'
import type { Fanout } from './fanout/fanout.ts'
import type { FigureFeed } from './fanout/figures/feed.ts'
import type { LiveFlavors } from './flows/flavors.ts'
import type { LiveFlows } from './flows/flows.ts'
import type { MessageMap } from './flows/message-map.ts'
import type { LiveMessages } from './flows/messages.ts'
import type { LiveNodes } from './flows/nodes.ts'
import type { LiveCascades } from './flows/reruns.ts'
import type { LiveHooks } from './hooks/hooks.ts'
import type { Activity } from './observe/activity.ts'
import type { Announcer } from './observe/announcer.ts'
import type { LiveObserve } from './observe/observe.ts'
import type { ShownMedia } from './panels/shown-media.ts'
import { type SourceTrouble, troubleOfSource } from './panels/sources.ts'
import type { BatchRuns } from './runs/batch-runs.ts'
import type { StoredRunLogs } from './runs/run-logs.ts'
import { Sealing } from './secrets/sealing.ts'
import { type LiveSecrets, OpenedSecrets } from './secrets/secrets.ts'
import { type OpenedStore, openStore } from './store/front/open-store.ts'

/**
 * The live engine: the order in which its parts start and end.
 *
 *   open:  store thread (loads) -> values, states, held values -> [HTTP answers] -> start: lanes, timer, tap, watch
 *   close: connectors -> timer -> lanes -> calls -> tap -> store (last commit)
 */
export class LiveEngine implements Engine {
  readonly flows: LiveFlows
  readonly messages: LiveMessages
  readonly nodes: LiveNodes
  readonly cascades: LiveCascades
  readonly observe: LiveObserve
  readonly runs: BatchRuns
  readonly run_logs: StoredRunLogs
  readonly flavors: LiveFlavors
  readonly workers: ResourceDesk
  readonly artifacts: EngineArtifacts
  readonly hooks: LiveHooks
  readonly secrets: LiveSecrets
  readonly fanout: Fanout
  readonly activity: Activity
  readonly figures: FigureFeed
  readonly dashboards: Dashboards
  readonly locks: Locks
  readonly shown_media: ShownMedia
  readonly map: MessageMap
  readonly store: OpenedStore['store']
  readonly front: OpenedStore['front']
  readonly announce: Announcer['announce']
  /** Who had signed in and out before this start. */
  readonly sign_ins: OpenedStore['loaded']['sign_ins']
  /** Of the store, as they were at this start. */
  readonly settings: OpenedStore['loaded']['settings']
  readonly #parts: ReturnType<typeof compose>
  #watch: NodeJS.Timeout | null = null
  #closing = false

  static async open(options: LiveEngineOptions): Promise<LiveEngine> {
    const opened = await (options.opening ?? openStore(options))
    const secrets = await OpenedSecrets.open(opened.store.records, new Sealing(options.key_file))
    const engine = new LiveEngine(compose(options, opened, secrets))
    await engine.dashboards.load()
    return engine
  }

  private constructor(parts: ReturnType<typeof compose>) {
    this.#parts = parts
    this.flows = parts.flows
    this.messages = parts.messages
    this.nodes = parts.nodes
    this.cascades = parts.reruns
    this.observe = parts.observe
    this.runs = parts.runs
    this.run_logs = parts.run_logs
    this.flavors = parts.flavors
    this.workers = parts.workers
    this.artifacts = parts.artifacts
    this.hooks = parts.hooks
    this.secrets = parts.secrets
    this.fanout = parts.fanout
    this.activity = parts.activity
    this.figures = parts.figures
    this.dashboards = parts.dashboards
    this.locks = parts.locks
    this.shown_media = parts.shown_media
    this.map = parts.map
    this.store = parts.store
    this.front = parts.front
    this.announce = parts.announce
    this.sign_ins = parts.loaded.sign_ins
    this.settings = parts.loaded.settings
  }

  /** Threads that the first answer does not need. Resolves when live flows run. */
  async start(): Promise<void> {
    const {
      tap,
      timer,
      connectors,
      team,
      samples,
      latencies,
      overload,
      flows,
      front,
      timers,
      cache,
      coordinator,
      retention,
      loaded,
      announce,
      log,
    } = this.#parts
    tap.start()
    timer.start()
    team.start()
    this.#watch = setInterval(() => this.#look(), limits.HEAP_WATCH_MS)
    this.#watch.unref()
    samples.start()
    this.activity.start()
    latencies.start()
    overload.start(() => shares(front, flows))
    this.artifacts.start()
    await team.ready()
    flows.startTimers(seenByNode(loaded.fires_seen))
    for (const held of timers) timer.post(held)
    flows.startConnectors()
    connectors.begin()
    // Without it nodes that ran before are looked up one by one.
    await cache.load().catch(error => log.error('stage_cache_not_loaded', { error }))
    coordinator.start()
    retention.start()
    announce('engine_started', null, { version: VERSION, interrupted: loaded.interrupted })
  }

  async refreshModules(): Promise<void> {
    this.#parts.desk.refresh()
    await this.#parts.team.refresh()
  }

  /** Why no good values come of the message; null: nothing is wrong. */
  sourceTrouble(message: string): SourceTrouble | null {
    return troubleOfSource({ messages: this.map, health: this.#parts.health }, message)
  }

  /** Messages of a flow came or went. */
  onFlowChanged(follower: (flow: string) => void): void {
    this.#parts.flow_followers.push(follower)
  }

  /** Where worker processes attach. */
  get hub(): WorkerHub {
    return this.#parts.desk.hub
  }

  /** The engine answers: worker processes can dial it. */
  openDoor(door: ProcessDoor): void {
    this.#parts.desk.open(door)
  }

  /** To be called before the front ends the connections of worker processes: what they run is ended by `close`, for its own reason. */
  prepareClose(): void {
    this.#parts.desk.prepareClose()
  }

  async close(): Promise<void> {
    if (this.#closing) return
    this.#closing = true
    const {
      samples,
      latencies,
      overload,
      ended,
      timer,
      connectors,
      outboxes,
      workers,
      coordinator,
      retention,
      team,
      desk,
      artifacts,
      source_thread,
      tap,
      store,
      under_way,
    } = this.#parts
    if (this.#watch !== null) clearInterval(this.#watch)
    samples.stop()
    this.activity.stop()
    latencies.stop()
    overload.stop()
    ended.close()
    // What comes from outside ends first: nothing more is accepted, and what was is published.
    outboxes.close()
    await connectors.stop()
    await timer.stop()
    // Runs first, so that they end with their own error before the books refuse waiting claims. No body is waited for: the call desk ends
    // running bodies before any grace is over.
    const runs_ended = coordinator.close()
    workers.close()
    await retention.close()
    await team.close()
    await desk.close()
    await runs_ended
    await artifacts.close()
    source_thread.close()
    await tap.stop()
    await store.close()
    under_way.close()
  }

  #look(): void {
    const { team, front, desk, watch, clock_watch } = this.#parts
    const now_ms = performance.now()
    clock_watch.look()
    team.watch(now_ms)
    watch.look(now_ms)
    front.arena.collect()
    desk.watch()
  }
}
