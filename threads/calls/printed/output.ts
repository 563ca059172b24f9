import { StringDecoder } from 'node:string_decoder'
import type { LogLevel } from '../../../protocol/nouns/run-log.ts'
import { PrintedLines } from './lines.ts'

/** Takes what a body prints, line by line; false: nobody knows which body prints, and the text goes where it went before. */
export interface PrintTarget {
  printed(line: string, level: LogLevel): boolean
}

/** Functions of `console` that say how bad it is. All others print at the level of their stream. */
const LEVELS = { debug: 'debug', warn: 'warn', error: 'error' } as const

/**
 * `process.stdout`, `process.stderr` and `console` of a thread that runs bodies: what is printed there becomes lines. To be made
 * before any body is loaded, and before the thread's built-ins are looked at.
 */
export class PrintedOutput {
  readonly #target: PrintTarget
  /** It is printed as well. */
  readonly #prints: boolean
  readonly #streams: PrintedLines[] = []
  /** Of the function of `console` that prints now. */
  #level: LogLevel | null = null
  /** What is printed while a line is taken goes nowhere else: it would come back here. */
  #isTaking = false

  constructor(target: PrintTarget, prints: boolean) {
    this.#target = target
    this.#prints = prints
    this.#follow(process.stdout, 'info')
    this.#follow(process.stderr, 'warn')
    for (const [name, level] of Object.entries(LEVELS)) {
      const key = name as keyof typeof LEVELS
      const print = console[key].bind(console) as (...given: unknown[]) => void
      console[key] = (...given: unknown[]): void => {
        const outer = this.#level
        this.#level = level
        try {
          print(...given)
        } finally {
          this.#level = outer
        }
      }
    }
  }

  /** A body has ended: what it printed without an end of line is a line, too. */
  flush(): void {
    for (let at = 0; at < this.#streams.length; at++) this.#streams[at]!.flush()
  }

  #follow(stream: NodeJS.WriteStream, level: LogLevel): void {
    const write = stream.write.bind(stream) as (text: string) => boolean
    const decoder = new StringDecoder('utf8')
    const lines = new PrintedLines(line => {
      if (!this.#target.printed(line, this.#level ?? level) && !this.#prints) write(`${line}\n`)
    })
    this.#streams.push(lines)
    const taken = (chunk: unknown, encoding?: unknown, done?: unknown): boolean => {
      const text = typeof chunk === 'string' ? chunk : decoder.write(chunk as Buffer)
      if (this.#prints) write(text)
      if (!this.#isTaking) {
        this.#isTaking = true
        try {
          lines.add(text)
        } finally {
          this.#isTaking = false
        }
      }
      const after = typeof encoding === 'function' ? encoding : done
      if (typeof after === 'function') process.nextTick(after as () => void)
      return true
    }
    stream.write = taken as typeof stream.write
  }
}
