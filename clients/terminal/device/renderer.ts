import { columns, isPlain } from '../../cli/output/text.ts'
import type { Line, Style } from '../draw/line.ts'
import { inAscii } from '../draw/marks.ts'
import type { Size } from '../draw/screen.ts'

export interface Look {
  /** False: shapes and bold only. */
  readonly hasColour: boolean
  /** False: ASCII only. */
  readonly hasUtf8: boolean
}

const BEGIN = '\x1b[?2026h'
const END = '\x1b[?2026l'
const CLEAR = '\x1b[0m\x1b[2J'
/** Cells between two changes that are written again, because to go over them costs as much. */
const BRIDGE = 6

/** One place of the screen. */
interface Cell {
  readonly text: string
  /** As escape sequence behind a reset; empty: plain. */
  readonly style: string
  /** 2: it takes the next place, too, which is empty then. */
  readonly width: number
}

const TONES = { red: '31', yellow: '33', cyan: '36' }
const segments = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/**
 * What to send to a terminal so that it shows these lines: the cells that have changed since the last time, in one text. A terminal that
 * knows synchronized updates (mode 2026) shows all of it at once; others ignore the mode.
 */
export class Renderer {
  readonly #look: Look
  #cells: Cell[][] = []
  #size: Size = { columns: 0, rows: 0 }

  constructor(look: Look) {
    this.#look = look
  }

  /** All of it is written the next time: the terminal was cleared, or something else wrote on it. */
  forget(): void {
    this.#cells = []
  }

  /** Empty when nothing has changed. */
  draw(lines: readonly Line[], size: Size): string {
    const isAnew = this.#cells.length === 0 || size.columns !== this.#size.columns || size.rows !== this.#size.rows
    if (isAnew) this.#cells = []
    this.#size = size
    const cells = lines.map(line => this.#cellsOf(line, size.columns))
    let text = ''
    for (const [row, now] of cells.entries()) text += changes(this.#cells[row] ?? [], now, row)
    this.#cells = cells
    if (text === '' && !isAnew) return ''
    return `${BEGIN}${isAnew ? CLEAR : ''}${text}\x1b[0m${END}`
  }

  #cellsOf(line: Line, width: number): Cell[] {
    const cells: Cell[] = []
    const add = (text: string, style: string, wide: number): void => {
      if (cells.length + wide > width) return
      cells.push({ text, style, width: wide })
      if (wide === 2) cells.push({ text: '', style, width: 0 })
    }
    for (const { text, style } of line) {
      const code = this.#code(style)
      if (isPlain(text)) {
        for (const character of text) add(this.#look.hasUtf8 ? character : inAscii(character), code, 1)
        continue
      }
      for (const { segment } of segments.segment(text)) {
        const wide = columns(segment)
        if (this.#look.hasUtf8) add(segment, code, wide)
        else for (let at = 0; at < wide; at++) add(inAscii(segment).slice(0, 1), code, 1)
      }
    }
    return cells
  }

  #code({ tone, isDim, isBold, isReversed }: Style): string {
    const { hasColour } = this.#look
    const codes = [
      ...(isBold || (isReversed && !hasColour) ? ['1'] : []),
      ...(isDim && hasColour ? ['2'] : []),
      ...(isReversed && hasColour ? ['7'] : []),
      ...(tone !== undefined && hasColour ? [TONES[tone]] : []),
    ]
    return codes.length === 0 ? '' : `\x1b[${codes.join(';')}m`
  }
}

const isSame = (a: Cell | undefined, b: Cell): boolean => a !== undefined && a.text === b.text && a.style === b.style

function changes(before: readonly Cell[], now: readonly Cell[], row: number): string {
  // A terminal may count other columns for what is not a plain letter: then nothing that stands behind it on the row is where we think.
  if (
    before.length === 0 ||
    (isDoubtful(before) !== isDoubtful(now) && now.some((cell, at) => !isSame(before[at], cell)))
  )
    return stretch(now, row, 0, now.length)
  let text = ''
  for (let at = 0; at < now.length; at++) {
    if (isSame(before[at], now[at]!)) continue
    let first = at
    while (first > 0 && now[first]!.width === 0) first--
    let last = at
    for (let next = at + 1; next < now.length && next - last <= BRIDGE; next++)
      if (!isSame(before[next], now[next]!)) last = next
    if (now[last]!.width === 2) last++
    text += stretch(now, row, first, last + 1)
    at = last
  }
  return text
}

const isDoubtful = (cells: readonly Cell[]): boolean => cells.some(({ width, text }) => width !== 1 || isOther(text))
/** Not a letter of one code unit, nor one of our own marks. */
const isOther = (text: string): boolean => text.length > 1 || /[\u0300-\u1fff\u2c00-\uffff]/.test(text)

function stretch(cells: readonly Cell[], row: number, from: number, to: number): string {
  let text = `\x1b[${row + 1};${from + 1}H`
  let style: string | null = null
  for (let at = from; at < to; at++) {
    const cell = cells[at]!
    if (cell.width === 0) continue
    if (cell.style !== style) text += `\x1b[0m${cell.style}`
    style = cell.style
    text += cell.text
    // However wide the terminal takes it, what follows begins where it should.
    if (cell.width === 2 || isOther(cell.text)) text += `\x1b[${at + cell.width + 1}G`
  }
  return text
}
