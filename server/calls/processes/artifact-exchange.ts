import { constants, readdirSync, rmSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { limits } from '../../../protocol/limits.ts'

/** Where bytes go to be stored. */
export type StoreArtifact = (bytes: AsyncIterable<Uint8Array>, length: number) => Promise<{ readonly digest: string }>

/**
 * A folder of the user who runs bodies. What they store they write there, and the engine copies it: if that user could write where artifacts
 * lie, a link there would lead the engine wherever the user wants.
 */
export class ArtifactExchange {
  readonly folder: string
  readonly #uid: number
  readonly #store: StoreArtifact

  /** What processes that were killed have left behind is removed. */
  constructor(folder: string, uid: number, store: StoreArtifact) {
    this.folder = folder
    this.#uid = uid
    this.#store = store
    for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true })
  }

  /** False: it is not the file that the process speaks of, or not its own. Rejects with what the disk refuses. */
  async take(file: string, digest: string): Promise<boolean> {
    // No link is followed, and what blocks when it is opened is no file.
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
    const opened = await open(join(this.folder, file), flags).catch(() => null)
    if (opened === null) return false
    try {
      const stats = await opened.stat()
      if (!stats.isFile() || stats.uid !== this.#uid || stats.nlink !== 1) return false
      return (await this.#store(piecesOf(opened, stats.size), stats.size)).digest === digest
    } finally {
      await opened.close()
    }
  }
}

/** At most so many bytes: the file may grow meanwhile. In shared memory, so that another thread reads a piece without a copy. */
async function* piecesOf(file: FileHandle, size: number): AsyncGenerator<Uint8Array> {
  const memory = new Uint8Array(new SharedArrayBuffer(limits.UPLOAD_PIECE_BYTES))
  for (let at = 0; at < size; ) {
    const { bytesRead } = await file.read(memory, 0, Math.min(memory.length, size - at), at)
    if (bytesRead === 0) return
    yield memory.subarray(0, bytesRead)
    at += bytesRead
  }
}
