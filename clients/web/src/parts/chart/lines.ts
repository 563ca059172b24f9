/** Lines of a chart, and how they become the table that uPlot draws: one column of x, one of y for each line. */

export interface Line {
  readonly name: string
  readonly unit?: string
  /** 1 to 6, as --data-1 to --data-6; 0 is grey. */
  readonly color: number
  /** Ascending. Seconds since 1970 where x is time. */
  readonly xs: readonly number[]
  /** Null is a gap. */
  readonly ys: readonly (number | null)[]
  /** Least and most of each point, drawn as a band round the line. */
  readonly band?: { readonly least: readonly (number | null)[]; readonly most: readonly (number | null)[] }
  /** Keeps its value until the next point: a bool, a setting. */
  readonly isStepped?: boolean
}

/** Columns over the union of all x; `undefined` where a line has no point of its own, which uPlot spans. */
export type Table = [xs: number[], ...columns: (number | null | undefined)[][]]

export function tableOf(lines: readonly Line[]): Table {
  if (lines.length === 1) {
    const { xs, ys, band } = lines[0]!
    return [[...xs], [...ys], ...(band === undefined ? [] : [[...band.least], [...band.most]])]
  }
  const xs = [...new Set(lines.flatMap(line => line.xs))].sort((a, b) => a - b)
  const places = new Map(xs.map((x, at) => [x, at]))
  const spread = (from: readonly number[], values: readonly (number | null)[]): (number | null | undefined)[] => {
    const column = new Array<number | null | undefined>(xs.length).fill(undefined)
    from.forEach((x, at) => {
      column[places.get(x)!] = values[at]
    })
    return column
  }
  const columns = lines.flatMap(({ xs: own, ys, band }) => [
    spread(own, ys),
    ...(band === undefined ? [] : [spread(own, band.least), spread(own, band.most)]),
  ])
  return [xs, ...columns]
}

/** A chart in a sentence, for who does not see it. */
export function summaryOf(lines: readonly Line[]): string {
  return lines
    .map(({ name, unit, ys }) => {
      const numbers = ys.filter(y => y !== null)
      if (numbers.length === 0) return `${name}: no values`
      const [least, most] = numbers.reduce(
        ([low, high], y) => [Math.min(low, y), Math.max(high, y)],
        [Infinity, -Infinity],
      )
      const of = unit === undefined ? '' : ` ${unit}`
      return `${name}: ${numbers.length} points from ${least}${of} to ${most}${of}, last ${numbers.at(-1)}${of}`
    })
    .join('; ')
}
