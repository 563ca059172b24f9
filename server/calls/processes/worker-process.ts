import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { limits } from '../../../protocol/limits.ts'
import { PrintedLines } from '../../../threads/calls/printed/lines.ts'
import type { WorkerStart } from '../../../threads/calls/worker-program.ts'
import type { LogLevel } from '../../../threads/lane/messages.ts'
import type { Loss } from '../body-call.ts'
import type { AttachedWorker } from './attached-worker.ts'
import type { BodyUser } from './body-user.ts'

const PROGRAM = fileURLToPath(new URL('../../../threads/calls/worker-program.ts', import.meta.url))
/** What a dead process has printed may come a moment after its end. */
const LAST_WORDS_MS = 200
const TAIL_CHARACTERS = 2_000
const HEAP_WAS_FULL = /heap out of memory|allocation failed/i

/** Those of the engine, which load modules quickly, less what makes a process wait for a debugger. */
const flags = (): string[] => [
  '--disable-warning=ExperimentalWarning',
  ...process.execArgv.filter(flag => !flag.startsWith('--inspect')),
]

export interface WorkerProcessParts {
  readonly id: string
  /** Of its environment; processes of one key are alike. */
  readonly key: string
  /** Modules were refreshed so often when it was started. */
  readonly epoch: number
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Null: the user of the engine. */
  readonly user: BodyUser | null
  gone(process: WorkerProcess, loss: Loss): void
}

/**
 * A worker program that the engine started.
 *
 *   starting --attached--> idle <--> leased --> ending --> gone
 *
 * It is the first of a process group of its own, so that a Ctrl-C of the engine's terminal does not reach it, and what its bodies start ends
 * with it.
 */
export class WorkerProcess {
  readonly parts: WorkerProcessParts
  mode: 'starting' | 'idle' | 'leased' | 'ending' | 'gone' = 'starting'
  worker: AttachedWorker | null = null
  /** Of a steady clock, milliseconds: when it became idle. */
  idle_since_ms = 0
  /** Resolves when it has ended, with how. */
  readonly gone: Promise<Loss>
  /** Lines that it printed past its own thread: libraries, and what its bodies started. */
  onLine: (text: string, level: LogLevel) => void = () => {}
  /** Null: the system refused to start it. */
  readonly #child: ChildProcess | null
  readonly #tell: (loss: Loss) => void
  #tail = ''
  #limit: NodeJS.Timeout | null = null

  constructor(parts: WorkerProcessParts) {
    this.parts = parts
    const { promise, resolve } = Promise.withResolvers<Loss>()
    this.gone = promise
    this.#tell = resolve
    this.#child = this.#spawn()
    this.#child?.once('error', error => this.refuse(error))
    this.#follow('stdout', 'info')
    this.#follow('stderr', 'warn')
    this.#child?.stdin?.on('error', () => {
      // It ended before it read: its end says why.
    })
    this.#child?.once('exit', (code, signal) => {
      const last = setTimeout(() => this.#ended(code, signal), LAST_WORDS_MS)
      this.#child!.once('close', () => {
        clearTimeout(last)
        this.#ended(code, signal)
      })
    })
    this.#limit = setTimeout(() => this.kill(), limits.PROCESS_START_MS)
  }

  /** `spawn` throws for an environment that no process can have, and says of other reasons later: both end in `gone`, after this turn. */
  #spawn(): ChildProcess | null {
    const { user } = this.parts
    try {
      return spawn(process.execPath, [...flags(), PROGRAM], {
        env: this.parts.environment,
        stdio: ['pipe', 'pipe', 'pipe'],
        detached: true,
        ...(user === null ? {} : { uid: user.uid, gid: user.gid }),
      })
    } catch (error) {
      setImmediate(() => this.refuse(error))
      return null
    }
  }

  /** Tells it whom to dial. */
  start(start: WorkerStart): void {
    this.#child?.stdin?.end(JSON.stringify(start))
  }

  /** It did not start, or is not to. */
  refuse(error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error)
    this.#over({ code: 'worker_lost', message: `The worker could not start: ${reason}.` })
  }

  attached(worker: AttachedWorker): void {
    if (this.#limit !== null) clearTimeout(this.#limit)
    this.worker = worker
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  /** It takes no more calls, and ends by itself; if it does not, it is killed. It has no call. */
  end(): void {
    if (this.mode === 'gone' || this.mode === 'ending') return
    this.mode = 'ending'
    this.worker?.drain()
    if (this.#limit !== null) clearTimeout(this.#limit)
    if (this.worker === null || this.worker.isGone) this.kill()
    else this.#limit = setTimeout(() => this.kill(), limits.PROCESS_END_MS)
  }

  kill(): void {
    const { pid } = this
    if (this.mode === 'gone' || pid === undefined) return
    this.mode = 'ending'
    try {
      process.kill(-pid, 'SIGKILL')
    } catch {
      // It has ended on its own.
    }
  }

  #follow(name: 'stdout' | 'stderr', level: LogLevel): void {
    const lines = new PrintedLines(line => this.onLine(line, level))
    // Absent where the process got no pipes.
    this.#child?.[name]?.setEncoding('utf8').on('data', (piece: string) => {
      if (name === 'stderr') this.#tail = (this.#tail + piece).slice(-TAIL_CHARACTERS)
      lines.add(piece)
    })
  }

  #ended(code: number | null, signal: NodeJS.Signals | null): void {
    if (HEAP_WAS_FULL.test(this.#tail)) return this.#over({ code: 'out_of_memory', message: 'Its heap was full.' })
    const how = signal === null ? `ended with code ${code}` : `was ended by ${signal}`
    const began = this.worker === null ? ', before it had begun' : ''
    const words = this.#tail.trim().split('\n').at(-1)
    this.#over({ code: 'worker_lost', message: `Its process ${how}${began}${words ? ` (${words})` : ''}.` })
  }

  #over(loss: Loss): void {
    if (this.mode === 'gone') return
    // What its bodies have started goes with it.
    this.kill()
    this.mode = 'gone'
    if (this.#limit !== null) clearTimeout(this.#limit)
    this.#tell(loss)
    this.parts.gone(this, loss)
  }
}
