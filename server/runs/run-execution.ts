import { FlowRun } from '../../core/cascade/flow-run.ts'
import type { Ingress } from '../../core/cascade/host.ts'
import type { Mailbox } from '../../core/cascade/mailbox.ts'
import { newItem } from '../../core/cascade/queue/item.ts'
import type { Execution, Failure } from '../../core/cascade/seat.ts'
import { askedBy, type FlavorLookUp, NO_AMOUNTS } from '../../core/flow/resources.ts'
import type { Masks } from '../../core/masks/table.ts'
import type { Sha256 } from '../../core/runs/fingerprint.ts'
import type { Steps } from '../../core/steps.ts'
import type { ErrorCode } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { ResourceAmounts, RunError } from '../../protocol/nouns/run.ts'
import type { Codec } from '../../protocol/values/codec.ts'
import type { EncodedValue } from '../../protocol/values/encoded.ts'
import { absent, type Kept } from '../../threads/calls/artifact-files.ts'
import { failure, failureOf } from '../../threads/calls/node-call.ts'
import { CallFailure } from '../../threads/lane/calls.ts'
import type { LogLevel, Note } from '../../threads/lane/messages.ts'
import type { CallDesk } from '../calls/call-desk.ts'
import type { RunCall } from '../calls/call-sink.ts'
import type { Grant, ResourceDesk, Waited } from '../calls/resource-desk.ts'
import type { CacheOrigin, RunProgress } from '../store/front/runs.ts'
import { holdsLong, LongValues } from './long-values.ts'
import { NodeEnds } from './node-ends.ts'
import { NodeRecord } from './node-record.ts'
import { RunCache } from './run-cache.ts'
import { RunHost } from './run-host.ts'
import { RunLog } from './run-log.ts'
import { RunMetrics } from './run-metrics.ts'
import type { RunPlan } from './run-plan.ts'
import { RunValues } from './run-values.ts'
import type { StageCache } from './stage-cache.ts'

/** Grants the resources that nodes declare. */
export type Resources = Pick<ResourceDesk, 'claim' | 'release'>

export interface RunExecutionParts {
  readonly id: string
  readonly run_plan: RunPlan
  /** Expected seconds, by the position of a node. */
  readonly expected_s: readonly (number | null)[]
  readonly resolved: Readonly<Record<string, unknown>>
  readonly code_digest: string | null
  readonly no_cache: boolean
  readonly attempt: number
  readonly desk: Pick<CallDesk, 'run'>
  readonly cache: StageCache
  readonly resources: Resources
  readonly flavorOf: FlavorLookUp
  readonly codec: Codec
  /** Does long work in slices, in turn with that of other runs. */
  slices<Result>(steps: Steps<Result>): Promise<Result>
  /** A buffer by output, shared by all runs: it is read before another run writes it. */
  scratch(at: number): EncodedValue
  readonly sha256: Sha256
  now_us(): number
  note(note: Note): void
  /** Copies a volatile artifact to the disk. */
  keepArtifact(digest: string): Kept | Promise<Kept>
  /** Secrets that the node at the position is known to use, and the version of each, by name. */
  secretsOf(position: number): [name: string, version: string][]
  /** Masks secrets in what is recorded. */
  readonly masks: Masks
  onDefect(error: unknown): void
  /** A node has changed its status; for watchers. */
  moved(record: NodeRecord): void
  /** There is progress to write; called at most once until `takeProgress`. */
  progressed(): void
  /** Nothing of the run executes, since it waits for resources or for another run. Its place is free. */
  setAside(): void
  /** The run needs a place again. Called once until `placed`. */
  wantsPlace(): void
  ended(): void
}

/** An empty queue: a run gets its values at its start. */
const NO_INGRESS: Ingress = { take: () => false, takeJoined: () => false }
const TURN_MS = 2
/** A body with this many unprocessed emissions is blocked when it awaits them (`threads/calls/call.ts`). */
const STILL_EMISSIONS = 64

/**
 * A batch run: one cascade of the wave engine on the front thread, without the live message table. Every body is dispatched. Its
 * values are kept here, and its record is made from its node records.
 *
 *   new --ready, start--> running --nothing is left to run--> over
 *                  running --end--> ending --the last body has ended--> over
 *
 * It begins with a place. When every open execution waits for resources or for another run, or is blocked because the readers of
 * its emissions wait, the run is set aside. No body starts or goes on until it is `placed` again.
 */
export class RunExecution {
  readonly records: readonly NodeRecord[]
  /** The first failure. */
  error: RunError | null = null

  readonly #parts: RunExecutionParts
  readonly #flow: FlowRun
  readonly #values: RunValues
  readonly #long: LongValues
  /** Executions whose long outputs are being prepared; later outputs of the same body wait behind them. */
  readonly #preparing = new Map<Execution, Promise<void>>()
  readonly #ends: NodeEnds
  readonly #cache: RunCache
  readonly #metrics = new RunMetrics()
  readonly #log: RunLog
  readonly #calls = new Set<RunCall | Waited>()
  /** The values that the run was given, by position in the plan's messages. */
  readonly #given = new Map<number, unknown>()
  #open = 0
  #turning = false
  #wanted = false
  #drains: (() => void)[] = []
  #has_place = true
  #wants_place = false
  /** Functions to call when the run gets a place, or ends. */
  #placed: (() => void)[] = []
  /** Open executions that wait for resources, and those whose bodies are blocked. */
  #waiting = 0
  #still = 0
  #has_begun = false
  #mode: 'new' | 'running' | 'ending' | 'over' = 'new'

  constructor(parts: RunExecutionParts) {
    this.#parts = parts
    const { id, run_plan, expected_s, sha256, cache, code_digest } = parts
    const codec = new LongValues(parts.codec, sha256, parts.masks)
    const { plan, outputs } = run_plan
    const records = plan.nodes.map((node, at) => new NodeRecord(node, outputs[at]!, expected_s[at]!, sha256))
    const values = new RunValues({
      run_plan,
      records,
      codec,
      scratch: parts.scratch,
      sha256,
      masks: parts.masks,
      named: (record, digest) => this.#keep(record, digest),
    })
    this.records = records
    this.#log = new RunLog({ flow: plan.flow, attempt: parts.attempt, note: parts.note })
    this.#values = values
    this.#long = codec
    const mailboxOf = ({ node }: NodeRecord): Mailbox => this.#flow.run.seats[node.position]!.mailbox
    this.#cache = new RunCache({
      id,
      run_plan,
      records,
      values,
      cache,
      code_digest,
      secretsOf: parts.secretsOf,
      onDefect: parts.onDefect,
      isRunning: () => this.#mode === 'running',
      open: () => this.#open,
      mailboxOf,
      restore: (record, execution, origin) => {
        const value = this.#restore(record, origin)
        this.#inOrder(execution, value, false, ready => {
          if (this.#mode !== 'running') return this.#endHere(record)
          this.#close(record)
          this.#flow.arrive(execution, { type: 'returned', value: ready })
        })
      },
      compute: (record, execution) => this.#claim(record, execution),
      endHere: record => this.#endHere(record),
      follows: () => this.#rest(),
      whenPlaced: goOn => this.#whenPlaced(goOn),
    })
    this.#ends = new NodeEnds({
      records,
      mailboxOf,
      now_us: parts.now_us,
      moved: parts.moved,
      settling: record => this.#cache.settling(record),
      settled: record => {
        this.#cache.settled(record)
        parts.progressed()
      },
    })
    const host = new RunHost({
      codec,
      now_us: parts.now_us,
      scratch: parts.scratch,
      given: message => values.read(message),
      hit: position => this.#hit(records[position]!),
      restore: (position, origin) => this.#restore(records[position]!, origin),
      dispatch: execution => this.#dispatch(execution),
      failed: (position, reason, inputs) => this.#failed(records[position]!, reason, inputs),
      publish: (position, value) => this.#publish(position, value),
      wants: () => this.#wake(),
    })
    this.#flow = new FlowRun(plan, host, newItem())
  }

  /** Encodes the values that the run was given. Call it before `start`. */
  *ready(): Steps<void> {
    const { run_plan, resolved } = this.#parts
    const given: [name: string, value: unknown][] = [...Object.entries(resolved), ...run_plan.given]
    for (const [name, value] of given) {
      const position = run_plan.messages.get(name)
      if (position === undefined || this.#given.has(position)) continue
      this.#given.set(position, yield* this.#values.give(position, value))
      yield
    }
  }

  start(): void {
    this.#mode = 'running'
    for (const record of this.records) {
      if (!this.#parts.run_plan.gives[record.node.position]) continue
      record.executions = 1
      record.started_at = record.finished_at = this.#parts.now_us()
      this.#ends.move(record, 'running')
      this.#ends.conclude(record, 'succeeded')
    }
    this.#flow.beginWith(this.#given, this.#parts.run_plan.sources)
    this.#wake()
  }

  /** Starts nothing new and tells bodies to stop. `ended` follows when the last body has ended. */
  end(code: ErrorCode, message: string): void {
    if (this.#mode === 'over' || this.#mode === 'ending') return
    this.#mode = 'ending'
    this.#metrics.end()
    this.#log.end()
    this.error = { code, message, node: null, stack: null }
    for (const call of [...this.#calls]) {
      if ('end' in call) call.end(code, message)
      else call.cancel()
    }
    for (const record of this.#cache.takeFollowers()) this.#close(record)
    for (const goOn of this.#placed.splice(0)) goOn()
    this.#finishIfEnded()
  }

  /** The run holds a place again. */
  placed(): void {
    if (this.#mode !== 'running' || this.#has_place) return
    this.#has_place = true
    this.#wants_place = false
    for (const goOn of this.#placed.splice(0)) goOn()
    this.#drain()
    this.#rest()
  }

  /** Whether a body of it has been called. */
  get hasBegun(): boolean {
    return this.#has_begun
  }

  /** Encoded bytes of its inputs and of the outputs of its nodes. */
  get bytes(): number {
    return this.#values.given_bytes + this.#values.bytes
  }

  get isOver(): boolean {
    return this.#mode === 'over'
  }

  /** The last value of every message that it produced; null when they are too large for a record. */
  result(): Record<string, unknown> | null {
    return this.#values.bytes > limits.RUN_RESULT_BYTES ? null : this.#values.result()
  }

  /** The progress since the last call, with as many points as one write holds, or `all`. Until `written` it counts as not written. */
  takeProgress(all: boolean): RunProgress {
    const nodes = this.records.filter(record => record.changed)
    for (const record of nodes) record.changed = false
    return {
      id: this.#parts.id,
      nodes: nodes.map(record => record.stored(this.#parts.attempt)),
      metrics: this.#metrics.take(all),
      artifacts: this.#values.takeArtifacts(),
      log: this.#log.take(all),
    }
  }

  written({ metrics, log }: RunProgress): void {
    this.#metrics.written(metrics.length)
    if (log !== null) this.#log.written(log)
  }

  /** Size of the lines that wait to be written. */
  get waitingLines(): number {
    return this.#log.waiting
  }

  get isWaiting(): boolean {
    return this.#metrics.waiting > 0 || this.#log.waiting > 0
  }

  get waitingMetrics(): number {
    return this.#metrics.waiting
  }

  // ---- turns

  #wake(): void {
    this.#wanted = true
    if (this.#turning) return
    this.#turning = true
    queueMicrotask(() => this.#turn())
  }

  #turn(): void {
    if (this.#mode !== 'running') {
      this.#turning = false
      return
    }
    this.#wanted = false
    const more = this.#flow.turn(NO_INGRESS, performance.now() + TURN_MS)
    if (more) {
      setImmediate(() => this.#turn())
      return
    }
    if (this.#wanted) return this.#turn()
    this.#turning = false
    this.#ends.settle()
    this.#drain()
    this.#finishIfEnded()
    this.#rest()
  }

  /** Lets bodies go on whose unprocessed emissions have fallen below the bound. */
  #drain(): void {
    if (this.#drains.length === 0 || this.#flow.inner >= limits.FLOW_WAITING_ITEMS) return
    if (!this.#has_place) return this.#wantPlace()
    for (const goOn of this.#drains.splice(0)) goOn()
  }

  // ---- its place

  /** Sets the run aside when nothing of it executes. */
  #rest(): void {
    if (this.#mode !== 'running' || this.#turning || !this.#has_place || this.#open === 0) return
    if (this.#waiting + this.#still + this.#cache.following < this.#open) return
    this.#has_place = false
    this.#parts.setAside()
  }

  #whenPlaced(goOn: () => void): void {
    if (this.#has_place || this.#mode !== 'running') return goOn()
    this.#placed.push(goOn)
    this.#wantPlace()
  }

  #wantPlace(): void {
    if (this.#wants_place) return
    this.#wants_place = true
    this.#parts.wantsPlace()
  }

  #finishIfEnded(): void {
    if (this.#mode === 'over' || this.#open > 0) return
    if (this.#mode === 'running' && (this.#turning || !this.#flow.isAtRest)) return
    const cancelled = this.#mode === 'ending'
    this.#mode = 'over'
    for (const goOn of this.#drains.splice(0)) goOn()
    this.#ends.settleAll(cancelled)
    this.#cache.close()
    this.#parts.ended()
  }

  // ---- executions

  #dispatch(execution: Execution): void {
    const record = this.records[execution.position]!
    record.open++
    this.#open++
    if (record.executions++ === 0 && !this.#parts.no_cache) this.#cache.lead(record, execution)
    else this.#claim(record, execution)
  }

  #hit(record: NodeRecord): CacheOrigin | null {
    if (record.covered !== null) return record.covered
    return record.executions === 0 && !this.#parts.no_cache ? this.#cache.hit(record) : null
  }

  #restore(record: NodeRecord, origin: CacheOrigin): Record<string, unknown> | undefined {
    record.cached_from = origin.run
    record.executions = 0
    record.finished_at = this.#parts.now_us()
    record.emissions = origin.emissions
    this.#ends.conclude(record, 'cached')
    const outputs: Record<string, unknown> = {}
    for (const output of origin.outputs) {
      outputs[output.port] = output.value
      for (const one of record.outputs) if (one.port === output.port) one.restore(output)
    }
    this.#parts.progressed()
    return origin.outputs.length > 0 ? outputs : undefined
  }

  #claim(record: NodeRecord, execution: Execution): void {
    const { resources, flavorOf, id } = this.#parts
    let asked: ResourceAmounts | null
    try {
      asked = askedBy(record.node, flavorOf)
    } catch (error) {
      this.#close(record)
      this.#flow.arrive(execution, { type: 'threw', error })
      return
    }
    record.queued_at ??= this.#parts.now_us()
    const { device } = record.node
    if (asked === null && device === null) return this.#call(record, execution, null)
    asked ??= NO_AMOUNTS
    record.asked = asked
    if (record.status !== 'queued') this.#ends.move(record, 'queued')
    this.#parts.progressed()
    const waited = resources.claim({ node: record.node.qualified, run: id, asked, device })
    this.#calls.add(waited)
    const waits = waited.waits ? 1 : 0
    this.#waiting += waits
    waited.promise.then(
      grant => {
        this.#calls.delete(waited)
        this.#waiting -= waits
        record.granted = grant.granted
        record.machine = grant.machine
        this.#call(record, execution, grant)
      },
      error => {
        this.#calls.delete(waited)
        this.#waiting -= waits
        if (this.#mode !== 'running') return this.#endHere(record)
        this.#close(record)
        this.#flow.arrive(execution, { type: 'threw', error })
      },
    )
    this.#rest()
  }

  /** Resources are claimed before the place, so that a run that waits for them holds no place. */
  #call(record: NodeRecord, execution: Execution, grant: Grant | null): void {
    this.#whenPlaced(() => {
      if (this.#mode === 'running') return this.#start(record, execution, grant)
      if (grant !== null) this.#parts.resources.release(grant)
      this.#endHere(record)
    })
  }

  #start(record: NodeRecord, execution: Execution, grant: Grant | null): void {
    const { desk, run_plan, id, resources } = this.#parts
    this.#has_begun = true
    const emissions = { waiting: 0 }
    record.started_at ??= this.#parts.now_us()
    if (record.status !== 'running') this.#ends.move(record, 'running')
    const request = { flow: run_plan.plan.flow, run: { id }, node: record.node, inputs: execution.inputs, grant }
    const call = desk.run(request, record.state, {
      emitted: (outputs, processed) => {
        this.#inOrder(execution, outputs, true, ready => {
          if (this.#mode !== 'running') return processed()
          this.#flow.arrive(execution, {
            type: 'emitted',
            outputs: ready,
            processed: () => this.#processed(emissions, processed),
          })
        })
      },
      note: note => {
        if (note.type === 'log') this.#say(record, note.level, note.ts, note.text)
        else this.#parts.note(this.#parts.masks.deep(note))
      },
      metrics: (points, dropped, taken) => {
        if (this.#mode !== 'running') return taken()
        this.#dropped(record, dropped + this.#metrics.add(record, this.#parts.masks.deep(points), taken))
        this.#parts.progressed()
      },
      // Lines of a body that was told to end count, too: they may tell why it takes so long.
      lines: (lines, dropped, taken) => {
        this.#log.add(record.node.id, lines, dropped, taken)
        if (this.#mode !== 'running') this.#log.end()
        this.#parts.progressed()
      },
      artifact: digest => this.#values.artifact(digest),
      ended: outcome => {
        this.#calls.delete(call)
        record.state = outcome.state
        record.body_ms += outcome.ms
        if (grant !== null) resources.release(grant)
        if (emissions.waiting >= STILL_EMISSIONS) this.#still--
        emissions.waiting = Number.NEGATIVE_INFINITY
        const outputs = outcome.type === 'returned' ? outcome.outputs : null
        this.#inOrder(execution, outputs, true, ready => {
          if (this.#mode !== 'running') return this.#endHere(record)
          this.#close(record)
          if (outcome.type === 'returned') this.#flow.arrive(execution, { type: 'returned', value: ready })
          else this.#flow.arrive(execution, { type: 'threw', error: new CallFailure(outcome.failure) })
        })
      },
    })
    this.#calls.add(call)
  }

  /** Passes outputs on at once, or when their long values are prepared, in the order in which the body gave them. */
  #inOrder(execution: Execution, outputs: unknown, digested: boolean, goOn: (ready: unknown) => void): void {
    const before = this.#preparing.get(execution)
    const isLong = this.#mode === 'running' && holdsLong(outputs)
    if (before === undefined && !isLong) return goOn(outputs)
    const { slices, onDefect } = this.#parts
    const { node } = this.records[execution.position]!
    const unprepared = (error: unknown): unknown => {
      onDefect(error)
      return outputs
    }
    const ready = isLong ? slices(this.#long.ready(node, outputs as object, digested)).catch(unprepared) : outputs
    const done = Promise.all([ready, before])
      .then(([outputs]) => {
        if (this.#preparing.get(execution) === done) this.#preparing.delete(execution)
        goOn(outputs)
      })
      .catch(onDefect)
    this.#preparing.set(execution, done)
  }

  /** Counts points that were dropped; `#tellDropped` logs their number. */
  #dropped(record: NodeRecord, count: number): void {
    if (count === 0) return
    record.metrics_dropped += count
    record.changed = true
  }

  #tellDropped(record: NodeRecord): void {
    const count = record.metrics_dropped
    if (count === 0) return
    const { METRIC_POINTS_PER_RUN, METRIC_NAMES_PER_RUN } = limits
    const text = `${count} points of ctx.metric were dropped. A run keeps ${METRIC_POINTS_PER_RUN} points under ${METRIC_NAMES_PER_RUN} names; give fewer of them.`
    this.#say(record, 'warn', this.#parts.now_us(), text)
  }

  #say(record: NodeRecord, level: LogLevel, ts: number, text: string): void {
    this.#log.say(record.node.id, level, ts, this.#parts.masks.text(text))
    this.#parts.progressed()
  }

  /** `emissions`: the unprocessed emissions of one call. */
  #processed(emissions: { waiting: number }, goOn: () => void): void {
    if (++emissions.waiting === STILL_EMISSIONS) this.#still++
    this.#drains.push(() => {
      if (emissions.waiting-- === STILL_EMISSIONS) this.#still--
      goOn()
    })
    if (!this.#turning) this.#drain()
  }

  #close(record: NodeRecord): void {
    record.open--
    this.#open--
    record.changed = true
    if (record.open > 0) return
    this.#tellDropped(record)
    this.#ends.ran(record)
  }

  /** Ends a record of a run that is ending: nothing more is published. */
  #endHere(record: NodeRecord): void {
    this.#close(record)
    this.#finishIfEnded()
  }

  #failed(record: NodeRecord, reason: Failure, inputs: unknown): void {
    const { masks } = this.#parts
    const error: RunError = {
      code: reason.code,
      message: masks.text(reason.message),
      node: record.node.id,
      stack: reason.stack === null ? null : masks.text(reason.stack),
    }
    record.error ??= { ...error, inputs: masks.deep(this.#shown(inputs)) }
    this.error ??= error
    record.changed = true
  }

  /** The inputs for a record; null when they are too large or not plain values. */
  #shown(inputs: unknown): unknown {
    const { codec } = this.#parts
    if (inputs === null || codec.checkPlain(inputs) !== null) return null
    return codec.encodePlain(inputs).length > limits.FAILED_INPUT_BYTES ? null : inputs
  }

  /** Copies the volatile artifacts that recorded values name to the disk, before the node has ended. */
  #keep(record: NodeRecord, digest: string): void {
    const kept = this.#parts.keepArtifact(digest)
    if (typeof kept === 'string') return this.#kept(record, digest, kept)
    record.open++
    this.#open++
    kept
      .then(
        became => this.#kept(record, digest, became),
        error => this.#failed(record, failureOf(error), null),
      )
      .then(() => {
        if (this.#mode !== 'running') return this.#endHere(record)
        this.#close(record)
        this.#wake()
      })
      .catch(this.#parts.onDefect)
  }

  #kept(record: NodeRecord, digest: string, became: Kept): void {
    if (became === 'fell_out') this.#failed(record, failureOf(absent(digest, true)), null)
    else this.#values.artifact(digest)
  }

  // ---- the thread's part

  #publish(position: number, value: EncodedValue): number {
    const count = this.#values.publish(position, value)
    if (this.#values.bytes > limits.RUN_RESULT_BYTES) {
      const { producer } = this.#parts.run_plan.plan.messages[position]!
      const most = `The last values of a run may take ${limits.RUN_RESULT_BYTES} bytes together.`
      this.#failed(this.records[producer]!, failure('value_too_large', most), null)
    }
    return count
  }
}
