/**
 * What a write can be refused for that is no defect of the engine. Each is an error code of its own, because what to do about it
 * differs. `database_lost`: the files that are open are not those under their names any more, so a restart would not find the write.
 */
export const DISK_FAULTS = ['disk_full', 'disk_read_only', 'disk_failed', 'database_lost'] as const
export type DiskFaultCode = (typeof DISK_FAULTS)[number]

export interface DiskFault {
  readonly code: DiskFaultCode
  /** A sentence without its full stop; it ends with the error that the system named. */
  readonly reason: string
}

/** By the name that the operating system or SQLite gives the error. */
const FAULTS: Readonly<Record<string, readonly [code: DiskFaultCode, what: string]>> = {
  ENOSPC: ['disk_full', 'No space is left on the disk'],
  SQLITE_FULL: ['disk_full', 'No space is left on the disk'],
  EDQUOT: ['disk_full', 'The disk quota is used up'],
  EROFS: ['disk_read_only', 'The file system is mounted read-only'],
  EACCES: ['disk_read_only', 'The engine may not write to the data directory'],
  EPERM: ['disk_read_only', 'The engine may not write to the data directory'],
  EIO: ['disk_failed', 'The device reported an input/output error'],
  EFBIG: ['disk_failed', 'A file has reached the file size limit of the process or the file system'],
  ENXIO: ['disk_failed', 'The device is gone'],
  ENODEV: ['disk_failed', 'The device is gone'],
  ESTALE: ['disk_failed', 'The network file system no longer knows the file'],
  ETIMEDOUT: ['disk_failed', 'The network file system does not answer'],
}

/** Null for an error that does not come from the disk. */
export function diskFault(name: string): DiskFault | null {
  const known = FAULTS[name]
  return known === undefined ? null : { code: known[0], reason: `${known[1]} (${name})` }
}

/** The name that an error of the system or of SQLite carries; empty without one. */
export const errorName = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : ''
