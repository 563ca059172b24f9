import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { DiskFault } from '../../../protocol/disk-faults.ts'
import { DATABASE_FILE, LOCK_FILE, REDO_FILE, WAL_FILE } from '../../../protocol/installation.ts'

/** A process that has a file open keeps using it after its name was removed: later writes are lost when the process ends. */
export class FilesLost extends Error {
  readonly fault: DiskFault

  constructor(fault: DiskFault) {
    super(fault.reason)
    this.fault = fault
  }
}

const WATCHED = [DATABASE_FILE, WAL_FILE, REDO_FILE, LOCK_FILE]

/** Checks that the files of the installation are still those that were opened, by device and inode. */
export class WatchedFiles {
  readonly #data_dir: string
  readonly #known = new Map<string, { dev: number; ino: number }>()

  constructor(data_dir: string) {
    this.#data_dir = data_dir
  }

  /** The fault when a file is gone. Takes some microseconds per file. */
  lost(): DiskFault | null {
    for (const name of WATCHED) {
      const known = this.#known.get(name)
      const stat = statSync(join(this.#data_dir, name), { throwIfNoEntry: false })
      if (known === undefined) {
        if (stat !== undefined) this.#known.set(name, { dev: stat.dev, ino: stat.ino })
      } else if (stat === undefined) {
        return this.#fault(name, 'is gone')
      } else if (stat.ino !== known.ino || stat.dev !== known.dev) {
        return this.#fault(name, 'is another file now')
      }
    }
    return null
  }

  assertThere(): void {
    const fault = this.lost()
    if (fault !== null) throw new FilesLost(fault)
  }

  #fault(name: string, what: string): DiskFault {
    const reason = `${join(this.#data_dir, name)} ${what}, so what the engine writes would not be found by its next start`
    return { code: 'database_lost', reason }
  }
}
