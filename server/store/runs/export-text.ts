import type { ExportForm } from '../front/runs.ts'

/**
 * Rows of an export as text. csv: quoting of RFC 4180, lines end in LF, an empty cell for absent and null, "" for the empty
 * text, JSON for lists. jsonl: an object a line, its keys in the order of the columns.
 */
export interface ExportText {
  /** The text before the first row. */
  readonly head: string
  row(cells: readonly unknown[]): string
  /** For many rows that differ only in two numbers at their end: the text before, between and after these numbers. */
  numbersAfter(cells: readonly unknown[]): { before: string; between: string; after: string }
}

export const exportText = (columns: readonly string[], { format, raw }: ExportForm): ExportText =>
  format === 'csv' ? new Csv(columns, raw) : new JsonLines(columns)

class Csv implements ExportText {
  readonly head: string
  readonly #raw: boolean

  constructor(columns: readonly string[], raw: boolean) {
    this.#raw = raw
    this.head = this.row(columns)
  }

  row(cells: readonly unknown[]): string {
    return `${this.#join(cells)}\n`
  }

  numbersAfter(cells: readonly unknown[]): { before: string; between: string; after: string } {
    return { before: `${this.#join(cells)},`, between: ',', after: '\n' }
  }

  #join(cells: readonly unknown[]): string {
    return cells.map(cell => this.#cell(cell)).join(',')
  }

  #cell(cell: unknown): string {
    if (cell === null || cell === undefined) return ''
    if (typeof cell !== 'string') return quoted(typeof cell === 'object' ? JSON.stringify(cell) : String(cell))
    if (cell === '') return '""'
    return quoted(!this.#raw && isFormula(cell) ? `'${cell}` : cell)
  }
}

const quoted = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

/**
 * Whether a spreadsheet would read the text as a formula, by its first character (OWASP, CSV Injection). Full-width forms and leading white
 * space count, too. Plain numbers are not formulas.
 */
const isFormula = (text: string): boolean =>
  /^(\s*[=+\-@＝＋－＠]|[\t\r\n])/.test(text) && !/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)

class JsonLines implements ExportText {
  readonly head = ''
  readonly #keys: string[]

  constructor(columns: readonly string[]) {
    this.#keys = columns.map((column, i) => `${i === 0 ? '{' : ','}${JSON.stringify(column)}:`)
  }

  row(cells: readonly unknown[]): string {
    let text = ''
    for (let i = 0; i < this.#keys.length; i++) text += this.#keys[i]! + JSON.stringify(cells[i] ?? null)
    return `${text}}\n`
  }

  numbersAfter(cells: readonly unknown[]): { before: string; between: string; after: string } {
    let before = ''
    for (let i = 0; i < cells.length; i++) before += this.#keys[i]! + JSON.stringify(cells[i] ?? null)
    return { before: before + this.#keys[cells.length]!, between: this.#keys[cells.length + 1]!, after: '}\n' }
  }
}
