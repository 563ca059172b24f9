import * as atomics from '#atomics'
import { limits } from '../../../protocol/limits.ts'
import { layout } from '../../memory/layout.ts'
import { type Memory, queueHeadBytes } from '../../memory/region.ts'
import { INTENT_ROW } from '../publish/intent.ts'

/** Positions within the pool count units of 8 bytes; a segment's first unit is its index shifted by this. */
const UNIT_BYTES = 8
export const SEGMENT_UNITS = limits.QUEUE_SEGMENT_BYTES / UNIT_BYTES

/** A cache line, so that items of numbers begin on one. */
export const SEGMENT_HEAD = layout(
  'SEGMENT_HEAD',
  [
    ['next', 'i32', 'position of the first item of the next segment, 0: none'],
    ['end', 'i32', 'unit in this segment where the items end and the next segment goes on, 0: open'],
  ],
  64,
)
const HEAD_UNITS = SEGMENT_HEAD.size / UNIT_BYTES
/** Units that items may fill. The last one stays empty, so that no position within a segment equals the start of the next. */
export const SEGMENT_ITEM_UNITS = SEGMENT_UNITS - HEAD_UNITS - 1

/**
 * The pool that all queues share. A segment's owner word is authoritative: 0 free, -(flow + 1) on its way into the flow's chain
 * or out of it, flow + 1 in it. The bitmap of *used* segments is a hint that says where to look first; a fresh region of zeros is a pool of
 * free segments.
 */
export class SegmentPool {
  readonly #i32: Int32Array
  readonly #owners: number
  readonly #used: number
  readonly #words: number
  readonly size: number
  /** Byte offset of position 0. */
  readonly start: number
  #cursor: number
  #last_given = -1

  constructor(memory: Memory, slot: number) {
    this.#i32 = memory.i32
    this.size = memory.sizes.queue_segments
    // The region: intents of all threads, owner words, hints; then, on a page, the segments.
    const owners = memory.regions.queue.offset + memory.sizes.threads * INTENT_ROW.size
    const used = owners + Math.ceil(this.size / 16) * 64
    this.#owners = owners >> 2
    this.#used = used >> 2
    this.#words = Math.ceil(this.size / 32)
    this.start = memory.regions.queue.offset + queueHeadBytes(memory.sizes)
    if (used + this.#words * 4 > this.start) throw new RangeError('the queue region has too little room for its tables')
    // Threads begin their search in different places.
    this.#cursor = (slot * 7) % this.#words
  }

  /** Segment for `flow`, to be linked into its chain and then `settle`d; -1: none is free. Under the flow's publish word. */
  take(flow: number): number {
    const warm = this.#last_given
    if (warm >= 0) {
      this.#last_given = -1
      if (this.#acquire(warm, flow)) return warm
    }
    for (let step = 0; step < this.#words; step++) {
      const at = this.#cursor
      let free = ~atomics.acquire(this.#i32, this.#used + at) & this.#mask(at)
      while (free !== 0) {
        const low = 31 - Math.clz32(free & -free)
        free &= free - 1
        if (this.#acquire((at << 5) + low, flow)) return (at << 5) + low
      }
      this.#cursor = at + 1 < this.#words ? at + 1 : 0
    }
    return -1
  }

  /** The segment is now in the chain of its flow. */
  settle(segment: number, flow: number): void {
    atomics.release(this.#i32, this.#owners + segment, flow + 1)
  }

  /** The segment is about to leave the chain of its flow, under the flow's publish word. */
  loosen(segment: number, flow: number): void {
    atomics.release(this.#i32, this.#owners + segment, -flow - 1)
  }

  /** The segment is out of its flow's chain. */
  give(segment: number): void {
    atomics.store(this.#i32, this.#owners + segment, 0)
    this.#hint(segment)
    this.#last_given = segment
  }

  /** Flow that holds the segment, -1: free. */
  flowOf(segment: number): number {
    return Math.abs(atomics.acquire(this.#i32, this.#owners + segment)) - 1
  }

  /** True between `take` and `settle`, and between `loosen` and `give`. */
  isLoose(segment: number): boolean {
    return atomics.acquire(this.#i32, this.#owners + segment) < 0
  }

  /** True when the hint lets `take` find the segment. */
  isOffered(segment: number): boolean {
    return (atomics.acquire(this.#i32, this.#used + (segment >> 5)) & (1 << (segment & 31))) === 0
  }

  /** After a thread died: no free segment stays hidden behind its hint. */
  repair(): void {
    for (let segment = 0; segment < this.size; segment++) if (this.flowOf(segment) < 0) this.#hint(segment)
  }

  #acquire(segment: number, flow: number): boolean {
    const won = atomics.compareExchange(this.#i32, this.#owners + segment, 0, -flow - 1) === 0
    const word = this.#used + (segment >> 5)
    const bit = 1 << (segment & 31)
    if ((atomics.acquire(this.#i32, word) & bit) === 0) atomics.or(this.#i32, word, bit)
    // The CAS failed, and the segment was given back between the two steps: its giver saw the hint not yet set.
    if (!won && this.flowOf(segment) < 0) this.#hint(segment)
    return won
  }

  #hint(segment: number): void {
    const word = this.#used + (segment >> 5)
    const bit = 1 << (segment & 31)
    if ((atomics.acquire(this.#i32, word) & bit) !== 0) atomics.and(this.#i32, word, ~bit)
  }

  #mask(at: number): number {
    const rest = this.size - (at << 5)
    return rest >= 32 ? -1 : (1 << rest) - 1
  }
}
