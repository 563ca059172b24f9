import { Packr } from 'msgpackr'
import { hexOf } from '../../protocol/artifact-names.ts'
import { limits } from '../../protocol/limits.ts'
import { msgpackSettings } from '../../protocol/values/msgpack-settings.ts'
import type { Topics } from './topics.ts'

/** The bytes behind references, as media frames need them. */
export interface MediaBytes {
  /** Of a volatile artifact, by the 32 bytes of its digest; -1: it is not held. */
  size(key: Uint8Array): number
  /** Copies a volatile artifact into `target`, from byte `at` on; -1: it is not held any more. */
  readInto(key: Uint8Array, target: Buffer, at: number): number
  /** From the disk; null when it is not there or has more than `most` bytes. */
  load(digest: string, most: number): Promise<Buffer | null>
}

/** The frame of a value; `none`: it goes out as text only; `loading`: its bytes are read from the disk, ask again. */
export type FrameOf = Buffer | 'none' | 'loading'

const LENGTH_BYTES = 4
/** Artifacts from the disk that are kept for the sockets that want them next. */
const LOADED_BYTES = 4 * limits.SOCKET_MEDIA_BYTES

/**
 * Makes media frames: 4 bytes with the length of the header, big endian; the header in msgpack, `{name, version, digest, media_type, meta}`; the
 * bytes. Volatile artifacts are copied once, from shared memory into the frame. Those on the disk are read in the thread pool.
 */
export class MediaFrames {
  readonly #bytes: MediaBytes
  readonly #topics: Topics
  readonly #loaded: (digest: string) => void
  readonly #onDefect: (error: unknown) => void
  readonly #packr = new Packr(msgpackSettings)
  /** The frame that was made last: whoever sends it has done so before the next one is made. */
  #scratch = Buffer.allocUnsafeSlow(64 * 1024)
  /** What lies in the scratch. */
  #made: { name: string; version: number; value: string; frame: Buffer } | null = null
  /** From the disk, oldest first. Null: not there, or too large. */
  readonly #cache = new Map<string, Buffer | null>()
  #cached_bytes = 0
  readonly #loading = new Set<string>()

  constructor(bytes: MediaBytes, topics: Topics, loaded: (digest: string) => void, onDefect: (error: unknown) => void) {
    this.#onDefect = onDefect
    this.#bytes = bytes
    this.#topics = topics
    this.#loaded = loaded
  }

  /** `value`: JSON. The frame is good until another one is asked for. */
  of(message: number, version: number, value: string): FrameOf {
    const name = this.#topics.name(message) ?? ''
    const made = this.#made
    // Sockets that were slow come back one by one, mostly for the same frame.
    if (made !== null && made.version === version && made.name === name && made.value === value) return made.frame
    this.#made = null
    const frame = this.#make(name, version, value)
    if (typeof frame === 'object') this.#made = { name, version, value, frame }
    return frame
  }

  #make(name: string, version: number, value: string): FrameOf {
    const reference = referenceIn(value)
    if (reference === null) return 'none'
    const { digest, hex, media_type, meta } = reference
    const key = Buffer.from(hex, 'hex')
    const size = this.#bytes.size(key)
    if (size > limits.SOCKET_MEDIA_BYTES) return 'none'
    const header = { name, version, digest, media_type, meta }
    if (size >= 0) {
      const at = this.#begin(header, size)
      if (this.#bytes.readInto(key, this.#scratch, at) >= 0) return this.#scratch.subarray(0, at + size)
    }
    const stored = this.#cache.get(digest)
    if (stored === undefined) {
      this.#load(digest)
      return 'loading'
    }
    if (stored === null) return 'none'
    const at = this.#begin(header, stored.length)
    stored.copy(this.#scratch, at)
    return this.#scratch.subarray(0, at + stored.length)
  }

  /** Writes the header in front of so many bytes; answers where they begin. */
  #begin(header: object, size: number): number {
    const packed = this.#packr.pack(header)
    const at = LENGTH_BYTES + packed.length
    if (this.#scratch.length < at + size) this.#scratch = Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(at + size)))
    this.#scratch.writeUInt32BE(packed.length)
    packed.copy(this.#scratch, LENGTH_BYTES)
    return at
  }

  #load(digest: string): void {
    if (this.#loading.has(digest)) return
    this.#loading.add(digest)
    this.#bytes
      .load(digest, limits.SOCKET_MEDIA_BYTES)
      // What the disk refuses is told where somebody asks for the artifact itself.
      .catch(() => null)
      .then(bytes => {
        this.#loading.delete(digest)
        this.#keep(digest, bytes)
        this.#loaded(digest)
      })
      .catch(this.#onDefect)
  }

  #keep(digest: string, bytes: Buffer | null): void {
    this.#cache.set(digest, bytes)
    this.#cached_bytes += costOf(bytes)
    for (const [oldest, kept] of this.#cache) {
      if (this.#cached_bytes <= LOADED_BYTES || oldest === digest) break
      this.#cache.delete(oldest)
      this.#cached_bytes -= costOf(kept)
    }
  }
}

/** What is not there costs, too. */
const costOf = (bytes: Buffer | null): number => 1024 + (bytes?.length ?? 0)

/** The artifact reference that a value is; null when it is none. */
export function referenceIn(value: string): { digest: string; hex: string; media_type: string; meta: unknown } | null {
  if (!value.startsWith('{')) return null
  const { digest, media_type, meta = null } = JSON.parse(value) as Record<string, unknown>
  const hex = hexOf(digest)
  return hex === null || typeof media_type !== 'string' ? null : { digest: digest as string, hex, media_type, meta }
}
