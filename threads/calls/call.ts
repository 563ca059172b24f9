import { THREW } from '../../core/cascade/host.ts'
import type { Body } from '../../core/cascade/seat.ts'
import type { PlanNode } from '../../core/flow/plan.ts'
import { LinePacker } from '../../core/runs/log-lines.ts'
import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { LogLevel } from '../../protocol/nouns/run-log.ts'
import type { ArtifactReference } from '../../protocol/values/dtype.ts'
import { encodeState, type KeptState } from '../lane/kept-state.ts'
import type { CallMetric, CallOutcome, FromCall, Note, RunIdentity, ToCall } from '../lane/messages.ts'
import type { ArtifactPlace } from './artifact-files.ts'
import type { CallLine, CallListener } from './call-line.ts'
import { Gauges } from './gauges.ts'
import { failureOf, loadBody, NodeDoor } from './node-call.ts'
import { type ContextHost, LineBudget, NodeContext, NodeState, printLine } from './node-context.ts'
import { type CheckedNode, OutputCheck } from './output-check.ts'
import { OwnClock } from './own-clock.ts'
import type { PrintTarget } from './printed/output.ts'
import { addTaken, SendWindow, type Taken } from './send-window.ts'

/** The parts of a plan's node that its calls need. */
export type CallNode = Pick<PlanNode, 'id' | 'settings' | 'digest' | 'change_key' | 'timeout_s'> & CheckedNode

/** One call of a node's body, away from the lanes. */
export interface NodeCall {
  readonly flow: string
  readonly run: RunIdentity | null
  readonly node: CallNode
  readonly inputs: Record<string, unknown>
  readonly state: Record<string, unknown>
}

/** Where calls find their bodies, and where those keep artifacts. */
export interface CallPlace {
  /** Folder of the stripped bodies, each named by its digest. */
  readonly bodies: string
  readonly artifacts: ArtifactPlace
}

/** The same in a thread that has something to do when a body has been loaded, and when one has ended. */
export interface BodyPlace extends CallPlace {
  readonly taken: Taken
  /** Of what a batch run keeps: secrets are taken out. A process leaves that to its engine. */
  mask?(text: string): string
  /** Asks the engine for a secret; null: there is none. */
  secret(name: string, node: string): Promise<string | null>
  readonly loaded?: () => void
  /** Before anything is made of what it answered or threw. */
  readonly ended?: () => void
}

/** As they were before any body was loaded: a body may put others in place of the globals. */
const { performance: clock, setImmediate, setTimeout, structuredClone } = globalThis
const own_clock = new OwnClock()

/** Emissions on their way to the lane before the body is made to wait for it. */
const WINDOW = 64
const METRIC_BATCH = 256
const METRIC_BATCH_MS = 50
const CHECKS_KNOWN = 1_000

/** Modules are never unloaded anyway: importing the same digest again gives the same module. */
const loaded = new Map<string, Body>()

async function load(place: BodyPlace, digest: string, node: string): Promise<Body> {
  const body = await loadBody(place.bodies, digest, node)
  loaded.set(digest, body)
  place.loaded?.()
  return body
}

/** From the body's loading to its end: its checks, its context, what it says meanwhile. */
export class NodeCallTask implements ContextHost, CallListener, PrintTarget {
  readonly node: CallNode
  readonly #task: Omit<NodeCall, 'node'>
  readonly #place: BodyPlace
  readonly #line: CallLine
  /** Made for bodies that ask for it. */
  #controller: AbortController | null = null
  #abort_reason: ServiceError | null = null
  readonly #state: NodeState
  /** The state as it came, since the body writes into the object itself; null: it came empty. */
  readonly #before: Buffer | null
  readonly #check: OutputCheck
  #points: CallMetric[] = []
  #points_window: SendWindow | null = null
  /** Points that nobody took, not told yet. */
  #dropped_points = 0
  /** Of a batch run. */
  readonly #lines = new LinePacker()
  #lines_window: SendWindow | null = null
  /** Lines that nobody took, not told yet. */
  #dropped_lines = 0
  /** Null until the body runs. */
  #context: NodeContext | null = null
  /** Of a live node: sent when the body lets the event loop run, and at its end. */
  readonly #gauges = new Gauges<Note>()
  /** By reason; sent with the gauges. */
  readonly #dropped = new Map<string, number>()
  #over = false
  #unprocessed = 0
  #unawaited = 0
  #unawaited_bytes = 0
  #given_up = false
  #goOn: (() => void)[] = []

  constructor(
    task: Omit<NodeCall, 'node'>,
    { node, check }: KnownNode,
    place: BodyPlace,
    lineTo: (listener: CallListener) => CallLine,
  ) {
    this.#task = task
    this.#place = place
    this.node = node
    this.#check = check
    this.#line = lineTo(this)
    this.#state = new NodeState(task.state)
    const isEmpty = Object.keys(task.state).length === 0
    this.#before = isEmpty ? null : check.codec.encodePlain({ k: '', s: task.state } satisfies KeptState)
  }

  async run(): Promise<CallOutcome> {
    const busy_before = clock.eventLoopUtilization()
    const outcome = this.#sendable(await this.#outcome(clock.now()))
    this.#over = true
    return { ...outcome, held_ms: Math.min(outcome.ms, clock.eventLoopUtilization(busy_before).active) }
  }

  async #outcome(from: number): Promise<CallOutcome> {
    const { digest, qualified } = this.node
    try {
      const body = loaded.get(digest!) ?? (await load(this.#place, digest!, qualified))
      const outputs = await this.#body(body)
      this.#place.ended?.()
      if (outputs !== undefined && outputs !== null) this.#check.refuse(outputs)
      this.#flushAll()
      const state = this.#stateNow()
      if (state instanceof ServiceError) return this.#keptNot(outputs, state, from)
      return { type: 'returned', outputs, state, ms: clock.now() - from }
    } catch (error) {
      this.#place.ended?.()
      this.#flushAll()
      const state = this.#stateNow()
      const kept = state instanceof ServiceError ? this.#stateBefore() : state
      return { type: 'threw', failure: failureOf(error), state: kept, ms: clock.now() - from }
    }
  }

  /** A result that no message can carry is the body's mistake: found here, where it has a name. */
  #sendable(outcome: CallOutcome): CallOutcome {
    if (outcome.type !== 'returned' || isPlain(outcome.outputs)) return outcome
    try {
      structuredClone(outcome.outputs)
      return outcome
    } catch (error) {
      const refusal = this.#unsendable(error)
      return { type: 'threw', failure: failureOf(refusal), state: outcome.state, ms: outcome.ms }
    }
  }

  async #body(body: Body): Promise<unknown> {
    const door = new NodeDoor()
    const identity = {
      flow: this.#task.flow,
      id: this.node.id,
      qualified: this.node.qualified,
      // A copy: changes of the settings by one body must not reach the next.
      settings: structuredClone(this.node.settings),
      run: this.#task.run,
    }
    this.#context = new NodeContext(identity, this, this.#state, linesOf(this.#task, this.node))
    const result = door.enter(body, this.#task.inputs, this.#context)
    if (result === THREW) throw door.thrown
    const generator = result as AsyncIterator<unknown> | null
    if (typeof generator !== 'object' || generator === null || typeof generator.next !== 'function') return await result
    for (;;) {
      const step = await generator.next()
      if (step.done) return step.value
      await this.emit(step.value)
      if (this.#abort_reason !== null) {
        await generator.return?.()
        return undefined
      }
    }
  }

  emit(outputs: unknown): Promise<void> {
    // Code that the body left running may still emit; it is ignored: an error here would end the thread during the next call.
    if (this.#over) return Promise.resolve()
    this.#unawaited_bytes += this.#check.refuse(outputs)
    const { UNAWAITED_EMITS, UNAWAITED_EMIT_BYTES } = limits
    if (++this.#unawaited > UNAWAITED_EMITS) throw this.#overflow(`${UNAWAITED_EMITS} times`)
    if (this.#unawaited_bytes > UNAWAITED_EMIT_BYTES) throw this.#overflow(`${UNAWAITED_EMIT_BYTES} bytes`)
    this.#unprocessed++
    this.#send({ type: 'emit', outputs })
    if (this.#unprocessed < WINDOW) {
      // The turn of the event loop that an await gives is what lets acknowledgements in.
      return new Promise(resolve => setImmediate(() => this.#awaited(resolve)))
    }
    if (this.#given_up) return Promise.resolve()
    return new Promise(resolve => this.#goOn.push(() => this.#awaited(resolve)))
  }

  #overflow(most: string): ServiceError {
    return new ServiceError('emit_overflow', `${this.node.qualified} emitted more than ${most} without awaiting.`)
  }

  signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController()
      if (this.#abort_reason !== null) this.#controller.abort(this.#abort_reason)
    }
    return this.#controller.signal
  }

  note(note: Note): void {
    if (this.#over) return
    if (note.type === 'log' && this.#task.run !== null) this.#addLine(note.level, note.ts, note.text)
    else this.#send({ type: 'note', note })
  }

  /** The body, or a library that it uses, has printed it. */
  printed(line: string, level: LogLevel): boolean {
    if (this.#over || this.#context === null) return false
    printLine(this.#context, line, level)
    return true
  }

  /** In batch runs lines travel in batches, as points do. */
  #addLine(level: LogLevel, ts: number, text: string): void {
    this.#lines.add(level, ts, this.#place.mask?.(text) ?? text)
    const { RUN_LOG_BATCH_LINES, RUN_LOG_BATCH, RUN_LOG_BATCH_MS } = limits
    if (this.#lines.count >= RUN_LOG_BATCH_LINES || this.#lines.size >= RUN_LOG_BATCH) this.#flushLines()
    else if (this.#lines.count === 1) setTimeout(() => this.#flushLines(), RUN_LOG_BATCH_MS).unref()
  }

  #flushLines(ends = false): void {
    if (this.#over || (this.#lines.count === 0 && this.#dropped_lines === 0)) return
    let lines = this.#lines.take()
    this.#lines_window ??= new SendWindow(this.#place.taken, 'lines')
    if (!this.#lines_window.enter(lines.size)) {
      this.#dropped_lines += lines.count
      lines = this.#lines.take()
      // Told with the next lines that somebody takes, or at the end.
      if (!ends) return
    }
    const dropped = this.#dropped_lines
    this.#dropped_lines = 0
    this.#line.send({ type: 'lines', lines, dropped })
  }

  #flushAll(): void {
    this.#flushMetrics(true)
    this.#flushLines(true)
  }

  /** In batch runs points travel in batches: a body may note hundreds between two turns of its event loop. */
  metric(name: string, value: number, step: number | null): void {
    const node = this.node
    const { run } = this.#task
    if (run === null) {
      if (this.#over) return
      if (this.#gauges.isEmpty) this.#flushSoon()
      const gauge: Note = { type: 'gauge', node: node.qualified, name, value, step, ts: this.now_us() }
      if (this.#gauges.set(node.qualified, name, gauge)) this.dropped('gauges', 1)
      return
    }
    if (this.#over) return
    this.#points.push({ name, value, step })
    if (this.#points.length >= METRIC_BATCH) this.#flushMetrics()
    else if (this.#points.length === 1) this.#flushSoon()
  }

  #flushMetrics(ends = false): void {
    for (const gauge of this.#gauges.take()) this.note(gauge)
    for (const [reason, count] of this.#dropped)
      this.note({ type: 'dropped', flow: this.#task.flow, reason, count, ts: this.now_us() })
    this.#dropped.clear()
    if (this.#points.length === 0 && this.#dropped_points === 0) return
    let points = this.#points
    this.#points = []
    this.#points_window ??= new SendWindow(this.#place.taken, 'points')
    if (!this.#points_window.enter(points.length)) {
      this.#dropped_points += points.length
      points = []
      // Told with the next points that somebody takes, or at the end.
      if (!ends) return
    }
    const dropped = this.#dropped_points
    this.#dropped_points = 0
    this.#line.send({ type: 'metrics', points, dropped })
  }

  dropped(reason: string, count: number): void {
    if (this.#over || this.#task.run !== null) return
    if (this.#dropped.size === 0) this.#flushSoon()
    this.#dropped.set(reason, (this.#dropped.get(reason) ?? 0) + count)
  }

  #flushSoon(): void {
    setTimeout(() => this.#flushMetrics(), METRIC_BATCH_MS).unref()
  }

  get artifacts(): ArtifactPlace {
    return this.#place.artifacts
  }

  artifact({ digest }: ArtifactReference): void {
    if (this.#task.run !== null && !this.#over) this.#line.send({ type: 'artifact', digest })
  }

  secret(name: string): Promise<string | null> {
    return this.#place.secret(name, this.node.qualified)
  }

  now_us(): number {
    return own_clock.now_us()
  }

  #awaited(resolve: () => void): void {
    this.#unawaited = this.#unawaited_bytes = 0
    resolve()
  }

  #abort(reason: ServiceError): void {
    this.#abort_reason ??= reason
    this.#controller?.abort(reason)
  }

  /** The lane has given the call up, or is gone: further emissions of the body are dropped, and it must not wait for them. */
  closed(): void {
    this.#given_up = true
    this.#abort(new ServiceError('interrupted', 'The call was withdrawn before it had ended.'))
    for (const goOn of this.#goOn.splice(0)) goOn()
  }

  receive(message: ToCall): void {
    switch (message.type) {
      case 'processed':
        this.#unprocessed--
        this.#goOn.shift()?.()
        break
      case 'taken':
        addTaken(this.#place.taken, message.what, message.count)
        break
      case 'abort':
        this.#abort(new ServiceError('interrupted', message.reason))
        break
      default:
        message satisfies never
    }
  }

  /** A copy of what the body wrote, as long as it can be kept: nothing of its getters and traps goes along. */
  #stateNow(): Record<string, unknown> | ServiceError {
    if (!this.#state.touched) return this.#task.state
    const encoded = encodeState(this.#check.codec, { k: '', s: this.#state.object }, this.node.qualified)
    return encoded instanceof ServiceError ? encoded : this.#decoded(encoded)
  }

  #stateBefore(): Record<string, unknown> {
    return this.#before === null ? {} : this.#decoded(this.#before)
  }

  #decoded(encoded: Buffer): Record<string, unknown> {
    return (this.#check.codec.decodePlain(encoded) as KeptState).s
  }

  /** As on a lane: the outputs are published, the state stays what it was, and the node shows why. */
  #keptNot(outputs: unknown, refusal: ServiceError, from: number): CallOutcome {
    if (outputs !== undefined && outputs !== null) this.#send({ type: 'emit', outputs })
    const state = this.#stateBefore()
    return { type: 'threw', failure: failureOf(refusal), state, ms: clock.now() - from }
  }

  #send(message: FromCall): void {
    try {
      this.#line.send(message)
    } catch (error) {
      throw this.#unsendable(error)
    }
  }

  #unsendable(error: unknown): ServiceError {
    const why = error instanceof Error ? error.message : 'it cannot be sent'
    return new ServiceError('bad_output', `${this.node.qualified}: ${why}.`)
  }
}

/** An object of primitives, which any message can carry. */
function isPlain(outputs: unknown): boolean {
  if (typeof outputs !== 'object' || outputs === null) return true
  for (const value of Object.values(outputs)) {
    if (value !== null && (typeof value === 'object' || typeof value === 'function' || typeof value === 'symbol'))
      return false
  }
  return true
}

export interface KnownNode {
  readonly node: CallNode
  readonly check: OutputCheck
}

/** Of a batch run none, since it keeps its lines up to a bound of its own; of a live node that of all its calls in this thread. */
function linesOf({ run }: Pick<NodeCall, 'run'>, { qualified }: CallNode): LineBudget | null {
  if (run !== null) return null
  let budget = budgets.get(qualified)
  if (budget === undefined) {
    if (budgets.size >= CHECKS_KNOWN) budgets.clear()
    budgets.set(qualified, (budget = new LineBudget()))
  }
  return budget
}

const budgets = new Map<string, LineBudget>()

/** A check costs more to make than a short body to run. */
const checks = new Map<string, OutputCheck>()

export function knownNode(node: CallNode): KnownNode {
  const key = `${node.qualified} ${node.change_key}`
  let check = checks.get(key)
  if (check === undefined) {
    if (checks.size >= CHECKS_KNOWN) checks.clear()
    checks.set(key, (check = new OutputCheck(node)))
  }
  return { node, check }
}
