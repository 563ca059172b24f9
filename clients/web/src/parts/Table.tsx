import type { ReactNode } from 'react'
import { Scroll } from './Scroll.tsx'

export interface Column<Row> {
  readonly title: string
  /** Figures stand right. */
  readonly isNumber?: boolean
  /** `wide`: not on a phone; `big`: only where there is room for two columns of cards. */
  readonly only?: 'wide' | 'big'
  cell(row: Row): ReactNode
}

const classOf = ({ isNumber, only }: Pick<Column<never>, 'isNumber' | 'only'>, more = ''): string =>
  [isNumber === true && 'num', only !== undefined && `only-${only}`, more].filter(Boolean).join(' ')

/** A card with a table; the first column is the name of the row. */
export function Table<Row>({
  label,
  columns,
  rows,
  keyOf,
}: {
  label: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  keyOf: (row: Row) => string
}) {
  return (
    <Scroll className="card table-wrap" label={label}>
      <table className="table">
        <thead>
          <tr>
            {columns.map(column => (
              <th key={column.title} className={classOf(column)}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(row => (
            <tr key={keyOf(row)}>
              {columns.map((column, at) => (
                <td key={column.title} className={classOf(column, at === 0 ? 'name' : '')}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  )
}
