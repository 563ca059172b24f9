import { columns } from '../../clients/cli/output/text.ts'

const segments = new Intl.Segmenter(undefined, { granularity: 'grapheme' })
// biome-ignore lint/suspicious/noControlCharactersInRegex: what programs send to terminals
const SEQUENCE = /^\x1b\[([?0-9;]*)([A-Za-z])/

/** As much of a terminal as a dashboard needs: cells that text is written into, at a place. */
export class ScreenDouble {
  readonly width: number
  readonly height: number
  cells: { text: string; style: string }[][]
  /** Bytes that were written. */
  written = 0
  #row = 0
  #column = 0
  #style = ''

  constructor(width: number, height: number) {
    this.width = width
    this.height = height
    this.cells = this.#empty()
  }

  #empty(): { text: string; style: string }[][] {
    return Array.from({ length: this.height }, () =>
      Array.from({ length: this.width }, () => ({ text: ' ', style: '' })),
    )
  }

  write(text: string): void {
    this.written += Buffer.byteLength(text)
    for (let rest = text; rest !== ''; ) {
      const sequence = SEQUENCE.exec(rest)
      if (sequence !== null) {
        this.#obey(sequence[1]!, sequence[2]!)
        rest = rest.slice(sequence[0].length)
        continue
      }
      const [{ segment } = { segment: '' }] = segments.segment(rest)
      this.#put(segment)
      rest = rest.slice(segment.length)
    }
  }

  #obey(numbers: string, letter: string): void {
    const [first = 1, second = 1] = numbers.split(';').map(text => Number(text) || 1)
    if (letter === 'H') [this.#row, this.#column] = [first - 1, second - 1]
    else if (letter === 'G') this.#column = first - 1
    else if (letter === 'J') this.cells = this.#empty()
    else if (letter === 'm') this.#style = numbers === '0' ? '' : `${this.#style}${numbers} `
    else if (!/^[hl]$/.test(letter)) throw new RangeError(`unknown sequence ESC [ ${numbers} ${letter}`)
  }

  #put(text: string): void {
    if (/\p{Cc}/u.test(text)) throw new RangeError(`a control character was written: ${JSON.stringify(text)}`)
    const wide = columns(text)
    if (this.#row >= this.height || this.#column + wide > this.width)
      throw new RangeError(`${JSON.stringify(text)} was written past the edge`)
    this.cells[this.#row]![this.#column] = { text, style: this.#style }
    if (wide === 2) this.cells[this.#row]![this.#column + 1] = { text: '', style: this.#style }
    this.#column += wide
  }

  get lines(): string[] {
    return this.cells.map(row =>
      row
        .map(({ text }) => text)
        .join('')
        .trimEnd(),
    )
  }
}
