import { FlowRun } from '../../core/cascade/flow-run.ts'
import { type Host, THREW } from '../../core/cascade/host.ts'
import { Packed, type PlanRun } from '../../core/cascade/plan-run.ts'
import { type Bounds, flowBounds } from '../../core/cascade/queue/bounds.ts'
import { GROUP, newItem, type TakenItem } from '../../core/cascade/queue/item.ts'
import type { Failure } from '../../core/cascade/seat.ts'
import { type Body, type Execution, Seat } from '../../core/cascade/seat.ts'
import type { Cascade } from '../../core/cascade/wave.ts'
import { compilePlan, type Plan, type PlanOutputPort } from '../../core/flow/plan.ts'
import type { ErrorCode } from '../../protocol/errors.ts'
import type { FlowNode } from '../../protocol/nouns/flow-document.ts'
import { createCodec, newEncoded } from '../../protocol/values/codec.ts'
import type { Dtype } from '../../protocol/values/dtype.ts'
import { type EncodedValue, KIND } from '../../protocol/values/encoded.ts'
import { checked, createIndexer, noWiring, noWorld } from './flow-documents.ts'

/** What a body of these stories receives beside its inputs. */
export interface Context {
  /** Throws what is refused, as on a lane. */
  emit(outputs: unknown): Promise<void>
  readonly signal: AbortSignal
}

// biome-ignore lint/suspicious/noExplicitAny: what the inputs are is the document's business
export type NodeBody = (inputs: any, ctx: Context) => unknown

/** Every body that a story gave to a node; its number stands for the digest of its source. */
const bodies: NodeBody[] = []
const numbers = new Map<NodeBody, number>()

function digestOf(body: NodeBody): string {
  if (!numbers.has(body)) numbers.set(body, bodies.push(body) - 1)
  return String(numbers.get(body))
}

const bodyOf = (seat: Seat): Body => bodies[Number(seat.node.digest)] as Body

const words = (text: string): string[] => text.split(' ').filter(word => word !== '')

/**
 * A code node whose ports are named as their messages, `!` marks a read without trigger:
 * `node('mean', 'raw other.x !limit', 'mean', ({ raw, x, limit }) => ({ mean: raw }))`. Another function is another body: the
 * node has changed.
 */
export function node(
  id: string,
  reads: string,
  makes: string,
  body: NodeBody,
  more: Partial<FlowNode> & { dtype?: Dtype; rate_hz?: number } = {},
): FlowNode {
  const { dtype = 'json', rate_hz = null, ...rest } = more
  return {
    id,
    type: 'code',
    source: `export default () => ${digestOf(body)}`,
    ports: {
      inputs: words(reads).map(word => {
        const message = word.replace('!', '')
        return { name: message.slice(message.indexOf('.') + 1), dtype, message, trigger: !word.startsWith('!') }
      }),
      outputs: words(makes).map(name => ({ name, dtype, rate_hz })),
    },
    ...rest,
  }
}

/** A body that stays away until the test says how it ends, the oldest call first. */
export class Held {
  readonly calls: { inputs: Record<string, unknown>; ctx: Context; end: PromiseWithResolvers<unknown> }[] = []

  readonly body: NodeBody = (inputs, ctx) => {
    const end = Promise.withResolvers<unknown>()
    this.calls.push({ inputs, ctx, end })
    return end.promise
  }

  emits(outputs: unknown): void {
    this.calls[0]!.ctx.emit(outputs)
  }

  answers(outputs?: unknown): void {
    this.calls.shift()!.end.resolve(outputs)
  }

  fails(reason = 'it failed'): void {
    this.calls.shift()!.end.reject(new Error(reason))
  }
}

/** What `ctx.emit` throws. */
export class Refused extends Error {
  readonly code: ErrorCode

  constructor(failure: Failure) {
    super(failure.message)
    this.code = failure.code
  }
}

export interface StoryOptions {
  /** Values that messages have before the flow's first turn. */
  values?: Record<string, unknown>
  bounds?: Partial<Bounds>
  /** Bodies are loaded when the test says so, not at once. */
  loads_by_hand?: boolean
  /** Sees every cascade begin; they are counted from 1, in the order of their items. */
  begins?(count: number): void
  /** Sees every body start; what it needs of the execution it takes at once. */
  starts?(execution: Execution): void
  /** Sees every publish of a body, before the flow's own readers do. */
  publishes?(message: string, version: number, value: unknown, depth: number, cascade: Cascade): void
  ends?(cascade: Cascade): void
}

/**
 * One flow in the test's own thread: its documents are checked and planned as ever; its queue, message table, clock, loader and
 * call slots are the test's. What happens is told in lines.
 */
export class FlowStory {
  flow: FlowRun
  /** Items and waiting executions that purges dropped, and cascades that a stop ended. */
  purged_items = 0
  purged_executions = 0
  interrupted = 0
  /** What happened, in order: body starts as `id in=1 other=2`, publishes of bodies as `m=3`. */
  readonly told: string[] = []
  /** `m@1 succeeded`, `m@1 failed`: by the message and version that began the cascade. */
  readonly ended: string[] = []
  /** Node and code. */
  readonly failures: string[] = []
  /** Nodes that were woken while an input had no value. */
  readonly waited: string[] = []
  /** Nodes whose waiting executions a deploy took away; `-` for an item that nobody reads any more. */
  readonly plan_changed: string[] = []
  readonly cycles: string[] = []
  /** Values that went round a loop no more. */
  broken = 0
  /** What rate-limited ports held back, as `m=3`. */
  readonly held_back: string[] = []
  /** Dispatched executions that have not ended, oldest first. */
  readonly calls: Execution[] = []
  /** Seats whose body is not loaded yet, oldest first. */
  readonly loading: Seat[] = []
  /** Ports within their interval. */
  readonly resting_ports = new Set<string>()
  /** Nodes that are dispatched though they declare nothing. */
  readonly promoted = new Set<string>()
  in_flight = 0
  max_in_flight = Number.POSITIVE_INFINITY
  /** Every look at the clock moves it on by `tick_ms`. */
  now_ms = 0
  tick_ms = 0
  /** Something arrived outside a turn. */
  wanted = false
  /** Cascades that began. */
  begun = 0
  /** The one that has begun, not ended, and is not in flight: there is one at most, and none between two turns. */
  present: Cascade | null = null

  readonly #options: StoryOptions
  readonly #codec = createCodec()
  readonly #scratch: EncodedValue[] = []
  readonly #indexer = createIndexer()
  readonly #names = new Map<number, string>()
  readonly #table = new Map<number, { version: number; value: unknown }>()
  readonly #queue: TakenItem[] = []
  /** Of messages with items in the queue: the value before the first of them. */
  readonly #before = new Map<number, unknown>()
  readonly #ends = new Map<Cascade, number>()
  #plan: Plan
  #thrown: unknown = null

  constructor(nodes: FlowNode[], options: StoryOptions = {}) {
    this.#options = options
    for (const [name, value] of Object.entries(options.values ?? {})) this.#set(this.#indexOf(name), value)
    this.#plan = this.#planOf(nodes)
    this.flow = new FlowRun(this.#plan, this.#host(), newItem())
  }

  // ---- what a test does

  /** From outside, or from another flow at some depth; answers the version. Nothing runs before the next turn. */
  publish(name: string, value: unknown, depth = 0): number {
    const index = this.#indexOf(name)
    const position = this.#plan.by_message.get(index)
    const message = position === undefined ? null : this.#plan.messages[position]!
    const encoded = newEncoded()
    const refusal = this.#codec.encode(value, message?.dtype ?? 'json', encoded)
    if (refusal !== null) throw new RangeError(refusal.text)
    const stood = this.#stood(index)
    const version = this.#set(index, value)
    if (isFollowed(this.#plan, index)) {
      this.#before.set(index, stood)
      this.#queue.push({
        ...newItem(),
        message: index,
        version,
        depth,
        ts: this.#now_us(),
        root_ts: this.#now_us(),
        value: encoded,
      })
    }
    return version
  }

  /** By another flow, as one emission. */
  publishGroup(values: Record<string, unknown>): void {
    const before = this.#queue.length
    for (const [name, value] of Object.entries(values)) this.publish(name, value, 1)
    const group = this.#queue.slice(before)
    group.forEach((item, at) => {
      item.group = (at > 0 ? GROUP.joins : 0) | (at < group.length - 1 ? GROUP.goes_on : 0)
    })
  }

  /** What waits has come through so many flows. */
  deepens(depth: number): void {
    for (const item of this.#queue) item.depth = depth
  }

  /** One turn of at most `ms`; true when there is more to do at once. */
  turn(ms = Number.POSITIVE_INFINITY): boolean {
    this.wanted = false
    const take = (_flow: number, out: TakenItem): boolean => this.#take(out)
    const more = this.flow.turn({ take, takeJoined: take }, this.now_ms + ms)
    this.flow.control.letEmittersGoOn()
    if (this.present !== null) throw new RangeError('a cascade outlived its turn and is not in flight')
    return more
  }

  /** Turns, until only a body away or the bound on cascades keeps the flow from going on. Answers how many. */
  runs(ms = Number.POSITIVE_INFINITY): number {
    for (let turns = 1; ; turns++) {
      const queued = this.#queue.length
      const more = this.turn(ms)
      if (!more && !this.wanted && this.#queue.length === queued) return turns
    }
  }

  /** Publishes and runs. */
  gets(name: string, value: unknown): void {
    this.publish(name, value)
    this.runs()
  }

  /** Lets promises be told and runs, until nothing more happens by itself. */
  async settles(ms = Number.POSITIVE_INFINITY): Promise<void> {
    do {
      this.runs(ms)
      await new Promise(setImmediate)
    } while (this.wanted)
  }

  /** What waits is dropped. */
  purges(): void {
    const queued = this.#queue.length
    const count = this.flow.purge({ take: (_flow, out) => this.#take(out), takeJoined: () => false }, queued)
    this.purged_items += queued
    this.purged_executions += count - queued
  }

  /** The flow is disabled and enabled again: what ran is over, what waits in its queue stays. */
  stops(): void {
    for (const cascade of this.flow.abandon()) {
      this.#ends.delete(cascade)
      this.interrupted++
    }
    this.calls.length = 0
    this.loading.length = 0
    this.flow = new FlowRun(this.#plan, this.#host(), newItem())
  }

  /** The next turn sees the new plan. */
  deploys(nodes: FlowNode[]): void {
    const before = this.#plan
    this.#plan = this.#planOf(nodes)
    // A message whose dtype changed has no value until the next publish.
    for (const message of this.#plan.messages) {
      const old = before.by_message.get(message.index)
      const known = this.#table.get(message.index)
      if (old !== undefined && known !== undefined && before.messages[old]!.dtype !== message.dtype)
        known.value = undefined
    }
    this.flow.replan(this.#plan)
  }

  /** The body of the node, or of all of them, is loaded. */
  loads(id?: string): void {
    for (const seat of this.loading.splice(0)) {
      if (id !== undefined && seat.node.id !== id) this.loading.push(seat)
      else {
        seat.body = bodyOf(seat)
        this.flow.bodyReady(seat)
      }
    }
  }

  /** The body of the node turns out to be no body. */
  breaks(id: string): void {
    const at = this.loading.findIndex(seat => seat.node.id === id)
    const [seat] = this.loading.splice(at, 1)
    seat!.broken = new Error('no such module')
    this.flow.bodyReady(seat!)
  }

  /** The oldest dispatched execution of the node emits and goes on. `processed` turns true when that is published; `goOn` is told when it may emit again. */
  callEmits(id: string, outputs: unknown, goOn: () => void = () => {}): { processed: boolean } {
    const told = { processed: false }
    const execution = this.calls[this.#callOf(id)]!
    this.flow.arrive(execution, {
      type: 'emitted',
      outputs,
      processed: () => {
        told.processed = true
        this.flow.control.await(execution, goOn)
      },
    })
    return told
  }

  callReturns(id: string, value?: unknown): void {
    const [execution] = this.calls.splice(this.#callOf(id), 1)
    this.flow.arrive(execution!, { type: 'returned', value })
  }

  callThrows(id: string, error: unknown = new Error('the call slot was lost')): void {
    const [execution] = this.calls.splice(this.#callOf(id), 1)
    this.flow.arrive(execution!, { type: 'threw', error })
  }

  // ---- what a test sees

  /** Body starts. */
  get started(): string[] {
    return this.told.filter(line => !isPublish(line))
  }

  /** Publishes of bodies. */
  get published(): string[] {
    return this.told.filter(isPublish)
  }

  /** What was told since the last look. */
  news(): string[] {
    return this.told.splice(0)
  }

  get queued(): number {
    return this.#queue.length
  }

  get plan(): Plan {
    return this.#plan
  }

  /** Engine-wide. */
  indexOf(name: string): number {
    return this.#indexOf(name)
  }

  /** All that is not as it must be when everything has ended; empty at rest. */
  open(): string[] {
    const { flow } = this
    const found: [what: string, found: unknown, at_rest: unknown][] = [
      ['isAtRest', flow.isAtRest, true],
      ['away', flow.away, 0],
      ['inner', flow.inner, 0],
      ['bytes', flow.control.bytes, 0],
      ['open cascades', flow.openCascades.size, 0],
      ['cascades in flight', this.in_flight, 0],
      ['queued', this.#queue.length, 0],
      ['cascades that ended', this.#ends.size + this.interrupted, this.begun],
    ]
    for (const { node, mailbox } of flow.seats)
      found.push([`unread of ${node.id}`, mailbox.unread, 0], [`fed by ${node.id}`, mailbox.fed, 0])
    for (const [cascade, times] of this.#ends) {
      const label = `${this.#nameOf(cascade.message)}@${cascade.root_version}`
      found.push([`ends of ${label}`, times, 1], [`open parts of ${label}`, cascade.open, 0])
    }
    return found.filter(([, is, must]) => is !== must).map(([what, is, must]) => `${what}: ${is}, not ${must}`)
  }

  // ---- the lane's part

  #host(): Host {
    const story = this
    const codec = this.#codec
    return {
      codec,
      bounds: { ...flowBounds, ...this.#options.bounds },
      origin_us: ORIGIN_US,
      scratch: at => (this.#scratch[at] ??= newEncoded()),
      clock: () => (this.now_ms += this.tick_ms),
      nextSeq: () => {
        this.begun++
        this.#options.begins?.(this.begun)
        return this.begun
      },
      newest: message => kept(codec, this.#table.get(message)?.value),
      standing: plan => plan.messages.map(({ index }) => kept(codec, this.#stood(index))),
      unpack: packed => codec.decode(packed.kind, 0, packed.bytes, 0, packed.bytes.length),
      newSeat: (...parts: ConstructorParameters<typeof Seat>) => {
        const seat = new Seat(...parts)
        if (this.#options.loads_by_hand !== true && !this.#isDispatched(seat)) seat.body = bodyOf(seat)
        return seat
      },
      loadAtOnce: () => false,
      load: (_flow, seat) => this.loading.push(seat),
      call(seat, inputs) {
        story.#starts(seat.execution, inputs)
        try {
          return seat.body!(inputs, story.#contextOf(seat.execution))
        } catch (error) {
          story.#thrown = error
          return THREW
        }
      },
      thrown: () => failureOf(this.#thrown),
      failureOf,
      dispatched: seat => this.#isDispatched(seat),
      dispatch: (_flow, execution) => {
        this.#starts(execution, execution.inputs)
        execution.abort = new AbortController()
        this.calls.push(execution)
      },
      executed() {},
      waitedForInput: seat => this.waited.push(seat.node.id),
      failed: (_flow, seat, failure) => this.failures.push(`${seat.node.id} ${failure.code}`),
      publish: (run, position, value, _ts, depth, cascade) => this.#publishes(run, position, value, depth, cascade),
      publishEmission: (run, { count, routes, values, versions }, _flows, _ts, depth, cascade) => {
        for (let at = 0; at < count; at++) {
          const position = run.plan.by_message.get(routes[at]!.message)!
          versions[at] = this.#publishes(run, position, values[at]!, depth, cascade)
        }
      },
      passes: (run, output, value) => this.#passes(run, output, value),
      cycle: (_flow, { run, position, reason, count }) => {
        this.cycles.push(`${run.plan.nodes[position]?.id ?? '-'} ${reason}`)
        this.broken += count
      },
      begun: (_flow, cascade) => {
        if (this.present !== null) throw new RangeError('a cascade began while another one had not left the stack')
        this.present = cascade
      },
      ended: (_flow, cascade) => {
        if (this.present === cascade) this.present = null
        this.#ends.set(cascade, (this.#ends.get(cascade) ?? 0) + 1)
        const status = cascade.purged ? 'interrupted' : cascade.errors > 0 ? 'failed' : 'succeeded'
        this.#options.ends?.(cascade)
        this.ended.push(`${this.#nameOf(cascade.message)}@${cascade.root_version} ${status}`)
      },
      mayBegin: () => this.in_flight < this.max_in_flight,
      inFlight: (_flow, cascade, change) => {
        if (this.present === cascade) this.present = null
        this.in_flight += change
      },
      planChanged: (_flow, seat) => this.plan_changed.push(seat?.node.id ?? '-'),
      wants: () => {
        this.wanted = true
      },
    }
  }

  #starts(execution: Execution, inputs: Record<string, unknown>): void {
    const told = Object.entries(inputs).map(([port, value]) => ` ${port}=${said(value)}`)
    this.told.push(`${execution.seat.node.id}${told.join('')}`)
    this.#options.starts?.(execution)
  }

  #publishes(run: PlanRun, position: number, encoded: EncodedValue, depth: number, cascade: Cascade): number {
    const { index } = run.plan.messages[position]!
    const value = decoded(this.#codec, encoded)
    const version = this.#set(index, value)
    this.told.push(`${this.#nameOf(index)}=${said(value)}`)
    this.#options.publishes?.(this.#nameOf(index), version, value, depth, cascade)
    return version
  }

  #passes(run: PlanRun, output: PlanOutputPort, value: EncodedValue): boolean {
    const name = this.#nameOf(run.plan.messages[output.message]!.index)
    if (!this.resting_ports.has(name)) return true
    this.held_back.push(`${name}=${said(decoded(this.#codec, value))}`)
    return false
  }

  #isDispatched(seat: Seat): boolean {
    return seat.node.dispatch || this.promoted.has(seat.node.id)
  }

  #contextOf(execution: Execution): Context {
    const { flow } = this
    return {
      emit(outputs) {
        const overflow = flow.overflow(execution)
        if (overflow !== null) throw new Refused({ code: 'emit_overflow', message: overflow, stack: null })
        const failure = flow.emit(execution, outputs)
        if (failure !== null) throw new Refused(failure)
        if (flow.inside !== null) return Promise.resolve()
        return new Promise(resolve => flow.control.await(execution, resolve))
      },
      get signal() {
        execution.abort ??= new AbortController()
        return execution.abort.signal as AbortSignal
      },
    }
  }

  #callOf(id: string): number {
    const at = this.calls.findIndex(call => call.seat.node.id === id)
    if (at < 0) throw new RangeError(`no call of ${id}`)
    return at
  }

  /** The newest value that waits in no queue. */
  #stood(index: number): unknown {
    return this.#queue.some(item => item.message === index) ? this.#before.get(index) : this.#table.get(index)?.value
  }

  #take(out: TakenItem): boolean {
    const item = this.#queue.shift()
    if (item !== undefined) this.#before.set(item.message, decoded(this.#codec, item.value))
    if (item === undefined) return false
    Object.assign(out, item)
    return true
  }

  #set(index: number, value: unknown): number {
    const version = (this.#table.get(index)?.version ?? 0) + 1
    this.#table.set(index, { version, value })
    return version
  }

  #indexOf(name: string): number {
    const index = this.#indexer.message(name.includes('.') ? name : `f.${name}`)
    this.#names.set(index, name)
    return index
  }

  #nameOf(index: number): string {
    return this.#names.get(index)!
  }

  #planOf(nodes: FlowNode[]): Plan {
    const digests = new Map(nodes.map(({ id, source }) => [id, source!.slice(source!.lastIndexOf(' ') + 1)]))
    const plan = compilePlan({
      flow: 'f',
      version: 1,
      enabled: true,
      document: checked({ nodes }),
      indexer: this.#indexer,
      wiring: noWiring,
      world: noWorld,
      digest: id => digests.get(id)!,
      hash: text => text,
    })
    for (const { name, index, own } of plan.messages) this.#names.set(index, own ? name.slice(2) : name)
    return plan
  }

  #now_us(): number {
    return ORIGIN_US + this.now_ms * 1000
  }
}

/** Does a publish from outside come into the flow's queue? Of other flows only what wakes somebody here does. */
export function isFollowed(plan: Plan, message: number): boolean {
  const position = plan.by_message.get(message)
  if (position === undefined) return false
  const { own, queued, readers } = plan.messages[position]!
  return own ? queued : readers.length > 0
}

const ORIGIN_US = 1_750_000_000_000_000

const isPublish = (line: string): boolean => /^[^ ]+=/.test(line)

const said = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

const decoded = (codec: ReturnType<typeof createCodec>, { kind, number, bytes, length }: EncodedValue): unknown =>
  codec.decode(kind, number, bytes, 0, length)

/** As the message table gives it to a plan: primitives as they are, everything else packed. */
function kept(codec: ReturnType<typeof createCodec>, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const encoded = newEncoded()
  codec.encode(value, 'json', encoded)
  return new Packed(KIND.json, Buffer.from(encoded.bytes.subarray(0, encoded.length)))
}

const failureOf = (error: unknown): Failure => ({
  code: 'node_error',
  message: error instanceof Error ? error.message : String(error),
  stack: null,
})
