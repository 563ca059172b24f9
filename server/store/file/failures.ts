import { statfsSync } from 'node:fs'
import { ServiceError } from '../../../protocol/errors.ts'

/** Less than this free, and an input/output error counts as a full disk. */
const FULL_BYTES = 64 * 1024

const codeOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : ''

export const isSqlite = (error: unknown): boolean => codeOf(error).startsWith('SQLITE_')

/** A full disk shows as SQLITE_FULL or ENOSPC, and sometimes (a quota, a file size limit) as a failed write. */
export function isDiskFull(error: unknown, data_dir: string): boolean {
  const code = codeOf(error)
  if (code === 'SQLITE_FULL' || code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG') return true
  if (!code.startsWith('SQLITE_IOERR')) return false
  if (code === 'SQLITE_IOERR_WRITE') return true
  try {
    const { bavail, bsize } = statfsSync(data_dir)
    return bavail * bsize < FULL_BYTES
  } catch {
    return false
  }
}

/** What the caller of a control write is told. */
export function refusalOf(error: unknown, data_dir: string): ServiceError {
  if (error instanceof ServiceError) return error
  if (isDiskFull(error, data_dir)) return new ServiceError('disk_full', 'Nothing was changed.')
  return new ServiceError('store_failed', error instanceof Error ? `${error.message}.` : String(error))
}
