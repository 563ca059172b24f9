import { v7 as uuidv7 } from 'uuid'
import { ServiceError } from '../../../protocol/errors.ts'
import type { AttachedWorker, Loss } from './attached-worker.ts'
import { WorkerProcess } from './worker-process.ts'

type Environment = Readonly<Record<string, string>>

/** Where processes dial, and with what. */
export interface ProcessDoor {
  readonly url: string
  mint(id: string): Promise<string>
  forget(id: string): void
}

export interface ProcessPoolParts {
  /** Processes that run a body, or start for one. */
  readonly most: number
  /** Those beyond them that may stand idle. */
  readonly most_idle: number
  /** An idle process ends after so long. */
  readonly idle_ms: number
  /** What every process starts from. */
  readonly operator: Readonly<Record<string, string | undefined>>
  now_ms(): number
}

/** A process that is on its way to whoever asked for one. */
export interface Awaited {
  /** Rejects with `worker_lost` when it does not start, with `interrupted` after `cancel`. */
  readonly promise: Promise<WorkerProcess>
  /** Leaves the line; does nothing to a process that was given. */
  cancel(): void
}

interface Waiting {
  readonly key: string
  readonly environment: Environment
  resolve(process: WorkerProcess): void
  reject(error: ServiceError): void
}

/** Two flows never meet in a process: a body may write over whatever the bodies of a process share. */
const keyOf = (flow: string, environment: Environment): string =>
  JSON.stringify([flow, ...Object.entries(environment).sort(([a], [b]) => (a < b ? -1 : 1))])

/**
 * Worker processes of the engine's own, at most so many. A process is started for a flow and an environment and is used again for the
 * same ones only, until modules are refreshed. Whoever waits is served in order; where too many stand idle, the one that has longest
 * makes room.
 */
export class ProcessPool {
  readonly #parts: ProcessPoolParts
  readonly #processes = new Map<string, WorkerProcess>()
  readonly #waiting = new Set<Waiting>()
  #door: ProcessDoor | null = null
  #epoch = 0
  #closed = false

  constructor(parts: ProcessPoolParts) {
    this.#parts = parts
  }

  /** The engine answers: from now on processes can dial it. */
  open(door: ProcessDoor): void {
    this.#door = door
    this.#serve()
  }

  /** Leased to the caller until `release` or `retire`. */
  acquire(flow: string, environment: Environment): Awaited {
    const { promise, resolve, reject } = Promise.withResolvers<WorkerProcess>()
    const waiting: Waiting = { key: keyOf(flow, environment), environment, resolve, reject }
    if (this.#closed) reject(new ServiceError('interrupted', 'The engine ends.'))
    else this.#waiting.add(waiting)
    this.#serve()
    const cancel = (): void => {
      if (this.#waiting.delete(waiting))
        reject(new ServiceError('interrupted', 'Nobody waits for the process any more.'))
    }
    return { promise, cancel }
  }

  /** Its call has ended. */
  release(process: WorkerProcess): void {
    if (process.mode !== 'leased') return
    process.onLine = () => {}
    if (process.parts.epoch !== this.#epoch || process.worker!.isGone) process.end()
    else this.#rest(process)
    this.#serve()
  }

  /** Its call has ended, and it takes no other. */
  retire(process: WorkerProcess): void {
    process.end()
  }

  /** A worker that said hello. */
  welcomed(worker: AttachedWorker): void {
    const process = worker.id === null ? undefined : this.#processes.get(worker.id)
    if (process?.mode !== 'starting') return
    process.attached(worker)
    this.#rest(process)
    this.#serve()
  }

  /** Calls from now on find processes that have loaded nothing yet; those that run finish where they are. */
  refresh(): void {
    this.#epoch++
    for (const process of this.#processes.values()) if (process.mode === 'idle') process.end()
    for (const process of this.#processes.values()) if (process.mode === 'starting') process.kill()
  }

  /** Called a few times a second. */
  watch(now_ms: number): void {
    for (const process of this.#processes.values()) {
      if (process.mode !== 'idle') continue
      if (process.worker!.isGone || now_ms - process.idle_since_ms > this.#parts.idle_ms) process.end()
    }
  }

  get size(): number {
    return this.#processes.size
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const waiting of this.#waiting) waiting.reject(new ServiceError('interrupted', 'The engine ends.'))
    this.#waiting.clear()
    const all = [...this.#processes.values()]
    for (const process of all) process.kill()
    await Promise.all(all.map(process => process.gone))
  }

  #rest(process: WorkerProcess): void {
    process.mode = 'idle'
    process.idle_since_ms = this.#parts.now_ms()
  }

  /** In the order in which they came: an idle process, one that is starting, a new one, or the place of an idle one. */
  #serve(): void {
    if (this.#door === null || this.#closed) return
    const { most, most_idle } = this.#parts
    const coming = new Map<string, number>()
    let busy = 0
    let leaving = 0
    for (const { mode, parts } of this.#processes.values()) {
      if (mode === 'starting') coming.set(parts.key, (coming.get(parts.key) ?? 0) + 1)
      if (mode === 'starting' || mode === 'leased') busy++
      if (mode === 'ending') leaving++
    }
    for (const waiting of this.#waiting) {
      const { key } = waiting
      const starting = coming.get(key) ?? 0
      if (starting > 0) {
        coming.set(key, starting - 1)
        continue
      }
      if (busy >= most) continue
      const idle = this.#idle(process => process.parts.key === key)
      if (idle !== null) {
        busy++
        this.#waiting.delete(waiting)
        idle.mode = 'leased'
        waiting.resolve(idle)
      } else if (this.#processes.size < most + most_idle) {
        busy++
        this.#start(waiting)
      } else if (leaving > 0) leaving--
      else this.#idle(() => true)?.end()
    }
  }

  /** The one that has stood idle longest. */
  #idle(fits: (process: WorkerProcess) => boolean): WorkerProcess | null {
    let found: WorkerProcess | null = null
    for (const process of this.#processes.values()) {
      if (process.mode !== 'idle' || process.worker!.isGone || !fits(process)) continue
      if (found === null || process.idle_since_ms < found.idle_since_ms) found = process
    }
    return found
  }

  #start({ key, environment }: Waiting): void {
    const { url, mint, forget } = this.#door!
    const id = uuidv7()
    const process = new WorkerProcess({
      id,
      key,
      epoch: this.#epoch,
      environment: { ...this.#parts.operator, ...environment },
      gone: (process, loss) => {
        this.#processes.delete(id)
        forget(id)
        if (process.worker === null && process.parts.epoch === this.#epoch) this.#notStarted(key, loss)
        this.#serve()
      },
    })
    this.#processes.set(id, process)
    void mint(id).then(token => process.start({ url, token }))
  }

  /** Whoever waits for its like would wait for the next one to do the same. */
  #notStarted(key: string, { code, message }: Loss): void {
    for (const waiting of this.#waiting) {
      if (waiting.key !== key) continue
      this.#waiting.delete(waiting)
      return waiting.reject(new ServiceError(code, message))
    }
  }
}
