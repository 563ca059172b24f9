import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { artifactPath } from '../../threads/calls/artifact-files.ts'

export const digestOfBytes = (bytes: Buffer | string): string =>
  `sha256:${createHash('sha256').update(bytes).digest('hex')}`

/** What lies in the artifact folder of a data directory. */
export class StoredFiles {
  readonly folder: string

  constructor(data_dir: string) {
    this.folder = join(data_dir, 'artifacts')
  }

  path(digest: string): string {
    return artifactPath(this.folder, digest.slice('sha256:'.length))
  }

  read(digest: string): Buffer {
    return readFileSync(this.path(digest))
  }

  has(digest: string): boolean {
    return existsSync(this.path(digest))
  }

  /** Paths of all files, from the folder. */
  all(): string[] {
    return readdirSync(this.folder, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(entry => join(entry.parentPath, entry.name).slice(this.folder.length + 1))
      .sort()
  }

  /** What is neither under a name nor meant to be. */
  leftOver(): string[] {
    return this.all().filter(path => !/^[0-9a-f]{2}\/[0-9a-f]{2}\/[0-9a-f]{64}$/.test(path))
  }

  /** As if it had been written so long ago. Nothing happens to what is not there. */
  age(digest: string, seconds: number): void {
    const then = Date.now() / 1000 - seconds
    try {
      utimesSync(this.path(digest), then, then)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }

  clear(): void {
    for (const path of this.all()) rmSync(join(this.folder, path))
  }

  writtenAt(digest: string): number {
    return statSync(this.path(digest)).mtimeMs
  }
}

/** The bytes in pieces of a size. */
export async function* pieces(bytes: Buffer, size = 1000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}
