import type { WriteStream } from 'node:tty'

const ENTER = '\x1b[?1049h\x1b[?25l\x1b[H\x1b[2J'
const LEAVE = '\x1b[?25h\x1b[?1049l'

/**
 * Draws over the whole terminal on its second screen. However the process ends, short of a kill, the first screen and the
 * cursor come back, and `lastWords` are written there.
 */
export class Screen {
  readonly #terminal: WriteStream
  readonly #draw: () => readonly string[]
  #isEntered = false

  constructor(terminal: WriteStream, draw: () => readonly string[], lastWords: () => readonly string[]) {
    this.#terminal = terminal
    this.#draw = draw
    this.#enter()
    process.once('exit', () => {
      this.#leave()
      terminal.write(`${lastWords().join('\n')}\n`)
    })
    process.on('SIGTERM', () => process.exit(143))
    process.on('SIGHUP', () => process.exit(129))
    process.on('SIGTSTP', () => {
      this.#leave()
      process.kill(process.pid, 'SIGSTOP')
    })
    process.on('SIGCONT', () => this.#enter())
    terminal.on('resize', () => {
      terminal.write('\x1b[2J')
      this.redraw()
    })
  }

  get columns(): number {
    return this.#terminal.columns || 80
  }

  get rows(): number {
    return this.#terminal.rows || 24
  }

  redraw(): void {
    if (!this.#isEntered) return
    const lines = this.#draw().map(line => `${line}\x1b[K`)
    this.#terminal.write(`\x1b[H${lines.join('\r\n')}\x1b[J`)
  }

  #enter(): void {
    if (this.#isEntered) return
    this.#isEntered = true
    this.#terminal.write(ENTER)
    this.redraw()
  }

  #leave(): void {
    if (!this.#isEntered) return
    this.#isEntered = false
    this.#terminal.write(LEAVE)
  }
}
