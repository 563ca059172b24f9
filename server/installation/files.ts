import { accessSync, constants, existsSync, lstatSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { ServiceError } from '../../protocol/errors.ts'
import {
  DATABASE_FILE,
  ENGINE_FILE,
  KEY_FILE,
  LOCK_FILE,
  REDO_FILE,
  SEARCH_FILE,
  TOKEN_FILE,
  WAL_FILE,
} from '../../protocol/installation.ts'

export const IGNORE_FILE = '.gitignore'
export const LOG_FILE = 'serve.log'

const SHARED_MEMORY_FILE = `${DATABASE_FILE}-shm`
const DATABASE_FILES = [DATABASE_FILE, WAL_FILE, SHARED_MEMORY_FILE, REDO_FILE, LOCK_FILE]
const SEARCH_FILES = [SEARCH_FILE, `${SEARCH_FILE}-wal`, `${SEARCH_FILE}-shm`, `${SEARCH_FILE}.new`]
/** Written under another name first (private-file.ts). */
const REPLACED = [KEY_FILE, TOKEN_FILE, ENGINE_FILE, IGNORE_FILE]
const FILES = [
  ...DATABASE_FILES,
  ...SEARCH_FILES,
  ...REPLACED,
  ...REPLACED.map(name => `${name}.new`),
  LOG_FILE,
  `${LOG_FILE}.cut`,
]
const FOLDERS = ['bodies', 'artifacts']

/** What the numbers of the operating system mean to whoever starts an engine. */
const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'this user has no permission',
  EPERM: 'this user has no permission',
  EROFS: 'the file system is read-only',
  EISDIR: 'there is a directory where a file is expected',
  ENOTDIR: 'there is a file where a directory is expected',
  EEXIST: 'there is a file where a directory is expected',
  ELOOP: 'it is a link that leads to itself',
  ENOENT: 'it is not there',
  EMFILE: 'too many files are open',
  ENFILE: 'too many files are open',
}

/** A failure of the file system as a refusal to start; any other error as it is. */
export function startRefusal(error: unknown, data_dir: string): unknown {
  if (!(error instanceof Error) || error instanceof ServiceError) return error
  const { code = '', path } = error as NodeJS.ErrnoException
  if (code === 'ENOSPC' || code === 'EDQUOT') return new ServiceError('disk_full', `No space is left for ${data_dir}.`)
  const known = REASONS[code.replace('ERR_FS_', '')]
  if (known === undefined) return error
  return new ServiceError('bad_installation', `${path ?? data_dir} cannot be used: ${known} (${code}).`)
}

/**
 * Looks at everything of an engine that lies in the directory before anything is changed: each is a file or a folder as expected, this
 * user may use it, and nobody else has laid it there. Links may stand for any of them. Throws `bad_installation`.
 */
export function checkFiles(data_dir: string, names: readonly string[] = [...FILES, ...FOLDERS]): void {
  const owners = new Set([statSync(data_dir).uid, 0, process.getuid?.() ?? 0])
  for (const name of names) {
    const path = join(data_dir, name)
    const entry = lstatSync(path, { throwIfNoEntry: false })
    if (entry === undefined) continue
    const refuse = (why: string): never => {
      throw new ServiceError('bad_installation', `${path} ${why}.`)
    }
    // A key that another user laid there is a key that they know, and a link leads where they want.
    if (!owners.has(entry.uid)) refuse('belongs to another user')
    const found = statSync(path, { throwIfNoEntry: false })
    if (found === undefined) refuse('is a broken link')
    const isFolder = FOLDERS.includes(name)
    if (isFolder && !found!.isDirectory()) refuse('is a file where a directory is expected')
    if (!isFolder && !found!.isFile())
      refuse(`is ${found!.isDirectory() ? 'a directory' : 'not a regular file'} where a file is expected`)
    try {
      accessSync(path, constants.R_OK | constants.W_OK | (isFolder ? constants.X_OK : 0))
    } catch (error) {
      throw startRefusal(error, data_dir)
    }
  }
}

/**
 * Has somebody an account in this database? One that cannot be read as such has none; the store says what is wrong with it. Nothing is
 * changed, and the files that SQLite makes to read are taken away again: the caller holds the lock of the installation.
 */
export function holdsUsers(data_dir: string): boolean {
  const path = join(data_dir, DATABASE_FILE)
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return false
  const beside = [WAL_FILE, SHARED_MEMORY_FILE].map(name => join(data_dir, name)).filter(made => !existsSync(made))
  let db: Database.Database | undefined
  try {
    db = new Database(path, { readonly: true, timeout: 0 })
    return db.prepare('SELECT 1 FROM users LIMIT 1').get() !== undefined
  } catch {
    return false
  } finally {
    db?.close()
    for (const made of beside) rmSync(made, { force: true })
  }
}
