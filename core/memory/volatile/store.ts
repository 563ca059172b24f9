/**
 * Artifacts that live in memory only, under their digests: the newest ones that fit. Bytes lie in a ring, each artifact in one
 * piece; the one that comes in pushes the oldest ones out. An artifact has a sequence, and its row is the one at
 * `sequence & (rows - 1)`. A bucket names the newest artifact of its digests, and each row the next older one of its bucket. So
 * the oldest one of all is the last of its bucket, and falls out by nothing but a higher floor: no link is ever changed for it.
 *
 * Writers hold the lock. Readers hold nothing: they copy, and look at the floor afterwards.
 */
import * as atomics from '#atomics'
import { ServiceError } from '../../../protocol/errors.ts'
import { limits } from '../../../protocol/limits.ts'
import { lockWord, unlockWord } from '../wait.ts'
import { isHeldBetween, VOLATILE_HEADER, VOLATILE_ROW, VOLATILE_UNIT, type VolatileMemory } from './region.ts'

const H = VOLATILE_HEADER.word
const W = VOLATILE_ROW.word
const DIGEST = VOLATILE_ROW.offset.digest >> 2
const DIGEST_BYTES = 32
const DIGEST_WORDS = DIGEST_BYTES >> 2

export interface VolatileCounts {
  /** Bytes that it has room for. */
  readonly size: number
  /** Artifacts that it holds, and the bytes from the oldest to the end of the newest. */
  readonly held: number
  readonly held_bytes: number
  /** Since the start. */
  readonly put: number
  readonly fell_out: number
}

/** One thread's hands in the store. `owner` is from `volatileOwner`. */
export class VolatileStore {
  readonly #memory: VolatileMemory
  readonly #i32: Int32Array
  readonly #owner: number
  readonly #header: number
  readonly #mask: number
  /** The digest that is looked for. */
  readonly #key = new Int32Array(DIGEST_WORDS)
  readonly #key_bytes = Buffer.from(this.#key.buffer)
  /** What `#find` found. */
  #at = 0
  #length = 0
  #sequence = 0

  constructor(memory: VolatileMemory, owner: number) {
    this.#memory = memory
    this.#i32 = memory.i32
    this.#owner = owner
    this.#header = memory.header >> 2
    this.#mask = memory.row_count - 1
  }

  /** Bytes of the largest artifact that it takes. */
  get largest(): number {
    return this.#memory.largest
  }

  /**
   * Keeps the bytes under their digest until they fall out. What is there already stays where it is, unless half of the
   * store came after it: then it is put again, as the newest. Throws `too_large`. False: the lock could not be had in time, since its holder died and was not
   * recovered yet, or computes under it; nothing was kept.
   */
  put(digest: Uint8Array, bytes: Uint8Array, patience_ms: number = limits.VOLATILE_PATIENCE_MS): boolean {
    const { largest } = this.#memory
    if (bytes.length > largest) throw tooLargeForVolatile(largest)
    const lock = this.#header + H.lock
    if (!lockWord(this.#memory, lock, this.#owner, patience_ms)) return false
    this.#look(digest)
    if (!this.#find() || this.#isOld()) this.#append(bytes)
    unlockWord(this.#memory, lock, this.#owner)
    return true
  }

  /** A copy of the bytes; null when they are not held. */
  read(digest: Uint8Array): Buffer | null {
    this.#look(digest)
    if (!this.#find()) return null
    const copy = Buffer.allocUnsafeSlow(this.#length)
    return this.readInto(digest, copy, 0) < 0 ? null : copy
  }

  /** Copies the bytes into `target`, which has room for them from byte `at` on; answers how many. -1: they are not held. */
  readInto(digest: Uint8Array, target: Buffer, at: number): number {
    this.#look(digest)
    while (this.#find()) {
      const from = this.#memory.ring + this.#at
      this.#memory.bytes.copy(target, at, from, from + this.#length)
      // What has fallen out meanwhile may be torn. It may have been put again, so it is looked for once more.
      if (this.#isStillHeld(this.#sequence)) return this.#length
    }
    return -1
  }

  has(digest: Uint8Array): boolean {
    return this.size(digest) >= 0
  }

  /** How many bytes; -1 when they are not held. */
  size(digest: Uint8Array): number {
    this.#look(digest)
    return this.#find() ? this.#length : -1
  }

  /** It was held, and fell out not long ago: its row is not in use again yet. */
  hasFallenOut(digest: Uint8Array): boolean {
    const i32 = this.#i32
    this.#look(digest)
    if (this.#find()) return false
    let sequence = atomics.acquire(i32, this.#bucket())
    // 0 stands in buckets and rows that were never in use.
    for (let looks = 0; sequence !== 0 && looks <= this.#mask; looks++) {
      const row = this.#row(sequence)
      if (atomics.acquire(i32, row + W.sequence) !== sequence) return false
      const matches = this.#matches(row)
      const before = i32[row + W.before]!
      if (atomics.recheck(i32, row + W.sequence) !== sequence) return false
      if (matches) return true
      sequence = before
    }
    return false
  }

  counts(): VolatileCounts {
    const { ring_bytes } = this.#memory
    const i32 = this.#i32
    const floor = atomics.acquire(i32, this.#header + H.floor)
    const next = atomics.acquire(i32, this.#header + H.next)
    const held = (next - floor) | 0
    let held_bytes = 0
    if (held > 0) {
      const span = this.#end(next) - i32[this.#row(floor) + W.at]!
      held_bytes = span > 0 ? span : span + ring_bytes
    }
    return { size: ring_bytes, held, held_bytes, put: (next - 1) >>> 0, fell_out: (floor - 1) >>> 0 }
  }

  #look(digest: Uint8Array): void {
    if (digest.length !== DIGEST_BYTES) throw new RangeError('a digest has 32 bytes')
    this.#key_bytes.set(digest)
  }

  /** The newest artifact under the digest, if one is held. */
  #find(): boolean {
    const i32 = this.#i32
    const bucket = this.#bucket()
    for (;;) {
      const newest = atomics.acquire(i32, bucket)
      let sequence = newest
      while (this.#isHeld(sequence)) {
        const row = this.#row(sequence)
        if (this.#matches(row)) {
          this.#at = i32[row + W.at]!
          this.#length = i32[row + W.length]!
          this.#sequence = sequence
          if (this.#isStillHeld(sequence)) return true
          break
        }
        // A row that is filled again meanwhile leads astray: only after the rest of this bucket has fallen out.
        sequence = i32[row + W.before]!
      }
      // Whoever has put the digest meanwhile has changed the bucket.
      if (atomics.recheck(i32, bucket) === newest) return false
    }
  }

  #matches(row: number): boolean {
    for (let word = 0; word < DIGEST_WORDS; word++) if (this.#i32[row + DIGEST + word] !== this.#key[word]) return false
    return true
  }

  #isHeld(sequence: number): boolean {
    const floor = atomics.acquire(this.#i32, this.#header + H.floor)
    return isHeldBetween(sequence, floor, atomics.acquire(this.#i32, this.#header + H.next))
  }

  /** After everything of it was read: it was whole then. */
  #isStillHeld(sequence: number): boolean {
    return ((sequence - atomics.recheck(this.#i32, this.#header + H.floor)) | 0) >= 0
  }

  /** Under the lock: what came after that which was found fills half of the store. */
  #isOld(): boolean {
    const { ring_bytes } = this.#memory
    const span = this.#end(this.#i32[this.#header + H.next]!) - this.#at
    return (span > 0 ? span : span + ring_bytes) > ring_bytes / 2
  }

  /** Under the lock. */
  #append(bytes: Uint8Array): void {
    const { ring } = this.#memory
    const i32 = this.#i32
    const next = i32[this.#header + H.next]!
    const at = this.#makeRoom(next, unitsOf(bytes.length))
    this.#memory.bytes.set(bytes, ring + at)
    const bucket = this.#bucket()
    const row = this.#row(next)
    // First and last of the row: `hasFallenOut` reads rows that are filled again.
    atomics.announce(i32, row + W.sequence, next - 1)
    i32.set(this.#key, row + DIGEST)
    i32[row + W.at] = at
    i32[row + W.length] = bytes.length
    i32[row + W.before] = atomics.acquire(i32, bucket)
    atomics.release(i32, row + W.sequence, next)
    atomics.release(i32, this.#header + H.next, (next + 1) | 0)
    // Last: a bucket never names what is not there. Who dies before it leaves this to `recoverVolatile`.
    atomics.release(i32, bucket, next)
  }

  /** Raises the floor until there is room behind the newest; answers where. Readers see the floor before a byte is overwritten. */
  #makeRoom(next: number, bytes: number): number {
    const before = this.#i32[this.#header + H.floor]!
    let floor = before
    let at = this.#place(floor, next, bytes)
    while (at < 0) {
      floor = (floor + 1) | 0
      at = this.#place(floor, next, bytes)
    }
    if (floor !== before) atomics.announce(this.#i32, this.#header + H.floor, floor)
    return at
  }

  /** Where so many bytes fit beside what is held from `floor` on; -1: nowhere. */
  #place(floor: number, next: number, bytes: number): number {
    if (floor === next) return 0
    if (((next - floor) | 0) > this.#mask) return -1
    const oldest = this.#i32[this.#row(floor) + W.at]!
    const end = this.#end(next)
    const isWrapped = this.#i32[this.#row((next - 1) | 0) + W.at]! < oldest
    if (isWrapped) return end + bytes <= oldest ? end : -1
    if (end + bytes <= this.#memory.ring_bytes) return end
    return bytes <= oldest ? 0 : -1
  }

  /** Where the newest ends. */
  #end(next: number): number {
    const row = this.#row((next - 1) | 0)
    return this.#i32[row + W.at]! + unitsOf(this.#i32[row + W.length]!)
  }

  #bucket(): number {
    return (this.#memory.buckets >> 2) + (this.#key[0]! & this.#mask)
  }

  #row(sequence: number): number {
    return (this.#memory.rows + (sequence & this.#mask) * VOLATILE_ROW.size) >> 2
  }
}

export const tooLargeForVolatile = (largest: number): ServiceError =>
  new ServiceError(
    'too_large',
    `A volatile artifact may have at most ${largest} bytes here (a share of ARTIFACT_VOLATILE_BYTES). Store it without "volatile".`,
  )

/** Bytes that an artifact takes in the ring: none takes nothing, so that two never begin at one place. */
const unitsOf = (length: number): number => Math.ceil(Math.max(length, 1) / VOLATILE_UNIT) * VOLATILE_UNIT
