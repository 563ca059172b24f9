import { type MessagePort, Worker } from 'node:worker_threads'
import { SLOT } from '../../core/memory/threads.ts'
import { ServiceError } from '../../protocol/errors.ts'
import type { EventType } from '../../protocol/nouns/event.ts'
import type { FromTimer, TimerTask, ToTimer } from '../../threads/timer/messages.ts'
import type { Log } from '../observe/serve-log.ts'
import type { WatchedThread } from '../watch/thread-watch.ts'
import type { FrontMemory } from './front-memory.ts'
import { RestartPace } from './restart-pace.ts'

export interface TimerThreadParts {
  readonly front: FrontMemory
  readonly timezone: string
  readonly degraded_after_ms: number
  readonly log: Log
  announce(type: EventType, flow: string | null, more: Record<string, unknown>): void
  /** Another thread has taken its place; it knows nothing yet. */
  replaced(): void
  /** It ends again and again. */
  onFatal(error: Error): void
}

/**
 * The front's side of the timer thread. No user code runs there, so its death is a defect of the engine; it is repaired like the death of
 * any other thread, but a thread that dies at every start ends the process, which the supervisor starts again.
 *
 *   off --start--> running --stop--> left
 *                  running --it ends--> dead --after a pause--> running
 */
export class TimerThread implements WatchedThread {
  readonly name = 'timer'
  readonly #parts: TimerThreadParts
  readonly #pace = new RestartPace()
  #worker: Worker | null = null
  #left: Promise<void> = Promise.resolve()
  #stopping = false
  #answered: (() => void) | null = null

  constructor(parts: TimerThreadParts) {
    this.#parts = parts
  }

  start(): void {
    const { front, timezone, degraded_after_ms, log } = this.#parts
    const task: TimerTask = { sab: front.memory.sab, time_zone: timezone, degraded_after_ms }
    const module = new URL('../../threads/timer/timer.ts', import.meta.url)
    const worker = new Worker(module, { name: 'timer', workerData: task })
    this.#worker = worker
    const left = Promise.withResolvers<void>()
    this.#left = left.promise
    worker.on('message', (message: FromTimer) => {
      if (message.type === 'left') left.resolve()
      else if (message.type === 'pong') this.#answered?.()
    })
    worker.on('error', error => log.error('timer_failed', { error }))
    worker.on('exit', () => {
      left.resolve()
      this.#answered?.()
      if (!this.#stopping) this.#died()
    })
  }

  /** Nothing before `start`. */
  post(message: ToTimer, transfer: readonly MessagePort[] = []): void {
    this.#worker?.postMessage(message, [...transfer])
  }

  get isRunning(): boolean {
    return this.#worker !== null
  }

  ping(): Promise<unknown> | null {
    if (this.#worker === null || this.#stopping) return null
    this.post({ type: 'ping' })
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
    this.post({ type: 'stop' })
    await this.#left
  }

  #died(): void {
    const { front, announce, onFatal } = this.#parts
    const owner = front.threads.markDead(SLOT.timer)
    if (owner !== 0) front.recover(owner)
    announce('thread_replaced', null, { thread: 'timer' })
    const pause_ms = this.#pace.died(performance.now())
    if (pause_ms === null)
      return onFatal(new ServiceError('thread_lost', 'The timer thread ended several times in a row.'))
    setTimeout(() => this.#restart(), pause_ms).unref()
  }

  #restart(): void {
    if (this.#stopping) return
    this.start()
    this.#parts.replaced()
  }
}
