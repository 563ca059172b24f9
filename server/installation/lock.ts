import Database from 'better-sqlite3'
import { ServiceError } from '../../protocol/errors.ts'

/**
 * One engine for one installation: a small second database held with BEGIN EXCLUSIVE. The kernel frees it when the process
 * ends, however it ends, so there is no stale lock to clear. The file is opened by nothing else in this process: closing any
 * other handle of it would drop the lock, as POSIX locks do.
 */
export class InstallationLock {
  readonly #database: Database.Database

  private constructor(database: Database.Database) {
    this.#database = database
  }

  /** Null when another process holds it. */
  static take(path: string): InstallationLock | null {
    let database: Database.Database | undefined
    try {
      database = new Database(path, { timeout: 0 })
      // Nothing is ever written, so nothing needs a journal file beside it.
      database.pragma('journal_mode = MEMORY')
      database.exec('BEGIN EXCLUSIVE')
      return new InstallationLock(database)
    } catch (error) {
      database?.close()
      const code = String((error as { code?: unknown }).code)
      if (code.startsWith('SQLITE_BUSY')) return null
      throw new ServiceError('bad_installation', `The lock ${path} cannot be taken (${(error as Error).message}).`)
    }
  }

  release(): void {
    this.#database.close()
  }
}
