import { styleText } from 'node:util'
import { printable } from './text.ts'

export interface Sink {
  write(text: string): unknown
  readonly isTTY?: boolean
  readonly columns?: number
}

type Style = 'bold' | 'dim' | 'red' | 'yellow' | 'green' | 'cyan'

/** Data goes to stdout, all else to stderr. Colours only on a terminal, and never with NO_COLOR. */
export class Output {
  readonly #stdout: Sink
  readonly #stderr: Sink
  readonly #hasColour: boolean

  constructor(stdout: Sink, stderr: Sink, environment: Readonly<Record<string, string | undefined>>) {
    this.#stdout = stdout
    this.#stderr = stderr
    this.#hasColour = stdout.isTTY === true && !environment['NO_COLOR'] && environment['TERM'] !== 'dumb'
  }

  get isTerminal(): boolean {
    return this.#stdout.isTTY === true
  }

  /** Columns of the terminal; undefined when stdout is none. */
  get width(): number | undefined {
    return this.isTerminal ? (this.#stdout.columns ?? 80) : undefined
  }

  style(style: Style, text: string): string {
    return this.#hasColour ? styleText(style, text, { validateStream: false }) : text
  }

  lines(lines: readonly string[]): void {
    if (lines.length > 0) this.#stdout.write(`${lines.join('\n')}\n`)
  }

  /** A table's lines, its titles dimmed. */
  table(lines: readonly string[]): void {
    this.lines([this.style('dim', lines[0]!), ...lines.slice(1)])
  }

  /** One JSON document, indented for reading and for `git diff`. */
  json(value: unknown): void {
    this.#stdout.write(`${jsonText(value, 2)}\n`)
  }

  jsonLine(value: unknown): void {
    this.#stdout.write(`${jsonText(value)}\n`)
  }

  /** Text from a flow: as it is into a file or pipe, made harmless on a terminal. */
  raw(text: string): void {
    this.#stdout.write(`${this.isTerminal ? text.split('\n').map(printable).join('\n') : text}\n`)
  }

  note(text: string): void {
    this.#stderr.write(`svc: ${text.split('\n').map(printable).join('\n')}\n`)
  }
}

/** JSON whose strings keep no character that a terminal would obey; the same document to a parser. */
const jsonText = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replace(
    /[^\P{Cc}\n]|\p{Bidi_Control}/gu,
    character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
