import type { Masks } from '../core/masks/table.ts'
import type { EventType } from '../protocol/nouns/event.ts'
import type { EngineArtifacts } from './artifacts/artifacts.ts'
import type { CallDesk } from './calls/call-desk.ts'
import type { ResourceDesk } from './calls/resource-desk.ts'
import type { Config } from './config.ts'
import type { Fanout } from './fanout/fanout.ts'
import type { LiveFlavors } from './flows/flavors.ts'
import type { LiveFlows } from './flows/flows.ts'
import type { ThreadNotes } from './lanes/thread-notes.ts'
import type { Log } from './observe/serve-log.ts'
import { BatchRuns, type BatchRunsParts } from './runs/batch-runs.ts'
import { CodeDigest } from './runs/code-digest.ts'
import { Coordinator } from './runs/coordinator.ts'
import { RunRetention } from './runs/retention.ts'
import { StoredRunLogs } from './runs/run-logs.ts'
import { StageCache } from './runs/stage-cache.ts'
import type { LiveSecrets } from './secrets/secrets.ts'
import type { OpenedStore } from './store/front/open-store.ts'

export interface RunsParts {
  readonly data_dir: string
  readonly config: Pick<Config, 'max_runs' | 'retention'>
  readonly opened_store: OpenedStore
  readonly artifacts: EngineArtifacts
  readonly flows: LiveFlows
  readonly flavors: LiveFlavors
  readonly secrets: LiveSecrets
  readonly desk: CallDesk
  readonly workers: ResourceDesk
  readonly notes: ThreadNotes
  readonly fanout: Fanout
  readonly masks: Masks
  readonly fits: BatchRunsParts['fits']
  readonly announce: (type: EventType, flow: string | null, more: Record<string, unknown>) => void
  readonly log: Log
  readonly onDefect: (error: unknown) => void
}

/** The parts of batch runs. They start nothing; the queued runs of the last engine are known. */
export function openRuns(parts: RunsParts) {
  const { data_dir, config, artifacts, flows, flavors, secrets, desk, workers, notes, fanout, masks, fits } = parts
  const { announce, log, onDefect } = parts
  const { front, store, loaded } = parts.opened_store
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
  return { cache, run_logs, coordinator, runs, retention }
}
