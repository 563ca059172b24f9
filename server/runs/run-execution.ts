import { FlowRun } from '../../core/cascade/flow-run.ts'
import type { Failure, Host, Ingress } from '../../core/cascade/host.ts'
import type { Packed } from '../../core/cascade/plan-run.ts'
import { newItem } from '../../core/cascade/queue.ts'
import { type Execution, Seat } from '../../core/cascade/seat.ts'
import { isUpstream, type Plan } from '../../core/flow/plan.ts'
import { askedBy, type FlavorLookUp } from '../../core/flow/resources.ts'
import type { Fingerprint, Sha256, StageFingerprint } from '../../core/runs/fingerprint.ts'
import { type Codec, newEncoded } from '../../protocol/codec.ts'
import type { EncodedValue } from '../../protocol/encoded.ts'
import type { ErrorCode } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { ResourceAmounts, RunError, RunNodeStatus } from '../../protocol/run.ts'
import { CallFailure } from '../../threads/lane-calls.ts'
import type { Note } from '../../threads/lane-messages.ts'
import { failure, failureOf } from '../../threads/node-call.ts'
import type { CallDesk } from '../live/call-desk.ts'
import type { RunCall } from '../live/call-sink.ts'
import type { Grant, ResourceDesk, Waited } from '../live/resource-desk.ts'
import type { CacheOrigin, RunProgress } from '../store/runs/records.ts'
import { NodeRecord } from './node-record.ts'
import { RunMetrics } from './run-metrics.ts'
import { RunValues } from './run-values.ts'
import type { StageCache } from './stage-cache.ts'

/** Where nodes get what they declare. */
export type Resources = Pick<ResourceDesk, 'claim' | 'release'>

export interface RunExecutionParts {
  readonly id: string
  readonly plan: Plan
  /** By the position of a node; null: the stage cache does not know it. */
  readonly fingerprints: readonly (StageFingerprint | null)[]
  /** Expected seconds, by the position of a node. */
  readonly expected_s: readonly (number | null)[]
  readonly resolved: Readonly<Record<string, unknown>>
  /** Of nodes that publish by themselves: what they give, by message. */
  readonly given: ReadonlyMap<string, unknown>
  readonly code_digest: string | null
  readonly no_cache: boolean
  readonly attempt: number
  readonly desk: Pick<CallDesk, 'run'>
  readonly cache: StageCache
  readonly resources: Resources
  readonly flavorOf: FlavorLookUp
  readonly codec: Codec
  readonly sha256: Sha256
  now_us(): number
  note(note: Note): void
  onDefect(error: unknown): void
  /** A node has another status; for those who watch. */
  moved(record: NodeRecord): void
  /** Something is to be written; at most once until `takeProgress`. */
  progressed(): void
  ended(): void
}

/** A queue that never has anything: what comes into a run comes at its start. */
const NO_INGRESS: Ingress = { take: () => false }
const TURN_MS = 2

/**
 * A batch run: one cascade of the wave engine on the front thread, every body dispatched, apart from the live table. Its
 * values live here; its record is made of what happened.
 *
 *   new --start--> running --nothing is left to run--> over
 *                  running --end--> ending --the last body has ended--> over
 */
export class RunExecution {
  readonly records: readonly NodeRecord[]
  /** The first failure. */
  error: RunError | null = null

  readonly #parts: RunExecutionParts
  readonly #flow: FlowRun
  readonly #position: ReadonlyMap<NodeRecord['node'], number>
  readonly #values: RunValues
  readonly #metrics = new RunMetrics()
  readonly #calls = new Set<RunCall | Waited>()
  readonly #led = new Set<string>()
  /** Records that wait for another run to compute what they would. */
  readonly #followers = new Set<NodeRecord>()
  /** Records whose last execution has ended, as far as is known; not settled yet. */
  readonly #ran = new Set<NodeRecord>()
  /** Bitset over positions: records with a final status. */
  readonly #ended: Uint32Array
  readonly #scratch: EncodedValue[] = []
  #open = 0
  #turning = false
  #wanted = false
  #drains: (() => void)[] = []
  #mode: 'new' | 'running' | 'ending' | 'over' = 'new'

  constructor(parts: RunExecutionParts) {
    this.#parts = parts
    const { plan, sha256 } = parts
    this.records = plan.nodes.map(node => new NodeRecord(plan, node, parts.expected_s[node.position]!, sha256))
    this.#ended = new Uint32Array(Math.ceil(plan.nodes.length / 32))
    this.#position = new Map(plan.nodes.map(node => [node, node.position]))
    this.#values = new RunValues({ plan, records: this.records, codec: parts.codec, sha256 })
    this.#flow = new FlowRun(plan, this.#host(), newItem())
  }

  start(): void {
    this.#mode = 'running'
    const { plan, resolved, given } = this.#parts
    const values = new Map<number, unknown>()
    for (const [position, message] of plan.messages.entries()) {
      const name = message.own ? message.name.slice(plan.flow.length + 1) : message.name
      if (Object.hasOwn(resolved, name)) values.set(position, this.#values.give(position, resolved[name]))
      else if (given.has(name)) values.set(position, this.#values.give(position, given.get(name)))
    }
    for (const record of this.records) {
      if (record.node.digest !== null) continue
      record.executions = 1
      record.started_at = record.finished_at = this.#parts.now_us()
      this.#move(record, 'running')
      this.#conclude(record, 'succeeded')
    }
    const sources = plan.nodes.filter(node => node.digest !== null && node.inputs.length === 0)
    this.#flow.beginWith(
      values,
      sources.map(node => node.position),
    )
    this.#wake()
  }

  /** Nothing new starts; bodies are told to stop. `ended` follows when the last of them has. */
  end(code: ErrorCode, message: string): void {
    if (this.#mode === 'over' || this.#mode === 'ending') return
    this.#mode = 'ending'
    this.error = { code, message, node: null, stack: null }
    for (const call of [...this.#calls]) {
      if ('end' in call) call.end(code, message)
      else call.cancel()
    }
    for (const record of this.#followers) {
      this.#followers.delete(record)
      this.#close(record)
    }
    this.#finishIfEnded()
  }

  get isOver(): boolean {
    return this.#mode === 'over'
  }

  /** The last value of every message that it produced; null when they are too much to be kept in a record. */
  result(): Record<string, unknown> | null {
    return this.#values.bytes > limits.RUN_RESULT_BYTES ? null : this.#values.result()
  }

  /** What was not taken before. Its points count as on their way until `written`. */
  takeProgress(): RunProgress {
    const nodes = this.records.filter(record => record.changed)
    for (const record of nodes) record.changed = false
    return {
      id: this.#parts.id,
      nodes: nodes.map(record => record.stored(this.#parts.attempt)),
      metrics: this.#metrics.take(),
      artifacts: this.#values.takeArtifacts(),
    }
  }

  written({ metrics }: RunProgress): void {
    this.#metrics.written(metrics.length)
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
    this.#settle()
    this.#drain()
    this.#finishIfEnded()
  }

  /** Bodies that emitted go on once what they emitted is below the bound. */
  #drain(): void {
    if (this.#drains.length === 0 || this.#flow.inner >= limits.FLOW_WAITING_ITEMS) return
    for (const goOn of this.#drains.splice(0)) goOn()
  }

  #finishIfEnded(): void {
    if (this.#mode === 'over' || this.#open > 0) return
    if (this.#mode === 'running' && (this.#turning || !this.#flow.isAtRest)) return
    const cancelled = this.#mode === 'ending'
    this.#mode = 'over'
    for (const goOn of this.#drains.splice(0)) goOn()
    const now = this.#parts.now_us()
    for (const record of this.records) {
      if (record.hasEnded) continue
      if (record.executions > 0) record.finished_at ??= now
      if (cancelled) this.#conclude(record, 'cancelled')
      else if (record.executions === 0 && record.error === null) this.#conclude(record, 'skipped')
      else this.#settleOne(record)
    }
    for (const key of this.#led) this.#parts.cache.settle(key)
    this.#led.clear()
    this.#parts.ended()
  }

  // ---- nodes

  /** Those that have run and that nothing can wake any more get their final status. */
  #settle(): void {
    for (const record of this.#ran) {
      if (record.hasEnded) this.#ran.delete(record)
      else if (this.#isOver(record)) {
        this.#ran.delete(record)
        this.#settleOne(record)
      }
    }
  }

  /** Nothing is open in it, nothing waits before it, and nothing above it can wake it; what above it was never woken is skipped. */
  #isOver(record: NodeRecord): boolean {
    if (record.hasEnded) return true
    if (record.open > 0) return false
    const { mailbox } = this.#seatOf(record)
    if (mailbox.waiting.size > 0 || mailbox.reserved !== null) return false
    const { upstream } = record.node
    for (let word = 0; word < upstream.length; word++) {
      let missing = upstream[word]! & ~this.#ended[word]!
      for (; missing !== 0; missing &= missing - 1) {
        const above = this.records[word * 32 + 31 - Math.clz32(missing & -missing)]!
        // A node of a loop can be woken by one that it wakes: the end of the run settles both.
        if (above.node.position >= record.node.position || above.executions > 0 || !this.#isOver(above)) return false
        this.#conclude(above, 'skipped')
      }
    }
    return true
  }

  #move(record: NodeRecord, status: RunNodeStatus): void {
    record.move(status)
    this.#parts.moved(record)
  }

  #conclude(record: NodeRecord, status: 'succeeded' | 'failed' | 'cached' | 'skipped' | 'cancelled'): void {
    this.#move(record, status)
    const { position } = record.node
    this.#ended[position >>> 5]! |= 1 << (position & 31)
  }

  #settleOne(record: NodeRecord): void {
    if (record.error !== null) {
      // It was refused before it began.
      if (record.status === 'pending') this.#move(record, 'queued')
      this.#conclude(record, 'failed')
    } else {
      record.fingerprint ??= this.#fingerprint(record)
      this.#conclude(record, 'succeeded')
    }
    record.finished_at = this.#parts.now_us()
    const key = record.fingerprint?.key
    if (key !== undefined) {
      if (record.status === 'succeeded') this.#parts.cache.add(this.#originOf(record, key))
      if (this.#led.delete(key)) this.#parts.cache.settle(key)
    }
    this.#parts.progressed()
  }

  #originOf(record: NodeRecord, key: string): CacheOrigin {
    const { id, plan } = this.#parts
    const outputs = record.storedOutputs()
    return { key, run: id, flow: plan.flow, node: record.node.id, emissions: record.emissions, outputs }
  }

  /** Everything that the node can read is known: each node above it gave one item at most and has ended, or was a hit. */
  #isComplete(record: NodeRecord): boolean {
    if (this.#open === 1 && !this.#values.many) return !isUpstream(record.node.upstream, record.node.position)
    const { upstream } = record.node
    for (const other of this.records) {
      if (!isUpstream(upstream, other.node.position)) continue
      if (other.open > 0 || (other.emissions > 1 && other.status !== 'cached')) return false
      const { mailbox } = this.#seatOf(other)
      if (mailbox.waiting.size > 0 || mailbox.reserved !== null) return false
    }
    return true
  }

  #seatOf(record: NodeRecord): Seat {
    return this.#flow.run.seats[record.node.position]!
  }

  #fingerprint(record: NodeRecord, digests: ReadonlyMap<number, string> | null = null): Fingerprint | null {
    const { fingerprints, code_digest } = this.#parts
    const stage = fingerprints[record.node.position] ?? null
    return stage === null ? null : this.#values.fingerprint(record, stage, code_digest ?? '', digests)
  }

  // ---- executions

  #dispatch(execution: Execution): void {
    const record = this.records[this.#position.get(execution.seat.node)!]!
    record.open++
    this.#open++
    if (record.covered !== null) return this.#restore(record, execution, record.covered)
    if (record.executions++ === 0 && !this.#parts.no_cache && this.#isComplete(record)) {
      record.fingerprint = this.#fingerprint(record)
      if (record.fingerprint !== null) return this.#lookUp(record, execution, record.fingerprint.key)
    }
    this.#claim(record, execution)
  }

  /** Waits, without holding anything, while another execution computes the same. */
  #lookUp(record: NodeRecord, execution: Execution, key: string): void {
    const { cache } = this.#parts
    const found = cache.find(key)
    const decide = (origin: CacheOrigin | null): void => {
      if (this.#mode !== 'running') return this.#endHere(record)
      if (origin !== null && origin.emissions <= 1) return this.#restore(record, execution, origin)
      if (origin !== null) return this.#restoreMany(record, execution, origin)
      const led = cache.lead(key)
      if (led === null) {
        this.#led.add(key)
        return this.#claim(record, execution)
      }
      this.#followers.add(record)
      void led.then(() => {
        if (this.#followers.delete(record)) this.#lookUp(record, execution, key)
      })
    }
    if (found instanceof Promise)
      found.then(decide, () => {
        // The store says so itself; what cannot be looked up is computed.
        decide(null)
      })
    else decide(found)
  }

  /** Many emissions are not replayed: this is a hit when all that read them are, down to those that gave one item at most. */
  #restoreMany(record: NodeRecord, execution: Execution, origin: CacheOrigin): void {
    this.#coverBelow(record, origin)
      .then(covered => {
        if (this.#mode !== 'running') return this.#endHere(record)
        if (covered === null) return this.#claim(record, execution)
        for (const [below, found] of covered) below.covered = found
        this.#restore(record, execution, origin)
      })
      .catch(this.#parts.onDefect)
  }

  async #coverBelow(first: NodeRecord, origin: CacheOrigin): Promise<Map<NodeRecord, CacheOrigin> | null> {
    const covered = new Map([[first, origin]])
    const digests = new Map<number, string>()
    const readers = new Set<NodeRecord>()
    const cover = (record: NodeRecord, { outputs, emissions }: CacheOrigin): void => {
      for (const { port, message } of record.node.outputs) {
        digests.set(message, outputs.find(output => output.port === port)?.digest ?? '')
        if (emissions <= 1) continue
        for (const reader of this.records)
          if (reader.node.inputs.some(input => input.message === message)) readers.add(reader)
      }
    }
    cover(first, origin)
    // In wave order, so that what a reader reads is covered before it.
    for (const record of this.records) {
      if (!readers.has(record) || covered.has(record)) continue
      if (record.executions > 0) return null
      const known = record.node.inputs.every(({ message }) => digests.has(message) || this.#isKnown(message))
      const fingerprint = known ? this.#fingerprint(record, digests) : null
      const found = fingerprint === null ? null : await this.#parts.cache.find(fingerprint.key)
      if (found === null) return null
      record.fingerprint = fingerprint
      covered.set(record, found)
      cover(record, found)
    }
    return readers.size === [...readers].filter(reader => covered.has(reader)).length ? covered : null
  }

  /** No more items of the message will come. */
  #isKnown(message: number): boolean {
    const { producer } = this.#parts.plan.messages[message]!
    return producer < 0 || this.records[producer]!.hasEnded
  }

  #restore(record: NodeRecord, execution: Execution, origin: CacheOrigin): void {
    record.cached_from = origin.run
    record.executions = 0
    record.finished_at = this.#parts.now_us()
    this.#conclude(record, 'cached')
    const outputs: Record<string, unknown> = {}
    record.emissions = origin.emissions
    for (const output of origin.outputs) {
      outputs[output.port] = output.value
      record.outputs.find(one => one.port === output.port)?.restore(output)
    }
    this.#close(record)
    this.#flow.arrive(execution, { type: 'returned', value: origin.outputs.length > 0 ? outputs : undefined })
    this.#parts.progressed()
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
    if (asked === null) return this.#call(record, execution, null)
    record.asked = asked
    if (record.status !== 'queued') this.#move(record, 'queued')
    this.#parts.progressed()
    const waited = resources.claim({ node: record.node.qualified, run: id, asked })
    this.#calls.add(waited)
    waited.promise.then(
      grant => {
        this.#calls.delete(waited)
        record.granted = grant.granted
        record.machine = grant.machine
        if (this.#mode === 'running') return this.#call(record, execution, grant)
        resources.release(grant)
        this.#endHere(record)
      },
      error => {
        this.#calls.delete(waited)
        if (this.#mode !== 'running') return this.#endHere(record)
        this.#close(record)
        this.#flow.arrive(execution, { type: 'threw', error })
      },
    )
  }

  #call(record: NodeRecord, execution: Execution, grant: Grant | null): void {
    const { desk, plan, id, resources } = this.#parts
    record.started_at ??= this.#parts.now_us()
    if (record.status !== 'running') this.#move(record, 'running')
    const request = { flow: plan.flow, run: { id }, node: record.node, inputs: execution.inputs, grant }
    const call = desk.run(request, record.state, {
      emitted: (outputs, processed) => {
        if (this.#mode !== 'running') return processed()
        this.#flow.arrive(execution, { type: 'emitted', outputs, processed: () => this.#processed(processed) })
      },
      note: note => this.#parts.note(note),
      metrics: points => {
        const refusal = this.#metrics.add(record, points)
        if (refusal === null) this.#parts.progressed()
        else call.end('too_many_metrics', `${refusal}.`)
      },
      artifact: digest => this.#values.artifact(digest),
      ended: outcome => {
        this.#calls.delete(call)
        record.state = outcome.state
        record.body_ms += outcome.ms
        if (grant !== null) resources.release(grant)
        if (this.#mode !== 'running') return this.#endHere(record)
        this.#close(record)
        if (outcome.type === 'returned') this.#flow.arrive(execution, { type: 'returned', value: outcome.outputs })
        else this.#flow.arrive(execution, { type: 'threw', error: new CallFailure(outcome.failure) })
      },
    })
    this.#calls.add(call)
  }

  #processed(goOn: () => void): void {
    this.#drains.push(goOn)
    if (!this.#turning) this.#drain()
  }

  #close(record: NodeRecord): void {
    record.open--
    this.#open--
    record.changed = true
    if (record.open === 0) this.#ran.add(record)
  }

  /** The run is ending: nothing of it is published any more. */
  #endHere(record: NodeRecord): void {
    this.#close(record)
    this.#finishIfEnded()
  }

  #failed(record: NodeRecord, reason: Failure): void {
    const error: RunError = {
      code: reason.code,
      message: reason.message,
      node: record.node.id,
      stack: reason.stack,
    }
    record.error ??= error
    this.error ??= error
    record.changed = true
  }

  // ---- the thread's part

  #publish(position: number, value: EncodedValue): number {
    const count = this.#values.publish(position, value)
    if (this.#values.bytes > limits.RUN_RESULT_BYTES) {
      const { producer } = this.#parts.plan.messages[position]!
      const most = `The last values of a run may take ${limits.RUN_RESULT_BYTES} bytes together.`
      this.#failed(this.records[producer]!, failure('value_too_large', most))
    }
    return count
  }

  #host(): Host {
    const { codec } = this.#parts
    const impossible = (): never => {
      throw new RangeError('every body of a run is dispatched')
    }
    return {
      codec,
      origin_us: performance.timeOrigin * 1000,
      scratch: at => (this.#scratch[at] ??= newEncoded()),
      clock: () => performance.now(),
      nextSeq: () => 1,
      newest: message => this.#values.newest(message),
      standing: plan => plan.messages.map(() => undefined),
      unpack: (packed: Packed) => codec.decode(packed.kind, 0, packed.bytes, 0, packed.bytes.length),
      newSeat: (node, mailbox) => new Seat(node, mailbox),
      loadAtOnce: () => true,
      load: impossible,
      call: impossible,
      thrown: impossible,
      failureOf: error => (error instanceof CallFailure ? error.failure : failureOf(error)),
      dispatched: () => true,
      dispatch: (_flow, execution) => this.#dispatch(execution),
      executed() {},
      waitedForInput() {},
      queueWait() {},
      failed: (_flow, seat, reason) => this.#failed(this.records[this.#position.get(seat.node)!]!, reason),
      publish: (_run, position, value) => this.#publish(position, value),
      passes: () => true,
      cycle: (_flow, run, position, reason) => {
        const record = this.records[position]!
        this.#failed(record, failure('cycle', `${run.plan.nodes[position]?.qualified}: ${reason}.`))
      },
      begun() {},
      ended() {},
      mayBegin: () => true,
      inFlight() {},
      planChanged() {},
      wants: () => this.#wake(),
    }
  }
}
