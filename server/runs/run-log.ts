import { firstLines, LinePacker, type PackedLines, sectionOf, unpackLines } from '../../core/runs/log-lines.ts'
import { limits } from '../../protocol/limits.ts'
import type { LogLevel } from '../../protocol/nouns/run-log.ts'
import { keptLine, LineBudget } from '../../threads/calls/node-context.ts'
import type { Note } from '../../threads/lane/messages.ts'
import type { LogChunk, LogProgress } from '../store/front/run-logs.ts'

/** The bounds of one run. */
export interface LogBounds {
  readonly lines: number
  readonly size: number
}

export interface RunLogParts {
  readonly flow: string
  readonly attempt: number
  /** Sends a line to watchers, at most as many of a node in a second as a live node may write. */
  note(note: Note): void
}

/**
 * The lines of a run that wait to be written, and their bounds. Lines over a bound of the run are dropped and counted. While
 * many wait, bodies are not told that their lines are taken, and so are blocked.
 */
export class RunLog {
  readonly #parts: RunLogParts
  readonly #bounds: LogBounds
  readonly #budgets = new Map<string, LineBudget>()
  /** Number and size of the lines that were kept so far. */
  #lines = 0
  #size = 0
  #dropped = 0
  #toldDropped = 0
  #chunks: LogChunk[] = []
  #waiting = 0
  /** Size of the lines that were taken and are not written yet. */
  #on_its_way = 0
  /** Called when there is room for more lines of a body. */
  #taken: (() => void)[] = []

  constructor(parts: RunLogParts, bounds: LogBounds = { lines: limits.RUN_LOG_LINES, size: limits.RUN_LOG_BYTES }) {
    this.#parts = parts
    this.#bounds = bounds
  }

  /** Adds lines of a body. `taken` is called when there is room for more. `dropped`: lines that were not taken in time. */
  add(node: string, packed: PackedLines, dropped: number, taken: () => void): void {
    this.#dropped += dropped
    this.#keep(node, packed)
    this.#tell(node, packed)
    this.#taken.push(taken)
    this.#goOn()
  }

  /** Adds one line of the engine, or of a program that a body started. */
  say(node: string, level: LogLevel, ts: number, text: string): void {
    const packer = new LinePacker()
    packer.add(level, ts, text)
    const packed = packer.take()
    this.#keep(node, packed)
    this.#tell(node, packed)
  }

  /** Size of the lines that wait to be written. */
  get waiting(): number {
    return this.#waiting
  }

  /** The oldest lines for one write, or all with `all`; null when there are none. */
  take(all: boolean): LogProgress | null {
    if (this.#chunks.length === 0 && this.#dropped === this.#toldDropped) return null
    let count = 0
    let size = 0
    while (count < this.#chunks.length && (all || size < limits.RUN_LOG_WRITE)) size += this.#chunks[count++]!.size
    const chunks = this.#chunks.splice(0, count)
    this.#waiting -= size
    this.#on_its_way += size
    this.#toldDropped = this.#dropped
    return { chunks, dropped: this.#dropped }
  }

  written({ chunks }: LogProgress): void {
    for (const { size } of chunks) this.#on_its_way -= size
    this.#goOn()
  }

  /** Releases all bodies that wait. */
  end(): void {
    for (const taken of this.#taken.splice(0)) taken()
  }

  #goOn(): void {
    if (this.#waiting + this.#on_its_way < limits.RUN_LOG_WAITING) this.end()
  }

  #keep(node: string, given: PackedLines): void {
    const packed = this.#fitting(given)
    this.#dropped += given.count - packed.count
    if (packed.count === 0) return
    const { size, count, from_us } = packed
    const section = sectionOf(node, this.#parts.attempt, packed)
    const last = this.#chunks.at(-1)
    if (last !== undefined && last.size + size <= limits.RUN_LOG_CHUNK) {
      last.lines += section
      last.count += count
      last.size += size
    } else this.#chunks.push({ first: this.#lines + 1, count, from_us, size, lines: section })
    this.#lines += count
    this.#size += size
    this.#waiting += size
  }

  /** The lines that are within the bounds of the run. */
  #fitting(packed: PackedLines): PackedLines {
    if (this.#size + packed.size > this.#bounds.size) return firstLines(packed, 0)
    const room = this.#bounds.lines - this.#lines
    return packed.count <= room ? packed : firstLines(packed, room)
  }

  #tell(node: string, packed: PackedLines): void {
    const budget = this.#budgetOf(node)
    const qualified = `${this.#parts.flow}.${node}`
    for (const { ts, level, text } of unpackLines(packed)) {
      const missed = budget.take(ts)
      if (missed >= 0) this.#parts.note({ type: 'log', node: qualified, level, text: keptLine(text, missed), ts })
    }
  }

  #budgetOf(node: string): LineBudget {
    let budget = this.#budgets.get(node)
    if (budget === undefined) this.#budgets.set(node, (budget = new LineBudget()))
    return budget
  }
}
