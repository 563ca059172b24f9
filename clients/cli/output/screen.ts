import type { WriteStream } from 'node:tty'

const ENTER = '\x1b[?1049h\x1b[?25l\x1b[H\x1b[2J'
const LEAVE = '\x1b[?25h\x1b[?1049l'

export interface ScreenSize {
  readonly columns: number
  readonly rows: number
}

/**
 * Draws over the whole terminal on its alternate screen. However the process ends, except by SIGKILL, the first screen and the
 * cursor are restored, and `lastWords` are written there.
 */
export class Screen {
  readonly #terminal: WriteStream
  readonly #draw: (size: ScreenSize) => readonly string[]
  #isEntered = false

  constructor(
    terminal: WriteStream,
    draw: (size: ScreenSize) => readonly string[],
    lastWords: (size: ScreenSize) => readonly string[],
  ) {
    this.#terminal = terminal
    this.#draw = draw
    this.#enter()
    process.once('exit', () => {
      this.#leave()
      const lines = lastWords(this.#size())
      if (lines.length > 0) terminal.write(`${lines.join('\n')}\n`)
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

  redraw(): void {
    if (!this.#isEntered) return
    const lines = this.#draw(this.#size()).map(line => `${line}\x1b[K`)
    this.#terminal.write(`\x1b[H${lines.join('\r\n')}\x1b[J`)
  }

  #size(): ScreenSize {
    return { columns: this.#terminal.columns || 80, rows: this.#terminal.rows || 24 }
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
