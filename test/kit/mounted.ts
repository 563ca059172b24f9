/** Disks that refuse: where the machine cannot make one, the answer says so, and the test skips by name. */
import { spawnSync } from 'node:child_process'

const ran = (program: string, ...words: string[]): string | null => {
  const { status, stdout } = spawnSync(program, words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  return status === 0 ? stdout.trim() : null
}

export interface Mounted {
  remount(options: string): boolean
  unmount(): void
}

/** A file system in memory of that size, e.g. `2m`. */
export function tmpfs(directory: string, size: string): Mounted | null {
  if (ran('mount', '-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', directory) === null) return null
  return {
    remount: options => ran('mount', '-o', `remount,${options}`, directory) !== null,
    unmount: () => void ran('umount', '-l', directory),
  }
}

/**
 * From now on this process can make no file longer than that; null takes the limit away. Writes beyond fail with EFBIG, which SQLite
 * reports as it does a device that fails. False: this machine has no prlimit.
 */
export function limitFiles(bytes: number | null): boolean {
  return ran('prlimit', '--pid', String(process.pid), `--fsize=${bytes ?? 'unlimited'}:unlimited`) !== null
}
