import { closeSync } from 'node:fs'
import { join } from 'node:path'
import { createVolatile } from '../../core/memory/volatile/region.ts'
import type { VolatileStore } from '../../core/memory/volatile/store.ts'
import { digestOf, hexOf } from '../../protocol/artifact-names.ts'
import { limits } from '../../protocol/limits.ts'
import type { StoredArtifact, VerifyLine } from '../../protocol/nouns/artifact.ts'
import type { List, Page } from '../../protocol/nouns/list.ts'
import { formatTime } from '../../protocol/time.ts'
import {
  type ArtifactPlace,
  absent,
  type Kept,
  openArtifact,
  tooLarge,
  type WrittenArtifact,
} from '../../threads/calls/artifact-files.ts'
import { volatileStore } from '../../threads/calls/volatile-hands.ts'
import type { Answer } from '../http/route.ts'
import { type ArtifactAsked, artifactAnswer } from './artifact-answer.ts'
import { ChunkMemory, FileBytes, HeldBytes } from './file-chunks.ts'
import { ArtifactFolder } from './folder.ts'
import type { ArtifactPage, VerifyStep } from './messages.ts'
import { ArtifactThread } from './thread-client.ts'

export interface StoredBytes {
  readonly digest: string
  /** Bytes. */
  readonly size: number
  /** Nobody had stored the same bytes. */
  readonly is_new: boolean
}

async function* inPieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  const { UPLOAD_PIECE_BYTES: length } = limits
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length)
}

/**
 * The artifacts of an engine, from the front. Writes and walks are done on the artifact thread; a read opens its file here and
 * reads it in the thread pool, so the front waits for no disk but for a name that is looked up.
 */
export class ArtifactStore {
  readonly place: ArtifactPlace
  readonly thread: ArtifactThread
  /** Artifacts in memory, under this thread's hands. */
  readonly volatile: VolatileStore
  readonly #memory = new ChunkMemory()
  /** On their way from memory to the disk, by digest. */
  readonly #copying = new Map<string, Promise<Kept>>()

  constructor(data_dir: string, max_bytes: number, volatile_bytes: number, shared = false) {
    const { sab: volatile } = createVolatile(volatile_bytes)
    this.place = { folder: join(data_dir, 'artifacts'), max_bytes, volatile, shared }
    ArtifactFolder.prepare(this.place.folder)
    this.thread = new ArtifactThread(this.place)
    this.volatile = volatileStore(volatile)
  }

  has(digest: string): boolean {
    const hex = hexOf(digest)
    const file = hex === null ? null : openArtifact(this.place.folder, hex)
    if (file !== null) closeSync(file.file)
    return file !== null
  }

  /**
   * Stores bytes as they come; a piece is done with before the next one is asked for. On disk when it resolves. Rejects with
   * `too_large`, `disk_full`, or what the source rejects with: then nothing is left of it.
   */
  async put(bytes: AsyncIterable<Uint8Array>, length: number | null): Promise<StoredBytes> {
    const { max_bytes } = this.place
    if (max_bytes > 0 && length !== null && length > max_bytes) throw tooLarge(max_bytes)
    const upload = await this.thread.call<number>({ type: 'begin', length })
    try {
      for await (const piece of bytes) await this.thread.call({ type: 'write', upload, bytes: piece })
      const { hex, size, is_new } = await this.thread.call<WrittenArtifact>({ type: 'finish', upload })
      return { digest: digestOf(hex), size, is_new }
    } catch (error) {
      await this.thread.call({ type: 'drop', upload }).catch(() => {})
      throw error
    }
  }

  /**
   * A volatile artifact is on disk when it resolves; rejects with what the disk refuses. Its bytes are copied before this returns, so they do
   * not fall out meanwhile.
   */
  keep(digest: string): Kept | Promise<Kept> {
    const key = Buffer.from(hexOf(digest) ?? '', 'hex')
    if (key.length === 0) return 'absent'
    const copying = this.#copying.get(digest)
    if (copying !== undefined) return copying
    const is_held = this.volatile.has(key)
    if (this.has(digest)) return 'stored'
    if (!is_held) return this.volatile.hasFallenOut(key) ? 'fell_out' : 'absent'
    const bytes = this.volatile.read(key)
    if (bytes === null) return 'fell_out'
    const copied = this.#copy(bytes).finally(() => this.#copying.delete(digest))
    this.#copying.set(digest, copied)
    return copied
  }

  async #copy(bytes: Uint8Array): Promise<Kept> {
    await this.put(inPieces(bytes), bytes.length)
    return 'stored'
  }

  /** All bytes of one on the disk, read in the thread pool; null when it is not there, or has more than `most`. */
  async load(digest: string, most: number): Promise<Buffer | null> {
    const found = openArtifact(this.place.folder, hexOf(digest) ?? '')
    if (found === null) return null
    const { file, size } = found
    const pieces = new FileBytes(found, this.#memory)
    if (size > most) {
      closeSync(file)
      return null
    }
    const bytes = Buffer.allocUnsafeSlow(size)
    const chunks = pieces.chunks([{ from: 0, to: size }])
    try {
      let at = 0
      for (let step = await chunks.next(); !step.done; step = await chunks.next())
        at += Buffer.from(step.value.buffer, step.value.byteOffset, step.value.length).copy(bytes, at)
    } finally {
      await chunks.return()
    }
    return bytes
  }

  /** Throws `artifact_not_found` or `artifact_fell_out`. */
  answer(asked: ArtifactAsked): Answer {
    const hex = hexOf(asked.digest) ?? ''
    const held = this.volatile.read(Buffer.from(hex, 'hex'))
    if (held !== null) return artifactAnswer(new HeldBytes(held), asked)
    const file = openArtifact(this.place.folder, hex)
    if (file !== null) return artifactAnswer(new FileBytes(file, this.#memory), asked)
    throw absent(asked.digest, this.volatile.hasFallenOut(Buffer.from(hex, 'hex')))
  }

  /** Digests whose hex digits begin so, at most so many. */
  async digestsFrom(hex: string, most: number): Promise<string[]> {
    return (await this.thread.call<string[]>({ type: 'from', hex, most })).map(digestOf)
  }

  /** Newest first. Every file is looked at. */
  async list({ limit, offset }: Page): Promise<List<StoredArtifact>> {
    const { items, count } = await this.thread.call<ArtifactPage>({ type: 'list', limit, offset })
    return {
      items: items.map(({ hex, size, written_ms }) => ({
        digest: digestOf(hex),
        size,
        written_at: formatTime(Math.floor(written_ms * 1000)),
      })),
      count,
    }
  }

  /** Reads every artifact; a line about every second, and one at the end. */
  async *verify(): AsyncGenerator<VerifyLine> {
    let [verified, bytes] = [0, 0]
    for (let after: string | null = ''; after !== null; ) {
      const step: VerifyStep = await this.thread.call<VerifyStep>({ type: 'verify', after })
      verified += step.verified
      bytes += step.bytes
      after = step.after
      yield { done: after === null, verified, bytes, damaged: step.damaged }
    }
  }

  close(): Promise<void> {
    return this.thread.close()
  }
}
