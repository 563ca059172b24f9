import { styleText } from 'node:util'
import { fit, printable } from './text.ts'

export interface Sink {
  /** False when the data is buffered; `drain` tells when there is room again. */
  write(data: string | Uint8Array): unknown
  once?(event: 'drain', listener: () => void): unknown
  readonly isTTY?: boolean
  readonly columns?: number
}

type Style = 'bold' | 'dim' | 'red' | 'yellow' | 'green' | 'cyan'

/** Data goes to stdout, all else to stderr. Colours only on a terminal, and never with NO_COLOR. */
export class Output {
  readonly #stdout: Sink
  readonly #stderr: Sink
  readonly #hasColour: boolean
  #hasProgress = false

  constructor(stdout: Sink, stderr: Sink, environment: Readonly<Record<string, string | undefined>>) {
    this.#stdout = stdout
    this.#stderr = stderr
    this.#hasColour = stdout.isTTY === true && !environment['NO_COLOR'] && environment['TERM'] !== 'dumb'
  }

  get isTerminal(): boolean {
    return this.#stdout.isTTY === true
  }

  /** Columns of the terminal; undefined when stdout is not a terminal. */
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

  /** Text from a flow: unchanged into a file or pipe, without control characters on a terminal. */
  raw(text: string): void {
    this.#stdout.write(`${this.isTerminal ? lineByLine(text) : text}\n`)
  }

  /** Bytes as they come, as fast as they are read; without control characters on a terminal. */
  async pour(parts: AsyncIterable<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder()
    for await (const part of parts) {
      const shown = this.isTerminal ? lineByLine(decoder.decode(part, { stream: true })) : part
      if (this.#stdout.write(shown) === false) await new Promise<void>(go => this.#stdout.once?.('drain', go) ?? go())
    }
  }

  /** A line on the terminal that the next one replaces; nothing when stderr is not a terminal. An empty text removes it. */
  progress(text: string): void {
    if (this.#stderr.isTTY !== true || (text === '' && !this.#hasProgress)) return
    this.#hasProgress = text !== ''
    this.#stderr.write(`\r${fit(printable(text), (this.#stderr.columns ?? 80) - 1)}\x1b[K`)
  }

  note(text: string): void {
    this.progress('')
    this.#stderr.write(`svc: ${lineByLine(text)}\n`)
  }
}

const lineByLine = (text: string): string => text.split('\n').map(printable).join('\n')

/** JSON with control characters escaped, which terminals would obey; the same document to a parser. */
const jsonText = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replace(
    /[^\P{Cc}\n]|\p{Bidi_Control}/gu,
    character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
