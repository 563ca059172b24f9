import { columns, fit, padEnd, padStart, printable } from './text.ts'

export interface Column<Row> {
  readonly title: string
  readonly align?: 'right'
  cell(row: Row): string
}

const GAP = '  '

/** The least width of a cut column; a narrower one is left out. */
const NARROWEST = 8

/**
 * Lines of a table with aligned columns. With a `width` it has the columns that fit, then one that is cut. The first `whole` columns are always
 * there, and are not cut if others follow.
 */
export function table<Row>(rows: readonly Row[], all: readonly Column<Row>[], width?: number, whole = 1): string[] {
  const shape = width === undefined ? all : fitting(rows, all, width, whole)
  const cells = [shape.map(({ title }) => title), ...rows.map(row => shape.map(({ cell }) => printable(cell(row))))]
  const widths = shape.map((_, at) => Math.max(...cells.map(line => columns(line[at]!))))
  if (width !== undefined) {
    const before = widths.slice(0, -1).reduce((sum, each) => sum + each + GAP.length, 0)
    widths[widths.length - 1] = Math.min(widths.at(-1)!, Math.max(NARROWEST, width - before))
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

function fitting<Row>(
  rows: readonly Row[],
  shape: readonly Column<Row>[],
  width: number,
  whole: number,
): readonly Column<Row>[] {
  let room = width
  const shown = shape.findIndex(({ title, align, cell }, at) => {
    const wide = Math.max(columns(title), ...rows.map(row => columns(printable(cell(row)))))
    // A cut number would be a wrong number.
    const fits = at < whole || room >= (align === 'right' ? wide : Math.min(wide, NARROWEST))
    room -= wide + GAP.length
    return !fits
  })
  return shown < 0 ? shape : shape.slice(0, shown)
}
