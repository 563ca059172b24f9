import { existsSync, mkdirSync, statSync } from 'node:fs'
import { rmdir } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { ServiceError } from '../../protocol/errors.ts'
import { installationPlace, LOCK_FILE } from '../../protocol/installation.ts'
import type { Exported, Verification } from '../store/front/repair.ts'
import type { BackedUp } from './backup/backup.ts'
import { secondEngine } from './installation.ts'
import { InstallationLock } from './lock.ts'

export interface StoppedOptions {
  readonly data_dir: string | null
  readonly global: boolean
  readonly cwd: string
  readonly environment: Readonly<Record<string, string | undefined>>
}

const isDirectory = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false

const placeOf = (options: StoppedOptions): string =>
  installationPlace({
    ...options,
    home: homedir(),
    xdg_data_home: options.environment['XDG_DATA_HOME'],
    isDirectory,
  }).data_dir

/**
 * Looks at an installation whose engine does not run, and keeps one from starting meanwhile. Throws `second_engine` when one runs: a
 * read of everything would keep SQLite's log from being written back for as long as it takes, and the redo log changes all the time.
 */
async function whileStopped<Result>(options: StoppedOptions, work: (data_dir: string) => Result): Promise<Result> {
  const data_dir = placeOf(options)
  if (!isDirectory(data_dir)) throw new ServiceError('bad_installation', `${data_dir} is not a directory.`)
  // A copy that was made without the lock has no engine.
  const lock = join(data_dir, LOCK_FILE)
  const held = existsSync(lock) ? InstallationLock.take(lock) : undefined
  if (held === null) throw secondEngine(data_dir)
  try {
    return work(data_dir)
  } finally {
    held?.release()
  }
}

export const verifyInstallation = async (options: StoppedOptions): Promise<Verification> => {
  const { verify } = await import('../store/front/repair.ts')
  return whileStopped(options, verify)
}

export const repairInstallation = async (options: StoppedOptions, out_dir: string): Promise<Exported> => {
  const { exportReadable } = await import('../store/front/repair.ts')
  return whileStopped(options, data_dir => exportReadable(data_dir, out_dir))
}

/** The engine may run. */
export const backupInstallation = async (options: StoppedOptions, file: string): Promise<BackedUp> => {
  const { backup } = await import('./backup/backup.ts')
  return backup(placeOf(options), file)
}

/** Where there is no database yet, so that no engine runs; the directory is made when it is not there. */
export const restoreInstallation = async (
  options: StoppedOptions,
  file: string,
): Promise<Omit<BackedUp, 'file'> & { data_dir: string }> => {
  const { restore } = await import('./backup/restore.ts')
  const { refused } = await import('./backup/backup.ts')
  const data_dir = placeOf(options)
  const isNew = !isDirectory(data_dir)
  try {
    mkdirSync(data_dir, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw refused('restore_failed', error)
  }
  try {
    return await whileStopped(options, () => ({ ...restore(data_dir, file), data_dir }))
  } catch (error) {
    // Only while it is empty.
    if (isNew) await rmdir(data_dir).catch(() => {})
    throw error
  }
}
