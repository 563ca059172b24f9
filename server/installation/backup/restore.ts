import {
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { ServiceError } from '../../../protocol/errors.ts'
import { DATABASE_FILE, KEY_FILE } from '../../../protocol/installation.ts'
import { readOrMakeKey } from '../installation.ts'
import { type BackedUp, checked, readBackup, refused, syncFolder } from './backup.ts'

/**
 * Puts a backup where there is no database. All of the archive is read and checked before anything is written. Each file gets its name
 * when it is whole, and the database gets its name last; what was made is taken away again when that does not come to its end.
 */
export function restore(data_dir: string, file: string): Omit<BackedUp, 'file'> {
  const database = join(data_dir, DATABASE_FILE)
  if (existsSync(database))
    throw new ServiceError('bad_installation', `${data_dir} has a database already, and a restore overwrites nothing.`)
  const found = readBackup(file)
  const made = new Made()
  try {
    made.folder(data_dir)
    readBackup(file, name => made.file(name === DATABASE_FILE ? `${database}.part` : join(data_dir, name)))
    const part = `${database}.part`
    const damage = checked(part)
    if (damage !== null)
      throw new ServiceError('bad_backup', `${file} cannot be used: the database in it is damaged (${damage}).`)
    // Beside a database with users the engine makes no key of its own: a lost key would go unnoticed.
    const key = join(data_dir, KEY_FILE)
    const hasKey = existsSync(key)
    if (!hasKey) made.note(key)
    readOrMakeKey(key)
    if (!hasKey) giveToOwner(key)
    renameSync(part, database)
    syncFolder(data_dir)
    return found
  } catch (error) {
    made.undo()
    throw refused('restore_failed', error)
  }
}

/**
 * What root makes belongs to the owner of the folder around it. Otherwise an engine that runs as a user of its own could not open what
 * root has restored for it.
 */
function giveToOwner(path: string): void {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = statSync(dirname(path))
  chownSync(path, uid, gid)
}

/** Files and folders that were not there before, so that they can be taken away again. */
class Made {
  readonly #files: string[] = []
  readonly #folders: string[] = []

  folder(path: string): void {
    if (existsSync(path)) return
    this.folder(dirname(path))
    mkdirSync(path, { mode: 0o700 })
    giveToOwner(path)
    this.#folders.push(path)
  }

  note(path: string): void {
    this.#files.push(path)
  }

  /** A file that is there already is written over in one step. */
  file(path: string): { piece(bytes: Uint8Array): void; end(): void } {
    this.folder(dirname(path))
    const part = `${path}.part`
    const fd = openSync(part, 'w', 0o600)
    this.note(part)
    giveToOwner(part)
    return {
      piece: bytes => {
        try {
          for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at)
        } catch (error) {
          closeSync(fd)
          throw error
        }
      },
      end: () => {
        try {
          fsyncSync(fd)
        } finally {
          closeSync(fd)
        }
        if (!existsSync(path)) this.note(path)
        renameSync(part, path)
      },
    }
  }

  undo(): void {
    for (const path of this.#files) rmSync(path, { force: true })
    for (const path of this.#folders.reverse()) {
      try {
        rmdirSync(path)
      } catch {
        // Somebody else has put something there.
      }
    }
  }
}
