import { ServiceError } from '../../../protocol/errors.ts'
import type { Connection } from './database.ts'
import { isDamage, isSqlite, UNREADABLE } from './faults.ts'

/** Columns that name one row of a table, and their values. */
export type RowKey = Readonly<Record<string, string | number>>

/** A row that SQLite can read but the engine cannot decode. It crosses threads as `place`. */
export interface UnreadablePlace {
  readonly table: string
  readonly row: RowKey
  readonly reason: string
}

export class UnreadableRow extends Error {
  readonly code = UNREADABLE
  readonly place: UnreadablePlace

  constructor(place: UnreadablePlace) {
    super(`The row ${rowText(place.row)} of the table "${place.table}" in engine.db cannot be read: ${place.reason}`)
    this.place = place
  }
}

export const rowText = (row: RowKey): string =>
  Object.entries(row)
    .map(([column, value]) => `${column} = ${value}`)
    .join(', ')

/** The problem for another thread or a client; its places name the row. */
export function refusalOfRow({ message, place: { table, row, reason } }: UnreadableRow): ServiceError {
  const errors = [
    { loc: 'table', msg: table },
    { loc: 'row', msg: JSON.stringify(row) },
    { loc: 'reason', msg: reason },
  ]
  return new ServiceError('database_damaged', `${message}.`, { errors })
}

/** The row that a problem names; null when it names none. */
export function placeOf(error: unknown): UnreadablePlace | null {
  if (!(error instanceof ServiceError) || error.code !== 'database_damaged') return null
  const said = (loc: string): string | undefined => error.errors.find(place => place.loc === loc)?.msg
  const [table, row, reason] = [said('table'), said('row'), said('reason')]
  if (table === undefined || row === undefined || reason === undefined) return null
  return { table, row: JSON.parse(row) as RowKey, reason }
}

/** Runs `read`, whose errors are caused by the row. */
export function readable<Result>(table: string, row: RowKey, read: () => Result): Result {
  try {
    return read()
  } catch (error) {
    if (error instanceof UnreadableRow || isSqlite(error)) throw error
    throw new UnreadableRow({ table, row, reason: error instanceof Error ? error.message : String(error) })
  }
}

/** Rows of tables that SQLite itself may not be able to read. Throws `database_damaged`, which names the table. */
export function readableTables<Result>(db: Connection, tables: readonly string[], read: () => Result): Result {
  try {
    return read()
  } catch (error) {
    if (error instanceof UnreadableRow || !isDamage(error)) throw error
    const table = tables.find(one => !isWhole(db, one)) ?? tables.join('" or "')
    throw new ServiceError(
      'database_damaged',
      `The table "${table}" of ${db.name} cannot be read (${(error as Error).message}).`,
    )
  }
}

function isWhole(db: Connection, table: string): boolean {
  try {
    for (const _ of db.prepare(`SELECT * FROM ${table}`).iterate());
    return true
  } catch {
    return false
  }
}
