import { closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { type DiskFault, diskFault, errorName } from '../../../protocol/disk-faults.ts'
import { ServiceError } from '../../../protocol/errors.ts'
import { FilesLost } from './watched-files.ts'

/** As much as the probe of a full disk commits, so that the two agree. */
const TRIAL_BYTES = 256 * 1024

export const isSqlite = (error: unknown): boolean => errorName(error).startsWith('SQLITE_')

/** The code of a row that SQLite can read but the engine cannot decode. */
export const UNREADABLE = 'ROW_UNREADABLE'

/** The file has data that cannot be read. */
export const isDamage = (error: unknown): boolean =>
  errorName(error) === UNREADABLE || /^SQLITE_(CORRUPT|NOTADB)/.test(errorName(error))

/**
 * The fault of the disk; null for an error that the disk did not cause. SQLite does not tell the system's error (a quota,
 * a read-only file system and a broken device are all SQLITE_IOERR), so a test file is written to find it.
 */
export function faultOf(
  error: unknown,
  data_dir: string,
  ask: (data_dir: string) => unknown = tryToWrite,
): DiskFault | null {
  if (error instanceof FilesLost) return error.fault
  const name = errorName(error)
  if (!/^SQLITE_(IOERR|CANTOPEN|READONLY)/.test(name)) return diskFault(name)
  const asked = ask(data_dir)
  const fault = asked === null ? null : diskFault(errorName(asked))
  if (fault !== null) return fault
  if (name.startsWith('SQLITE_READONLY'))
    return { code: 'disk_read_only', reason: `engine.db cannot be written (${name})` }
  return { code: 'disk_failed', reason: `The disk failed to read or write engine.db (${name})` }
}

/** Writes, syncs and removes a file as large as a commit. Returns the error when it fails. */
function tryToWrite(data_dir: string): unknown {
  const path = join(data_dir, 'disk-trial.tmp')
  try {
    const file = openSync(path, 'w', 0o600)
    try {
      const bytes = Buffer.alloc(TRIAL_BYTES, 1)
      // A disk that fills up takes a part first, and names the error only at the next write.
      for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    return null
  } catch (error) {
    return error
  } finally {
    try {
      rmSync(path, { force: true })
    } catch {
      // On a read-only disk the file was never made.
    }
  }
}

/** The error for the caller of a write or a read. */
export function refusalOf(error: unknown, data_dir: string, fault = faultOf(error, data_dir)): ServiceError {
  if (error instanceof ServiceError) return error
  if (fault !== null) return new ServiceError(fault.code, `${fault.reason}. Nothing was changed.`)
  if (errorName(error).startsWith('SQLITE_BUSY'))
    return new ServiceError('store_failed', 'Another program has locked engine.db (SQLITE_BUSY).')
  const text = error instanceof Error ? `${error.message}.` : String(error)
  return new ServiceError(isDamage(error) ? 'database_damaged' : 'store_failed', text)
}
