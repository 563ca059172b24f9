import { Worker } from 'node:worker_threads'
import { callEnvironment, threadShare } from '../core/flow/environment.ts'
import { askedBy } from '../core/flow/resources.ts'
import { JOURNAL } from '../core/memory/journal/journal.ts'
import { SLOT } from '../core/memory/threads.ts'
import { ServiceError } from '../protocol/errors.ts'
import { limits } from '../protocol/limits.ts'
import type { EngineEvent, EventType } from '../protocol/nouns/event.ts'
import { formatTime, nowUs } from '../protocol/time.ts'
import { newEncoded } from '../protocol/values/codec.ts'
import { VERSION } from '../protocol/version.ts'
import type { CallRequest, Note } from '../threads/lane/messages.ts'
import { nodeTypes } from '../threads/nodes/index.ts'
import { StripThread } from '../threads/nodes/strip-thread.ts'
import type { FromTimer, TimerTask, ToTimer } from '../threads/timer/messages.ts'
import { EngineArtifacts } from './artifacts/artifacts.ts'
import { CallDesk } from './calls/call-desk.ts'
import type { LostCall } from './calls/call-sink.ts'
import { localMachine } from './calls/local-machine.ts'
import type { ProcessDoor } from './calls/processes/process-pool.ts'
import type { WorkerHub } from './calls/processes/worker-hub.ts'
import { type Grant, ResourceDesk } from './calls/resource-desk.ts'
import type { Config } from './config.ts'
import type { Engine } from './engine.ts'
import { CascadeCounts } from './fanout/cascade-counts.ts'
import { Fanout } from './fanout/fanout.ts'
import { JournalTap } from './fanout/journal-tap.ts'
import { Bodies } from './flows/bodies.ts'
import { EndedFlows } from './flows/ended-flows.ts'
import { LiveFlavors } from './flows/flavors.ts'
import { heldArtifacts } from './flows/held-artifacts.ts'
import { LiveFlows } from './flows/live-flows.ts'
import { LiveMessages } from './flows/live-messages.ts'
import { LiveNodes } from './flows/live-nodes.ts'
import { loopThrough } from './flows/loop-through.ts'
import { MessageMap } from './flows/message-map.ts'
import { Names } from './flows/names.ts'
import { restore } from './flows/restore.ts'
import { type LiveBounds, liveBounds } from './lanes/bounds.ts'
import type { FrontMemory } from './lanes/front-memory.ts'
import { type LaneDeath, LaneTeam } from './lanes/lane-team.ts'
import { RestartPace } from './lanes/restart-pace.ts'
import { ThreadNotes } from './lanes/thread-notes.ts'
import { NodeHealth } from './observe/node-health.ts'
import { LiveObserve } from './observe/observe.ts'
import { Samples } from './observe/samples.ts'
import type { Log } from './observe/serve-log.ts'
import { BatchRuns } from './runs/batch-runs.ts'
import { CodeDigest } from './runs/code-digest.ts'
import { Coordinator } from './runs/coordinator.ts'
import { StageCache } from './runs/stage-cache.ts'
import type { Store } from './store/front/client.ts'
import { type OpenedStore, openStore } from './store/front/open-store.ts'
import type { Loaded, StoreHealth } from './store/front/replies.ts'

export interface LiveEngineOptions {
  readonly config: Pick<
    Config,
    | 'lanes'
    | 'isolation'
    | 'max_cascades'
    | 'max_runs'
    | 'max_workers'
    | 'timezone'
    | 'max_artifact_bytes'
    | 'artifact_gc_interval_s'
    | 'cpus'
    | 'gpus'
  >
  readonly data_dir: string
  readonly log: Log
  /** The store when it is being opened already. */
  readonly opening?: Promise<OpenedStore>
  /** Those of `bounds.ts` when absent. */
  readonly bounds?: LiveBounds
  /** The store thread ended, or something else that the process cannot outlive. */
  readonly onFatal: (error: Error) => void
}

/**
 * The live engine: the one place where its parts are put together, and the order in which they start and end.
 *
 *   open:  store thread (loads) -> values, states, held values -> [HTTP answers] -> start: lanes, timer, tap, watch
 *   close: timer -> lanes -> calls -> tap -> store (last commit)
 */
export class LiveEngine implements Engine {
  readonly flows: LiveFlows
  readonly messages: LiveMessages
  readonly nodes: LiveNodes
  readonly observe: LiveObserve
  readonly runs: BatchRuns
  readonly flavors: LiveFlavors
  readonly workers: ResourceDesk
  readonly artifacts: EngineArtifacts
  readonly fanout: Fanout
  readonly map: MessageMap
  readonly store: Store
  readonly loaded: Loaded
  readonly front: FrontMemory

  readonly #options: LiveEngineOptions
  readonly #health = new NodeHealth()
  readonly #ended: EndedFlows
  readonly #strip = new StripThread()
  readonly #tap: JournalTap
  readonly #team: LaneTeam
  readonly #desk: CallDesk
  readonly #samples: Samples
  readonly #cache: StageCache
  readonly #coordinator: Coordinator
  readonly #timers: ToTimer[]
  #timer: Worker | null = null
  #timer_left: Promise<void> = Promise.resolve()
  readonly #timer_pace = new RestartPace()
  #watch: NodeJS.Timeout | null = null
  #closing = false
  #disk_full = false

  static async open(options: LiveEngineOptions): Promise<LiveEngine> {
    const { front, store, loaded } = await (options.opening ?? openStore(options))
    return new LiveEngine(options, front, store, loaded)
  }

  private constructor(options: LiveEngineOptions, front: FrontMemory, store: Store, loaded: Loaded) {
    this.#options = options
    this.front = front
    this.store = store
    this.loaded = loaded
    const { config, log } = options
    const names = new Names(front)
    const map = new MessageMap()
    this.map = map
    const bodies = new Bodies(options.data_dir)
    const announce = (type: EventType, flow: string | null, more: Record<string, unknown> = {}): void =>
      this.#announce(type, flow, more)
    const onDefect = (error: unknown): void => log.error('defect', { error })

    const checking = newEncoded()
    const fits = (value: unknown, dtype: Parameters<typeof front.codec.encode>[1]) =>
      front.codec.encode(value, dtype, checking)
    const rules = {
      types: nodeTypes({ timezone: config.timezone, strip: this.#strip.strip, fits }),
      fits,
      flavor: (name: string) => this.flavors.find(name),
    }
    this.#ended = new EndedFlows(front, (flow, reason, count) => {
      this.#health.dropped(flow, reason, count)
      announce('values_dropped', flow, { reason, count })
    })
    this.flows = new LiveFlows({
      front,
      ended: this.#ended,
      store,
      names,
      map,
      bodies,
      health: this.#health,
      rules,
      isolation: config.isolation === 'process' ? 'process' : null,
      toLanes: message => this.#team.post(message),
      toTimer: message => this.#timer?.postMessage(message),
      announce,
      assertNoLiveRun: flow => {
        if (this.#coordinator.hasLive(flow))
          throw new ServiceError('flow_has_live_run', `Runs of "${flow}" wait or run.`)
      },
      renamed: (from, to) => this.#coordinator.renamed(from, to),
      changed: (flow, removed) => this.fanout.flowChanged(flow, removed),
    })
    this.fanout = new Fanout({
      values: front.messages,
      directory: map,
      decoder: front.codec,
      scratch: { ...newEncoded(), version: 0, ts: 0 },
      onDefect,
    })
    store.followHealth(health => this.#storeHealth(health))
    this.flows.load(loaded.flows)
    for (const error of loaded.node_errors) this.#health.failed(error)
    this.#timers = restore(loaded, front, map, names)

    const cascades = new CascadeCounts(front.memory.sizes.flows)
    const notes = new ThreadNotes({
      health: this.#health,
      log,
      engine_epoch: loaded.engine_epoch,
      send: event => this.fanout.event(event),
      announce,
      cyclesThrough: flow => this.flows.cyclesThrough(flow),
      loopThrough: node => {
        const [flow = '', id = ''] = node.split('.')
        const plan = this.flows.find(flow)?.plan
        return plan ? loopThrough(plan, id) : []
      },
    })
    this.#tap = new JournalTap({
      memory: front.memory,
      fanout: this.fanout,
      cascades,
      decoder: front.codec,
      onNote: note => notes.take(note as Note),
      onDefect,
    })
    this.artifacts = new EngineArtifacts({
      data_dir: options.data_dir,
      max_bytes: config.max_artifact_bytes,
      interval_s: config.artifact_gc_interval_s,
      recorded: digests => store.recordedArtifacts(digests),
      held: () => heldArtifacts(front, map),
      isRunInFlight: () => this.#coordinator.inFlight > 0,
      swept: report => announce('artifacts_swept', null, { ...report }),
      failed: error => log.error('artifacts_not_swept', { error }),
    })
    this.flavors = new LiveFlavors({ stored: loaded.flavors, store: store.flavors, flows: this.flows, announce })
    this.workers = new ResourceDesk({
      memory: front.memory,
      owner: front.owner,
      machine: localMachine(config),
      now_us: nowUs,
      announce,
    })
    this.#desk = new CallDesk({
      slots: config.max_workers,
      bodies: bodies.folder,
      artifacts: this.artifacts.place,
      bounds: options.bounds ?? liveBounds,
      operator: process.env,
      environment: (node, grant) => {
        const { granted = null, cards = [] } = grant ?? {}
        const share = threadShare(config.cpus, config.max_workers)
        return callEnvironment({ declared: node.resources.env, granted, cards, share, operator: process.env })
      },
      onLost: (node, code, thread) =>
        announce('thread_replaced', node.slice(0, node.indexOf('.')), { node, code, thread }),
    })
    this.#team = new LaneTeam({
      front,
      lanes: config.lanes,
      bodies: bodies.folder,
      artifacts: this.artifacts.place,
      max_cascades: config.max_cascades,
      bounds: options.bounds ?? liveBounds,
      plans: () => this.flows.plans(),
      timerPort: port => this.#timer?.postMessage({ type: 'lane', port } satisfies ToTimer, [port]),
      dispatch: (request, lost) => this.#dispatch(request, lost),
      onBlocked: node => this.#blocked(names.nodeName(node)),
      onDeath: death => this.#laneDied(death, names),
    })
    const code = new CodeDigest(options.data_dir, onDefect)
    this.#cache = new StageCache({ store: store.runs, hasArtifact: digest => this.artifacts.has(digest) })
    this.#coordinator = new Coordinator({
      store: store.runs,
      cache: this.#cache,
      desk: this.#desk,
      resources: this.workers,
      flavorOf: name => this.flavors.find(name),
      max_runs: config.max_runs,
      epoch: loaded.engine_epoch,
      runnable: (flow, commit) => this.flows.runnable(flow, commit),
      codeDigest: async () => {
        const now = await code.read()
        this.#desk.loadUnder(now?.digest ?? null)
        return now
      },
      note: note => notes.take(note),
      announce,
      tell: event => this.fanout.event(event),
      isWatched: () => !this.fanout.isAlone,
      onDefect,
    })
    this.#coordinator.load(loaded.runs)
    this.runs = new BatchRuns({
      store: store.runs,
      coordinator: this.#coordinator,
      flow: name => this.flows.existing(name),
      dtypeOf: (flow, message) => this.flows.dtypeOf(flow, message),
      fits,
      hasArtifact: digest => this.artifacts.has(digest),
      announce,
      tell: event => this.fanout.event(event),
    })
    this.messages = new LiveMessages(front, map, names, store)
    this.nodes = new LiveNodes({ flows: this.flows, health: this.#health, store, announce })
    const parts = {
      front,
      store,
      flows: this.flows,
      messages: this.messages,
      names,
      health: this.#health,
      team: this.#team,
    }
    this.observe = new LiveObserve({
      ...parts,
      fanout: this.fanout,
      tap: this.#tap,
      cascades,
      max_cascades: config.max_cascades,
    })
    this.#samples = new Samples({
      front,
      store,
      flows: this.flows,
      messages: this.messages,
      cascades,
      fanout: this.fanout,
    })
  }

  /** A full disk and its end are told once each. The event of the former is not kept: there is no room for it. */
  #storeHealth({ disk_full, dropped }: StoreHealth): void {
    if (disk_full === this.#disk_full) return
    this.#disk_full = disk_full
    this.#options.log.warn(disk_full ? 'disk_full' : 'disk_recovered', { dropped })
    this.#announce(disk_full ? 'disk_full' : 'disk_recovered', null, { dropped })
  }

  /** Threads that the first answer does not need. Resolves when live flows run. */
  async start(): Promise<void> {
    this.#tap.start()
    this.#startTimer()
    this.#team.start()
    this.#watch = setInterval(() => this.#look(), limits.HEAP_WATCH_MS)
    this.#watch.unref()
    this.#samples.start()
    this.artifacts.start()
    await this.#team.ready()
    this.flows.startTimers()
    for (const timer of this.#timers) this.#timer?.postMessage(timer)
    await this.#cache.load()
    this.#coordinator.start()
    this.#announce('engine_started', null, { version: VERSION, interrupted: this.loaded.interrupted })
  }

  async refreshModules(): Promise<void> {
    this.#desk.refresh()
    await this.#team.refresh()
  }

  /** Where worker processes attach. */
  get hub(): WorkerHub {
    return this.#desk.hub
  }

  /** The engine answers: worker processes can dial it. */
  openDoor(door: ProcessDoor): void {
    this.#desk.open(door)
  }

  /** To be called before the front ends the connections of worker processes: what they run is ended by `close`, for its own reason. */
  prepareClose(): void {
    this.#desk.prepareClose()
  }

  async close(): Promise<void> {
    if (this.#closing) return
    this.#closing = true
    if (this.#watch !== null) clearInterval(this.#watch)
    this.#samples.stop()
    this.#ended.close()
    this.#timer?.postMessage({ type: 'stop' } satisfies ToTimer)
    await this.#timer_left
    this.workers.close()
    await this.#coordinator.close()
    await this.#team.close()
    await this.#desk.close()
    await this.artifacts.close()
    this.#strip.close()
    await this.#tap.stop()
    await this.store.close()
  }

  #startTimer(): void {
    const { config, bounds = liveBounds } = this.#options
    const { degraded_after_ms } = bounds
    const task: TimerTask = { sab: this.front.memory.sab, time_zone: config.timezone, degraded_after_ms }
    const timer = new Worker(new URL('../threads/timer/timer.ts', import.meta.url), { name: 'timer', workerData: task })
    this.#timer = timer
    const left = Promise.withResolvers<void>()
    this.#timer_left = left.promise
    timer.on('message', (message: FromTimer) => {
      if (message.type === 'left') left.resolve()
    })
    timer.on('error', error => this.#options.log.error('timer_failed', { error }))
    timer.on('exit', () => {
      left.resolve()
      if (!this.#closing) this.#timerDied()
    })
  }

  /**
   * No user code runs on the timer thread, so this is a defect; it is mended like any other thread's death, but a thread that
   * dies at every start takes the engine along, which the supervisor starts anew.
   */
  #timerDied(): void {
    const owner = this.front.threads.markDead(SLOT.timer)
    if (owner !== 0) this.front.recover(owner)
    this.#announce('thread_replaced', null, { thread: 'timer' })
    const pause_ms = this.#timer_pace.died(performance.now())
    if (pause_ms === null)
      return this.#options.onFatal(new ServiceError('thread_lost', 'The timer thread ends again and again.'))
    setTimeout(() => this.#restartTimer(), pause_ms).unref()
  }

  /** Lanes talk to the timer through ports that they were given at their start, so they are replaced with it. */
  #restartTimer(): void {
    if (this.#closing) return
    this.#startTimer()
    this.flows.startTimers()
    void this.#team.refresh()
  }

  #look(): void {
    this.#team.watch(performance.now())
    this.front.arena.collect()
    this.#desk.watch()
  }

  #blocked(node: string | null): void {
    if (node === null) return
    const ms = (this.#options.bounds ?? liveBounds).blocked_lane_ms
    this.#health.trouble(
      node,
      'blocked_lane',
      `${node} blocked its lane for more than ${ms} ms: it runs in a call slot from its next execution on. Let it yield, or declare a timeout.`,
      nowUs(),
    )
    this.#announce('node_promoted', node.slice(0, node.indexOf('.')), { node, reason: 'blocked_lane' })
  }

  /** What ran on the lane is named, and its node shows why it ended. */
  #laneDied(death: LaneDeath, names: Names): void {
    const { code, message, slot, stack, interrupted } = death
    const node = death.node === null ? null : names.nodeName(death.node)
    this.#options.log.warn('lane_died', { slot, code, message, node, interrupted })
    const flow = node === null ? null : node.slice(0, node.indexOf('.'))
    this.#announce('thread_replaced', flow, { thread: 'lane', slot, code, node, interrupted })
    if (node === null) return
    const ts = nowUs()
    const text = `${message} The node runs in a call slot from now on.`
    this.#health.failed({
      node,
      code,
      message: text,
      stack,
      ts: formatTime(ts),
      inputs: null,
      cascade: null,
      acknowledged: false,
    })
    this.#note({
      type: 'error',
      node,
      code,
      message: text,
      stack,
      ts,
      inputs: null,
      cascade_seq: 0,
      cascade_ts: 0,
    })
  }

  /** Into the front's own journal, from which the store keeps it. */
  #note(note: Note): void {
    const { journal, codec } = this.front
    const bytes = codec.encodePlain(note)
    if (!journal.hasRoom(bytes.length + 64)) return
    journal.blob(JOURNAL.note, 0, note.ts, bytes, bytes.length)
    journal.mark()
  }

  /** A call of a live node: what it declares is claimed first, and given back when its thread is free or gone. */
  #dispatch(request: CallRequest, lost: LostCall): void {
    const { node } = request
    const take = (grant: Grant | null): void =>
      this.#desk.take(request, grant, lost, () => grant && this.workers.release(grant))
    try {
      const asked = askedBy(node, name => this.flavors.find(name))
      if (asked === null) return take(null)
      this.workers.claim({ node: node.qualified, run: null, asked }).promise.then(
        grant => take(grant),
        error => lost(error.code, error.detail),
      )
    } catch (error) {
      const { code, detail } = error instanceof ServiceError ? error : new ServiceError('internal')
      lost(code, detail)
    }
  }

  #announce(type: EventType, flow: string | null, more: Record<string, unknown>): void {
    const event: EngineEvent = { type, ts: formatTime(nowUs()), flow, run: null, ...more }
    this.store.event(event)
    this.fanout.event(event)
  }
}
