import { renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { SEARCH_FILE } from '../../../protocol/installation.ts'
import type { Connection } from '../file/database.ts'

export const searchFile = (data_dir: string): string => join(data_dir, SEARCH_FILE)

/** Raise it when the content of the index changes, so that the index is made again. */
const VERSION = 1

/**
 * The index has a file of its own. All of it comes from the database, and it is made again when the file is gone,
 * damaged or from another release. So it is not synced, not backed up and not repaired.
 */
export function openIndex(data_dir: string): { db: Connection; isNew: boolean } {
  try {
    const db = open(data_dir)
    if (db.pragma('user_version', { simple: true }) === VERSION) return { db, isNew: false }
    db.close()
  } catch {}
  removeIndex(data_dir)
  make(data_dir)
  return { db: open(data_dir), isNew: true }
}

const SCHEMA = `
CREATE TABLE state (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE entries (
  id INTEGER PRIMARY KEY,
  owner TEXT NOT NULL,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  flow TEXT,
  text TEXT NOT NULL,
  UNIQUE (owner, kind, name)
) STRICT;
CREATE VIRTUAL TABLE words USING fts5(
  name, text, content = 'entries', content_rowid = 'id',
  tokenize = "unicode61 remove_diacritics 2 tokenchars '_'", prefix = '2 3'
);
PRAGMA user_version = ${VERSION};
`

/** The file gets its name when its tables exist, since a reader may open it at any time. */
function make(data_dir: string): void {
  const file = searchFile(data_dir)
  const made = `${file}.new`
  rmSync(made, { force: true })
  const db = new Database(made)
  try {
    db.exec(SCHEMA)
  } finally {
    db.close()
  }
  renameSync(made, file)
}

function open(data_dir: string): Connection {
  const db = new Database(searchFile(data_dir), { timeout: 5000 })
  try {
    db.pragma('journal_mode = WAL')
    db.pragma('synchronous = OFF')
    db.pragma('trusted_schema = OFF')
    db.pragma('cell_size_check = ON')
    // Reads the schema; throws when the file is not a database.
    db.prepare('SELECT count(*) FROM sqlite_schema').get()
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

export function removeIndex(data_dir: string): void {
  const file = searchFile(data_dir)
  for (const name of [file, `${file}-wal`, `${file}-shm`]) rmSync(name, { force: true })
}

/** The inode of the file; 0 when there is none. */
export const inodeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.ino ?? 0
export const indexInode = (data_dir: string): number => inodeOf(searchFile(data_dir))

export const isDamage = (error: unknown): boolean =>
  error instanceof Error && /^SQLITE_(CORRUPT|NOTADB)/.test((error as { code?: string }).code ?? '')
