import { createHash } from 'node:crypto'
import { linkSync, mkdirSync, readdirSync, renameSync, rmSync, type Stats, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { digestOf } from '../../protocol/artifact-names.ts'
import { limits } from '../../protocol/limits.ts'
import type { DamagedArtifact } from '../../protocol/nouns/artifact.ts'
import { artifactPath, SWEPT, TEMPORARY } from '../../threads/calls/artifact-files.ts'
import type { ArtifactPage, FileEntry, OldArtifacts, VerifyStep } from './messages.ts'

const HEX_FOLDER = /^[0-9a-f]{2}$/
const HEX_NAME = /^[0-9a-f]{64}$/
/** A walk over many files lets the thread's other work in this often. */
const WALK_MS = 4
/** A step of a verification answers about this often. */
const VERIFY_STEP_MS = 1_000

/** Walks over the files of the store. On the artifact thread; nobody else takes files aside or removes them. */
export class ArtifactFolder {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  /** What the end of an engine cut short: uploads go, and what a sweep had not decided on has its name again. */
  static prepare(folder: string): void {
    for (const name of [TEMPORARY, SWEPT]) mkdirSync(join(folder, name), { recursive: true, mode: 0o700 })
    for (const name of readdirSync(join(folder, TEMPORARY))) rmSync(join(folder, TEMPORARY, name), { force: true })
    for (const name of readdirSync(join(folder, SWEPT))) giveBack(folder, name)
  }

  /** Newest first. */
  async list(limit: number, offset: number): Promise<ArtifactPage> {
    const entries: FileEntry[] = []
    for await (const entry of this.#entries()) entries.push(entry)
    entries.sort((a, b) => b.written_ms - a.written_ms || (a.hex < b.hex ? -1 : 1))
    return { items: entries.slice(offset, offset + limit), count: entries.length }
  }

  /** Names that begin so: one folder alone is read. At least four digits. */
  from(hex: string, most: number): string[] {
    const [one, two] = [hex.slice(0, 2), hex.slice(2, 4)]
    if (!foldersIn(this.#folder).includes(one) || !foldersIn(join(this.#folder, one)).includes(two)) return []
    return readdirSync(join(this.#folder, one, two))
      .filter(name => HEX_NAME.test(name) && name.startsWith(hex))
      .sort()
      .slice(0, most)
  }

  /** Those of one first folder that were written before. */
  async old(first: string, before_ms: number): Promise<OldArtifacts> {
    const old: FileEntry[] = []
    let [seen, bytes] = [0, 0]
    for await (const entry of this.#entries(first)) {
      seen++
      bytes += entry.size
      if (entry.written_ms < before_ms) old.push(entry)
    }
    return { seen, bytes, old }
  }

  /**
   * A file that somebody stored again between the look and the move is aside for a moment, too: its readers look here, and it goes
   * back at once.
   */
  claim(hexes: readonly string[], before_ms: number): string[] {
    const claimed: string[] = []
    for (const hex of hexes) {
      const aside = join(this.#folder, SWEPT, hex)
      try {
        renameSync(artifactPath(this.#folder, hex), aside)
      } catch {
        continue
      }
      if (statSync(aside).mtimeMs < before_ms) claimed.push(hex)
      else giveBack(this.#folder, hex)
    }
    return claimed
  }

  settle(back: readonly string[], remove: readonly string[]): number {
    for (const hex of back) giveBack(this.#folder, hex)
    let bytes = 0
    for (const hex of remove) {
      const aside = join(this.#folder, SWEPT, hex)
      const { size } = statSync(aside)
      rmSync(aside)
      bytes += size
    }
    return bytes
  }

  /** Reads what comes after the name, in the order of the names, for about a second. */
  async verify(after: string): Promise<VerifyStep> {
    const until_ms = performance.now() + VERIFY_STEP_MS
    const damaged: DamagedArtifact[] = []
    let last: string | null = null
    let verified = 0
    let bytes = 0
    for await (const { hex, size } of this.#entries(after.slice(0, 2), after)) {
      if (performance.now() >= until_ms && last !== null) return { after: last, verified, bytes, damaged }
      const found = await digestOfFile(artifactPath(this.#folder, hex))
      last = hex
      if (found === 'gone') continue
      verified++
      bytes += size
      if (found !== hex) damaged.push({ digest: digestOf(hex), size, found: found === null ? null : digestOf(found) })
    }
    return { after: null, verified, bytes, damaged }
  }

  /** In the order of their names: all from a first folder on, or of that alone when no name to begin after is given. */
  async *#entries(first: string | null = null, after: string | null = null): AsyncGenerator<FileEntry> {
    const alone = first !== null && after === null
    let pause_ms = performance.now() + WALK_MS
    const folders = foldersIn(this.#folder).filter(name => (alone ? name === first : name >= (first ?? '')))
    for (const one of folders) {
      for (const two of foldersIn(join(this.#folder, one))) {
        for (const hex of readdirSync(join(this.#folder, one, two)).sort()) {
          if (performance.now() > pause_ms) {
            await new Promise(resolve => setImmediate(resolve))
            pause_ms = performance.now() + WALK_MS
          }
          if (!HEX_NAME.test(hex) || (after !== null && hex <= after)) continue
          const stats = statsOf(artifactPath(this.#folder, hex))
          if (stats !== null) yield { hex, size: stats.size, written_ms: stats.mtimeMs }
        }
      }
    }
  }
}

const foldersIn = (folder: string): string[] =>
  readdirSync(folder)
    .filter(name => HEX_FOLDER.test(name))
    .sort()

/** Null when it went meanwhile, or is no file. */
function statsOf(path: string): Stats | null {
  const stats = statSync(path, { throwIfNoEntry: false })
  return stats?.isFile() ? stats : null
}

/** Somebody may have stored it again meanwhile; then that one stays. */
function giveBack(folder: string, hex: string): void {
  const aside = join(folder, SWEPT, hex)
  if (HEX_NAME.test(hex)) {
    const path = artifactPath(folder, hex)
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    try {
      linkSync(aside, path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
  rmSync(aside, { force: true })
}

/** Hex digits; null when it cannot be read. */
async function digestOfFile(path: string): Promise<string | null> {
  const hash = createHash('sha256')
  const memory = Buffer.allocUnsafeSlow(limits.STREAM_CHUNK_BYTES)
  try {
    const file = await open(path, 'r')
    try {
      for (;;) {
        const { bytesRead } = await file.read(memory, 0, memory.length, null)
        if (bytesRead === 0) return hash.digest('hex')
        hash.update(memory.subarray(0, bytesRead))
      }
    } finally {
      await file.close()
    }
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'gone' : null
  }
}
