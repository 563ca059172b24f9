import { type FieldPort, fromText, type LineReader, noValues, type Read } from './fields.ts'

/** CSV, one record a line (RFC 4180 without line breaks inside of quotes). */
export class CsvReader implements LineReader {
  readonly #ports: readonly FieldPort[]
  readonly #delimiter: string
  /** By column the ports that it goes to; null: the next line has the names. */
  #columns: (readonly FieldPort[])[] | null

  constructor(ports: readonly FieldPort[], columns: readonly string[] | null, delimiter: string) {
    this.#ports = ports
    this.#delimiter = delimiter
    this.#columns = columns === null ? null : this.#placed(columns)
  }

  read(block: Buffer, from: number, end: number): Read {
    const line = block.toString('utf8', from, end)
    if (line === '') return null
    const cells = cellsOf(line, this.#delimiter)
    if (cells === null) return 'a quote is not closed'
    if (this.#columns === null) {
      this.#columns = this.#placed(cells)
      return null
    }
    const values = noValues(this.#ports)
    for (let at = 0; at < this.#columns.length; at++) {
      for (const { place, field, dtype } of this.#columns[at]!) {
        const cell = cells[at]
        // An empty cell says nothing.
        if (cell === undefined || (cell === '' && dtype !== 'str')) continue
        const value = fromText(cell, dtype)
        if (value === undefined) return `column "${field}" is no ${dtype}`
        values[place] = value
      }
    }
    return values
  }

  #placed(columns: readonly string[]): (readonly FieldPort[])[] {
    return columns.map(column => this.#ports.filter(({ field }) => field === column.trim()))
  }
}

function cellsOf(line: string, delimiter: string): string[] | null {
  if (!line.includes('"')) return line.split(delimiter)
  const cells: string[] = []
  for (let at = 0; at <= line.length; ) {
    if (line[at] !== '"') {
      const end = line.indexOf(delimiter, at)
      cells.push(line.slice(at, end === -1 ? line.length : end))
      if (end === -1) return cells
      at = end + 1
      continue
    }
    let text = ''
    for (at++; ; at += 2) {
      const end = line.indexOf('"', at)
      if (end === -1) return null
      text += line.slice(at, end)
      at = end
      if (line[at + 1] !== '"') break
      text += '"'
    }
    cells.push(text)
    if (at + 1 >= line.length) return cells
    if (line[at + 1] !== delimiter) return null
    at += 2
  }
  return cells
}
