import { close, read } from 'node:fs'
import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'

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
