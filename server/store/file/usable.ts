import { accessSync, closeSync, constants, openSync, readSync, type Stats, statSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { errorName } from '../../../protocol/disk-faults.ts'
import { ServiceError } from '../../../protocol/errors.ts'
import { WAL_FILE } from '../../../protocol/installation.ts'
import { databaseFile, PAGE_BYTES } from './database.ts'

/** Offsets in the header of an SQLite file, see https://www.sqlite.org/fileformat.html */
const HEADER = { bytes: 100, magic: 'SQLite format 3\0', page_bytes: 16, pages: 28, schema: 60 } as const

/** Checks before SQLite opens the file, for problems that SQLite does not report, or reports only in its own terms. Throws `bad_database`. */
export function assertUsable(data_dir: string): void {
  const path = databaseFile(data_dir)
  const stat = statSync(path, { throwIfNoEntry: false })
  if (stat === undefined || (stat.isFile() && stat.size === 0)) return
  const reason = whyNot(path, stat, hasCommits(join(data_dir, WAL_FILE)))
  if (reason !== null) throw new ServiceError('bad_database', reason)
}

const hasCommits = (wal: string): boolean => (statSync(wal, { throwIfNoEntry: false })?.size ?? 0) > 0

function whyNot(path: string, stat: Stats, hasLog: boolean): string | null {
  if (!stat.isFile()) return `${path} is ${stat.isDirectory() ? 'a directory' : 'no regular file'}; it must be a file.`
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
  } catch (error) {
    return `${path} cannot be written (${errorName(error)}); the engine needs it to be readable and writable.`
  }
  const header = Buffer.alloc(HEADER.bytes)
  const file = openSync(path, 'r')
  try {
    readSync(file, header, 0, header.length, 0)
  } finally {
    closeSync(file)
  }
  if (header.toString('latin1', 0, HEADER.magic.length) !== HEADER.magic)
    return `${path} is not an SQLite database: it does not begin as one does.`
  const page_bytes = header.readUInt16BE(HEADER.page_bytes)
  if (page_bytes !== PAGE_BYTES)
    return `${path} has pages of ${page_bytes} bytes, and this engine makes pages of ${PAGE_BYTES}; another program may have written it.`
  // While commits wait in SQLite's log, the header may be ahead of the file.
  const bytes = header.readUInt32BE(HEADER.pages) * PAGE_BYTES
  if (!hasLog && bytes > stat.size)
    return `${path} is cut short: it has ${stat.size} bytes, and its header speaks of ${bytes}.`
  if (header.readUInt32BE(HEADER.schema) === 0 && hasStrangeTables(path))
    return `${path} has tables that are not the engine's; another program may have written it.`
  return null
}

/** Every schema of the engine has a number, from its first table on. */
function hasStrangeTables(path: string): boolean {
  const db = new Database(path, { readonly: true, fileMustExist: true })
  try {
    if (db.pragma('user_version', { simple: true }) !== 0) return false
    return db.prepare('SELECT count(*) FROM sqlite_schema').pluck().get() !== 0
  } finally {
    db.close()
  }
}
