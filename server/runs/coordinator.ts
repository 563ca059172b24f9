import { hash } from 'node:crypto'
import type { Plan } from '../../core/flow/plan.ts'
import { expectedSeconds, type FlavorLookUp } from '../../core/flow/resources.ts'
import { moveRun } from '../../core/runs/status.ts'
import type { ErrorCode } from '../../protocol/errors.ts'
import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { EngineEvent, EventType } from '../../protocol/nouns/event.ts'
import type { NormalDocument } from '../../protocol/nouns/flow-document.ts'
import type { RunError } from '../../protocol/nouns/run.ts'
import { formatTime, nowUs } from '../../protocol/time.ts'
import { createCodec, newEncoded } from '../../protocol/values/codec.ts'
import type { EncodedValue } from '../../protocol/values/encoded.ts'
import type { Note } from '../../threads/lane/messages.ts'
import type { CallDesk } from '../calls/call-desk.ts'
import type { ClaimedRun, ClaimRun, LoadedRuns, RunStore, StoredRun, StoredRunNode } from '../store/front/runs.ts'
import type { NodeRecord } from './node-record.ts'
import { type Resources, RunExecution } from './run-execution.ts'
import { type RunPlan, runPlanOf } from './run-plan.ts'
import { eventOf } from './run-view.ts'
import type { StageCache } from './stage-cache.ts'

export interface CoordinatorParts {
  readonly store: RunStore
  readonly cache: StageCache
  readonly desk: Pick<CallDesk, 'run'>
  readonly resources: Resources
  flavorOf: FlavorLookUp
  readonly max_runs: number
  /** Counts the starts of the engine. */
  readonly epoch: number
  /** What a run of the flow as of the commit executes. */
  runnable(flow: string, commit: string): Promise<{ plan: Plan; document: NormalDocument }>
  /** Of the repository around the installation, as it stands now; null without one. */
  codeDigest(): Promise<{ digest: string; commit: string } | null>
  note(note: Note): void
  announce(type: EventType, flow: string | null, more: Record<string, unknown>): void
  /** To those who watch now; kept by nobody, or by the store already. */
  tell(event: EngineEvent): void
  isWatched(): boolean
  onDefect(error: unknown): void
}

interface Queued {
  readonly id: string
  readonly flow: string
  /** Null of those that are far back in a long line: the claim answers them. */
  readonly run: StoredRun | null
}

interface Running {
  readonly run: StoredRun
  readonly terminal: readonly string[]
  readonly execution: RunExecution
  limit: NodeJS.Timeout | null
  flush: NodeJS.Timeout | null
  /** The writes of its progress, in order. */
  written: Promise<unknown>
}

/** A run's progress is written this often; with its end in any case. */
const PROGRESS_MS = 500
/** Queued runs that are held in memory whole. */
const RUNS_HELD = 1_000
const sha256 = (text: string): string => hash('sha256', text, 'hex')

/**
 * Takes queued runs, oldest first, runs at most `max_runs` of them at once, and writes what becomes of them.
 *
 *   queued --claim (synced)--> executing --over--> finish, and the next claim, in one write
 *
 * What is claimed under this engine's epoch is run by this engine, once; the store turns what a dead engine left `running`
 * into failures at the next start.
 */
export class Coordinator {
  readonly #parts: CoordinatorParts
  readonly #codec = createCodec()
  readonly #scratch: EncodedValue[] = []
  readonly #queue = new Map<string, Queued>()
  readonly #running = new Map<string, Running>()
  /** Claims on their way, and those whose cancellation was asked for meanwhile. */
  readonly #claiming = new Map<string, { cancelled_by: string | null }>()
  readonly #run_plans = new WeakMap<Plan, RunPlan>()
  #closing = false
  #idle: (() => void) | null = null

  constructor(parts: CoordinatorParts) {
    this.#parts = parts
  }

  /** What the engine before left. */
  load(loaded: LoadedRuns): void {
    for (const { id, flow } of loaded.queued) this.#queue.set(id, { id, flow, run: null })
  }

  start(): void {
    this.#claimNext()
  }

  get inFlight(): number {
    return this.#running.size + this.#claiming.size
  }

  hasLive(flow: string): boolean {
    for (const queued of this.#queue.values()) if (queued.flow === flow) return true
    for (const { run } of this.#running.values()) if (run.flow === flow) return true
    return false
  }

  renamed(from: string, to: string): void {
    for (const [id, { flow }] of this.#queue) if (flow === from) this.#queue.set(id, { id, flow: to, run: null })
    for (const { run } of this.#running.values()) if (run.flow === from) run.flow = to
  }

  /** It is durable already. */
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

  /** The store has marked it. */
  cancel(run: StoredRun, by: string): void {
    this.#queue.delete(run.id)
    const claiming = this.#claiming.get(run.id)
    if (claiming !== undefined) claiming.cancelled_by = by
    this.#running.get(run.id)?.execution.end('cancelled', `Cancelled by ${by}.`)
  }

  /** Nothing more is claimed; what runs is told to end and recorded as interrupted by the engine's end. */
  async close(): Promise<void> {
    this.#closing = true
    for (const { execution } of this.#running.values())
      execution.end('engine_restarted', 'The engine ended while it ran.')
    while (this.inFlight > 0) await new Promise<void>(resolve => (this.#idle = resolve))
  }

  // ---- claims

  #claimNext(): void {
    while (!this.#closing && this.inFlight < this.#parts.max_runs) {
      const next = this.#takeNext()
      if (next === null) return
      void this.#claim(next)
    }
  }

  #takeNext(): Queued | null {
    for (const queued of this.#queue.values()) {
      this.#queue.delete(queued.id)
      this.#claiming.set(queued.id, { cancelled_by: null })
      return queued
    }
    return null
  }

  async #claim(queued: Queued): Promise<void> {
    try {
      const claim = await this.#claimOf(queued)
      await this.#claimed(queued, claim, await this.#parts.store.claim(claim))
    } catch (error) {
      // The store refused the write: the run stays queued, for the next start.
      this.#claiming.delete(queued.id)
      this.#parts.onDefect(error)
      this.#told()
    }
  }

  async #claimOf({ id, flow, run }: Queued): Promise<ClaimRun> {
    const code = await this.#parts.codeDigest()
    return {
      id,
      epoch: this.#parts.epoch,
      code_digest: code?.digest ?? null,
      origin_commit: code?.commit ?? null,
      started_at: nowUs(),
      whole: run === null,
      event: eventOf('run_started', flow, { run: id }),
    }
  }

  async #claimed(queued: Queued, claim: ClaimRun, claimed: ClaimedRun | null): Promise<void> {
    const { id } = queued
    if (claimed === null) {
      this.#claiming.delete(id)
      this.#claimNext()
      return this.#told()
    }
    const run = claimed.run ?? startedRun(queued.run!, claim)
    let execution: RunExecution
    let run_plan: RunPlan
    try {
      const { plan, document } = await this.#parts.runnable(run.flow, run.commit)
      run_plan = this.#runPlanOf(plan, document)
      execution = this.#execution(run, run_plan)
    } catch (error) {
      const code: ErrorCode = error instanceof ServiceError ? error.code : 'internal'
      if (!(error instanceof ServiceError)) this.#parts.onDefect(error)
      const message = error instanceof ServiceError ? error.detail : 'Look into serve.log.'
      return this.#finish(run, null, { code, message, node: null, stack: null })
    }
    const cancelled = this.#claiming.get(id)?.cancelled_by ?? null
    this.#claiming.delete(id)
    const { terminal } = run_plan
    const running: Running = { run, terminal, execution, limit: null, flush: null, written: Promise.resolve() }
    this.#running.set(id, running)
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
      scratch: at => (this.#scratch[at] ??= newEncoded()),
      sha256,
      now_us: nowUs,
      note: note => this.#parts.note(note.type === 'log' ? { ...note, run: run.id } : note),
      onDefect: error => this.#parts.onDefect(error),
      moved: record => this.#moved(run, record),
      progressed: () => this.#progressed(run.id),
      ended: () => queueMicrotask(() => this.#ended(run.id)),
    })
  }

  #runPlanOf(plan: Plan, document: NormalDocument): RunPlan {
    let run_plan = this.#run_plans.get(plan)
    if (run_plan === undefined) this.#run_plans.set(plan, (run_plan = runPlanOf(plan, document, sha256)))
    return run_plan
  }

  // ---- progress

  #moved(run: StoredRun, { node, status, cached_from }: NodeRecord): void {
    if (!this.#parts.isWatched()) return
    const more = cached_from === null ? {} : { cached_from }
    const ts = formatTime(nowUs())
    this.#parts.tell({ type: 'run_node', ts, flow: run.flow, run: run.id, node: node.qualified, status, ...more })
  }

  #progressed(id: string): void {
    const running = this.#running.get(id)
    if (running === undefined || running.execution.isOver) return
    if (running.execution.waitingMetrics >= limits.METRIC_BATCH_POINTS) return this.#flush(running)
    running.flush ??= setTimeout(() => this.#flush(running), PROGRESS_MS)
  }

  #flush(running: Running): void {
    if (running.flush !== null) clearTimeout(running.flush)
    running.flush = null
    const { run, execution } = running
    if (execution.isOver) return
    const progress = execution.takeProgress()
    const names = [...new Set(progress.metrics.map(point => `${run.flow}.${point.name}`))]
    const write = this.#parts.store.progress(progress).then(
      () => {
        execution.written(progress)
        if (names.length > 0) this.#parts.announce('run_metric', run.flow, { run: run.id, names })
      },
      error => this.#parts.onDefect(error),
    )
    running.written = Promise.all([running.written, write])
  }

  // ---- ends

  #ended(id: string): void {
    const running = this.#running.get(id)
    if (running === undefined) return
    if (running.limit !== null) clearTimeout(running.limit)
    if (running.flush !== null) clearTimeout(running.flush)
    void this.#finish(running.run, running, running.execution.error)
  }

  async #finish(run: StoredRun, running: Running | null, error: RunError | null): Promise<void> {
    const finished_at = nowUs()
    const execution = running?.execution ?? null
    const progress = execution?.takeProgress() ?? null
    const result = execution?.result() ?? null
    const status = error === null ? 'succeeded' : error.code === 'cancelled' ? 'cancelled' : 'failed'
    const why = error === null ? {} : { error: error.code, node: error.node }
    const names = [...new Set((progress?.metrics ?? []).map(point => `${run.flow}.${point.name}`))]
    const events = names.length === 0 ? [] : [eventOf('run_metric', run.flow, { run: run.id, names })]
    events.push(eventOf('run_finished', run.flow, { run: run.id, status, ...why }))
    const next = this.#closing ? null : this.#takeNext()
    const claim = next === null ? null : await this.#claimOf(next)
    try {
      const { finished, claimed } = await this.#parts.store.finish(
        {
          id: run.id,
          epoch: this.#parts.epoch,
          status: moveRun(run.status, status) as typeof status,
          result,
          terminal: (running?.terminal ?? []).filter(message => result !== null && Object.hasOwn(result, message)),
          error,
          finished_at,
          events,
        },
        progress,
        claim,
      )
      if (finished) for (const event of events) this.#parts.tell(event)
      if (next !== null && claim !== null) void this.#claimed(next, claim, claimed)
    } catch (failed) {
      // The end could not be written: the next start finds the run interrupted.
      this.#parts.onDefect(failed)
      if (next !== null) {
        this.#claiming.delete(next.id)
        this.#queue.set(next.id, next)
      }
    } finally {
      this.#running.delete(run.id)
      this.#claiming.delete(run.id)
      this.#claimNext()
      this.#told()
    }
  }

  #told(): void {
    const idle = this.#idle
    this.#idle = null
    idle?.()
  }
}

const startedRun = (run: StoredRun, claim: ClaimRun): StoredRun => ({
  ...run,
  status: moveRun(run.status, 'running'),
  code_digest: claim.code_digest,
  origin_commit: claim.origin_commit ?? run.origin_commit,
  started_at: claim.started_at,
})
