import { type Terminal, TerminalGuard } from '../../terminal/device/guard.ts'

export interface ScreenSize {
  readonly columns: number
  readonly rows: number
}

/**
 * Draws lines over the whole terminal on its alternate screen, as often as asked. The guard restores the first screen and the cursor, and writes
 * `lastWords` there.
 */
export class Screen {
  readonly #terminal: Terminal
  readonly #draw: (size: ScreenSize) => readonly string[]
  readonly #guard: TerminalGuard

  constructor(
    terminal: Terminal,
    draw: (size: ScreenSize) => readonly string[],
    lastWords: (size: ScreenSize) => readonly string[],
  ) {
    this.#terminal = terminal
    this.#draw = draw
    this.#guard = new TerminalGuard({
      input: null,
      output: terminal,
      lastWords: () => lastWords(this.#size()),
      onBack: () => this.redraw(),
    })
    this.#guard.hold()
    this.redraw()
    terminal.on('resize', () => {
      terminal.write('\x1b[2J')
      this.redraw()
    })
  }

  redraw(): void {
    if (!this.#guard.isHeld) return
    const lines = this.#draw(this.#size()).map(line => `${line}\x1b[K`)
    this.#terminal.write(`\x1b[H${lines.join('\r\n')}\x1b[J`)
  }

  #size(): ScreenSize {
    return { columns: this.#terminal.columns || 80, rows: this.#terminal.rows || 24 }
  }
}
