import { SLOT } from '../../core/memory/threads.ts'
import type { ArtifactPlace } from '../../threads/calls/artifact-files.ts'
import { freeVolatile } from '../../threads/calls/volatile-hands.ts'
import type {
  ConnectorsOfFlow,
  ConnectorsTask,
  FromConnectors,
  ToConnectors,
} from '../../threads/connectors/messages.ts'
import { SupervisedThread, type SupervisedThreadParts } from '../lanes/supervised-thread.ts'
import type { WatchedThread } from '../watch/thread-watch.ts'

export interface ConnectorsThreadParts
  extends Pick<SupervisedThreadParts<never>, 'front' | 'log' | 'announce' | 'onFatal'> {
  readonly artifacts: ArtifactPlace
  /** What is masked in texts. */
  readonly masks: SharedArrayBuffer
  /** Where relative paths in settings begin. */
  readonly folder: string
  readonly reach: ConnectorsTask['reach']
  readonly timezone: string
  /** What a call of a node came to. */
  ended(message: Extract<FromConnectors, { call: number }>): void
  /** The thread has ended: no call that it had will be answered. */
  lost(): void
}

/**
 * The front's side of the connectors thread, which starts with the first connector. It knows what every flow has, so that a thread that
 * takes the place of a dead one begins with all of it.
 */
export class ConnectorsThread implements WatchedThread {
  readonly name = 'connectors'
  readonly #thread: SupervisedThread<ToConnectors, FromConnectors>
  readonly #flows = new Map<number, ConnectorsOfFlow>()
  #begun = false

  constructor({ artifacts, masks, folder, reach, timezone, ended, lost, ...parts }: ConnectorsThreadParts) {
    const { front, log } = parts
    this.#thread = new SupervisedThread({
      ...parts,
      name: this.name,
      module: new URL('../../threads/connectors/connectors.ts', import.meta.url),
      slot: SLOT.connectors,
      task: (): ConnectorsTask => ({ sab: front.memory.sab, artifacts, masks, folder, reach, timezone }),
      receive(message) {
        switch (message.type) {
          case 'entered':
            break
          case 'answered':
          case 'failed':
            ended(message)
            break
          case 'defect':
            log.error('defect', { thread: 'connectors', error: message.text })
            break
          default:
            message satisfies never
        }
      },
      ended: thread_id => freeVolatile(artifacts, thread_id),
      died: lost,
      again: () => this.#startIfNeeded(),
    })
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
      if (known) this.#thread.post({ type: 'drop', flow: flow.flow })
      return
    }
    this.#flows.set(flow.flow, flow)
    if (this.isRunning) this.#thread.post(flow)
    else this.#startIfNeeded()
  }

  /** A call starts the thread when nothing else has. */
  post(message: ToConnectors): void {
    if (!this.isRunning) this.#start()
    this.#thread.post(message)
  }

  get isRunning(): boolean {
    return this.#thread.isRunning
  }

  ping(): Promise<unknown> | null {
    return this.#thread.ping()
  }

  silent(): 'replaced' {
    return this.#thread.silent()
  }

  stop(): Promise<void> {
    return this.#thread.stop()
  }

  #startIfNeeded(): void {
    if (this.#begun && !this.isRunning && this.#flows.size > 0) this.#start()
  }

  #start(): void {
    this.#thread.start()
    for (const flow of this.#flows.values()) this.#thread.post(flow)
  }
}
