import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads'
import { Fifo } from '../../../core/cascade/fifo.ts'
import type { CallPlace as BodyFolders } from '../../../threads/calls/call.ts'
import type { FromSlot, SlotTask, ToSlot } from '../../../threads/calls/slot-messages.ts'
import { freeVolatile } from '../../../threads/calls/volatile-hands.ts'
import type { CallOutcome } from '../../../threads/lane/messages.ts'
import { ThreadPool } from '../../../threads/pool.ts'
import type { BodyCall, CallPlaces, Loss } from '../body-call.ts'
import { type NodeKeys, Slot } from './slot.ts'

export interface SlotTeamOptions extends BodyFolders {
  readonly slots: number
  readonly heap_mb: number
  readonly keyOf: NodeKeys
  /** The table of masks. */
  readonly masks: SharedArrayBuffer
  /** A secret that a body of the node requests; null when it does not exist. */
  secret(node: string, name: string): string | null
  /** Also print what bodies print. */
  readonly prints?: boolean
}

/** The id of a worker that has exited. */
const ENDED_THREAD = -1

/**
 * The threads of call slots, each one long task of a pool. A call gets an idle thread or waits in line. A thread
 * that ends takes its call with it, and a new thread replaces it.
 *
 *   loading -> idle <-> running
 *                `---------`--> ended -> (a new one loads)
 */
export class SlotTeam implements CallPlaces {
  readonly #options: SlotTeamOptions
  readonly #pool: ThreadPool
  readonly #slots = new Set<Slot>()
  /** The thread that ran last runs next: its modules are loaded and its code is optimized. */
  readonly #idle: Slot[] = []
  readonly #waiting = new Fifo<BodyCall>()
  /** Number of calls that run or wait. */
  #open = 0
  #closing = false
  /** Called when no call is open. */
  readonly #rested: (() => void)[] = []

  constructor(options: SlotTeamOptions) {
    this.#options = options
    const { slots, heap_mb } = options
    const module = new URL('../../../threads/calls/call-slot.ts', import.meta.url)
    this.#pool = new ThreadPool({ module, threads: slots, heap_mb })
    for (let slot = 0; slot < slots; slot++) this.#add()
  }

  /** The slots whose threads have not ended. */
  get slots(): Iterable<Slot> {
    return this.#slots
  }

  take(call: BodyCall): void {
    this.#open++
    const slot = this.#idle.pop()
    if (slot === undefined) this.#waiting.push(call)
    else if (!this.#give(slot, call)) this.#next(slot)
  }

  drop(call: BodyCall): void {
    for (let at = 0; at < this.#waiting.size; at++) {
      if (this.#waiting.at(at) !== call) continue
      this.#waiting.remove(at)
      return this.#ended()
    }
  }

  /** Resolves when all of its calls and then its threads have ended. */
  async retire(): Promise<void> {
    while (this.#open > 0) await new Promise<void>(resolve => this.#rested.push(resolve))
    await this.close()
  }

  /** Calls that run or wait are lost. */
  async close(): Promise<void> {
    this.#closing = true
    for (let call = this.#waiting.shift(); call !== undefined; call = this.#waiting.shift())
      this.#lose(call, this.#lossOf(null))
    await this.#pool.end()
  }

  #add(): void {
    const { port1, port2 } = new MessageChannel()
    const { bodies, artifacts, masks, keyOf } = this.#options
    const slot = new Slot(port1, keyOf)
    const task: SlotTask = {
      port: port2,
      place: { bodies, artifacts },
      masks,
      taken: slot.taken,
      prints: this.#options.prints ?? false,
    }
    this.#slots.add(slot)
    port1.on('message', (message: FromSlot) => this.#heard(slot, message))
    port1.unref()
    // The task never ends by itself. The pool resolves it when a thread has thrown `null`.
    this.#pool.run(task, { transfer: [port2], end: slot.end_of_task }).then(
      () => this.#died(slot, null),
      error => this.#died(slot, error),
    )
  }

  #heard(slot: Slot, message: FromSlot): void {
    switch (message.type) {
      case 'ready':
        if (!this.#slots.has(slot)) return
        slot.thread = message.thread
        slot.worker = this.#pool.workers.find(({ threadId }) => threadId === message.thread) ?? null
        return this.#next(slot)
      case 'begun':
        slot.begun = true
        return slot.call?.begun()
      case 'secret': {
        const { ask, name } = message
        const node = slot.call?.request.node.qualified ?? null
        const text = node === null ? null : this.#options.secret(node, name)
        slot.port.postMessage({ type: 'secret', ask, text } satisfies ToSlot)
        return
      }
      case 'returned':
      case 'threw':
        return this.#over(slot, message)
      case 'done':
        return this.#over(slot, null)
      default:
        slot.call?.said(message)
    }
  }

  #over(slot: Slot, outcome: CallOutcome | null): void {
    const { call } = slot
    slot.call = null
    if (call !== null) slot.last = call.request.node.qualified
    // Before anything else, so that a thread with a next call need not be woken.
    if (this.#slots.has(slot)) this.#next(slot)
    call?.over(outcome)
    this.#ended()
  }

  #next(slot: Slot): void {
    let call = this.#waiting.shift()
    while (call !== undefined && !this.#give(slot, call)) call = this.#waiting.shift()
    if (call === undefined) this.#idle.push(slot)
  }

  /** False when the call has ended instead; the slot is then free. */
  #give(slot: Slot, call: BodyCall): boolean {
    slot.call = call
    if (call.begin(slot)) return true
    slot.call = null
    this.#ended()
    return false
  }

  /** The pool reports a thread before it has ended and starts another one. The call releases what it held when the thread has ended. */
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
    // Messages that it sent before its end may still be in the port.
    for (let left = receiveMessageOnPort(slot.port); left !== undefined; left = receiveMessageOnPort(slot.port))
      this.#heard(slot, left.message)
    slot.port.close()
    freeVolatile(this.#options.artifacts, slot.thread)
    // When threads cannot start, a call that waits is refused.
    const call = slot.call ?? (slot.worker === null ? this.#waiting.shift() : undefined)
    slot.call = null
    if (!call) return
    // The messages of the thread were read above: the call has not begun, so it may be placed again.
    const again = slot.stuck && !slot.begun && !this.#closing ? call.unbegun(slot.last) : 'no'
    if (again === 'no') return this.#lose(call, this.#lossOf(error))
    if (again === 'here') this.take(call)
    this.#ended()
  }

  /** Called a few times a second: ends threads that have not begun their call after `begin_ms`. */
  endStuck(begin_ms: number): void {
    for (const slot of this.#slots) {
      if (slot.unbegunMs < begin_ms) continue
      slot.stuck = true
      slot.end()
    }
  }

  #lossOf(error: unknown): Loss {
    if ((error as { code?: string } | null)?.code === 'ERR_WORKER_OUT_OF_MEMORY')
      return { code: 'out_of_memory', message: `Its heap passed ${this.#options.heap_mb} MiB.` }
    return { code: 'thread_lost', message: error instanceof Error ? error.message : 'Its thread ended.' }
  }

  #lose(call: BodyCall, loss: Loss): void {
    call.gone(loss)
    this.#ended()
  }

  #ended(): void {
    if (--this.#open > 0) return
    for (const rested of this.#rested.splice(0)) rested()
  }
}
