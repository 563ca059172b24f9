import { hash } from 'node:crypto'
import type { Plan } from '../../core/flow/plan.ts'
import { expectedSeconds, type FlavorLookUp } from '../../core/flow/resources.ts'
import type { Masks } from '../../core/masks/table.ts'
import { moveRun } from '../../core/runs/status.ts'
import type { ErrorCode } from '../../protocol/errors.ts'
import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { EngineEvent, EventType } from '../../protocol/nouns/event.ts'
import type { NormalDocument, NormalNode } from '../../protocol/nouns/flow-document.ts'
import type { RunError } from '../../protocol/nouns/run.ts'
import { formatTime } from '../../protocol/time.ts'
import { createCodec, newEncoded } from '../../protocol/values/codec.ts'
import type { EncodedValue } from '../../protocol/values/encoded.ts'
import type { RunPlaces as RunPlacesShown } from '../../protocol/worker/resources.ts'
import type { Kept } from '../../threads/calls/artifact-files.ts'
import type { Note } from '../../threads/lane/messages.ts'
import type { CallDesk } from '../calls/call-desk.ts'
import type { LogProgress } from '../store/front/run-logs.ts'
import type {
  ClaimedRun,
  ClaimRun,
  FinishRun,
  LoadedRuns,
  RunProgress,
  RunStore,
  StoredRun,
  StoredRunNode,
} from '../store/front/runs.ts'
import { inSlices, SliceLine } from '../watch/slices.ts'
import type { NodeRecord } from './node-record.ts'
import { type Resources, RunExecution } from './run-execution.ts'
import { type PlaceHolder, RunPlaces } from './run-places.ts'
import { type RunPlan, runPlanOf } from './run-plan.ts'
import { eventOf } from './run-view.ts'
import { isDiskRefusal, RunWrites } from './run-writes.ts'
import type { StageCache } from './stage-cache.ts'

export interface CoordinatorParts {
  readonly store: RunStore
  readonly cache: StageCache
  now_us(): number
  readonly desk: Pick<CallDesk, 'run'>
  readonly resources: Resources
  flavorOf: FlavorLookUp
  readonly max_runs: number
  /** Counts the starts of the engine. */
  readonly epoch: number
  /** What a run of the flow at this commit executes. */
  runnable(flow: string, commit: string): Promise<{ plan: Plan; document: NormalDocument }>
  /** Of the repository around the installation, read now; null without one. */
  codeDigest(): Promise<{ digest: string; commit: string } | null>
  note(note: Note): void
  announce(type: EventType, flow: string | null, more: Record<string, unknown>): void
  /** Sends an event to watchers; the store does not keep it, or has it already. */
  tell(event: EngineEvent): void
  isWatched(): boolean
  /** Lines of the run were written, or it has ended. */
  logged(run: string): void
  /** Copies a volatile artifact to the disk. */
  keepArtifact(digest: string): Kept | Promise<Kept>
  /** Secrets that a node is known to use, and the version of each, by name. */
  secretsOf(flow: string, node: NormalNode): [name: string, version: string][]
  /** Masks secrets in what a run records. */
  readonly masks: Masks
  onDefect(error: unknown): void
}

interface Queued {
  readonly id: string
  flow: string
  /** Null for runs far back in a long line: the claim answers them. */
  readonly run: StoredRun | null
}

interface Running extends PlaceHolder {
  readonly run: StoredRun
  readonly terminal: readonly string[]
  readonly execution: RunExecution
  limit: NodeJS.Timeout | null
  flush: NodeJS.Timeout | null
  /** The present write of its progress. Only one at a time, because refused progress is written again with the next. */
  writing: Promise<void> | null
  /** More progress came during the write. */
  again: boolean
  /** Progress that the store refused. */
  unwritten: RunProgress | null
  /** The store has recorded that no body of it has run, so the next start queues it again. */
  unbegun: boolean
  /** The present write that takes this record back. */
  beginning: Promise<void> | null
}

/** A claim that the store has not answered. */
interface Claiming {
  readonly queued: Queued
  /** Who cancelled it meanwhile; null when nobody did. */
  cancelled_by: string | null
}

/** After this many refusals that are not the disk's fault, an end is recorded as a failure instead. */
const END_FAILURES = 3
/** Queued runs that are held in memory whole. */
const RUNS_HELD = 1_000
const sha256 = (text: string): string => hash('sha256', text, 'hex')

/**
 * Takes queued runs, oldest first, executes at most `max_runs` of them at once, and writes their ends.
 *
 *   queued --claim (synced)--> executing --over--> finish, and the next claim, in one write
 *
 * A claim or an end that the store refuses is repeated until it is taken. Meanwhile the run keeps its place, and its results stay
 * in memory. Refused progress is written with the next.
 *
 * A run that is claimed under this engine's epoch is executed once, by this engine. The store turns runs that a dead engine left `running`
 * into failures at the next start.
 *
 * A run that only waits for resources is set aside (run-places.ts), and another takes its place. As long as no body of it has run, the store
 * has this on record, and the next start queues it again. The record is taken back, synced, before its first body.
 */
export class Coordinator {
  readonly #parts: CoordinatorParts
  readonly #codec = createCodec()
  readonly #slices = new SliceLine()
  readonly #scratch: EncodedValue[] = []
  readonly #queue = new Map<string, Queued>()
  readonly #running = new Map<string, Running>()
  readonly #claiming = new Map<string, Claiming>()
  readonly #writes: RunWrites
  readonly #places: RunPlaces
  readonly #run_plans = new WeakMap<Plan, RunPlan>()
  #ages = 0
  #closing = false
  #idle: (() => void) | null = null

  constructor(parts: CoordinatorParts) {
    this.#parts = parts
    this.#writes = new RunWrites(parts)
    const { RUNS_ASIDE, RUNS_ASIDE_BYTES } = limits
    this.#places = new RunPlaces({ count: parts.max_runs, most_aside: RUNS_ASIDE, most_bytes: RUNS_ASIDE_BYTES })
  }

  /** Takes the queued runs that the engine before left. */
  load(loaded: LoadedRuns): void {
    for (const { id, flow } of loaded.queued) this.#queue.set(id, { id, flow, run: null })
  }

  start(): void {
    this.#claimNext()
  }

  /** The run places (`FLOW_MAX_RUNS`). */
  get places(): RunPlacesShown {
    const { free, aside } = this.#places
    return { count: this.#parts.max_runs, free, set_aside: aside.count, wanting: aside.wanting }
  }

  get counts(): { running: number; queued: number } {
    return { running: this.inFlight, queued: this.#queue.size }
  }

  get inFlight(): number {
    return this.#running.size + this.#claiming.size
  }

  hasLive(flow: string): boolean {
    for (const queued of this.#queue.values()) if (queued.flow === flow) return true
    for (const { queued } of this.#claiming.values()) if (queued.flow === flow) return true
    for (const { run } of this.#running.values()) if (run.flow === flow) return true
    return false
  }

  renamed(from: string, to: string): void {
    for (const [id, { flow }] of this.#queue) if (flow === from) this.#queue.set(id, { id, flow: to, run: null })
    for (const { queued } of this.#claiming.values()) if (queued.flow === from) queued.flow = to
    for (const { run } of this.#running.values()) if (run.flow === from) run.flow = to
  }

  /** Takes a new run, which is durable already. */
  queued(run: StoredRun): void {
    const { id, flow } = run
    this.#queue.set(id, { id, flow, run: this.#queue.size < RUNS_HELD ? run : null })
    this.#claimNext()
  }

  /** Rows of a run that is going on, newer than those that are written; null when it is not. */
  nodes(id: string): StoredRunNode[] | null {
    const running = this.#running.get(id)
    return running?.execution.records.map(record => record.stored(running.run.attempt)) ?? null
  }

  /** The id of a running run that reuses a node of this one, perhaps not written yet. */
  reuser(id: string): string | null {
    for (const { run, execution } of this.#running.values())
      if (execution.records.some(({ cached_from, covered }) => cached_from === id || covered?.run === id)) return run.id
    return null
  }

  isExecuting(id: string): boolean {
    return this.#running.has(id)
  }

  /** Ends a run that the store has marked as cancelled, or that executes although the store refused the mark. */
  cancel(run: Pick<StoredRun, 'id'>, by: string): void {
    this.#queue.delete(run.id)
    const claiming = this.#claiming.get(run.id)
    if (claiming !== undefined) claiming.cancelled_by = by
    this.#running.get(run.id)?.execution.end('cancelled', `Cancelled by ${by}.`)
    this.#parts.logged(run.id)
  }

  /** Claims nothing more. Running runs are told to end and are recorded as interrupted by the engine's stop. */
  async close(): Promise<void> {
    this.#closing = true
    this.#writes.close()
    for (const { execution } of this.#running.values())
      execution.end('engine_restarted', 'The engine ended while it ran.')
    while (this.inFlight > 0) await new Promise<void>(resolve => (this.#idle = resolve))
  }

  // ---- claims

  #claimNext(): void {
    while (!this.#closing && this.#queue.size > 0 && this.#places.take())
      this.#claim(this.#takeNext()!).catch(this.#parts.onDefect)
  }

  #takeNext(): Queued | null {
    for (const queued of this.#queue.values()) {
      this.#queue.delete(queued.id)
      this.#claiming.set(queued.id, { queued, cancelled_by: null })
      return queued
    }
    return null
  }

  async #claim(queued: Queued): Promise<void> {
    let claim: ClaimRun | null = null
    const taken = await this.#writes.untilTaken(async () => {
      claim = await this.#claimOf(queued)
      return this.#closing ? null : this.#parts.store.claim(claim)
    })
    // Given up, or no longer wanted: the run stays queued for the next start.
    await this.#claimed(queued, claim!, taken?.result ?? null)
  }

  async #claimOf({ id, flow, run }: Queued): Promise<ClaimRun> {
    const code = await this.#parts.codeDigest()
    return {
      id,
      epoch: this.#parts.epoch,
      code_digest: code?.digest ?? null,
      code_commit: code?.commit ?? null,
      started_at: this.#parts.now_us(),
      whole: run === null,
      event: eventOf('run_started', flow, this.#parts.now_us(), { run: id }),
    }
  }

  async #claimed(queued: Queued, claim: ClaimRun, claimed: ClaimedRun | null): Promise<void> {
    const { id } = queued
    if (claimed === null) {
      this.#claiming.delete(id)
      this.#places.giveBack()
      this.#claimNext()
      return this.#told()
    }
    // Its flow may have been renamed since.
    const run = { ...(claimed.run ?? startedRun(queued.run!, claim)), flow: queued.flow }
    let execution: RunExecution
    let run_plan: RunPlan
    try {
      const { plan, document } = await this.#parts.runnable(run.flow, run.commit)
      run_plan = this.#runPlanOf(plan, document)
      execution = this.#execution(run, run_plan)
      await inSlices(execution.ready())
    } catch (error) {
      const code: ErrorCode = error instanceof ServiceError ? error.code : 'internal'
      if (!(error instanceof ServiceError)) this.#parts.onDefect(error)
      const message = error instanceof ServiceError ? error.detail : 'Look into serve.log.'
      return this.#finish(run, null, { code, message, node: null, stack: null })
    }
    const cancelled = this.#claiming.get(id)?.cancelled_by ?? null
    this.#claiming.delete(id)
    const { terminal } = run_plan
    const running: Running = {
      run,
      terminal,
      execution,
      limit: null,
      flush: null,
      writing: null,
      again: false,
      unwritten: null,
      unbegun: false,
      beginning: null,
      age: this.#ages++,
      placed: () => this.#placed(running),
    }
    this.#running.set(id, running)
    this.#places.begun(running)
    this.#parts.tell(claim.event!)
    if (run.timeout !== null) {
      const text = `The run went past its timeout of ${run.timeout} s.`
      running.limit = setTimeout(() => execution.end('timeout', text), Math.min(run.timeout * 1000, 2 ** 31 - 1))
    }
    execution.start()
    if (cancelled !== null) execution.end('cancelled', `Cancelled by ${cancelled}.`)
    else if (this.#closing) execution.end('engine_restarted', 'The engine ended while it ran.')
  }

  #execution(run: StoredRun, run_plan: RunPlan): RunExecution {
    const { desk, cache, resources, flavorOf } = this.#parts
    return new RunExecution({
      id: run.id,
      run_plan,
      expected_s: run_plan.nodes.map(node => expectedSeconds(node, flavorOf)),
      resolved: run.resolved,
      code_digest: run.code_digest,
      no_cache: run.no_cache,
      attempt: run.attempt,
      desk,
      cache,
      resources,
      flavorOf,
      codec: this.#codec,
      slices: steps => this.#slices.run(steps),
      scratch: at => (this.#scratch[at] ??= newEncoded()),
      sha256,
      now_us: this.#parts.now_us,
      keepArtifact: this.#parts.keepArtifact,
      secretsOf: position => this.#parts.secretsOf(run.flow, run_plan.nodes[position]!),
      masks: this.#parts.masks,
      note: note => this.#parts.note(note.type === 'log' ? { ...note, run: run.id } : note),
      onDefect: error => this.#parts.onDefect(error),
      moved: record => this.#moved(run, record),
      progressed: () => this.#progressed(run.id),
      setAside: () => this.#setAside(this.#running.get(run.id)!),
      wantsPlace: () => this.#places.want(this.#running.get(run.id)!),
      ended: () => queueMicrotask(() => this.#ended(run.id)),
    })
  }

  #runPlanOf(plan: Plan, document: NormalDocument): RunPlan {
    let run_plan = this.#run_plans.get(plan)
    if (run_plan === undefined) this.#run_plans.set(plan, (run_plan = runPlanOf(plan, document, sha256)))
    return run_plan
  }

  // ---- places

  #setAside(running: Running): void {
    const { run, execution } = running
    if (!execution.hasBegun && !running.unbegun && !this.#closing) {
      running.unbegun = true
      this.#parts.store.setUnbegun({ id: run.id, epoch: this.#parts.epoch, unbegun: true }).catch(error => {
        // From here on the next start fails it like any other.
        running.unbegun = false
        if (!isDiskRefusal(error)) this.#parts.onDefect(error)
      })
    }
    this.#places.setAside(running, execution.bytes)
    this.#claimNext()
  }

  #placed(running: Running): void {
    if (running.unbegun) running.beginning ??= this.#begin(running).catch(this.#parts.onDefect)
    else running.execution.placed()
  }

  /** Records that bodies begin; from here on the next start fails the run. */
  async #begin(running: Running): Promise<void> {
    const { id } = running.run
    const write = { id, epoch: this.#parts.epoch, unbegun: false }
    const taken = await this.#writes.untilTaken(() => this.#parts.store.setUnbegun(write))
    running.beginning = null
    if (taken === null) return
    running.unbegun = false
    running.execution.placed()
  }

  // ---- progress

  #moved(run: StoredRun, { node, status, cached_from }: NodeRecord): void {
    if (!this.#parts.isWatched()) return
    const more = cached_from === null ? {} : { cached_from }
    const ts = formatTime(this.#parts.now_us())
    this.#parts.tell({ type: 'run_node', ts, flow: run.flow, run: run.id, node: node.qualified, status, ...more })
  }

  #progressed(id: string): void {
    const running = this.#running.get(id)
    if (running === undefined || running.execution.isOver) return
    // Refused progress waits until its retry.
    const { unwritten, execution } = running
    const isMuch =
      execution.waitingMetrics >= limits.METRIC_BATCH_POINTS || execution.waitingLines >= limits.RUN_LOG_WRITE / 4
    if (unwritten === null && isMuch) return this.#flush(running)
    running.flush ??= setTimeout(() => this.#flush(running), limits.RUN_PROGRESS_MS)
  }

  #flush(running: Running): void {
    if (running.flush !== null) clearTimeout(running.flush)
    running.flush = null
    if (running.execution.isOver) return
    if (running.writing !== null) {
      running.again = true
      return
    }
    running.writing = this.#write(running, this.#taken(running)).then(() => {
      running.writing = null
      const isMore = running.again || running.unwritten !== null || running.execution.isWaiting
      if (isMore) this.#progressed(running.run.id)
      running.again = false
    })
  }

  /** The progress to write; refused progress comes first. */
  #taken(running: Running, all = false): RunProgress {
    const before = running.unwritten
    running.unwritten = null
    const progress = running.execution.takeProgress(all)
    return before === null ? progress : joined(before, progress)
  }

  async #write(running: Running, progress: RunProgress): Promise<void> {
    const { run, execution } = running
    try {
      await this.#parts.store.progress(progress)
    } catch (error) {
      running.unwritten = progress
      if (!isDiskRefusal(error)) this.#parts.onDefect(error)
      return
    }
    execution.written(progress)
    if (progress.log !== null) this.#parts.logged(run.id)
    const names = curvesOf(run, progress)
    if (names.length > 0) this.#parts.announce('run_metric', run.flow, { run: run.id, names })
  }

  // ---- ends

  #ended(id: string): void {
    const running = this.#running.get(id)
    if (running === undefined) return
    if (running.limit !== null) clearTimeout(running.limit)
    if (running.flush !== null) clearTimeout(running.flush)
    const { execution } = running
    const isKept = this.#closing && running.unbegun && execution.error?.code === 'engine_restarted'
    const ending = isKept ? this.#keep(running) : this.#finish(running.run, running, execution.error)
    ending.catch(this.#parts.onDefect)
  }

  /** Leaves a run of which no body has run to the next start. */
  async #keep(running: Running): Promise<void> {
    if (running.beginning) await running.beginning
    if (running.writing) await running.writing
    if (!running.unbegun) return this.#finish(running.run, running, running.execution.error)
    this.#running.delete(running.run.id)
    this.#told()
  }

  async #finish(run: StoredRun, running: Running | null, error: RunError | null): Promise<void> {
    const finished_at = this.#parts.now_us()
    if (running?.writing) await running.writing
    const progress = running === null ? null : this.#taken(running, true)
    const result = running?.execution.result() ?? null
    const names = progress === null ? [] : curvesOf(run, progress)
    const events = names.length === 0 ? [] : [eventOf('run_metric', run.flow, finished_at, { run: run.id, names })]
    const finish = this.#finishOf(run, error, result, finished_at, events)
    finish.terminal = (running?.terminal ?? []).filter(message => result !== null && Object.hasOwn(result, message))
    const next = this.#passedTo(running)
    let claim: ClaimRun | null = null
    let written = finish
    const taken = await this.#writes.untilTaken(async failures => {
      claim = next === null || this.#closing ? null : await this.#claimOf(next)
      if (failures < END_FAILURES) return this.#parts.store.finish(finish, progress, claim)
      const message = 'The result of the run could not be written. See serve.log.'
      written = this.#finishOf(run, { code: 'store_failed', message, node: null, stack: null }, null, finished_at, [])
      return this.#parts.store.finish(written, null, claim)
    })
    // Given up: the next start records the run as interrupted.
    if (taken?.result.finished) for (const event of written.events) this.#parts.tell(event)
    this.#parts.logged(run.id)
    if (next !== null) this.#claimed(next, claim!, taken?.result.claimed ?? null).catch(this.#parts.onDefect)
    this.#running.delete(run.id)
    this.#claiming.delete(run.id)
    if (running !== null) this.#places.leave(running)
    else if (next === null) this.#places.giveBack()
    this.#claimNext()
    this.#told()
  }

  /** The queued run that gets the place of a run that has ended, or, with null, of one that could not begin. */
  #passedTo(running: Running | null): Queued | null {
    if (this.#closing || this.#queue.size === 0) return null
    const isPassed = running === null ? this.#places.passTaken() : this.#places.pass(running)
    return isPassed ? this.#takeNext() : null
  }

  #finishOf(
    run: StoredRun,
    error: RunError | null,
    result: Record<string, unknown> | null,
    finished_at: number,
    before: EngineEvent[],
  ): FinishRun {
    const status = error === null ? 'succeeded' : error.code === 'cancelled' ? 'cancelled' : 'failed'
    const why = error === null ? {} : { error: error.code, node: error.node }
    return {
      id: run.id,
      epoch: this.#parts.epoch,
      status: moveRun(run.status, status) as typeof status,
      result,
      terminal: [],
      error,
      finished_at,
      events: [...before, eventOf('run_finished', run.flow, finished_at, { run: run.id, status, ...why })],
    }
  }

  #told(): void {
    const idle = this.#idle
    this.#idle = null
    idle?.()
  }
}

/** `<flow>.<node>.<name>` of each curve that has points in the progress. */
const curvesOf = (run: StoredRun, { metrics }: RunProgress): string[] => [
  ...new Set(metrics.map(point => `${run.flow}.${point.name}`)),
]

/** Rows of the same node replace each other in this order; points are appended. */
const joined = (before: RunProgress, after: RunProgress): RunProgress => ({
  id: after.id,
  nodes: [...before.nodes, ...after.nodes],
  metrics: [...before.metrics, ...after.metrics],
  artifacts: [...before.artifacts, ...after.artifacts],
  log: joinedLog(before.log, after.log),
})

const joinedLog = (before: LogProgress | null, after: LogProgress | null): LogProgress | null => {
  if (before === null || after === null) return before ?? after
  return { chunks: [...before.chunks, ...after.chunks], dropped: after.dropped }
}

const startedRun = (run: StoredRun, claim: ClaimRun): StoredRun => ({
  ...run,
  status: moveRun(run.status, 'running'),
  code_digest: claim.code_digest,
  code_commit: claim.code_commit,
  origin_commit: run.origin_commit ?? claim.code_commit,
  started_at: claim.started_at,
})
