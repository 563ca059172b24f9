import { writeSync } from 'node:fs'
import type { ReadStream, WriteStream } from 'node:tty'

/** The second screen, without a cursor; pastes are marked as such. */
const ENTER = '\x1b[?1049h\x1b[?25l\x1b[?2004h\x1b[H\x1b[2J'
/** Also out of an update that was cut short, and out of the colours. */
export const LEAVE = '\x1b[?2026l\x1b[0m\x1b[?2004l\x1b[?25h\x1b[?1049l'

/** `process.stdout`, where it is a terminal. */
export type Terminal = WriteStream & { readonly fd: number }

/** A stop that is to come has come by then; afterwards it goes by the time that the process runs again. */
const STOPPED_MS = 100

/**
 * Holds a terminal: the second screen, no cursor, keys as they are typed. However the process ends, short of a kill, it is given back once,
 * and the last words are written on the first screen.
 *
 *   free --hold--> held --leave, or the process ends--> free
 *                  held --suspend--> stopped --SIGCONT--> held
 */
export class TerminalGuard {
  readonly #input: ReadStream | null
  readonly #output: Terminal
  readonly #lastWords: () => readonly string[]
  readonly #onBack: () => void
  #isHeld = false
  #hasEnded = false

  constructor(parts: {
    /** Null: keys are not read, and Ctrl-C stays a signal. */
    input: ReadStream | null
    output: Terminal
    /** What is to be read on the first screen afterwards. */
    lastWords(): readonly string[]
    /** The terminal is held again, and empty. */
    onBack(): void
  }) {
    this.#input = parts.input
    this.#output = parts.output
    this.#lastWords = parts.lastWords
    this.#onBack = parts.onBack
    process.on('exit', () => this.end())
    process.on('SIGTERM', () => process.exit(143))
    process.on('SIGHUP', () => process.exit(129))
    process.on('SIGTSTP', this.#suspend)
    process.on('SIGCONT', () => this.#back())
  }

  get isHeld(): boolean {
    return this.#isHeld
  }

  hold(): void {
    if (this.#isHeld || this.#hasEnded) return
    this.#isHeld = true
    this.#input?.setRawMode(true)
    this.#output.write(ENTER)
  }

  readonly #suspend = (): void => this.suspend()

  /** All of the job, until the shell lets it go on. Without a shell that minds jobs nothing stops, and the terminal is held again. */
  suspend(): void {
    this.#free()
    process.off('SIGTSTP', this.#suspend)
    process.kill(0, 'SIGTSTP')
    setTimeout(() => {
      process.on('SIGTSTP', this.#suspend)
      this.#back()
    }, STOPPED_MS)
  }

  /** For good. */
  end(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    if (!this.#isHeld) return
    this.#free()
    const lines = this.#lastWords()
    if (lines.length > 0) this.#say(`${lines.join('\n')}\n`)
  }

  #back(): void {
    if (this.#hasEnded || this.#isHeld) return
    this.hold()
    this.#onBack()
  }

  #free(): void {
    if (!this.#isHeld) return
    this.#isHeld = false
    this.#say(LEAVE)
    try {
      this.#input?.setRawMode(false)
    } catch {
      // The terminal has gone.
    }
  }

  /** At once: the process may be about to end. */
  #say(text: string): void {
    try {
      writeSync(this.#output.fd, text)
    } catch {
      // The terminal has gone, or takes nothing.
    }
  }
}
