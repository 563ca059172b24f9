import { type MessagePort, Worker } from 'node:worker_threads'
import { ServiceError } from '../../protocol/errors.ts'
import type { EventType } from '../../protocol/nouns/event.ts'
import type { Log } from '../observe/serve-log.ts'
import type { WatchedThread } from '../watch/thread-watch.ts'
import type { FrontMemory } from './front-memory.ts'
import { RestartPace } from './restart-pace.ts'

/** What every such thread says besides its own messages. */
type Said = { readonly type: 'left' } | { readonly type: 'pong' }

export interface SupervisedThreadParts<From> {
  readonly name: string
  readonly module: URL
  /** Where it stands in the table of threads. */
  readonly slot: number
  readonly front: FrontMemory
  readonly log: Log
  announce(type: EventType, flow: string | null, more: Record<string, unknown>): void
  /** What a new thread is given. */
  task(): unknown
  receive(message: From): void
  /** The thread has ended, as it was told to or not; `thread_id` was its. */
  ended(thread_id: number): void
  /** It has died, and what it held in shared memory is freed. */
  died(): void
  /** The pause after a death is over. */
  again(): void
  /** It ends again and again. */
  onFatal(error: Error): void
}

/**
 * The front's side of a thread of the engine's own that works in shared memory. No user code runs there, so its death is a defect of the
 * engine; it is repaired like the death of any other thread, but a thread that dies at every start ends the process, which the
 * supervisor starts again.
 *
 *   off --start--> running --stop--> left
 *                  running --it ends--> dead --after a pause, `again`--> off
 */
export class SupervisedThread<To extends { readonly type: string }, From extends { readonly type: string }>
  implements WatchedThread
{
  readonly name: string
  readonly #parts: SupervisedThreadParts<Exclude<From, Said>>
  readonly #pace = new RestartPace()
  #worker: Worker | null = null
  #left: Promise<void> = Promise.resolve()
  #stopping = false
  #answered: (() => void) | null = null

  constructor(parts: SupervisedThreadParts<Exclude<From, Said>>) {
    this.#parts = parts
    this.name = parts.name
  }

  get isRunning(): boolean {
    return this.#worker !== null
  }

  /** Nothing once it is told to stop. */
  start(): void {
    if (this.#stopping) return
    const { name, module, log, task, receive, ended } = this.#parts
    const worker = new Worker(module, { name, workerData: task() })
    const { threadId } = worker
    this.#worker = worker
    const left = Promise.withResolvers<void>()
    this.#left = left.promise
    worker.on('message', (message: From) => {
      if (message.type === 'left') left.resolve()
      else if (message.type === 'pong') this.#answered?.()
      else receive(message as Exclude<From, Said>)
    })
    worker.on('error', error => log.error(`${name}_failed`, { error }))
    worker.on('exit', () => {
      left.resolve()
      this.#answered?.()
      ended(threadId)
      if (!this.#stopping) this.#died()
    })
  }

  /** Nothing while no thread runs. */
  post(message: To, transfer: readonly MessagePort[] = []): void {
    this.#worker?.postMessage(message, [...transfer])
  }

  ping(): Promise<unknown> | null {
    if (this.#worker === null || this.#stopping) return null
    this.#worker.postMessage({ type: 'ping' })
    return new Promise<void>(resolve => (this.#answered = resolve))
  }

  /** Its end is dealt with like any other. */
  silent(): 'replaced' {
    // It rejects for no reason that Node names; the exit event decides.
    this.#worker?.terminate().catch(() => {})
    return 'replaced'
  }

  async stop(): Promise<void> {
    this.#stopping = true
    this.#worker?.postMessage({ type: 'stop' })
    await this.#left
  }

  #died(): void {
    this.#worker = null
    const { name, slot, front, announce, died, again, onFatal } = this.#parts
    const owner = front.threads.markDead(slot)
    if (owner !== 0) front.recover(owner)
    announce('thread_replaced', null, { thread: name })
    died()
    const pause_ms = this.#pace.died(performance.now())
    if (pause_ms === null)
      return onFatal(new ServiceError('thread_lost', `The ${name} thread ended several times in a row.`))
    setTimeout(() => {
      if (!this.#stopping) again()
    }, pause_ms).unref()
  }
}
