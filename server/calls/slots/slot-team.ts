import { MessageChannel, type MessagePort, receiveMessageOnPort, type Worker } from 'node:worker_threads'
import { Fifo } from '../../../core/cascade/fifo.ts'
import type { CallPlace } from '../../../threads/calls/call.ts'
import type { FromSlot, SlotTask } from '../../../threads/calls/slot-messages.ts'
import type { CallOutcome, FromCall } from '../../../threads/lane/messages.ts'
import { TaskEnd, ThreadPool } from '../../../threads/pool.ts'

/** A thread that runs one body at a time. */
export interface Slot {
  readonly port: MessagePort
  /** Ends the thread. */
  readonly end: TaskEnd
  /** Null until it has loaded its modules. */
  worker: Worker | null
  work: SlotWork | null
  /** Keys of the nodes that it knows. */
  readonly nodes: Set<number>
}

/** A call, as its slot sees it. */
export interface SlotWork {
  /** The slot is its own until `over`. */
  begin(slot: Slot): void
  said(message: FromCall): void
  /** The slot is free. `outcome`: unless it has said it elsewhere. */
  over(outcome: CallOutcome | null): void
  /** Its thread is gone, or could not start. */
  gone(error: unknown): void
}

export interface SlotTeamOptions extends CallPlace {
  readonly slots: number
  readonly heap_mb: number
}

/** The id of a worker that has exited. */
const ENDED_THREAD = -1

/**
 * The threads of call slots, each one long task of a pool. Whoever comes gets one that is idle, or stands in line. A thread
 * that ends takes its call along, and another takes its place.
 *
 *   loading -> idle <-> running
 *                `---------`--> ended -> (a new one loads)
 */
export class SlotTeam {
  readonly #options: SlotTeamOptions
  readonly #pool: ThreadPool
  readonly #slots = new Set<Slot>()
  /** The one that ran last runs next: what it has loaded is warm. */
  readonly #idle: Slot[] = []
  readonly #waiting = new Fifo<SlotWork>()
  /** Calls that run or wait. */
  #open = 0
  #closing = false
  /** Those who wait until nothing is open. */
  readonly #rested: (() => void)[] = []

  constructor(options: SlotTeamOptions) {
    this.#options = options
    const { slots, heap_mb } = options
    const module = new URL('../../../threads/calls/call-slot.ts', import.meta.url)
    this.#pool = new ThreadPool({ module, threads: slots, heap_mb })
    for (let slot = 0; slot < slots; slot++) this.#add()
  }

  take(work: SlotWork): void {
    this.#open++
    const slot = this.#idle.pop()
    if (slot === undefined) this.#waiting.push(work)
    else this.#give(slot, work)
  }

  /** It stands in line no more. */
  drop(work: SlotWork): void {
    for (let at = 0; at < this.#waiting.size; at++) {
      if (this.#waiting.at(at) !== work) continue
      this.#waiting.remove(at)
      return this.#ended()
    }
  }

  /** Resolves when nothing that it has taken is left, and its threads have ended. */
  async retire(): Promise<void> {
    while (this.#open > 0) await new Promise<void>(resolve => this.#rested.push(resolve))
    await this.close()
  }

  /** What runs or waits is lost. */
  async close(): Promise<void> {
    this.#closing = true
    for (let work = this.#waiting.shift(); work !== undefined; work = this.#waiting.shift()) this.#lose(work, null)
    await this.#pool.end()
  }

  #add(): void {
    const { port1, port2 } = new MessageChannel()
    const slot: Slot = { port: port1, end: new TaskEnd(), worker: null, work: null, nodes: new Set() }
    const { bodies, artifacts } = this.#options
    const task: SlotTask = { port: port2, place: { bodies, artifacts } }
    this.#slots.add(slot)
    port1.on('message', (message: FromSlot) => this.#heard(slot, message))
    port1.unref()
    // Its task has no end: of a thread that died of `null` the pool says that it had one.
    this.#pool.run(task, { transfer: [port2], end: slot.end }).then(
      () => this.#died(slot, null),
      error => this.#died(slot, error),
    )
  }

  #heard(slot: Slot, message: FromSlot): void {
    switch (message.type) {
      case 'ready':
        if (!this.#slots.has(slot)) return
        slot.worker = this.#pool.workers.find(({ threadId }) => threadId === message.thread) ?? null
        return this.#next(slot)
      case 'returned':
      case 'threw':
        return this.#over(slot, message)
      case 'done':
        return this.#over(slot, null)
      default:
        slot.work?.said(message)
    }
  }

  #over(slot: Slot, outcome: CallOutcome | null): void {
    const { work } = slot
    slot.work = null
    // First of all: a thread that has something to do need not be woken.
    if (this.#slots.has(slot)) this.#next(slot)
    work?.over(outcome)
    this.#ended()
  }

  #next(slot: Slot): void {
    const work = this.#waiting.shift()
    if (work === undefined) this.#idle.push(slot)
    else this.#give(slot, work)
  }

  #give(slot: Slot, work: SlotWork): void {
    slot.work = work
    work.begin(slot)
  }

  /** The pool gives a thread up before it has ended, and has begun another: what its call held is free when it has ended. */
  #died(slot: Slot, error: unknown): void {
    this.#slots.delete(slot)
    const idle = this.#idle.indexOf(slot)
    if (idle >= 0) this.#idle.splice(idle, 1)
    if (!this.#closing) this.#add()
    const { worker } = slot
    if (worker === null || worker.threadId === ENDED_THREAD) this.#gone(slot, error)
    else worker.once('exit', () => this.#gone(slot, error))
  }

  #gone(slot: Slot, error: unknown): void {
    // What it said before it ended may lie in the port still.
    for (let left = receiveMessageOnPort(slot.port); left !== undefined; left = receiveMessageOnPort(slot.port))
      this.#heard(slot, left.message)
    slot.port.close()
    // Where threads cannot start nobody is to wait for one.
    const work = slot.work ?? (slot.worker === null ? this.#waiting.shift() : undefined)
    slot.work = null
    if (work) this.#lose(work, error)
  }

  #lose(work: SlotWork, error: unknown): void {
    work.gone(error)
    this.#ended()
  }

  #ended(): void {
    if (--this.#open > 0) return
    for (const rested of this.#rested.splice(0)) rested()
  }
}
