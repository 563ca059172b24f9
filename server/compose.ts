import { dirname } from 'node:path'
import { callEnvironment, threadShare } from '../core/flow/environment.ts'
import { askedBy, NO_AMOUNTS } from '../core/flow/resources.ts'
import { ServiceError } from '../protocol/errors.ts'
import { formatTime } from '../protocol/time.ts'
import { newEncoded } from '../protocol/values/codec.ts'
import type { Note } from '../threads/lane/messages.ts'
import { nodeTypes } from '../threads/nodes/index.ts'
import { SourceThread } from '../threads/nodes/source-thread.ts'
import { Sources } from '../threads/nodes/sources.ts'
import { isConnector } from '../threads/nodes/types/index.ts'
import { liveBounds } from './calls/bounds.ts'
import { CallDesk } from './calls/call-desk.ts'
import { LiveCalls } from './calls/live-calls.ts'
import { localMachine } from './calls/local-machine.ts'
import { ArtifactExchange } from './calls/processes/artifact-exchange.ts'
import { exchangeFolder, findBodyUser, openTo } from './calls/processes/body-user.ts'
import { ResourceDesk } from './calls/resource-desk.ts'
import { Tries } from './calls/tries.ts'
import { ConnectorPlaces } from './connectors/connector-places.ts'
import { ConnectorsThread } from './connectors/connectors-thread.ts'
import { Outboxes } from './connectors/outboxes.ts'
import { SecretSettings } from './connectors/secret-settings.ts'
import { Dashboards } from './dashboards/dashboards.ts'
import { Locks } from './dashboards/locks.ts'
import type { LiveEngineOptions } from './engine-options.ts'
import { measured, seenByNode } from './every-flow.ts'
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
import { Latencies } from './health/latencies.ts'
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
import { openArtifacts } from './open-artifacts.ts'
import { openRuns } from './open-runs.ts'
import { ShownMedia } from './panels/shown-media.ts'
import { maskedLog } from './secrets/masked-log.ts'
import { LiveSecrets, type OpenedSecrets } from './secrets/secrets.ts'
import type { OpenedStore } from './store/front/open-store.ts'
import { SetBacks } from './store/front/set-backs.ts'
import { CLOCK_DOUBT, ClockWatch, parseClockDoubt } from './watch/clock-watch.ts'
import { FrontWatch } from './watch/front-watch.ts'
import { ThreadWatch } from './watch/thread-watch.ts'

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
  const waits = new ValueWaits(front.codec)
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
    changed: (flow, removed, is_renamed = false) => {
      fanout.flowChanged(flow, removed)
      shown_media.messagesChanged()
      if (!is_renamed) waits.end(removed)
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
  const artifacts = openArtifacts({
    data_dir,
    config,
    clock: front.clock,
    isShared: body_user !== null,
    recorded: digests => store.recordedArtifacts(digests),
    held: () => heldArtifacts(front, map),
    isRunInFlight: () => coordinator.inFlight > 0,
    announce,
    log,
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
  const { cache, run_logs, coordinator, runs, retention } = openRuns({
    data_dir,
    config,
    opened_store: { front, store, loaded },
    artifacts,
    flows,
    flavors,
    secrets,
    desk,
    workers,
    notes,
    fanout,
    masks,
    fits,
    announce,
    log,
    onDefect,
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
  const tries = new Tries({
    try: (request, listener) => desk.try(request, listener),
    claim: node => {
      const asked = askedBy(node, name => flavors.find(name))
      if (asked === null && node.device === null) return null
      return workers.claim({ node: node.qualified, run: null, asked: asked ?? NO_AMOUNTS, device: node.device })
    },
    release: grant => workers.release(grant),
  })
  const nodes = new LiveNodes({ flows, health, latencies, front, store, tries, masks, announce })
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
