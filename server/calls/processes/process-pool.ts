import { v7 as uuidv7 } from 'uuid'
import { bodyEnvironment } from '../../../core/flow/environment.ts'
import type { Loss } from '../body-call.ts'
import type { AttachedWorker } from './attached-worker.ts'
import type { BodyUser } from './body-user.ts'
import { WorkerProcess } from './worker-process.ts'

type Environment = Readonly<Record<string, string>>

/** The address that processes connect to, and their tokens. */
export interface ProcessDoor {
  readonly url: string
  mint(id: string): Promise<string>
  forget(id: string): void
}

export interface ProcessPoolParts {
  /** Most processes that run a body or start for one. */
  readonly most: number
  /** Most idle processes besides them. */
  readonly most_idle: number
  /** An idle process ends after this time. */
  readonly idle_ms: number
  /** The environment that every process starts with. */
  readonly operator: Readonly<Record<string, string | undefined>>
  readonly body_user: BodyUser | null
  now_ms(): number
}

/** Requests a process. One of both methods is called, once, possibly before `acquire` has returned. */
export interface ProcessSeeker {
  /** The process is leased to the seeker until `release` or `retire`. */
  granted(process: WorkerProcess): void
  /** No process starts (`worker_lost`, `out_of_memory`), or the engine stops (`interrupted`). */
  refused(loss: Loss): void
}

interface Waiting {
  readonly key: string
  readonly environment: Environment
  readonly seeker: ProcessSeeker
}

const ENGINE_ENDS: Loss = { code: 'interrupted', message: 'The engine is stopping.' }

/** A process belongs to one flow, because a body may write over whatever the bodies of a process share. */
const keyOf = (flow: string, environment: Environment): string =>
  JSON.stringify([flow, ...Object.entries(environment).sort(([a], [b]) => (a < b ? -1 : 1))])

/**
 * The worker processes that the engine starts, up to a bound. A process is started for one flow and one environment and is used again
 * only for the same ones, until modules are refreshed. Seekers are served in order. When too many processes are idle, the one that has
 * been idle longest is ended.
 */
export class ProcessPool {
  readonly #parts: ProcessPoolParts
  readonly #processes = new Map<string, WorkerProcess>()
  readonly #waiting = new Set<Waiting>()
  #door: ProcessDoor | null = null
  #epoch = 0
  #closed = false
  #serving = false
  #wanted = false

  constructor(parts: ProcessPoolParts) {
    this.#parts = parts
  }

  /** The engine listens: from now on processes can connect to it. */
  open(door: ProcessDoor): void {
    this.#door = door
    this.#serve()
  }

  acquire(flow: string, environment: Environment, seeker: ProcessSeeker): void {
    if (this.#closed) return seeker.refused(ENGINE_ENDS)
    this.#waiting.add({ key: keyOf(flow, environment), environment, seeker })
    this.#serve()
  }

  /** Takes the seeker out of the line. */
  leave(seeker: ProcessSeeker): void {
    for (const waiting of this.#waiting) if (waiting.seeker === seeker) this.#waiting.delete(waiting)
  }

  /** Its call has ended. */
  release(process: WorkerProcess): void {
    if (process.mode !== 'leased') return
    process.onLine = () => {}
    if (process.parts.epoch !== this.#epoch || process.worker!.isGone) process.end()
    else this.#rest(process)
    this.#serve()
  }

  /** Its call has ended, and the process takes no other. */
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

  /** Later calls get processes that have loaded nothing yet. Calls that run finish where they are. */
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
    const left = [...this.#waiting]
    this.#waiting.clear()
    for (const { seeker } of left) seeker.refused(ENGINE_ENDS)
    const all = [...this.#processes.values()]
    for (const process of all) process.kill()
    await Promise.all(all.map(process => process.gone))
  }

  #rest(process: WorkerProcess): void {
    process.mode = 'idle'
    process.idle_since_ms = this.#parts.now_ms()
  }

  /** A call may give its process back while it gets it; that is served after this round. */
  #serve(): void {
    this.#wanted = true
    if (this.#serving) return
    this.#serving = true
    while (this.#wanted) {
      this.#wanted = false
      this.#serveOnce()
    }
    this.#serving = false
  }

  /** Serves seekers in order: with an idle process, one that is starting, a new one, or a new one in place of an idle one. */
  #serveOnce(): void {
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
        waiting.seeker.granted(idle)
      } else if (this.#processes.size < most + most_idle) {
        busy++
        this.#start(waiting)
      } else if (leaving > 0) leaving--
      else this.#idle(() => true)?.end()
    }
  }

  /** The process that has been idle longest. */
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
    const { operator, body_user } = this.#parts
    const id = uuidv7()
    const process = new WorkerProcess({
      id,
      key,
      epoch: this.#epoch,
      user: body_user,
      environment: { ...bodyEnvironment(operator), ...body_user?.environment, ...environment },
      gone: (process, loss) => {
        this.#processes.delete(id)
        forget(id)
        if (process.worker === null && process.parts.epoch === this.#epoch) this.#notStarted(key, loss)
        this.#serve()
      },
    })
    this.#processes.set(id, process)
    mint(id).then(
      token => process.start({ url, token }),
      error => process.refuse(error),
    )
  }

  /** Refuses the seekers of the same key, since the next process would fail in the same way. */
  #notStarted(key: string, loss: Loss): void {
    for (const waiting of this.#waiting) {
      if (waiting.key !== key) continue
      this.#waiting.delete(waiting)
      return waiting.seeker.refused(loss)
    }
  }
}
