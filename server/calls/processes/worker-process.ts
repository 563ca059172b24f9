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
/** The output of a process may arrive a moment after its end. */
const LAST_WORDS_MS = 200
const TAIL_CHARACTERS = 2_000
const HEAP_WAS_FULL = /heap out of memory|allocation failed/i

/** The flags of the engine, which make modules load quickly, without those that make a process wait for a debugger. */
const flags = (): string[] => [
  '--disable-warning=ExperimentalWarning',
  ...process.execArgv.filter(flag => !flag.startsWith('--inspect')),
]

export interface WorkerProcessParts {
  readonly id: string
  /** Flow and environment as text; processes of one key are alike. */
  readonly key: string
  /** How often modules had been refreshed when it was started. */
  readonly epoch: number
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Null for the user of the engine. */
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
  /** When it became idle, in milliseconds of the steady clock. */
  idle_since_ms = 0
  /** Resolves with the reason when it has ended. */
  readonly gone: Promise<Loss>
  /** Receives lines that were not printed by its body thread: those of libraries and of programs that its bodies started. */
  onLine: (text: string, level: LogLevel) => void = () => {}
  /** Null when the system refused to start it. */
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
      // It ended before it read this; `gone` tells why.
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

  /** `spawn` throws for an invalid environment and reports other errors later. Both resolve `gone`, after this turn. */
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

  /** Sends it the address to connect to. */
  start(start: WorkerStart): void {
    this.#child?.stdin?.end(JSON.stringify(start))
  }

  /** It did not start, or must not. */
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

  /** Ends a process that has no call: it is told to end, and killed if it does not. */
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
      // It has ended already.
    }
  }

  #follow(name: 'stdout' | 'stderr', level: LogLevel): void {
    const lines = new PrintedLines(line => this.onLine(line, level))
    // Absent when the process got no pipes.
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
    // Programs that its bodies have started end with it.
    this.kill()
    this.mode = 'gone'
    if (this.#limit !== null) clearTimeout(this.#limit)
    this.#tell(loss)
    this.parts.gone(this, loss)
  }
}
