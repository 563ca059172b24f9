import { close, closeSync, read } from 'node:fs'
import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { ArtifactFile } from '../../threads/calls/artifact-files.ts'

/** Bytes of the file, `to` exclusive. */
export interface FileRange {
  readonly from: number
  readonly to: number
}

/** Memory for chunks, kept for the next answer. */
export class ChunkMemory {
  readonly #free: Buffer[] = []

  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(limits.STREAM_CHUNK_BYTES)
  }

  giveBack(memory: Buffer): void {
    if (this.#free.length < limits.STREAM_CHUNKS_KEPT) this.#free.push(memory)
  }
}

/** The bytes of an artifact, for one answer. */
export interface ArtifactBytes {
  readonly size: number
  chunks(parts: readonly (FileRange | Uint8Array)[]): AsyncIterableIterator<Uint8Array>
  /** Without chunks. */
  close(): void
}

/** Of an open file, which is closed with the answer. */
export class FileBytes implements ArtifactBytes {
  readonly size: number
  readonly #file: number
  readonly #memory: ChunkMemory

  constructor({ file, size }: ArtifactFile, memory: ChunkMemory) {
    this.size = size
    this.#file = file
    this.#memory = memory
  }

  chunks(parts: readonly (FileRange | Uint8Array)[]): FileChunks {
    return new FileChunks(this.#file, parts, this.#memory)
  }

  close(): void {
    closeSync(this.#file)
  }
}

/** A copy of a volatile artifact. */
export class HeldBytes implements ArtifactBytes {
  readonly size: number
  readonly #bytes: Uint8Array

  constructor(bytes: Uint8Array) {
    this.size = bytes.length
    this.#bytes = bytes
  }

  async *chunks(parts: readonly (FileRange | Uint8Array)[]): AsyncGenerator<Uint8Array> {
    for (const part of parts) {
      if (part instanceof Uint8Array) {
        yield part
        continue
      }
      for (let at = part.from; at < part.to; at += limits.STREAM_CHUNK_BYTES)
        yield this.#bytes.subarray(at, Math.min(part.to, at + limits.STREAM_CHUNK_BYTES))
    }
  }

  close(): void {}
}

/** Ranges of a file, and bytes of our own between them, as the chunks of an answer. It owns the file and closes it. */
export class FileChunks implements AsyncIterableIterator<Uint8Array> {
  readonly #file: number
  readonly #parts: readonly (FileRange | Uint8Array)[]
  readonly #memory_of: ChunkMemory
  #memory: Buffer | null = null
  #part = 0
  #at = 0
  #closed = false

  constructor(file: number, parts: readonly (FileRange | Uint8Array)[], memory: ChunkMemory) {
    this.#file = file
    this.#parts = parts
    this.#memory_of = memory
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** A chunk is good until the next one is asked for. Rejects with `artifact_damaged` when the file has become shorter. */
  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    const part = this.#parts[this.#part]
    if (part === undefined) return { done: true, value: undefined }
    if (part instanceof Uint8Array) {
      this.#part++
      return { done: false, value: part }
    }
    const position = part.from + this.#at
    this.#memory ??= this.#memory_of.take()
    const wanted = Math.min(this.#memory.length, part.to - position)
    const bytes = wanted === 0 ? 0 : await this.#read(this.#memory, wanted, position)
    if (bytes === 0 && wanted > 0)
      throw new ServiceError('artifact_damaged', `The file ends at byte ${position}, before byte ${part.to}.`)
    this.#at += bytes
    if (part.from + this.#at === part.to) {
      this.#part++
      this.#at = 0
    }
    return { done: false, value: this.#memory.subarray(0, bytes) }
  }

  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    if (!this.#closed) {
      this.#closed = true
      if (this.#memory !== null) this.#memory_of.giveBack(this.#memory)
      await new Promise<void>((resolve, reject) => close(this.#file, error => (error ? reject(error) : resolve())))
    }
    return { done: true, value: undefined }
  }

  #read(memory: Buffer, bytes: number, position: number): Promise<number> {
    return new Promise((resolve, reject) => {
      read(this.#file, memory, 0, bytes, position, (error, got) => (error ? reject(error) : resolve(got)))
    })
  }
}
