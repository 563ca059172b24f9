import { LOG_LEVELS, type LogLevel } from '../../protocol/words/log-level.ts'

/**
 * Lines of a run's log as texts, which cross threads and are stored at the price of a copy:
 *
 *   line      <level><microseconds since the first line, base 36>,<length>:<text>
 *   section   <node> <attempt> <count> <time of the first line> <length> then its lines: of one node, in the order in which it wrote them
 *   chunk     sections one behind the other
 *
 * Lengths count UTF-16 units. `level` is a digit: the position in LOG_LEVELS.
 */
export interface LogLine {
  /** Microseconds since 1970. */
  readonly ts: number
  readonly level: LogLevel
  readonly text: string
}

/** Lines of one node, packed. */
export interface PackedLines {
  readonly lines: string
  readonly count: number
  /** Time of the first. */
  readonly from_us: number
  /** What they count against every bound. */
  readonly size: number
}

/** What a line counts beside its text. */
const LINE_OVERHEAD = 16

export const sizeOfLine = (text: string): number => text.length + LINE_OVERHEAD

export class LinePacker {
  count = 0
  size = 0
  #lines = ''
  #from_us = 0

  add(level: LogLevel, ts: number, text: string): void {
    const time = Math.floor(ts)
    if (this.count++ === 0) this.#from_us = time
    this.size += sizeOfLine(text)
    this.#lines += `${LOG_LEVELS.indexOf(level)}${(time - this.#from_us).toString(36)},${text.length}:${text}`
  }

  /** And begins again. */
  take(): PackedLines {
    const packed = { lines: this.#lines, count: this.count, from_us: this.#from_us, size: this.size }
    this.count = 0
    this.size = 0
    this.#lines = ''
    return packed
  }
}

/** Throws a RangeError where it is none. */
export function* unpackLines({ lines, count, from_us }: Omit<PackedLines, 'size'>): Iterable<LogLine> {
  let at = 0
  for (let line = 0; line < count; line++) {
    const comma = lines.indexOf(',', at)
    const colon = lines.indexOf(':', comma)
    const level = LOG_LEVELS[Number(lines[at])]
    const after_us = Number.parseInt(lines.slice(at + 1, comma), 36)
    const end = colon + 1 + Number(lines.slice(comma + 1, colon))
    if (level === undefined || comma < 0 || colon < 0 || !Number.isFinite(after_us) || !(end <= lines.length))
      throw new RangeError(`line ${line} of ${count} cannot be read`)
    yield { ts: from_us + after_us, level, text: lines.slice(colon + 1, end) }
    at = end
  }
  if (at !== lines.length) throw new RangeError(`${lines.length - at} characters stand behind the last line`)
}

/** The first `most` of them. */
export function firstLines(packed: PackedLines, most: number): PackedLines {
  const packer = new LinePacker()
  for (const { level, ts, text } of unpackLines(packed)) {
    if (packer.count >= most) break
    packer.add(level, ts, text)
  }
  return packer.take()
}

export const sectionOf = (node: string, attempt: number, { lines, count, from_us }: PackedLines): string =>
  `${node} ${attempt} ${count} ${from_us} ${lines.length}\n${lines}`

/** Throws a RangeError where it is none. */
export function* linesOfChunk(chunk: string): Iterable<LogLine & { node: string; attempt: number }> {
  for (let at = 0; at < chunk.length; ) {
    const begin = chunk.indexOf('\n', at) + 1
    const [node = '', ...figures] = chunk.slice(at, begin - 1).split(' ')
    const [attempt = Number.NaN, count = Number.NaN, from_us = Number.NaN, length = Number.NaN] = figures.map(Number)
    if (begin === 0 || figures.length !== 4 || !figures.every(figure => Number.isSafeInteger(Number(figure))))
      throw new RangeError(`no section begins at character ${at}`)
    if (begin + length > chunk.length) throw new RangeError(`the section at character ${at} has no end`)
    for (const line of unpackLines({ lines: chunk.slice(begin, begin + length), count, from_us }))
      yield { node, attempt, ...line }
    at = begin + length
  }
}
