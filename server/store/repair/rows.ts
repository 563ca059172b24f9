import type { Connection } from '../file/database.ts'
import type { RowKey } from '../file/unreadable.ts'

/** The columns of the primary key, by table. */
export type Tables = Readonly<Record<string, readonly string[]>>

export function tablesOf(db: Connection): Tables {
  const names = db
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
    .pluck()
    .all() as string[]
  const key = (table: string): string[] =>
    (db.pragma(`table_info(${table})`) as { name: string; pk: number }[])
      .filter(({ pk }) => pk > 0)
      .sort((one, other) => one.pk - other.pk)
      .map(({ name }) => name)
  return Object.fromEntries(names.map(name => [name, key(name)]))
}

/** Rows that SQLite cannot read. `row`: the last readable one before them; null at the beginning of the table. */
export interface UnreadableRows {
  readonly table: string
  readonly row: RowKey | null
  readonly reason: string
}

export const keyOf = (columns: readonly string[], row: Readonly<Record<string, unknown>>): RowKey =>
  Object.fromEntries(columns.map(column => [column, row[column] as string | number]))

/**
 * Visits every row that SQLite can read, from the first on. At a damaged page it continues from the last row backwards, until it meets the
 * same page or another one. Rows between two damaged pages are not found. Returns what could not be read; null when all was.
 */
export function eachRow<Row extends Record<string, unknown>>(
  db: Connection,
  table: string,
  columns: readonly string[],
  visit: (row: Row) => void,
): UnreadableRows | null {
  let last: RowKey | null = null
  const walk = (order: 'ASC' | 'DESC', until: RowKey | null): string | null => {
    try {
      const by = columns.map(column => `${column} ${order}`).join(', ')
      // NOT INDEXED, since a damaged index could hide rows.
      for (const row of db.prepare(`SELECT * FROM ${table} NOT INDEXED ORDER BY ${by}`).iterate() as Iterable<Row>) {
        const key = keyOf(columns, row)
        if (until !== null && columns.every(column => key[column] === until[column])) return null
        if (order === 'ASC') last = key
        visit(row)
      }
      return null
    } catch (error) {
      if (!isOfSqlite(error)) throw error
      return (error as Error).message
    }
  }
  const reason = walk('ASC', null)
  if (reason === null) return null
  walk('DESC', last)
  return { table, row: last, reason }
}

const isOfSqlite = (error: unknown): boolean => (error as { name?: unknown }).name === 'SqliteError'
