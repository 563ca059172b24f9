import { Worker } from 'node:worker_threads'
import { SLOT } from '../../core/memory/threads.ts'
import { ServiceError } from '../../protocol/errors.ts'
import type { EventType } from '../../protocol/nouns/event.ts'
import type { ArtifactPlace } from '../../threads/calls/artifact-files.ts'
import { freeVolatile } from '../../threads/calls/volatile-hands.ts'
import type {
  ConnectorsOfFlow,
  ConnectorsTask,
  FromConnectors,
  ToConnectors,
} from '../../threads/connectors/messages.ts'
import type { FrontMemory } from '../lanes/front-memory.ts'
import { RestartPace } from '../lanes/restart-pace.ts'
import type { Log } from '../observe/serve-log.ts'
import type { WatchedThread } from '../watch/thread-watch.ts'

export interface ConnectorsThreadParts {
  readonly front: FrontMemory
  readonly log: Log
  readonly artifacts: ArtifactPlace
  /** Where relative paths in settings begin. */
  readonly folder: string
  readonly reach: ConnectorsTask['reach']
  readonly timezone: string
  announce(type: EventType, flow: string | null, more: Record<string, unknown>): void
  /** What a call of a node came to. */
  ended(message: Extract<FromConnectors, { call: number }>): void
  /** The thread has ended: no call that it had will be answered. */
  lost(): void
  /** It ends again and again. */
  onFatal(error: Error): void
}

/**
 * The front's side of the connectors thread, which starts with the first connector. It knows what every flow has, so that a thread that
 * takes the place of a dead one begins with all of it.
 *
 *   off --the engine runs, and there is a connector--> running --stop--> left
 *                                                      running --it ends--> dead --after a pause--> running
 */
export class ConnectorsThread implements WatchedThread {
  readonly name = 'connectors'
  readonly #parts: ConnectorsThreadParts
  readonly #pace = new RestartPace()
  readonly #flows = new Map<number, ConnectorsOfFlow>()
  #begun = false
  #stopping = false
  #worker: Worker | null = null
  #left: Promise<void> = Promise.resolve()
  #answered: (() => void) | null = null

  constructor(parts: ConnectorsThreadParts) {
    this.#parts = parts
  }

  /** Flows run from now on, and their connectors. */
  begin(): void {
    this.#begun = true
    this.#startIfNeeded()
  }

  /** The connectors of a flow that runs, in place of those it had. */
  set(flow: ConnectorsOfFlow): void {
    const known = this.#flows.has(flow.flow)
    if (flow.nodes.length === 0) {
      this.#flows.delete(flow.flow)
      if (known) this.#worker?.postMessage({ type: 'drop', flow: flow.flow } satisfies ToConnectors)
      return
    }
    this.#flows.set(flow.flow, flow)
    if (this.#worker === null) this.#startIfNeeded()
    else this.post(flow)
  }

  /** A call starts the thread when nothing else has. */
  post(message: ToConnectors): void {
    if (this.#worker === null) this.#start()
    this.#worker?.postMessage(message)
  }

  get isRunning(): boolean {
    return this.#worker !== null
  }

  ping(): Promise<unknown> | null {
    if (this.#worker === null || this.#stopping) return null
    this.#worker.postMessage({ type: 'ping' } satisfies ToConnectors)
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
    this.#worker?.postMessage({ type: 'stop' } satisfies ToConnectors)
    await this.#left
  }

  #startIfNeeded(): void {
    if (this.#begun && this.#worker === null && this.#flows.size > 0) this.#start()
  }

  #start(): void {
    if (this.#stopping) return
    const { front, log, artifacts, folder, reach, timezone } = this.#parts
    const module = new URL('../../threads/connectors/connectors.ts', import.meta.url)
    const task: ConnectorsTask = { sab: front.memory.sab, artifacts, folder, reach, timezone }
    const worker = new Worker(module, { name: 'connectors', workerData: task })
    const { threadId } = worker
    this.#worker = worker
    const left = Promise.withResolvers<void>()
    this.#left = left.promise
    worker.on('message', (message: FromConnectors) => {
      switch (message.type) {
        case 'entered':
          break
        case 'answered':
        case 'failed':
          this.#parts.ended(message)
          break
        case 'defect':
          log.error('defect', { thread: 'connectors', error: message.text })
          break
        case 'pong':
          this.#answered?.()
          break
        case 'left':
          left.resolve()
          break
        default:
          message satisfies never
      }
    })
    worker.on('error', error => log.error('connectors_failed', { error }))
    worker.on('exit', () => {
      left.resolve()
      this.#answered?.()
      freeVolatile(artifacts, threadId)
      if (!this.#stopping) this.#died()
    })
    for (const flow of this.#flows.values()) worker.postMessage(flow)
  }

  #died(): void {
    this.#worker = null
    const { front, announce, lost, onFatal } = this.#parts
    const owner = front.threads.markDead(SLOT.connectors)
    if (owner !== 0) front.recover(owner)
    announce('thread_replaced', null, { thread: 'connectors' })
    lost()
    const pause_ms = this.#pace.died(performance.now())
    if (pause_ms === null)
      return onFatal(new ServiceError('thread_lost', 'The connectors thread ended several times in a row.'))
    setTimeout(() => this.#startIfNeeded(), pause_ms).unref()
  }
}
