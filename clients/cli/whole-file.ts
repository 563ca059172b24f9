import { createWriteStream, renameSync, rmSync } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { usage } from './failure.ts'

/** Writes a file that gets its name when it is complete and `check` has not thrown. A part of a file is removed. */
export async function writeWhole(
  path: string,
  bytes: AsyncIterable<Uint8Array>,
  check: () => void = () => {},
): Promise<void> {
  const part = `${path}.part`
  try {
    await pipeline(bytes, createWriteStream(part))
    check()
    renameSync(part, path)
  } catch (error) {
    rmSync(part, { force: true })
    const { code, syscall } = error as NodeJS.ErrnoException
    if (syscall === 'open' || code === 'EISDIR') throw usage(`${path} cannot be written (${(error as Error).message}).`)
    throw error
  }
}
