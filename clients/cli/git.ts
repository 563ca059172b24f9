import { execFileSync } from 'node:child_process'

const GIT_MS = 10_000
const OUTPUT_BYTES = 64 * 1024 * 1024

/** The trimmed output of git; null when it fails, is not installed, or takes longer than ten seconds. */
export function git(folder: string, ...words: string[]): string | null {
  try {
    return execFileSync('git', words, {
      cwd: folder,
      env: { ...process.env, LC_ALL: 'C' },
      maxBuffer: OUTPUT_BYTES,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: GIT_MS,
    }).trim()
  } catch {
    return null
  }
}
