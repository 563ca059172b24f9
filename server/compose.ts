import { dirname } from 'node:path'
import { callEnvironment, threadShare } from '../core/flow/environment.ts'
import { ServiceError } from '../protocol/errors.ts'
import { formatTime } from '../protocol/time.ts'
import { newEncoded } from '../protocol/values/codec.ts'
import type { Note } from '../threads/lane/messages.ts'
import { nodeTypes } from '../threads/nodes/index.ts'
import { SourceThread } from '../threads/nodes/source-thread.ts'
import { Sources } from '../threads/nodes/sources.ts'
import { isConnector } from '../threads/nodes/types/index.ts'
import type { SeenFires } from '../threads/timer/messages.ts'
import { EngineArtifacts } from './artifacts/artifacts.ts'
import { type LiveBounds, liveBounds } from './calls/bounds.ts'
import { CallDesk } from './calls/call-desk.ts'
import { LiveCalls } from './calls/live-calls.ts'
import { localMachine } from './calls/local-machine.ts'
import { ArtifactExchange } from './calls/processes/artifact-exchange.ts'
import { exchangeFolder, findBodyUser, openTo } from './calls/processes/body-user.ts'
import { ResourceDesk } from './calls/resource-desk.ts'
import type { Config } from './config.ts'
import { ConnectorPlaces } from './connectors/connector-places.ts'
import { ConnectorsThread } from './connectors/connectors-thread.ts'
import { Outboxes } from './connectors/outboxes.ts'
import { SecretSettings } from './connectors/secret-settings.ts'
import { Dashboards } from './dashboards/dashboards.ts'
import { Locks } from './dashboards/locks.ts'
import { CascadeCounts } from './fanout/cascade-counts.ts'
import { Fanout } from './fanout/fanout.ts'
import { FigureFeed } from './fanout/figures/feed.ts'
import { JournalTap } from './fanout/journal-tap.ts'
import { ValueWaits } from './fanout/value-waits.ts'
import { Bodies, bodiesFolder } from './flows/bodies.ts'
import { EndedFlows } from './flows/changes/ended-flows.ts'
import { LiveFlavors } from './flows/flavors.ts'
import { LiveFlows } from './flows/flows.ts'
import { heldArtifacts } from './flows/held-artifacts.ts'
import { loopThrough } from './flows/loop-through.ts'
import { MessageMap } from './flows/message-map.ts'
import { LiveMessages } from './flows/messages.ts'
import { Names } from './flows/names.ts'
import { LiveNodes } from './flows/nodes.ts'
import { LiveCascades } from './flows/reruns.ts'
import { restore, sinceOfStates } from './flows/restart/restore.ts'
import { resume } from './flows/restart/resume.ts'
import { UnderWayFile } from './flows/restart/under-way.ts'
import { Latencies, type Measured } from './health/latencies.ts'
import { NodeHealth } from './health/node-health.ts'
import { LiveHooks } from './hooks/hooks.ts'
import { LaneFaults } from './lanes/lane-faults.ts'
import { LaneTeam } from './lanes/lane-team.ts'
import { ThreadNotes } from './lanes/thread-notes.ts'
import { timerThread } from './lanes/timer-thread.ts'
import { Activity } from './observe/activity.ts'
import { Announcer } from './observe/announcer.ts'
import { LiveFigures } from './observe/figures.ts'
import { LiveObserve } from './observe/observe.ts'
import { Overload } from './observe/overload.ts'
import { Samples } from './observe/samples.ts'
import type { Log } from './observe/serve-log.ts'
import { ShownMedia } from './panels/shown-media.ts'
import { BatchRuns } from './runs/batch-runs.ts'
import { CodeDigest } from './runs/code-digest.ts'
import { Coordinator } from './runs/coordinator.ts'
import { RunRetention } from './runs/retention.ts'
import { StoredRunLogs } from './runs/run-logs.ts'
import { StageCache } from './runs/stage-cache.ts'
import { maskedLog } from './secrets/masked-log.ts'
import type { KeyFile } from './secrets/sealing.ts'
import { LiveSecrets, type OpenedSecrets } from './secrets/secrets.ts'
import type { OpenedStore } from './store/front/open-store.ts'
import { SetBacks } from './store/front/set-backs.ts'
import { CLOCK_DOUBT, ClockWatch, parseClockDoubt } from './watch/clock-watch.ts'
import { FrontWatch } from './watch/front-watch.ts'
import { ThreadWatch } from './watch/thread-watch.ts'

export interface LiveEngineOptions {
  readonly config: Pick<
    Config,
    | 'lanes'
    | 'isolation'
    | 'body_user'
    | 'keep_node_errors'
    | 'max_cascades'
    | 'max_runs'
    | 'max_workers'
    | 'timezone'
    | 'max_artifact_bytes'
    | 'retention'
    | 'artifact_gc_interval_s'
    | 'artifacts_keep'
    | 'artifact_volatile_bytes'
    | 'reach'
    | 'cpus'
    | 'gpus'
  >
  readonly data_dir: string
  readonly log: Log
  /** What keys of secrets are derived from. */
  readonly key_file: KeyFile
  /** Over this thread; one that never looks when absent. */
  readonly front_watch?: FrontWatch
  /** The store when it is being opened already. */
  readonly opening?: Promise<OpenedStore>
  /** The machine's clock, milliseconds since 1970; `Date.now` when absent. */
  readonly wall_ms?: () => number
  /** What bodies of batch runs print is printed, too. */
  readonly prints?: boolean
  /** Those of `bounds.ts` when absent. */
  readonly bounds?: LiveBounds
  /** The store thread ended, or something else that the process cannot outlive. */
  readonly onFatal: (error: Error) => void
}

/**
 * Puts the parts of the live engine together and starts nothing. Parts that need each other do so through closures, which are called
 * after all of them have been made.
 */
export function compose(options: LiveEngineOptions, { front, store, loaded }: OpenedStore, opened: OpenedSecrets) {
  const { config, data_dir } = options
  const { masks, sab: mask_table } = opened.masking
  const log = maskedLog(options.log, masks)
  const bounds = options.bounds ?? liveBounds
  const onDefect = (error: unknown): void => log.error('defect', { error })
  const names = new Names(front)
  const map = new MessageMap()
  const body_user = config.body_user === null ? null : findBodyUser(config.body_user)
  if (body_user !== null) openTo(body_user, data_dir, bodiesFolder(data_dir))
  const bodies = new Bodies(data_dir, undefined, body_user !== null)
  const health = new NodeHealth(
    config.keep_node_errors
      ? null
      : node => {
          const index = names.findNode(node)
          return index === -1 ? 0 : front.counters.good(index)
        },
  )
  const source_thread = new SourceThread()
  const sources = new Sources(source_thread)
  const cascades = new CascadeCounts(front.memory.sizes.flows)
  const checking = newEncoded()
  const fits = (value: unknown, dtype: Parameters<typeof front.codec.encode>[1]) =>
    front.codec.encode(value, dtype, checking)

  // What users follow.
  const fanout = new Fanout({
    values: front.messages,
    directory: map,
    decoder: front.codec,
    scratch: { ...newEncoded(), version: 0, ts: 0 },
    media: {
      size: key => artifacts.volatile.size(key),
      readInto: (key, target, at) => artifacts.volatile.readInto(key, target, at),
      load: (digest, most) => artifacts.load(digest, most),
    },
    onDefect,
  })
  const { announce } = new Announcer({ store, fanout, log, masks, now_us: front.clock.now_us })

  // Screens.
  const locks = new Locks({ directory: map, values: front.messages, decoder: front.codec })
  const dashboards = new Dashboards({
    records: store.records,
    locks,
    messages: map,
    flows: { find: name => flows.find(name) },
    announce,
    now_us: front.clock.now_us,
  })
  /** Hear of each flow that was saved, renamed or deleted. */
  const flow_followers: ((flow: string) => void)[] = []
  const shown_media = new ShownMedia({
    messages: front.memory.sizes.messages,
    directory: map,
    values: front.messages,
    decoder: front.codec,
    now_ms: () => front.clock.steady_us() / 1000,
  })

  // Flows.
  const dropped = (flow: string, reason: string, count: number): void => {
    health.dropped(flow, reason, count)
    announce('values_dropped', flow, { reason, count })
  }
  const ended = new EndedFlows(front, dropped, onDefect)
  const overload = new Overload()
  const latencies = new Latencies({ counters: front.counters, rows: () => measured(flows), now_us: front.clock.now_us })
  const outboxes = new Outboxes()
  const flows = new LiveFlows({
    front,
    latencies,
    ended,
    dropped,
    store,
    names,
    map,
    bodies,
    health,
    rules: {
      types: nodeTypes({ timezone: config.timezone, fits, hasSecret: name => secrets.has(name) }, sources.get),
      prepare: nodes => sources.prepare(nodes),
      fits,
      flavor: name => flavors.find(name),
    },
    isolation: config.isolation === 'process' ? 'process' : null,
    outboxes,
    toLanes: message => team.post(message),
    toTimer: message => timer.post(message),
    toConnectors: flow => secret_settings.set(flow),
    purgeOnLanes: (flow, answers) => team.purge(flow, answers),
    announce,
    assertNoLiveRun: flow => {
      if (coordinator.hasLive(flow))
        throw new ServiceError('flow_has_live_run', `Flow "${flow}" has queued or running runs.`)
    },
    renamed: (from, to) => coordinator.renamed(from, to),
    dashboards,
    changed: (flow, removed) => {
      fanout.flowChanged(flow, removed)
      shown_media.messagesChanged()
      for (const follower of flow_followers) follower(flow)
    },
  })
  const secrets = new LiveSecrets({
    opened,
    store: store.records,
    flows: {
      all: () => flows.all(),
      find: name => flows.find(name),
      inTurn: change => flows.inTurn(change),
    },
    now_us: front.clock.now_us,
    changed: name => {
      secret_settings.changed(name)
      hooks.secretsChanged()
    },
    onDefect,
  })
  const secret_settings = new SecretSettings(secrets, flow => connectors.set(flow))
  const flavors = new LiveFlavors({ stored: loaded.flavors, store: store.flavors, flows, announce })
  flows.load(loaded.flows, sinceOfStates(loaded.states, front.codec))
  for (const error of loaded.node_errors) if (!error.acknowledged) health.failed(error, 0)
  const timers = restore(loaded, front, map, names, message => {
    const flow = message.slice(0, message.indexOf('.'))
    health.dropped(flow, 'arena_full', 1)
    announce('values_dropped', flow, { reason: 'arena_full', count: 1 })
  })
  const under_way = new UnderWayFile(data_dir, loaded.waiting, log)
  const resumed = resume(loaded.waiting, {
    front,
    map,
    find: name => flows.find(name),
    live: flows.all(),
    hasCrashed: (flow, message, version) => under_way.hasCrashed(flow, message, version),
  })
  store.resumed(resumed.flows)
  for (const { flow, reason, count, item } of resumed.dropped) {
    health.dropped(flow, reason, count)
    announce('values_dropped', flow, { reason, count, ...item })
    if (item !== undefined) log.error('item_dropped', { flow, reason, count, ...item })
  }

  // What threads say.
  const notes = new ThreadNotes({
    health,
    log,
    engine_epoch: loaded.engine_epoch,
    send: event => fanout.event(event),
    announce,
    cyclesThrough: flow => flows.cyclesThrough(flow),
    loopThrough: node => {
      const [flow = '', id = ''] = node.split('.')
      const plan = flows.find(flow)?.plan
      return plan ? loopThrough(plan, id) : []
    },
  })
  const waits = new ValueWaits(front.codec)
  const tap = new JournalTap({
    waits,
    watching: shown_media,
    memory: front.memory,
    fanout,
    cascades,
    decoder: front.codec,
    onNote: note => notes.take(note as Note),
    onDefect,
  })

  // Bodies away from the lanes.
  const artifacts = new EngineArtifacts({
    data_dir,
    max_bytes: config.max_artifact_bytes,
    volatile_bytes: config.artifact_volatile_bytes,
    shared: body_user !== null,
    interval_s: config.artifact_gc_interval_s,
    rule: config.artifacts_keep,
    clock: () => front.clock.age_us() / 1000,
    recorded: digests => store.recordedArtifacts(digests),
    held: () => heldArtifacts(front, map),
    isRunInFlight: () => coordinator.inFlight > 0,
    swept: report => {
      announce('artifacts_swept', null, { ...report })
      const { removed: count, removed_bytes: bytes } = report
      const audit = { action: 'artifacts_removed', actor: null, object: 'artifacts', address: '', result: 'ok' }
      if (count > 0) announce('audit', null, { ...audit, count, bytes })
    },
    overBudget: ({ bytes, over_bytes }) => {
      announce('artifacts_over_budget', null, { bytes, over_bytes, budget_bytes: config.artifacts_keep.bytes })
      log.warn('artifacts_over_budget', { bytes, over_bytes, budget_bytes: config.artifacts_keep.bytes })
    },
    failed: error => log.error('artifacts_not_swept', { error }),
  })
  const exchange =
    body_user === null
      ? null
      : new ArtifactExchange(exchangeFolder(data_dir), body_user.uid, (bytes, length) => artifacts.put(bytes, length))
  const workers = new ResourceDesk({
    memory: front.memory,
    owner: front.owner,
    machine: localMachine(config),
    steady_us: front.clock.steady_us,
    shownTime: steady_us => formatTime(front.clock.now_us() - (front.clock.steady_us() - steady_us)),
    announce,
  })
  const connector_places = new ConnectorPlaces(
    message => connectors.post(message),
    plan => secret_settings.plan(plan),
  )
  const desk = new CallDesk({
    slots: config.max_workers,
    bodies: bodies.folder,
    artifacts: artifacts.place,
    bounds,
    prints: options.prints ?? false,
    now_us: front.clock.now_us,
    operator: process.env,
    body_user,
    exchange,
    failed: error => log.error('artifact_not_stored', { error }),
    secret: (node, name) => secrets.asked(node, name),
    masks: mask_table,
    connectors: { places: connector_places, isConnector },
    environment: (node, grant) => {
      const { granted = null, cards = [] } = grant ?? {}
      const share = threadShare(config.cpus, config.max_workers)
      return callEnvironment({ declared: node.resources.env, granted, cards, share, operator: process.env })
    },
    onLost: (node, code, thread) =>
      announce('thread_replaced', node.slice(0, node.indexOf('.')), { node, code, thread }),
  })
  const calls = new LiveCalls({ desk, resources: workers, flavorOf: name => flavors.find(name) })

  // Lanes and timer.
  const faults = new LaneFaults({
    front,
    health,
    log,
    blocked_lane_ms: bounds.blocked_lane_ms,
    nodeName: node => names.nodeName(node),
    announce,
  })
  const team = new LaneTeam({
    front,
    lanes: config.lanes,
    bodies: bodies.folder,
    artifacts: artifacts.place,
    max_cascades: config.max_cascades,
    under_way: under_way.task(resumed.flows),
    bounds,
    plans: () => flows.plans(),
    planBytes: () => flows.planBytes(),
    outboxes: () => outboxes.all(),
    orphans: () => [...ended.indexes, ...[...flows.plans()].filter(plan => !plan.enabled).map(plan => plan.flow_index)],
    timerPort: port => timer.post({ type: 'lane', port }, [port]),
    dispatch: (request, lost, over) => calls.take(request, lost, over),
    secret: (node, name) => secrets.asked(node, name),
    masks: mask_table,
    onBlocked: node => faults.blocked(node),
    onDeath: death => faults.died(masks.deep(death)),
    onDefect,
    onFatal: options.onFatal,
  })
  const timer = timerThread({
    front,
    timezone: config.timezone,
    degraded_after_ms: bounds.degraded_after_ms,
    log,
    announce,
    // Lanes talk to the timer through ports that they were given at their start, so they are replaced with it.
    replaced: () => {
      // Up to where the thread had come.
      const seen = store.firesSeen().catch(() => [])
      seen
        .then(rows => flows.startTimers(seenByNode(rows)), onDefect)
        .then(() => team.refresh())
        .catch(onDefect)
    },
    onFatal: options.onFatal,
  })

  const connectors = new ConnectorsThread({
    front,
    log,
    artifacts: artifacts.place,
    masks: mask_table,
    folder: dirname(data_dir),
    reach: config.reach,
    timezone: config.timezone,
    announce,
    ended: message => connector_places.ended(message),
    lost: () => connector_places.lost(),
    onFatal: options.onFatal,
  })

  // Every thread that runs no bodies.
  const watched = [store, store.reader, artifacts.thread, timer, connectors]
  const watch = new ThreadWatch({ silent_ms: bounds.thread_silent_ms, log, announce }, watched)

  // Batch runs.
  const code = new CodeDigest(data_dir, onDefect)
  const cache = new StageCache({ store: store.runs, hasArtifact: digest => artifacts.has(digest) })
  const run_logs = new StoredRunLogs(store.logs)
  const coordinator = new Coordinator({
    store: store.runs,
    cache,
    desk,
    resources: workers,
    flavorOf: name => flavors.find(name),
    max_runs: config.max_runs,
    epoch: loaded.engine_epoch,
    runnable: (flow, commit) => flows.runnable(flow, commit),
    codeDigest: async () => {
      const now = await code.read()
      desk.loadUnder(now?.digest ?? null)
      return now
    },
    note: note => notes.take(note),
    now_us: front.clock.now_us,
    announce,
    tell: event => fanout.event(event),
    isWatched: () => !fanout.isAlone,
    logged: run => run_logs.written(run),
    keepArtifact: digest => artifacts.keep(digest),
    secretsOf: (flow, node) => secrets.usedBy(flow, node),
    masks,
    onDefect,
  })
  coordinator.load(loaded.runs)
  const runs = new BatchRuns({
    store: store.runs,
    coordinator,
    flow: name => flows.existing(name),
    codeDigest: () => code.read(),
    dtypeOf: (flow, message) => flows.dtypeOf(flow, message),
    fits,
    keepArtifact: digest => artifacts.keep(digest),
    leaveCache: runs => cache.leave(runs),
    masks,
    now_us: front.clock.now_us,
    announce,
    tell: event => fanout.event(event),
  })
  const retention = new RunRetention({
    rules: config.retention,
    store: store.retention,
    leaveCache: runs => cache.leave(runs),
    reuser: id => coordinator.reuser(id),
    age_us: front.clock.age_us,
    tell: event => fanout.event(event),
    failed: error => log.error('retention_failed', { error }),
  })

  const set_backs = new SetBacks(store, loaded)
  set_backs.addMissed(loaded, front.clock.now_us()).catch(onDefect)
  const clock_watch = new ClockWatch({
    clock: front.clock,
    wall_ms: options.wall_ms ?? Date.now,
    doubt: parseClockDoubt(loaded.settings[CLOCK_DOUBT]),
    doubted: doubt => void store.putSetting(CLOCK_DOUBT, JSON.stringify(doubt)).catch(onDefect),
    announce,
    jumped: jump => {
      timer.post({ type: 'clock', from_ms: jump.from_us / 1000, to_ms: jump.to_us / 1000 })
      if (jump.to_us < jump.from_us) set_backs.add(jump).catch(onDefect)
    },
  })

  // What is asked.
  const messages = new LiveMessages(front, map, names, store)
  const hooks = new LiveHooks({
    find: name => flows.find(name),
    front,
    messages,
    artifacts,
    waits,
    wake: () => tap.wake(),
    secret: name => secrets.text(name),
  })
  const nodes = new LiveNodes({ flows, health, latencies, front, store, announce })
  const reruns = new LiveCascades({ front, map, flows, store, announce })
  const { max_cascades } = config
  const observe = new LiveObserve({
    front,
    store,
    flows,
    messages,
    names,
    health,
    latencies,
    overload,
    team,
    fanout,
    tap,
    cascades,
    watch,
    max_cascades,
    budget: of => retention.budget(of),
    artifactDisk: () => artifacts.disk(),
    front_watch: options.front_watch ?? new FrontWatch({ log }),
  })
  const activity = new Activity({ front, flows, health, latencies, max_cascades })
  const figures = new FigureFeed({
    source: new LiveFigures({
      front,
      flows,
      map,
      health,
      status: () => observe.status,
      runs: () => coordinator.counts,
      waitingCount: () => workers.waitingCount,
    }),
    onDefect,
  })
  const samples = new Samples({ front, store, flows, messages, cascades, fanout })

  const asked = {
    flows,
    messages,
    nodes,
    reruns,
    observe,
    runs,
    run_logs,
    flavors,
    workers,
    artifacts,
    hooks,
    secrets,
    fanout,
    figures,
    map,
    dashboards,
    locks,
    shown_media,
    flow_followers,
    health,
    activity,
  }
  return {
    ...asked,
    store,
    loaded,
    front,
    announce,
    ended,
    source_thread,
    tap,
    desk,
    team,
    timer,
    connectors,
    outboxes,
    watch,
    clock_watch,
    timers,
    under_way,
    cache,
    coordinator,
    retention,
    samples,
    overload,
    log,
    latencies,
  }
}

export const seenByNode = (rows: OpenedStore['loaded']['fires_seen']): Map<string, SeenFires> =>
  new Map(rows.map(({ node, schedule, at }) => [node, { schedule, at_us: at }]))

/** Of each flow what of its bound is taken. */
export function* shares(front: OpenedStore['front'], flows: LiveFlows): Iterable<number> {
  for (const { index } of flows.all()) yield front.flows.share(index)
}

/** The nodes and wires of all flows. */
function* measured(flows: LiveFlows): Iterable<Measured> {
  for (const flow of flows.all()) {
    for (const { index, inputs } of flow.plan.nodes) {
      yield { node: index }
      for (const { wire } of inputs) if (wire >= 0) yield { wire }
    }
  }
}
