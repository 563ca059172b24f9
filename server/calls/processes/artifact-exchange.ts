import { constants, readdirSync, rmSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { limits } from '../../../protocol/limits.ts'

/** Stores bytes as an artifact. */
export type StoreArtifact = (bytes: AsyncIterable<Uint8Array>, length: number) => Promise<{ readonly digest: string }>

/**
 * A folder of the user who runs bodies. Bodies write their artifacts there, and the engine copies them into its store. If that user could
 * write into the store itself, a link there could lead the engine to any file.
 */
export class ArtifactExchange {
  readonly folder: string
  readonly #uid: number
  readonly #store: StoreArtifact

  /** Removes what killed processes have left in the folder. */
  constructor(folder: string, uid: number, store: StoreArtifact) {
    this.folder = folder
    this.#uid = uid
    this.#store = store
    for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true })
  }

  /** False when the file has another digest, or does not belong to the body user. Rejects when the disk refuses it. */
  async take(file: string, digest: string): Promise<boolean> {
    // Follow no link, and do not block on a pipe or a device.
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

/** At most `size` bytes, since the file may grow meanwhile. Pieces lie in shared memory, so that another thread reads them without a copy. */
async function* piecesOf(file: FileHandle, size: number): AsyncGenerator<Uint8Array> {
  const memory = new Uint8Array(new SharedArrayBuffer(limits.UPLOAD_PIECE_BYTES))
  for (let at = 0; at < size; ) {
    const { bytesRead } = await file.read(memory, 0, Math.min(memory.length, size - at), at)
    if (bytesRead === 0) return
    yield memory.subarray(0, bytesRead)
    at += bytesRead
  }
}
