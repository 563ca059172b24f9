import { columns, fit, padEnd, padStart, printable } from './text.ts'

export interface Column<Row> {
  readonly title: string
  readonly align?: 'right'
  cell(row: Row): string
}

const GAP = '  '

/** Lines of a table with aligned columns. With a `width` the last column is shortened until the lines fit. */
export function table<Row>(rows: readonly Row[], shape: readonly Column<Row>[], width?: number): string[] {
  const cells = [shape.map(({ title }) => title), ...rows.map(row => shape.map(({ cell }) => printable(cell(row))))]
  const widths = shape.map((_, at) => Math.max(...cells.map(line => columns(line[at]!))))
  if (width !== undefined) {
    const before = widths.slice(0, -1).reduce((sum, each) => sum + each + GAP.length, 0)
    widths[widths.length - 1] = Math.min(widths.at(-1)!, Math.max(8, width - before))
  }
  return cells.map(line =>
    line
      .map((cell, at) => {
        const text = fit(cell, widths[at]!)
        return shape[at]!.align === 'right' ? padStart(text, widths[at]!) : padEnd(text, widths[at]!)
      })
      .join(GAP)
      .trimEnd(),
  )
}
