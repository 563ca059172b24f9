import { recoverBooks } from '../../core/books/recover.ts'
import { FlowTable } from '../../core/cascade/flows.ts'
import { Publisher } from '../../core/cascade/publish/publish.ts'
import { newItem } from '../../core/cascade/queue/item.ts'
import { IngressQueue } from '../../core/cascade/queue/queue.ts'
import { ReadySet } from '../../core/cascade/queue/ready.ts'
import { recoverThread } from '../../core/cascade/recover.ts'
import { Arena } from '../../core/memory/arena.ts'
import { Clock } from '../../core/memory/clock.ts'
import { NodeCounters } from '../../core/memory/counters.ts'
import { HeldTable } from '../../core/memory/held.ts'
import { JournalWriter } from '../../core/memory/journal/journal.ts'
import { MessageTable } from '../../core/memory/messages.ts'
import { begunBy, clearBegun, type Interrupted } from '../../core/memory/recover/begun.ts'
import { CONTROL, createMemory, type Memory, productionSizes } from '../../core/memory/region.ts'
import { ScheduledTable } from '../../core/memory/scheduled.ts'
import { NodeStates } from '../../core/memory/states.ts'
import { SLOT, slotOf, THREAD_KIND, ThreadTable } from '../../core/memory/threads.ts'
import { type Codec, createCodec } from '../../protocol/values/codec.ts'
import { journalWakes } from '../../threads/journal-wakes.ts'
import { threadClock } from '../../threads/thread-clock.ts'

/** So long the front is blocked for the store, if what a thread left behind is more than its ring has room for. */
const ROOM_WITHIN_MS = 1_000

/** The engine's shared memory, and the front's own hands in it. */
export class FrontMemory {
  readonly memory: Memory
  readonly clock: Clock
  readonly codec: Codec = createCodec()
  readonly threads: ThreadTable
  readonly flows: FlowTable
  readonly ready: ReadySet
  readonly queue: IngressQueue
  readonly messages: MessageTable
  readonly held: HeldTable
  readonly scheduled: ScheduledTable
  readonly counters: NodeCounters
  readonly states: NodeStates
  readonly arena: Arena
  readonly journal: JournalWriter
  readonly publisher: Publisher
  /** The front's owner word. */
  readonly owner: number
  readonly #item = newItem()

  /** `wall_ms` is the machine's clock. */
  constructor(memory = createMemory(productionSizes), wall_ms: () => number = Date.now) {
    this.memory = memory
    this.clock = new Clock(memory, threadClock)
    this.clock.begin(wall_ms() * 1000)
    this.threads = new ThreadTable(memory)
    const owner = this.threads.enter(SLOT.front, THREAD_KIND.front)
    this.owner = owner
    const arena = new Arena(memory, owner)
    const flows = new FlowTable(memory)
    const journal = new JournalWriter(memory, SLOT.front, journalWakes(memory))
    this.arena = arena
    this.flows = flows
    this.journal = journal
    this.ready = new ReadySet(memory, flows)
    this.queue = new IngressQueue({ memory, owner, arena, flows })
    this.messages = new MessageTable(memory)
    this.held = new HeldTable(memory, arena)
    this.scheduled = new ScheduledTable(memory, arena)
    this.counters = new NodeCounters(memory)
    this.states = new NodeStates(memory, arena)
    this.publisher = new Publisher({
      memory,
      owner,
      arena,
      journal,
      flows,
      queue: this.queue,
      ready: this.ready,
      messages: this.messages,
    })
  }

  /**
   * Repairs and frees everything that a dead thread held, and records what it had begun as interrupted. Its exit is confirmed.
   * `begun` is from `begunBy`, asked before.
   */
  recover(dead_owner: number, begun: readonly Interrupted[] = []): void {
    const now_us = this.clock.now_us()
    const until_ms = performance.now() + ROOM_WITHIN_MS
    recoverThread(dead_owner, {
      memory: this.memory,
      owner: this.owner,
      arena: this.arena,
      flows: this.flows,
      queue: this.queue,
      ready: this.ready,
      messages: this.messages,
      wakes: journalWakes(this.memory),
      begun,
      now_us,
      steady_us: this.clock.steady_us(),
      isLate: () => performance.now() > until_ms,
    })
    recoverBooks(this.memory, dead_owner, this.owner, this.clock.steady_us())
    const slot = slotOf(dead_owner)
    if (slot >= SLOT.lane) clearBegun(this.memory, slot)
  }

  /** What a dead thread had begun and not ended. Asked before `recover`, which marks what the thread had journalled. */
  begunBy(slot: number): readonly Interrupted[] {
    return begunBy(this.memory, slot)
  }

  /**
   * Throws away what waits in a flow that no lane runs any more, and what its nodes carried. Answers how many items that
   * were; -1: a lane still owns the flow.
   */
  emptyFlow(flow: number): number {
    const { flows, queue } = this
    if (!flows.claim(flow, this.owner)) return -1
    let thrown = 0
    while (queue.take(flow, this.#item, true)) thrown++
    queue.trim(flow)
    flows.setInner(flow, 0, 0)
    const carried = flows.setCarry(flow, 0)
    if (carried !== 0) this.arena.release(carried)
    if (thrown > 0) this.journal.taken(flow, flows.taken(flow))
    flows.release(flow, this.owner)
    return thrown
  }

  get cascadesInFlight(): number {
    return Atomics.load(this.memory.i32, this.#control + CONTROL.word.cascades_in_flight)
  }

  /** Cascades that a dead thread held are in flight no more. */
  forgetInFlight(cascades: number): void {
    Atomics.sub(this.memory.i32, this.#control + CONTROL.word.cascades_in_flight, cascades)
  }

  /** Threads that wait for the store give up from now on. */
  stop(): void {
    Atomics.store(this.memory.i32, this.#control + CONTROL.word.stopping, 1)
  }

  get #control(): number {
    return this.memory.regions.control.offset >> 2
  }
}
