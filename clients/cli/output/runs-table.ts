import { valueText } from './run-text.ts'
import { type Column, table } from './table.ts'
import { fit, printable } from './text.ts'

/** The first columns of the tables of `svc runs list` and `svc sweep`: the inputs that vary, then the requested columns. */

interface Shown {
  readonly inputs: Readonly<Record<string, unknown>>
  readonly columns?: Readonly<Record<string, unknown>>
}

const SIGNIFICANT = 6
/** Texts are cut at this length; numbers are shorter. */
const TEXT_COLUMNS = 80

/** Names of the inputs in which the runs differ, also those that some runs lack, in order of appearance. */
export function varyingInputs(runs: readonly Pick<Shown, 'inputs'>[]): string[] {
  const texts = new Map<string, (string | undefined)[]>()
  runs.forEach(({ inputs }, at) => {
    for (const [name, value] of Object.entries(inputs)) {
      const ofName = texts.get(name) ?? []
      ofName[at] = JSON.stringify(value)
      texts.set(name, ofName)
    }
  })
  return [...texts].filter(([, each]) => runs.some((_, at) => each[at] !== each[0])).map(([name]) => name)
}

/**
 * Lines of a table whose first columns are these inputs and fields. These are never cut; other columns are cut, or left out
 * when there is no room. Without a width nothing is cut.
 */
export function runsTable<Row extends Shown>(
  rows: readonly Row[],
  inputs: readonly string[],
  fields: readonly string[],
  rest: readonly Column<Row>[],
  width: number | undefined,
): string[] {
  const isNumber = (values: readonly unknown[]): boolean =>
    values.every(value => value === undefined || value === null || typeof value === 'number')
  const column = (title: string, value: (row: Row) => unknown, text: (value: unknown) => string): Column<Row> => ({
    title,
    ...(isNumber(rows.map(value)) ? { align: 'right' } : {}),
    cell: row => {
      const shown = value(row)
      return shown === undefined || shown === null ? '' : fit(printable(text(shown)), TEXT_COLUMNS)
    },
  })
  const first = [
    ...inputs.map(name => column(name, row => row.inputs[name], valueText)),
    ...fields.map(name => column(name, row => row.columns?.[name], figure)),
  ]
  return table(rows, [...first, ...rest], width, first.length)
}

/** Numbers with the digits that people compare; --json has all digits. */
const figure = (value: unknown): string =>
  typeof value === 'number' && !Number.isInteger(value)
    ? String(Number(value.toPrecision(SIGNIFICANT)))
    : valueText(value)

export const fieldsOf = (columns: string | undefined): string[] => columns?.split(',').filter(name => name !== '') ?? []
