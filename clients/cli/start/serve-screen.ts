import { type ChildProcess, fork, spawnSync } from 'node:child_process'
import { EXIT } from '../../../protocol/settings.ts'

/** What the supervisor tells the dashboard process. The other way goes its exit code. */
export type ToScreen =
  /** What the start had to say; with a password in it, it is shown until a key is pressed. */
  | { type: 'greeting'; lines: readonly string[]; has_password: boolean }
  /** Something for the log. */
  | { type: 'note'; text: string }

export interface ServeScreenParts {
  readonly data_dir: string
  readonly lines: readonly string[]
  readonly has_password: boolean
  /** It was left with q: the engine goes on. Or it ended by itself, as `how` says. */
  left(how: string | null): void
  /** Ctrl-C was pressed in it. */
  interrupted(): void
}

/** How long it may take to restore the terminal after a stop. */
const END_MS = 2_000
/** Lines that came while it was shown, and are printed after it. */
const LINES_KEPT = 100
/** As the dashboard gives a terminal back; that is not loaded for it. */
const LEAVE: typeof import('../../terminal/device/guard.ts').LEAVE = '\x1b[?2026l\x1b[0m\x1b[?2004l\x1b[?25h\x1b[?1049l'

/**
 * The dashboard of `svc serve`: a process of its own, so that nothing that it does or meets ends the engine or its supervisor. While it is
 * shown nobody else writes on the terminal: what is to be printed waits.
 */
export class ServeScreen {
  readonly #parts: ServeScreenParts
  readonly #process: ChildProcess
  readonly #ended = Promise.withResolvers<void>()
  #lines: string[] = []
  #isShown = true

  constructor(parts: ServeScreenParts) {
    this.#parts = parts
    this.#process = fork(new URL('./screen-process.ts', import.meta.url), [parts.data_dir], {
      stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    })
    this.#process.on('error', error => this.#over(error.message))
    this.#process.on('exit', (code, signal) => this.#exit(code, signal))
    this.#tell({ type: 'greeting', lines: parts.lines, has_password: parts.has_password })
  }

  /** Somebody sits before it, and it can draw. */
  static isWanted(argv: readonly string[], environment: NodeJS.ProcessEnv): boolean {
    const isTerminal = process.stdout.isTTY === true && process.stdin.isTTY === true
    return isTerminal && environment['TERM'] !== 'dumb' && !argv.includes('--plain')
  }

  /** False: it is not shown, and the text is for the caller to print. */
  takes(text: string): boolean {
    if (!this.#isShown) return false
    this.#lines.push(text)
    if (this.#lines.length > LINES_KEPT) this.#lines.shift()
    return true
  }

  /** A line of the supervisor, for its log, too. */
  note(text: string): boolean {
    if (this.#isShown) this.#tell({ type: 'note', text })
    return this.takes(`svc: ${text}\n`)
  }

  /** Resolves when the terminal has been given back. */
  end(): Promise<void> {
    if (this.#isShown) {
      this.#process.kill('SIGTERM')
      // Also when it is stopped.
      this.#process.kill('SIGCONT')
      setTimeout(() => this.#process.kill('SIGKILL'), END_MS).unref()
    }
    return this.#ended.promise
  }

  #tell(message: ToScreen): void {
    if (this.#process.connected) this.#process.send(message, () => {})
  }

  #exit(code: number | null, signal: NodeJS.Signals | null): void {
    // Killed, it could not do that itself.
    if (signal !== null) {
      process.stdout.write(LEAVE)
      spawnSync('stty', ['sane'], { stdio: ['inherit', 'ignore', 'ignore'] })
    }
    const isSigterm = code === 143 || signal === 'SIGTERM'
    if (code === EXIT.interrupted) this.#over(null, true)
    else this.#over(code === EXIT.ok || isSigterm ? null : `it ended with ${signal ?? `exit code ${code}`}`)
  }

  #over(how: string | null, isInterrupt = false): void {
    if (!this.#isShown) return
    this.#isShown = false
    for (const line of this.#lines) process.stderr.write(line)
    this.#lines = []
    this.#ended.resolve()
    if (isInterrupt) this.#parts.interrupted()
    else this.#parts.left(how)
  }
}
