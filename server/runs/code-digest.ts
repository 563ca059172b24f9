import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { type BigIntStats, existsSync, lstatSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { limits } from '../../protocol/limits.ts'

/** The code that node bodies may import, as it stands in a repository. */
export interface Code {
  /** SHA-256 over path and content of each tracked source, by path. */
  readonly digest: string
  /** `<commit>`, or `<commit>-dirty` when a tracked file differs from it. */
  readonly commit: string
}

const SOURCES = ['*.ts', '*.mts', '*.js', '*.mjs', '*.json', '*.py']
/** A file that was written this shortly before it was read may have been written again within one tick of its clock. */
const RACY_NS = 50_000_000n
/** After no repository was found, the next search waits this long: a search costs as much as the record of a short run. */
const NONE_MS = 1_000

const run = promisify(execFile)

interface Known {
  readonly stamp: string
  readonly digest: string
}

/**
 * Reads the digest of a repository on each request. Files whose size and times have not changed since the last time
 * are not read again. Requests that come during a read share the next one.
 */
export class CodeDigest {
  /** The repository is the one that contains this folder. */
  readonly #folder: string
  readonly #onDefect: (error: unknown) => void
  readonly #files = new Map<string, Known>()
  #now: Promise<Code | null> | null = null
  #none_until_ms = 0
  #next: Promise<Code | null> | null = null

  constructor(folder: string, onDefect: (error: unknown) => void) {
    this.#folder = folder
    this.#onDefect = onDefect
  }

  /** Null without a repository, without git, before the first commit, or past `limits.CODE_DIGEST_BYTES`. */
  read(): Promise<Code | null> {
    if (this.#now === null) return this.#begin()
    this.#next ??= this.#now.then(() => this.#begin())
    return this.#next
  }

  #begin(): Promise<Code | null> {
    this.#next = null
    const reading = this.#read()
      .catch(error => {
        this.#onDefect(error)
        return null
      })
      .finally(() => {
        if (this.#now === reading) this.#now = null
      })
    this.#now = reading
    return reading
  }

  async #read(): Promise<Code | null> {
    const now_ms = performance.now()
    if (now_ms < this.#none_until_ms) return null
    const root = repositoryOf(this.#folder)
    if (root === null) {
      this.#none_until_ms = now_ms + NONE_MS
      return null
    }
    const [commit, listed, changed] = await Promise.all([
      this.#git(root, 'rev-parse', '--verify', 'HEAD'),
      this.#git(root, 'ls-files', '-z', '--', ...SOURCES),
      this.#git(root, 'status', '--porcelain', '--untracked-files=no'),
    ])
    if (commit === null || listed === null) return null
    const paths = listed.split('\0').filter(path => path !== '')
    const digest = await this.#digestOf(root, paths.sort())
    if (digest === null) return null
    return { digest, commit: changed === '' ? commit.trim() : `${commit.trim()}-dirty` }
  }

  async #digestOf(root: string, paths: readonly string[]): Promise<string | null> {
    const whole = createHash('sha256')
    const gone = new Set(this.#files.keys())
    let bytes = 0n
    for (const path of paths) {
      gone.delete(path)
      const stats = lstatSync(join(root, path), { bigint: true, throwIfNoEntry: false })
      // A tracked file that was deleted has no content; the digest changes because its path is missing.
      if (stats === undefined || !stats.isFile()) continue
      bytes += stats.size
      if (bytes > limits.CODE_DIGEST_BYTES) return null
      whole.update(`${path}\0${await this.#fileDigest(root, path, stats)}\n`)
    }
    for (const path of gone) this.#files.delete(path)
    return whole.digest('hex')
  }

  async #fileDigest(root: string, path: string, stats: BigIntStats): Promise<string> {
    const stamp = `${stats.ino} ${stats.size} ${stats.mtimeNs} ${stats.ctimeNs}`
    const known = this.#files.get(path)
    if (known?.stamp === stamp) return known.digest
    const read_ns = BigInt(Date.now()) * 1_000_000n
    const digest = createHash('sha256')
      .update(await readFile(join(root, path)))
      .digest('hex')
    const youngest = stats.mtimeNs > stats.ctimeNs ? stats.mtimeNs : stats.ctimeNs
    if (read_ns - youngest > RACY_NS) this.#files.set(path, { stamp, digest })
    else this.#files.delete(path)
    return digest
  }

  /** The output of git; null when git fails or is not installed. */
  async #git(folder: string, ...words: string[]): Promise<string | null> {
    const options = {
      cwd: folder,
      timeout: limits.CODE_DIGEST_GIT_MS,
      maxBuffer: 64 * 1024 * 1024,
      env: { ...process.env, LC_ALL: 'C' },
    }
    try {
      return (await run('git', words, options)).stdout
    } catch {
      return null
    }
  }
}

/** Searches without git, since installations without a repository search at every claim, too. */
function repositoryOf(folder: string): string | null {
  for (let at = resolve(folder); ; at = dirname(at)) {
    if (existsSync(join(at, '.git'))) return at
    if (dirname(at) === at) return null
  }
}
