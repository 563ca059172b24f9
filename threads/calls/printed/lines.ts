import { limits } from '../../../protocol/limits.ts'

/** Lines of a text that comes in pieces; what is longer than a log line may be comes in several. */
export class PrintedLines {
  readonly #line: (text: string) => void
  #rest = ''

  constructor(line: (text: string) => void) {
    this.#line = line
  }

  add(piece: string): void {
    const lines = (this.#rest + piece).split('\n')
    this.#rest = lines.pop()!
    for (const line of lines) this.#say(line)
    while (this.#rest.length > limits.LOG_LINE_BYTES) {
      this.#say(this.#rest.slice(0, limits.LOG_LINE_BYTES))
      this.#rest = this.#rest.slice(limits.LOG_LINE_BYTES)
    }
  }

  /** What has no end of line. */
  flush(): void {
    const rest = this.#rest
    this.#rest = ''
    this.#say(rest)
  }

  #say(line: string): void {
    const text = line.endsWith('\r') ? line.slice(0, -1) : line
    const most = limits.LOG_LINE_BYTES
    for (let at = 0; at < text.length; at += most) this.#line(text.slice(at, at + most))
  }
}
