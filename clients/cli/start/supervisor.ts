import { type ChildProcess, fork } from 'node:child_process'
import { limits } from '../../../protocol/limits.ts'
import { EXIT } from '../../../protocol/settings.ts'
import type { FromEngine } from './engine-channel.ts'
import { ServeScreen } from './serve-screen.ts'

export interface SupervisorOptions {
  /** The arguments of `svc serve`. */
  readonly argv: readonly string[]
  /** The program of the engine process. */
  readonly entry: URL
  readonly restart_after_ms?: number
  readonly restarts_per_minute?: number
}

const CONTINUE_MS = 1_000

/**
 * Runs the engine as a child process, starts it again after a crash, and writes to the terminal. It
 * has no state and does no other work, so that only a kill can end it. The dashboard on the terminal is another process.
 *
 *   starting -> ready     the engine answers; its start message is printed, on the first start only
 *   starting -> refused   the start was refused, or the engine ended before it answered; its text and exit code are passed on
 *   ready    -> waiting   it crashed: 1 s, then 2, 4, 8 and 16 s, at most 5 times in a minute; then starting, on the same port
 *   any      -> stopping  SIGTERM, SIGINT or SIGHUP came: the engine gets SIGTERM; a second SIGTERM or SIGINT, or 15 s, kill it
 */
export class Supervisor {
  readonly #options: SupervisorOptions
  readonly #restart_after_ms: number
  readonly #restarts_per_minute: number
  readonly #end: (code: number) => void
  /** There is a dashboard on the terminal while the engine runs, until it is left. */
  readonly #hasScreen: boolean
  #screen: ServeScreen | null = null
  #engine: ChildProcess | null = null
  #url: string | null = null
  #refused: number | null = null
  #signal: NodeJS.Signals | null = null
  #crashes_ms: number[] = []
  #waiting: NodeJS.Timeout | null = null

  private constructor(options: SupervisorOptions, end: (code: number) => void) {
    this.#options = options
    this.#restart_after_ms = options.restart_after_ms ?? limits.RESTART_AFTER_MS
    this.#restarts_per_minute = options.restarts_per_minute ?? limits.RESTARTS_PER_MINUTE
    this.#hasScreen = ServeScreen.isWanted(options.argv, process.env)
    // The shell gets its terminal back first.
    this.#end = code => {
      if (this.#screen === null) end(code)
      else this.#screen.end().then(() => end(code))
    }
  }

  /** Resolves with the exit code of `svc serve`. */
  static run(options: SupervisorOptions): Promise<number> {
    return new Promise(resolve => {
      const supervisor = new Supervisor(options, resolve)
      supervisor.#start('')
      supervisor.#goOn()
      for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => supervisor.#stop(signal))
      // The engine goes on when the reader has closed the pipe (`svc serve | head -1`).
      process.stdout.on('error', () => {})
      process.stderr.on('error', () => {})
    })
  }

  #start(restarted_after: string): void {
    this.#waiting = null
    const port = this.#url === null ? [] : ['--port', new URL(this.#url).port]
    // A process group of its own: Ctrl-C reaches the engine once, from here, and not a second time from the terminal. Its standard
    // output is our standard error, because scripts read our standard output.
    // The log goes to standard output, too, unless that is a terminal or `--plain` is given.
    const logs = process.stdout.isTTY !== true && !this.#options.argv.includes('--plain')
    const engine = fork(this.#options.entry, [restarted_after, logs ? 'log' : '', ...this.#options.argv, ...port], {
      detached: true,
      stdio: logs
        ? ['ignore', 2, 2, 'ipc', 1]
        : this.#hasScreen
          ? ['ignore', 'pipe', 'pipe', 'ipc']
          : ['ignore', 2, 2, 'ipc'],
    })
    for (const output of [engine.stdout, engine.stderr])
      output?.setEncoding('utf8').on('data', (text: string) => this.#print(text))
    this.#engine = engine
    engine.on('message', message => this.#hear(message as FromEngine))
    engine.on('error', error => this.#note(`the engine process failed: ${error.message}`))
    engine.on('exit', (code, signal) => this.#ended(code, signal))
  }

  /** A body can stop the whole engine with SIGSTOP, and the engine cannot resume itself. SIGCONT has no effect on a running one. */
  #goOn(): void {
    setInterval(() => this.#engine?.kill('SIGCONT'), CONTINUE_MS).unref()
  }

  #hear(message: FromEngine): void {
    if (message.type === 'refused') {
      this.#note(message.text)
      // After a crash a refusal may pass (such as a port in use), so it counts as another crash.
      if (this.#url === null || message.exit_code === EXIT.usage) this.#refused = message.exit_code
      return
    }
    if (this.#url === null) {
      for (const note of message.notes) process.stderr.write(`${note}\n`)
      process.stdout.write(`${message.lines.join('\n')}\n`)
      if (this.#hasScreen && this.#signal === null) this.#show(message)
    } else {
      this.#note(`the engine answers again at ${message.url}`)
    }
    this.#url = message.url
  }

  #show({ data_dir, lines, has_password }: Extract<FromEngine, { type: 'ready' }>): void {
    this.#screen = new ServeScreen({
      data_dir,
      lines,
      has_password,
      left: how => {
        if (this.#signal !== null) return
        if (how !== null) this.#note(`the dashboard is gone: ${how}`)
        this.#note(`the engine goes on at ${this.#url}; Ctrl-C stops it, "svc top" shows it again`)
      },
      interrupted: () => this.#stop('SIGINT'),
    })
  }

  #ended(code: number | null, signal: NodeJS.Signals | null): void {
    this.#engine = null
    if (this.#refused !== null) return this.#end(this.#refused)
    if (this.#signal !== null) return this.#end(this.#signal === 'SIGINT' ? EXIT.interrupted : (code ?? EXIT.failed))
    if (code === 0) return this.#end(EXIT.ok)
    const how = signal === null ? `exit code ${code}` : `signal ${signal}`
    if (this.#url === null && signal === null) {
      this.#note(`the engine ended (${how}) before it answered`)
      return this.#end(EXIT.failed)
    }
    const now_ms = performance.now()
    this.#crashes_ms = [...this.#crashes_ms.filter(at => now_ms - at < 60_000), now_ms]
    const crashes = this.#crashes_ms.length
    if (crashes > this.#restarts_per_minute) {
      this.#note(
        `the engine ended (${how}) for the ${crashes}th time within a minute; it is not started again. Look into serve.log in the data directory.`,
      )
      return this.#end(EXIT.failed)
    }
    const after_ms = this.#restart_after_ms * 2 ** (crashes - 1)
    this.#note(`the engine ended (${how}); it is started again in ${after_ms / 1000} s`)
    this.#waiting = setTimeout(() => this.#start(how), after_ms)
  }

  #stop(signal: NodeJS.Signals): void {
    if (this.#signal !== null) {
      // A closed terminal sends SIGHUP twice: from the shell, and from the system when the shell ends. So a second SIGHUP does not kill.
      if (signal !== 'SIGHUP') this.#engine?.kill('SIGKILL')
      return
    }
    this.#signal = signal
    this.#screen?.end()
    if (this.#waiting !== null) {
      clearTimeout(this.#waiting)
      return this.#end(signal === 'SIGINT' ? EXIT.interrupted : EXIT.ok)
    }
    this.#engine?.kill('SIGTERM')
    setTimeout(() => this.#engine?.kill('SIGKILL'), limits.STOP_GRACE_MS).unref()
  }

  #note(text: string): void {
    if (this.#screen?.note(text) !== true) process.stderr.write(`svc: ${text}\n`)
  }

  /** What the engine process writes itself; it has the terminal only where there is no dashboard. */
  #print(text: string): void {
    if (this.#screen?.takes(text) !== true) process.stderr.write(text)
  }
}
