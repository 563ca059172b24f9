import { join } from 'node:path'
import Database from 'better-sqlite3'
import { ServiceError } from '../../../protocol/errors.ts'
import { DATABASE_FILE } from '../../../protocol/installation.ts'

export type Connection = Database.Database
export type Statement<Row = unknown> = Database.Statement<unknown[], Row>

export const databaseFile = (data_dir: string): string => join(data_dir, DATABASE_FILE)

/** Pages of 8 KiB: half the page headers and write calls of 4 KiB for history, while a control commit still writes only a handful. */
export const PAGE_BYTES = 8192

/** Refuses a file whose setting differs from ours: another program made it. */
function expectPragma(db: Connection, name: string, want: unknown): void {
  const got = db.pragma(name, { simple: true })
  if (got === want) return
  throw new ServiceError(
    'bad_database',
    `${db.name} has ${name} ${String(got)}, and this engine needs ${String(want)}; another program may have written it.`,
  )
}

/**
 * The one connection that writes. Every commit is synced (`synchronous=FULL`). Checkpoints are made by the upkeep, so that no
 * control write has to wait for one.
 */
export function openWriter(file: string): Connection {
  const db = new Database(file, { timeout: 5000 })
  try {
    prepare(db)
  } catch (error) {
    db.close()
    throw error
  }
  return db
}

function prepare(db: Connection): void {
  // Both take effect on an empty file only.
  db.pragma(`page_size = ${PAGE_BYTES}`)
  db.pragma('auto_vacuum = INCREMENTAL')
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = FULL')
  db.pragma('wal_autocheckpoint = 0')
  db.pragma('trusted_schema = OFF')
  db.pragma('cell_size_check = ON')
  db.pragma('foreign_keys = ON')
  db.pragma('cache_size = -32768')
  db.pragma('temp_store = MEMORY')
  expectPragma(db, 'journal_mode', 'wal')
  expectPragma(db, 'synchronous', 2)
  expectPragma(db, 'auto_vacuum', 2)
}

/** Has one snapshot per transaction, and none open between pages, so that checkpoints reach the end of the log. */
export function openReader(file: string): Connection {
  const db = new Database(file, { readonly: true, fileMustExist: true, timeout: 5000 })
  db.pragma('trusted_schema = OFF')
  db.pragma('query_only = ON')
  db.pragma('temp_store = MEMORY')
  return db
}
