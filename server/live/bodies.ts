import { createHash } from 'node:crypto'
import { closeSync, fsyncSync, mkdirSync, openSync, readdirSync, renameSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { ServiceError } from '../../protocol/errors.ts'
import type { NormalNode } from '../../protocol/flow-document.ts'

/**
 * Stripped bodies as files, each named by the digest of the source that it came from: so a start finds them without
 * stripping anything, and no name of a user becomes a path. They are imported from here, which makes their imports resolve
 * against the repository around the installation.
 */
export class Bodies {
  readonly folder: string
  readonly #present: Set<string>

  constructor(data_dir: string) {
    this.folder = join(data_dir, 'bodies')
    mkdirSync(this.folder, { recursive: true, mode: 0o700 })
    this.#present = new Set(
      readdirSync(this.folder)
        .filter(name => name.endsWith('.mjs'))
        .map(name => name.slice(0, -4)),
    )
  }

  /** Null for a node without a source. */
  static digest(node: NormalNode): string | null {
    if (node.source === null) return null
    return createHash('sha256').update(`${node.language}\n${node.source}`).digest('hex')
  }

  has(digest: string): boolean {
    return this.#present.has(digest)
  }

  /** Synced before the flow that needs it is saved. Throws `disk_full`. */
  put(digest: string, code: string): void {
    if (this.#present.has(digest)) return
    const path = join(this.folder, `${digest}.mjs`)
    const made = `${path}.new`
    try {
      const file = openSync(made, 'w', 0o600)
      try {
        writeSync(file, code)
        fsyncSync(file)
      } finally {
        closeSync(file)
      }
      renameSync(made, path)
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code
      if (code === 'ENOSPC' || code === 'EDQUOT')
        throw new ServiceError('disk_full', 'The body of a node could not be written.')
      throw error
    }
    this.#present.add(digest)
  }
}
