import { threadId } from 'node:worker_threads'
import { FlowTable } from '../../core/cascade/flows.ts'
import type { Ingress } from '../../core/cascade/host.ts'
import { Publisher } from '../../core/cascade/publish/publish.ts'
import type { TakenItem } from '../../core/cascade/queue/item.ts'
import { IngressQueue } from '../../core/cascade/queue/queue.ts'
import { ReadySet } from '../../core/cascade/queue/ready.ts'
import type { Execution } from '../../core/cascade/seat.ts'
import { Arena } from '../../core/memory/arena.ts'
import * as atomics from '../../core/memory/atomics.ts'
import { BegunCascades } from '../../core/memory/begun.ts'
import { Clock } from '../../core/memory/clock.ts'
import { NodeCounters } from '../../core/memory/counters.ts'
import { HeldTable } from '../../core/memory/held.ts'
import { JournalWriter } from '../../core/memory/journal/journal.ts'
import { MessageTable } from '../../core/memory/messages.ts'
import { attachMemory, CONTROL, type Memory } from '../../core/memory/region.ts'
import { ScheduledTable } from '../../core/memory/scheduled.ts'
import { THREAD_KIND, THREAD_ROW, ThreadTable } from '../../core/memory/threads.ts'
import { Sleeper, wakeThread } from '../../core/memory/wait.ts'
import { journalWakes } from '../journal-wakes.ts'
import { threadClock } from '../thread-clock.ts'

/** A lane's share of the engine's memory. Entering the thread table is its first step, leaving it the last. */
export class LaneMemory implements Ingress {
  readonly shared: Memory
  readonly slot: number
  readonly owner: number
  readonly clock: Clock
  readonly arena: Arena
  readonly flows: FlowTable
  readonly ready: ReadySet
  readonly queue: IngressQueue
  readonly messages: MessageTable
  readonly counters: NodeCounters
  readonly held: HeldTable
  readonly scheduled: ScheduledTable
  readonly journal: JournalWriter
  readonly publisher: Publisher
  readonly begun: BegunCascades
  readonly sleeper: Sleeper
  readonly #threads: ThreadTable
  readonly #current_node: number
  readonly #heartbeat: number
  readonly #posted: number
  #seen_posted = -1
  readonly #executions: number
  readonly #published: number
  readonly #own_in_flight: number
  readonly #in_flight: number
  readonly #stopping: number

  constructor(sab: SharedArrayBuffer, slot: number, dropped: (flow: number) => void) {
    const memory = attachMemory(sab)
    this.shared = memory
    this.clock = new Clock(memory, threadClock)
    this.slot = slot
    this.#threads = new ThreadTable(memory)
    const owner = this.#threads.enter(slot, THREAD_KIND.lane)
    const arena = new Arena(memory, owner)
    const journal = new JournalWriter(memory, slot, journalWakes(memory))
    const flows = new FlowTable(memory)
    this.owner = owner
    this.arena = arena
    this.flows = flows
    this.journal = journal
    this.ready = new ReadySet(memory, flows)
    this.queue = new IngressQueue({ memory, owner, arena, flows })
    this.messages = new MessageTable(memory)
    this.counters = new NodeCounters(memory)
    this.held = new HeldTable(memory, arena)
    this.scheduled = new ScheduledTable(memory, arena)
    const { queue, ready, messages } = this
    this.publisher = new Publisher({ memory, owner, arena, journal, flows, queue, ready, messages, dropped })
    this.begun = new BegunCascades(memory, slot)
    this.sleeper = new Sleeper(memory, slot)
    const row = this.#threads.row(slot)
    const control = memory.regions.control.offset >> 2
    this.#current_node = (row >> 2) + THREAD_ROW.word.current_node
    this.#posted = (row >> 2) + THREAD_ROW.word.posted
    this.#heartbeat = (row >> 3) + THREAD_ROW.word.heartbeat_ms
    this.#executions = (row >> 3) + THREAD_ROW.word.executions
    this.#published = (row >> 3) + THREAD_ROW.word.published
    this.#own_in_flight = (row >> 2) + THREAD_ROW.word.cascades_in_flight
    this.#in_flight = control + CONTROL.word.cascades_in_flight
    this.#stopping = control + CONTROL.word.stopping
    memory.i32[this.#own_in_flight] = 0
    memory.i32[(row >> 2) + THREAD_ROW.word.thread] = threadId
  }

  /** Latencies of the wires that triggered an execution; `wires`: by input port when its value was published, below 0 if it was not. */
  countWires(execution: Execution, wires: readonly number[]): void {
    const { inputs } = execution.seat.node
    for (let at = 0; at < inputs.length; at++) {
      const { wire } = inputs[at]!
      if (wire >= 0 && wires[at]! >= 0) this.counters.wire(wire, execution, wires[at]!)
    }
  }

  /** A taken item counts as waiting inside until the end of the turn updates the count, so it is counted at every moment. */
  take(flow: number, out: TakenItem): boolean {
    this.flows.countInner(flow, 1)
    if (this.queue.take(flow, out)) return true
    this.flows.countInner(flow, -1)
    return false
  }

  takeJoined(flow: number, out: TakenItem): boolean {
    this.flows.countInner(flow, 1)
    if (this.queue.takeJoined(flow, out)) return true
    this.flows.countInner(flow, -1)
    return false
  }

  /** Called in each iteration of the lane's loop, at least twice a second: otherwise the watch considers the lane hung. */
  beat(now_ms: number): void {
    this.shared.f64[this.#heartbeat] = now_ms
  }

  /** True when the front has posted something since the last call, and on the first call. One load: reading the port costs microseconds. */
  wasPosted(): boolean {
    const posted = atomics.load(this.shared.i32, this.#posted)
    if (posted === this.#seen_posted) return false
    this.#seen_posted = posted
    return true
  }

  /** The same without taking note of it: the last look before a sleep, after `announce`. */
  get isPosted(): boolean {
    return atomics.load(this.shared.i32, this.#posted) !== this.#seen_posted
  }

  /** The running body, as the watch and the report of a death name it. */
  enterBody(node: number): void {
    this.shared.i32[this.#current_node] = node + 1
  }

  leaveBody(): void {
    this.shared.i32[this.#current_node] = 0
    this.shared.f64[this.#executions]!++
  }

  countPublished(): void {
    this.shared.f64[this.#published]!++
  }

  /** Over all lanes. */
  get inFlight(): number {
    return atomics.load(this.shared.i32, this.#in_flight)
  }

  /** Counted twice: for the engine's bound, and in the thread's own row, so that its death can be taken off again. */
  countInFlight(change: 1 | -1): void {
    atomics.add(this.shared.i32, this.#in_flight, change)
    this.shared.i32[this.#own_in_flight]! += change
  }

  /** The engine ends, or the store is gone: nobody makes room in the journal any more. */
  readonly isStopping = (): boolean => this.shared.i32[this.#stopping] !== 0

  /** Ends the lane's own sleep, from its own event loop. */
  wake(): void {
    wakeThread(this.shared, this.slot)
  }

  leave(): void {
    this.ready.leaveLane(this.slot)
    this.#threads.leave(this.owner)
  }
}
