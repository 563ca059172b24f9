import { setFlagsFromString } from 'node:v8'
import { MessageChannel, type MessagePort, type Worker } from 'node:worker_threads'
import type { Plan } from '../../core/flow/plan.ts'
import { PLACEMENT } from '../../core/memory/counters.ts'
import { SLOT, slotOf, THREAD_ROW } from '../../core/memory/threads.ts'
import { type ErrorCode, errorTable } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { ArtifactPlace } from '../../threads/calls/artifact-files.ts'
import { bodyInStack, failureOf } from '../../threads/calls/node-call.ts'
import { freeVolatile } from '../../threads/calls/volatile-hands.ts'
import type { CallRequest, FromLane, LaneTask, ToLane } from '../../threads/lane/messages.ts'
import type { PlanBytes } from '../../threads/lane/plan-bytes.ts'
import type { UnderWayTask } from '../../threads/lane/under-way.ts'
import { TaskEnd, ThreadPool } from '../../threads/pool.ts'
import type { LiveBounds } from '../calls/bounds.ts'
import type { LostCall } from '../calls/call-sink.ts'
import type { LiveCall } from '../calls/live-calls.ts'
import { nodeOfBody } from './find-body.ts'
import type { FrontMemory } from './front-memory.ts'
import { type LaneEnd, LaneWatch } from './lane-watch.ts'

interface Member {
  readonly slot: number
  readonly control: MessagePort
  readonly abort: TaskEnd
  readonly entered: Promise<void>
  /** 0 until the lane has entered. */
  owner: number
  retiring: boolean
  /** Why the front ended it. */
  ended: LaneEnd | null
  end(why: LaneEnd): void
  left: Promise<void>
  /** Bodies of its flows that run elsewhere, or wait for a place, by the lane's numbers. */
  readonly calls: Map<number, Pick<LiveCall, 'withdraw'>>
}

/** What a lane was doing when it died. */
export interface LaneDeath {
  readonly slot: number
  readonly code: ErrorCode
  readonly message: string
  readonly stack: string | null
  /** Node index of the body that ran, or that the stack of what was thrown names; null when neither is known. */
  readonly node: number | null
  /** Cascades that had begun on it and are over. */
  readonly interrupted: number
}

export interface LaneTeamOptions {
  readonly front: FrontMemory
  readonly lanes: number
  readonly bodies: string
  readonly artifacts: ArtifactPlace
  /** What is masked in texts. */
  readonly masks: SharedArrayBuffer
  readonly max_cascades: number
  readonly under_way: UnderWayTask | null
  readonly bounds: LiveBounds
  plans(): Iterable<Plan>
  /** The same as lanes take them. */
  planBytes(): Iterable<PlanBytes>
  /** By node. */
  outboxes(): ReadonlyMap<number, SharedArrayBuffer>
  /** Indexes of flows that no lane is to run any more. */
  orphans(): Iterable<number>
  timerPort(port: MessagePort): void
  /** `ended`: nothing of the call waits or runs any more; possibly before this returns. */
  dispatch(request: CallRequest, lost: LostCall, ended: () => void): Pick<LiveCall, 'withdraw'>
  /** What a body of the node asks for; null: there is no such secret. */
  secret(node: string, name: string): string | null
  onBlocked(node: number): void
  onDeath(death: LaneDeath): void
  onDefect(error: unknown): void
  onFatal(error: Error): void
}

const INLINING = ['--max-inlined-bytecode-size-cumulative=6000', '--max-inlined-bytecode-size=2000']

/**
 * The lanes: as many as FLOW_LANES, each a long task of a pool thread. A lane that dies is recovered and replaced; one that
 * retires (its modules are to be loaded again) overlaps with its replacement, which has another slot.
 *
 *   starting -> running -> retiring -> left
 *                  `-> dead -> recovered -> (a new one starts)
 */
export class LaneTeam {
  readonly #options: LaneTeamOptions
  readonly #watch: LaneWatch
  readonly #members = new Map<number, Member>()
  readonly #recovering = new Set<Promise<void>>()
  /** Requests that some lanes have not answered. */
  readonly #purges = new Map<number, { answers(count: number | null): void; left: Set<Member> }>()
  #requests = 0
  #pool: ThreadPool | null = null
  #refreshing: Promise<void> = Promise.resolve()
  #closing = false

  constructor(options: LaneTeamOptions) {
    this.#options = options
    const { front, bounds, plans, orphans, onBlocked, onDefect } = options
    this.#watch = new LaneWatch({ front, bounds, plans, orphans, onBlocked, onDefect, workers: () => this.workers })
  }

  start(): void {
    // See docs/decisions/0012: a body's way through a lane is many small functions, and each that is not inlined boxes its doubles.
    for (const flag of INLINING) setFlagsFromString(flag)
    const module = new URL('../../threads/lane/lane.ts', import.meta.url)
    const { lanes, bounds } = this.#options
    this.#pool = new ThreadPool({
      module,
      threads: lanes,
      spare: limits.LANE_SLOTS - lanes,
      heap_mb: bounds.lane_heap_mb,
    })
    for (let lane = 0; lane < lanes; lane++) this.#add()
  }

  /** Resolves when every lane has entered. */
  async ready(): Promise<void> {
    await Promise.all([...this.#members.values()].map(member => member.entered))
  }

  post(message: ToLane): void {
    for (const { slot, control } of this.#members.values()) this.#postTo(slot, control, message)
    this.#options.front.ready.wakeAll()
  }

  /** The lane looks at its port when the word has changed; whoever posts wakes it. */
  #postTo(slot: number, control: MessagePort, message: ToLane): void {
    const { memory, threads } = this.#options.front
    control.postMessage(message)
    Atomics.add(memory.i32, (threads.row(slot) >> 2) + THREAD_ROW.word.posted, 1)
  }

  /** Asks every lane to drop what waits in the flow now, if it owns the flow. `answers` hears each of them once; so many are asked. */
  purge(flow: number, answers: (count: number | null) => void): number {
    const request = ++this.#requests
    const appended = this.#options.front.flows.appended(flow)
    this.#purges.set(request, { answers, left: new Set(this.#members.values()) })
    this.post({ type: 'purge', request, flow, appended })
    return this.#members.size
  }

  #purged(member: Member, request: number, count: number | null): void {
    const purge = this.#purges.get(request)
    if (!purge?.left.delete(member)) return
    if (purge.left.size === 0) this.#purges.delete(request)
    purge.answers(count)
  }

  get size(): number {
    return this.#members.size
  }

  get workers(): readonly Worker[] {
    return this.#pool?.workers ?? []
  }

  /** Replaces every lane by one that loads its modules again. Lanes that retire hold their slots: without a free one for each it waits for them. */
  refresh(): Promise<void> {
    this.#refreshing = this.#refreshing.then(() => this.#refreshNow())
    return this.#refreshing
  }

  async #refreshNow(): Promise<void> {
    const { lanes, bounds } = this.#options
    const retiring = [...this.#members.values()].filter(member => member.retiring)
    if (this.#members.size + lanes > limits.LANE_SLOTS) await Promise.all(retiring.map(member => member.left))
    if (this.#closing) return
    const old = [...this.#members.values()].filter(member => !member.retiring)
    const fresh = old.map(() => this.#add())
    await Promise.all(fresh.map(member => member.entered))
    for (const member of old) this.#retire(member, bounds.retire_grace_ms)
  }

  async close(): Promise<void> {
    this.#closing = true
    const members = [...this.#members.values()]
    for (const member of members) this.#retire(member, 0)
    const late = new Promise(resolve => setTimeout(resolve, 2_000, 'late').unref())
    await Promise.race([Promise.all(members.map(member => member.left)), late])
    this.#options.front.stop()
    await this.#pool?.end()
    await Promise.allSettled(this.#recovering)
  }

  /** Looks for bodies that keep their lane or eat its memory; called a few times a second. */
  watch(now_ms: number): void {
    const members = [...this.#members.values()]
    this.#watch.look(now_ms, members)
    this.#watch.lookAtHeaps(members)
  }

  /** A second time shortens the grace. */
  #retire(member: Member, grace_ms: number): void {
    member.retiring = true
    this.#postTo(member.slot, member.control, { type: 'retire', grace_ms, closing: this.#closing })
    this.#options.front.ready.wakeAll()
    if (!this.#closing) setTimeout(() => member.abort.end(), grace_ms + 2_000).unref()
  }

  #add(): Member {
    const { front, bodies, artifacts, masks, max_cascades, under_way, bounds, planBytes, outboxes, timerPort } =
      this.#options
    const slot = this.#freeSlot()
    const control = new MessageChannel()
    const timer = new MessageChannel()
    timerPort(timer.port2)
    const abort = new TaskEnd()
    const entered = Promise.withResolvers<void>()
    const left = Promise.withResolvers<void>()
    const member: Member = {
      slot,
      control: control.port1,
      abort,
      entered: entered.promise,
      owner: 0,
      retiring: false,
      ended: null,
      end: why => {
        member.ended ??= why
        abort.end()
      },
      left: left.promise,
      calls: new Map(),
    }
    this.#members.set(slot, member)
    control.port1.on('message', (message: FromLane) => {
      if (message.type === 'entered') entered.resolve()
      this.#receive(member, message)
    })
    control.port1.unref()
    this.#postTo(slot, control.port1, { type: 'outboxes', outboxes: outboxes() })
    for (const plan of planBytes()) this.#postTo(slot, control.port1, { type: 'plan', plan })
    const task: LaneTask = {
      sab: front.memory.sab,
      slot,
      control: control.port2,
      timer: timer.port1,
      bodies,
      artifacts,
      masks,
      max_cascades,
      under_way,
      waiting_items: bounds.waiting_items,
    }
    const run = this.#pool!.run(task, { transfer: [control.port2, timer.port1], end: abort })
    // Without the repair of what it held nothing can be trusted any more.
    const over = run
      .then(
        () => this.#over(member),
        error => this.#died(member, error),
      )
      .catch(error => this.#options.onFatal(error))
      .then(() => {
        entered.resolve()
        left.resolve()
        this.#recovering.delete(over)
      })
    this.#recovering.add(over)
    return member
  }

  #freeSlot(): number {
    for (let slot: number = SLOT.lane; slot < SLOT.lane + limits.LANE_SLOTS; slot++)
      if (!this.#members.has(slot)) return slot
    throw new RangeError('more lanes than slots')
  }

  #receive(member: Member, message: FromLane): void {
    switch (message.type) {
      case 'entered':
        member.owner = message.owner
        // Plans may have been posted before the lane could be woken.
        this.#options.front.ready.wakeAll()
        break
      case 'dispatch':
        this.#dispatch(member, message.request)
        break
      case 'withdrawn':
        member.calls.get(message.call)?.withdraw('Its lane does not wait for the call any more.')
        break
      case 'secret': {
        const text = this.#options.secret(message.node, message.name)
        this.#postTo(member.slot, member.control, { type: 'secret', ask: message.ask, text })
        this.#options.front.ready.wakeAll()
        break
      }
      case 'purged':
        this.#purged(member, message.request, message.count)
        break
      case 'left':
        break
      default:
        message satisfies never
    }
  }

  #dispatch(member: Member, request: CallRequest): void {
    const { call } = request
    const lost: LostCall = (code, text) => {
      this.#postTo(member.slot, member.control, { type: 'call_lost', call, code, message: text })
      this.#options.front.ready.wakeAll()
    }
    let has_ended = false
    const live = this.#options.dispatch(request, lost, () => {
      has_ended = true
      member.calls.delete(call)
    })
    if (!has_ended) member.calls.set(call, live)
  }

  #over(member: Member): void {
    for (const live of member.calls.values()) live.withdraw('Its lane ended.')
    member.control.close()
    this.#members.delete(member.slot)
    for (const request of [...this.#purges.keys()]) this.#purged(member, request, null)
  }

  /** The thread is gone: what it held is freed, what ran is named, and another lane takes its place. */
  async #died(member: Member, error: unknown): Promise<void> {
    const { front, plans, onDeath } = this.#options
    const begun = front.begunBy(member.slot)
    const row = front.threads.row(member.slot)
    freeVolatile(this.#options.artifacts, front.memory.i32[(row >> 2) + THREAD_ROW.word.thread]!)
    const running = front.memory.i32[(row >> 2) + THREAD_ROW.word.current_node]!
    const in_flight = front.memory.i32[(row >> 2) + THREAD_ROW.word.cascades_in_flight]!
    front.memory.i32[(row >> 2) + THREAD_ROW.word.current_node] = 0
    const owner = front.threads.markDead(member.slot)
    // A throw in a timer, a floating rejection, a getter of an output: no body ran, but the stack goes through one.
    const isOwned = (flow: number): boolean => front.flows.ownerOf(flow) === owner
    const known = member.ended?.node ?? this.#watch.eaterOf(owner)
    const node = running > 0 ? running - 1 : (known ?? nodeOfBody(bodyInStack(error), plans(), isOwned))
    if (owner !== 0) {
      if (slotOf(owner) !== member.slot) throw new RangeError('an owner word names its slot')
      front.recover(owner, begun)
      front.forgetInFlight(in_flight)
    }
    this.#over(member)
    if (this.#closing || member.retiring) return
    const out_of_memory = (error as { code?: string }).code === 'ERR_WORKER_OUT_OF_MEMORY'
    const code = member.ended?.code ?? (out_of_memory ? 'out_of_memory' : 'thread_lost')
    // The next execution of a body that took its lane along runs where it can take nothing but its own thread.
    if (node !== null) front.counters.setPlacement(node, PLACEMENT.dispatch)
    const message = member.ended?.message ?? (out_of_memory ? heapPassed(this.#options.bounds) : endedBy(error))
    const stack = member.ended === null ? failureOf(error).stack : null
    // Those that had no row are counted all the same.
    onDeath({ slot: member.slot, code, message, stack, node, interrupted: Math.max(begun.length, in_flight) })
    this.#add()
    this.#options.front.ready.wakeAll()
  }
}

const heapPassed = ({ lane_heap_mb }: LiveBounds): string =>
  `Its lane's heap passed ${lane_heap_mb} MiB. ${errorTable.out_of_memory.next}`

function endedBy(error: unknown): string {
  const thrown = error instanceof Error ? error.message : String(error)
  return `The body ended its thread (${thrown}): await what it starts, catch what its timers throw, leave process.exit out.`
}
