import { createHash, randomUUID } from 'node:crypto'
import { closeSync, existsSync, fstatSync, openSync } from 'node:fs'
import { chmod, type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { diskFault, errorName } from '../../protocol/disk-faults.ts'
import { ServiceError } from '../../protocol/errors.ts'

/** The volatile store as bodies use it: this thread's own hands in it, or those of the engine that a process asks. */
export interface VolatileHands {
  /** False: nothing was kept, and the bytes belong on disk. Throws `too_large`. */
  put(digest: Uint8Array, bytes: Uint8Array): boolean | Promise<boolean>
  /** Null when they are not held. */
  read(digest: Uint8Array): Buffer | null | Promise<Buffer | null>
  hasFallenOut(digest: Uint8Array): boolean | Promise<boolean>
  /** Bytes of the largest artifact that it takes. */
  readonly largest: number
}

/** Files that an engine copies into its store. */
export interface ArtifactHandover {
  readonly folder: string
  /** Resolves when it is stored; false: it could not be. */
  take(digest: Uint8Array, file: string): Promise<boolean>
}

/** Where artifacts lie, and how large one may be. */
export interface ArtifactPlace {
  /** `<data dir>/artifacts` */
  readonly folder: string
  /** 0: no bound. */
  readonly max_bytes: number
  /** Bodies run as another user, whose group may read the folder, and never write to it: what the engine follows there is its own. */
  readonly shared?: boolean
  /** The memory of the volatile store (`core/memory/volatile/region.ts`). Absent in a process, which asks its engine. */
  readonly volatile?: SharedArrayBuffer
  readonly engine?: VolatileHands
  /** In a process of another user, which cannot write to `folder`: the engine takes what is written here. */
  readonly exchange?: ArtifactHandover
}

/**
 * Artifacts as files, each named by the SHA-256 of its bytes: `ab/cd/<64 hex digits>`. Every thread of an engine writes and
 * reads them itself:
 *
 *   tmp/<random>  --synced, renamed-->  ab/cd/<hex>  --the sweep takes it aside-->  swept/<hex>  -->  gone
 *                                            ^-------it was named meanwhile----------'
 *
 * A file has its name only when it is whole and on disk, so its size is the one that was written. A thread that stores existing
 * bytes again replaces the first file with its own: the newer time protects it from a sweep, without any coordination.
 */
export const TEMPORARY = 'tmp'
export const SWEPT = 'swept'

/** Of a store that another user's bodies read: files and folders in a folder get its group. */
export const SHARED_FOLDER = 0o2750
export const SHARED_FILE = 0o440

export const artifactPath = (folder: string, hex: string): string => join(folder, hex.slice(0, 2), hex.slice(2, 4), hex)

export interface WrittenArtifact {
  readonly hex: string
  /** Bytes. */
  readonly size: number
  /** Nobody had stored the same bytes. */
  readonly is_new: boolean
}

/** Bytes on their way to a name. Ends with `finish` or `drop`. Refuses with `too_large` and `disk_full`. */
export class ArtifactWriter {
  readonly #place: ArtifactPlace
  readonly #path: string
  readonly #file: FileHandle
  readonly #hash = createHash('sha256')
  #size = 0

  static async begin(place: ArtifactPlace): Promise<ArtifactWriter> {
    const path = join(place.exchange?.folder ?? join(place.folder, TEMPORARY), randomUUID())
    try {
      const file = await open(path, 'wx', 0o400)
      if (place.shared) await file.chmod(SHARED_FILE)
      return new ArtifactWriter(place, path, file)
    } catch (error) {
      throw diskErrorOf(error)
    }
  }

  private constructor(place: ArtifactPlace, path: string, file: FileHandle) {
    this.#place = place
    this.#path = path
    this.#file = file
  }

  /** The bytes must stay as they are until it resolves: they are digested while they are written. */
  async write(bytes: Uint8Array): Promise<void> {
    const { max_bytes } = this.#place
    if (max_bytes > 0 && this.#size + bytes.length > max_bytes) throw tooLarge(max_bytes)
    const writing = this.#writeAll(bytes, this.#size)
    this.#size += bytes.length
    this.#hash.update(bytes)
    await writing
  }

  async finish(): Promise<WrittenArtifact> {
    const { folder, shared = false, exchange } = this.#place
    try {
      await this.#file.sync()
      await this.#file.close()
      const digest = this.#hash.digest()
      const hex = digest.toString('hex')
      if (exchange !== undefined) return await this.#handOver(exchange, digest)
      const path = artifactPath(folder, hex)
      const is_new = !existsSync(path)
      const made = await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      if (made !== undefined && shared)
        for (const folder of [dirname(dirname(path)), dirname(path)]) await chmod(folder, SHARED_FOLDER)
      await rename(this.#path, path)
      // The name outlives a power cut, and so does each folder that leads to it: whoever made that may not have synced it yet.
      for (const changed of [dirname(path), dirname(dirname(path)), folder]) await syncFolder(changed)
      return { hex, size: this.#size, is_new }
    } catch (error) {
      await this.drop()
      throw diskErrorOf(error)
    }
  }

  async #handOver(exchange: ArtifactHandover, digest: Buffer): Promise<WrittenArtifact> {
    const is_new = openArtifact(this.#place.folder, digest.toString('hex'))
    if (is_new !== null) closeSync(is_new.file)
    if (!(await exchange.take(digest, basename(this.#path))))
      throw new ServiceError('disk_failed', 'The engine could not store the artifact; its log says why.')
    await rm(this.#path, { force: true })
    return { hex: digest.toString('hex'), size: this.#size, is_new: is_new === null }
  }

  async drop(): Promise<void> {
    await this.#file.close().catch(() => {})
    await rm(this.#path, { force: true })
  }

  async #writeAll(bytes: Uint8Array, position: number): Promise<void> {
    try {
      for (let at = 0; at < bytes.length; ) {
        at += (await this.#file.write(bytes, at, bytes.length - at, position + at)).bytesWritten
      }
    } catch (error) {
      throw diskErrorOf(error)
    }
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** An open artifact: it can be read to its end, even if a sweep removes it meanwhile. */
export interface ArtifactFile {
  /** A file descriptor; the caller closes it. */
  readonly file: number
  /** Bytes. */
  readonly size: number
}

/**
 * Null when there is none. Looks where a sweep puts what it may remove, too, and then a second time at the name: it stands in
 * one of the two places all the time, unless it is gone.
 */
export function openArtifact(folder: string, hex: string): ArtifactFile | null {
  const path = artifactPath(folder, hex)
  for (const place of [path, join(folder, SWEPT, hex), path]) {
    const file = openIfThere(place)
    if (file === null) continue
    try {
      return { file, size: fstatSync(file).size }
    } catch (error) {
      closeSync(file)
      throw error
    }
  }
  return null
}

function openIfThere(path: string): number | null {
  try {
    return openSync(path, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** Turns errors of the disk into errors for users; all others stay unchanged. */
export function diskErrorOf(error: unknown): unknown {
  const fault = diskFault(errorName(error))
  return fault === null ? error : new ServiceError(fault.code, `${fault.reason}. The artifact was not stored.`)
}

/** What became of an artifact that is to be kept. */
export type Kept = 'stored' | 'absent' | 'fell_out'

/** Nothing is stored under the digest, any more or at all. */
export const absent = (digest: string, has_fallen_out: boolean): ServiceError =>
  has_fallen_out
    ? new ServiceError(
        'artifact_fell_out',
        `${digest} was volatile, and newer volatile artifacts have taken its place.`,
      )
    : new ServiceError('artifact_not_found', `Nothing is stored under ${digest}.`)

export const tooLarge = (max_bytes: number): ServiceError =>
  new ServiceError('too_large', `An artifact may have at most ${max_bytes} bytes (MAX_ARTIFACT_BYTES).`)
