import { createHash } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  closeSync,
  fchmodSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { open, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { diskFault, errorName } from '../../protocol/disk-faults.ts'
import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { NormalNode } from '../../protocol/nouns/flow-document.ts'
import { nodeTypeOf } from '../../threads/nodes/types/index.ts'

const ENDING = '.mjs'

/**
 * Stripped bodies as files, each named by the digest of the source that it came from: so a start finds them without
 * stripping anything, and no name of a user becomes a path. They are imported from here, which makes their imports resolve
 * against the repository around the installation.
 *
 *   put --> present --a pass finds that no flow names it--> unused --named again--> present
 *                                                           unused --the oldest of too many, or at a start--> gone
 *
 * An unused one is kept for a while because cascades that began before a save finish on the plan that they began with, and
 * may load a body of it late. Restoring an old version strips its sources again.
 */
export class Bodies {
  readonly folder: string
  readonly #present: Set<string>
  readonly #mode: number
  /** In the order in which passes found them. */
  readonly #unused = new Set<string>()
  readonly #most_unused: number
  #put_since_pass = 0
  #writes = 0

  /** `shared`: the group of the folder may read them, too. */
  constructor(data_dir: string, most_unused: number = limits.BODIES_UNUSED, shared = false) {
    this.#most_unused = most_unused
    this.#mode = shared ? 0o640 : 0o600
    this.folder = bodiesFolder(data_dir)
    mkdirSync(this.folder, { recursive: true, mode: 0o700 })
    this.#present = new Set()
    for (const name of readdirSync(this.folder)) {
      if (name.endsWith(ENDING)) {
        this.#present.add(name.slice(0, -ENDING.length))
        if (shared) shareFile(join(this.folder, name), this.folder)
      }
      // cut short by the end of an engine
      else if (name.endsWith(`${ENDING}.new`)) rmSync(join(this.folder, name), { force: true })
    }
  }

  /** Null for a node without a source, unless its type brings a body along. */
  static digest(node: NormalNode): string | null {
    const body = node.source === null ? nodeTypeOf(node.type)?.body : undefined
    if (body !== undefined) return createHash('sha256').update(`${node.type}\n${body}`).digest('hex')
    if (node.source === null) return null
    return createHash('sha256').update(`${node.language}\n${node.source}`).digest('hex')
  }

  has(digest: string): boolean {
    return this.#present.has(digest)
  }

  /** Synced before the flow that needs it is saved; the thread goes on meanwhile. Rejects with what the disk refused it for (`DiskFault`). */
  async write(digest: string, code: string): Promise<void> {
    if (this.#present.has(digest)) return
    const made = join(this.folder, `${digest}.${++this.#writes}${ENDING}.new`)
    try {
      const file = await open(made, 'w', 0o600)
      try {
        await file.chmod(this.#mode)
        await file.writeFile(code)
        await file.sync()
      } finally {
        await file.close()
      }
      await rename(made, this.#path(digest))
    } catch (error) {
      throw refusalOf(error)
    }
    this.#present.add(digest)
    this.#put_since_pass++
  }

  /** The same at once, of a body that went missing. */
  put(digest: string, code: string): void {
    if (this.#present.has(digest)) return
    const path = this.#path(digest)
    const made = `${path}.new`
    try {
      const file = openSync(made, 'w', 0o600)
      try {
        fchmodSync(file, this.#mode)
        writeSync(file, code)
        fsyncSync(file)
      } finally {
        closeSync(file)
      }
      renameSync(made, path)
    } catch (error) {
      throw refusalOf(error)
    }
    this.#present.add(digest)
    this.#put_since_pass++
  }

  /** Were so many written since the last pass that another one is worth its while? */
  get isPassDue(): boolean {
    return this.#put_since_pass >= this.#most_unused / 4
  }

  /**
   * A pass: of the bodies that no flow names, the `most` that were found unused last stay. `named` are those of all flows as
   * they are; no save may be between its bodies and its plan.
   */
  prune(named: ReadonlySet<string>, most: number = this.#most_unused): void {
    this.#put_since_pass = 0
    for (const digest of named) this.#unused.delete(digest)
    for (const digest of this.#present) if (!named.has(digest)) this.#unused.add(digest)
    for (const digest of this.#unused) {
      if (this.#unused.size <= most) return
      this.#unused.delete(digest)
      this.#present.delete(digest)
      try {
        rmSync(this.#path(digest), { force: true })
      } catch {
        // What cannot be removed now is looked at again by the next start.
      }
    }
  }

  #path(digest: string): string {
    return join(this.folder, `${digest}${ENDING}`)
  }
}

export const bodiesFolder = (data_dir: string): string => join(data_dir, 'bodies')

/** One that was written before the folder was shared. */
function shareFile(path: string, folder: string): void {
  chownSync(path, -1, statSync(folder).gid)
  chmodSync(path, 0o640)
}

function refusalOf(error: unknown): unknown {
  const fault = diskFault(errorName(error))
  if (fault === null) return error
  return new ServiceError(fault.code, `${fault.reason}, so the body of a node could not be written.`)
}
