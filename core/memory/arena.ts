/**
 * The value arena: memory for encoded values that are too long to lie inline. It is cut into blocks of 64 KiB; a block
 * belongs to a thread slot and holds slabs of one size class, or it begins a run of blocks for one large slab. A slab is
 * named by its `ref` (offset of its header in 16-byte units), has a reference count, and knows its generation.
 *
 * Only the thread in a slot touches that slot's lists. A thread that drops the last reference to a foreign slab pushes it
 * on the owner's `returned` list, which only ever grows by one or is taken whole: nothing is popped from it, so there is no
 * ABA, and it needs no room that could run out. Blocks go in and out of the pool under one lock word, rarely.
 *
 * All lists live in shared memory: the next thread in a slot inherits them. After a death `recoverArena` (recover-arena.ts)
 * rebuilds them from the slab headers, so no step here has to be undone.
 */
import * as atomics from '#atomics'
import { limits } from '../../protocol/limits.ts'
import { layout } from './layout.ts'
import type { Memory, MemorySizes } from './memory.ts'
import { slotOf } from './threads.ts'
import { lockWord, unlockWord } from './wait.ts'

export const BLOCK_BYTES = 64 * 1024
/** Slab sizes with the header, two to an octave where a block takes three or more. */
export const SLAB_BYTES = [
  128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12_288, 16_384, 21_840, 32_768,
] as const
const LARGEST = SLAB_BYTES[SLAB_BYTES.length - 1]!
const CAPACITY = SLAB_BYTES.map(bytes => Math.floor(BLOCK_BYTES / bytes))
const SIZES: readonly number[] = SLAB_BYTES
/** Values of `kind` in a block row: a size class plus 1, or one of these. */
export const BLOCK_KIND = { free: 0, run: 64, inside_run: 65 } as const

export const SLAB_STATE = { free: 0, uncommitted: 1, committed: 2, returned: 3 } as const

export const SLAB_ROW = layout('SLAB_ROW', [
  ['references', 'i32', 'holders; at 0 the slab is free or on its way to be'],
  ['generation', 'i32', 'changes whenever the slab is allocated'],
  ['next', 'i32', 'next slab of the list it is on'],
  ['state', 'i32', 'SLAB_STATE'],
])

export const BLOCK_ROW = layout('BLOCK_ROW', [
  ['owner', 'i32', 'thread slot, 0 when in the pool'],
  ['kind', 'i32', 'size class + 1, or BLOCK_KIND'],
  ['carved', 'i32', 'slabs whose header was ever written'],
  ['live', 'i32', 'slabs that are not on the free list'],
  ['free', 'i32', 'first slab of the free list, 0 when empty'],
  ['next', 'i32', "next block with room in its owner's class, 0 at the end"],
  ['previous', 'i32', 'the one before, 0 for the first'],
  ['span', 'i32', 'blocks of a run'],
])

export const ARENA_SLOT_ROW = layout(
  'ARENA_SLOT_ROW',
  [
    [
      'used',
      'f64',
      'slab bytes allocated less slab bytes released by this slot (the sum over slots is what is in use)',
    ],
    ['generation', 'i32', 'last generation given out'],
    ['draining', 'i32', 'the returned slabs that the owner is putting away'],
    ['classes', 'bytes:80', 'per size class the first block with room, 0 when none'],
    ['spare', 'bytes:32', ''],
    ['returned', 'i32', 'slabs released by other threads, newest first (a cache line of its own)'],
  ],
  192,
)

export const ARENA_HEADER = layout(
  'ARENA_HEADER',
  [
    ['lock', 'i32', 'owner word of the thread that moves blocks'],
    ['taken', 'i32', 'blocks out of the pool'],
    ['hint', 'i32', 'no block below it is free'],
  ],
  64,
)

/** An odd step with mixed bits: generations do not repeat for 2^32 allocations and never look like small numbers. */
const GENERATION_STEP = 0x61c88647

const B = BLOCK_ROW.word
const S = SLAB_ROW.word
const BLOCK_WORDS = BLOCK_ROW.size >> 2

const PAGE = 4096
const blocksOf = (sizes: Readonly<MemorySizes>): number => Math.ceil(sizes.arena_bytes / BLOCK_BYTES)
/** Bytes before the first block: header, slot rows, block rows (row 0 stays unused). */
const headBytes = (sizes: Readonly<MemorySizes>): number =>
  Math.ceil((ARENA_HEADER.size + sizes.threads * ARENA_SLOT_ROW.size + (blocksOf(sizes) + 1) * BLOCK_ROW.size) / PAGE) *
  PAGE
/** Bytes of the arena's region. */
export const arenaBytes = (sizes: Readonly<MemorySizes>): number => headBytes(sizes) + blocksOf(sizes) * BLOCK_BYTES

/** Where the parts of the arena lie. */
export interface ArenaPlace {
  /** i32 index of the header. */
  header: number
  /** i32 index of the slot rows. */
  slots: number
  /** i32 index of block row 0; blocks are numbered from 1. */
  rows: number
  /** Byte offset of block 1. */
  first: number
  blocks: number
}

export function arenaPlace(memory: Memory): ArenaPlace {
  const { offset } = memory.regions.arena
  const slots = offset + ARENA_HEADER.size
  return {
    header: offset >> 2,
    slots: slots >> 2,
    rows: (slots + memory.sizes.threads * ARENA_SLOT_ROW.size) >> 2,
    first: offset + headBytes(memory.sizes),
    blocks: blocksOf(memory.sizes),
  }
}

/** Class of a slab of `size` bytes with its header, at most LARGEST. */
function classOf(size: number): number {
  if (size <= SIZES[0]!) return 0
  const octave = 32 - Math.clz32(size - 1)
  const half = 2 * octave - 15
  return size > SIZES[half]! ? half + 1 : half
}

export class Arena {
  readonly #i32: Int32Array
  readonly #f64: Float64Array
  readonly #memory: Memory
  readonly #owner: number
  readonly #slot: number
  readonly #header: number
  readonly #slots: number
  readonly #row: number
  readonly #heads: number
  readonly #rows: number
  readonly #first: number
  readonly #blocks: number

  /** `owner` is the owner word of the calling thread. Everything lies in shared memory: a second Arena of the same thread is the same. */
  constructor(memory: Memory, owner: number) {
    const place = arenaPlace(memory)
    this.#memory = memory
    this.#i32 = memory.i32
    this.#f64 = memory.f64
    this.#owner = owner
    this.#slot = slotOf(owner)
    if (!(this.#slot > 0 && this.#slot < memory.sizes.threads)) throw new RangeError(`no thread slot ${this.#slot}`)
    this.#header = place.header
    this.#slots = place.slots
    this.#rows = place.rows
    this.#first = place.first
    this.#blocks = place.blocks
    this.#row = place.slots + this.#slot * (ARENA_SLOT_ROW.size >> 2)
    this.#heads = this.#row + (ARENA_SLOT_ROW.offset.classes >> 2)
  }

  /** Byte offset in `memory.bytes` of the payload. */
  offset(ref: number): number {
    return (ref << 4) + SLAB_ROW.size
  }

  generation(ref: number): number {
    return atomics.acquire(this.#i32, (ref << 2) + S.generation)
  }

  references(ref: number): number {
    return atomics.load(this.#i32, (ref << 2) + S.references)
  }

  /**
   * A slab for `bytes` of payload with one reference, which the caller holds; 0 when the arena is full. Until it is
   * committed it dies with its thread.
   */
  allocate(bytes: number): number {
    const size = bytes + SLAB_ROW.size
    if (size > LARGEST) return this.#allocateRun(size)
    const i32 = this.#i32
    const type = classOf(size)
    let block = i32[this.#heads + type]!
    if (block === 0) {
      block = this.#refill(type)
      if (block === 0) return 0
    }
    const row = this.#rows + block * BLOCK_WORDS
    let ref = i32[row + B.free]!
    if (ref !== 0) i32[row + B.free] = i32[(ref << 2) + S.next]!
    else {
      const carved = i32[row + B.carved]!
      ref = (this.#first + (block - 1) * BLOCK_BYTES + carved * SIZES[type]!) >> 4
      // the header before the count: recovery believes the headers of carved slabs
      i32[(ref << 2) + S.references] = 0
      i32[(ref << 2) + S.state] = SLAB_STATE.free
      atomics.release(i32, row + B.carved, carved + 1)
    }
    i32[row + B.live]! += 1
    if (i32[row + B.free] === 0 && i32[row + B.carved] === CAPACITY[type]) {
      const next = i32[row + B.next]!
      i32[this.#heads + type] = next
      if (next !== 0) i32[this.#rows + next * BLOCK_WORDS + B.previous] = 0
    }
    this.#open(ref)
    this.#f64[this.#row >> 1]! += SIZES[type]!
    return ref
  }

  /** The slab is in use from here on; its new generation shows before anything that is written into it. */
  #open(ref: number): void {
    const i32 = this.#i32
    const at = ref << 2
    const last = this.#row + ARENA_SLOT_ROW.word.generation
    // slots start apart, so that a slab that changes hands does not meet its old number
    const generation = (i32[last]! + GENERATION_STEP) | 0
    i32[last] = generation
    atomics.announce(i32, at + S.generation, (generation ^ (this.#slot << 26)) | 1)
    i32[at + S.state] = SLAB_STATE.uncommitted
    i32[at + S.references] = 1
  }

  /** The slab was handed over: it outlives the thread that allocated it. */
  commit(ref: number): void {
    this.#i32[(ref << 2) + S.state] = SLAB_STATE.committed
  }

  /** One more holder. Only a holder may call it. */
  retain(ref: number): void {
    atomics.add(this.#i32, (ref << 2) + S.references, 1)
  }

  /** One holder less; the last one frees the slab. */
  release(ref: number): void {
    const i32 = this.#i32
    const at = ref << 2
    // only holders add, and a holder that reads 1 is the only one: from then on the slab is its own
    for (let held = atomics.acquire(i32, at + S.references); held !== 1; ) {
      if (held < 1) throw new RangeError(`slab ${ref} was released more often than held`)
      const seen = atomics.compareExchange(i32, at + S.references, held, held - 1)
      if (seen === held) return
      held = seen
    }
    const block = (((ref << 4) - this.#first) >> 16) + 1
    const row = this.#rows + block * BLOCK_WORDS
    const kind = i32[row + B.kind]!
    const owner = i32[row + B.owner]!
    this.#f64[this.#row >> 1]! -= kind === BLOCK_KIND.run ? i32[row + B.span]! * BLOCK_BYTES : SIZES[kind - 1]!
    if (owner === this.#slot) {
      i32[at + S.references] = 0
      this.#putAway(ref, block)
    } else this.#giveBack(ref, owner)
  }

  /** To the list of a foreign owner. A recovery of that owner's slot skips slabs in state `returned`, so the state is set first. */
  #giveBack(ref: number, owner: number): void {
    const i32 = this.#i32
    const at = ref << 2
    atomics.release(i32, at + S.state, SLAB_STATE.returned)
    i32[at + S.references] = 0
    const list = this.#slots + owner * (ARENA_SLOT_ROW.size >> 2) + ARENA_SLOT_ROW.word.returned
    let head = atomics.load(i32, list)
    for (;;) {
      i32[at + S.next] = head
      const seen = atomics.compareExchange(i32, list, head, ref)
      if (seen === head) return
      head = seen
    }
  }

  /** To the own block's free list; an empty block goes back to the pool unless it is the last of its class with room. */
  #putAway(ref: number, block: number): void {
    const i32 = this.#i32
    const at = ref << 2
    const row = this.#rows + block * BLOCK_WORDS
    i32[at + S.state] = SLAB_STATE.free
    const kind = i32[row + B.kind]!
    if (kind === BLOCK_KIND.run) {
      if (this.#retire(block, i32[row + B.span]!)) return
      // the pool is locked now: the slab waits on the own list like one that another thread returned
      this.#giveBack(ref, this.#slot)
      return
    }
    const type = kind - 1
    const head = this.#heads + type
    const full = i32[row + B.free] === 0 && i32[row + B.carved] === CAPACITY[type]
    i32[at + S.next] = i32[row + B.free]!
    i32[row + B.free] = ref
    const live = i32[row + B.live]! - 1
    i32[row + B.live] = live
    if (full) {
      const next = i32[head]!
      i32[row + B.next] = next
      i32[row + B.previous] = 0
      if (next !== 0) i32[this.#rows + next * BLOCK_WORDS + B.previous] = block
      i32[head] = block
    }
    if (live === 0 && (i32[row + B.next] !== 0 || i32[row + B.previous] !== 0)) this.#retire(block, 1)
  }

  /**
   * Collects the slabs that other threads returned. Called when a class has run out; a thread that goes to sleep may call it too.
   * Death at any step leaves every slab reachable from `draining` or `returned`.
   */
  collect(): void {
    const i32 = this.#i32
    const list = this.#row + ARENA_SLOT_ROW.word.returned
    const draining = this.#row + ARENA_SLOT_ROW.word.draining
    let head = atomics.acquire(i32, list)
    if (head === 0) return
    for (;;) {
      atomics.release(i32, draining, head)
      const seen = atomics.compareExchange(i32, list, head, 0)
      if (seen === head) break
      head = seen
    }
    while (head !== 0) {
      const next = i32[(head << 2) + S.next]!
      i32[(head << 2) + S.state] = SLAB_STATE.free
      atomics.release(i32, draining, next)
      this.#putAway(head, (((head << 4) - this.#first) >> 16) + 1)
      head = next
    }
  }

  /** A block with room for a class that has none: returned slabs first, then the pool. */
  #refill(type: number): number {
    this.collect()
    const had = this.#i32[this.#heads + type]!
    if (had !== 0) return had
    const block = this.#takeBlocks(1, type + 1) || (this.#shed() ? this.#takeBlocks(1, type + 1) : 0)
    if (block === 0) return 0
    this.#i32[this.#heads + type] = block
    return block
  }

  #allocateRun(size: number): number {
    if (size > limits.MESSAGE_VALUE_BYTES + BLOCK_BYTES) throw new RangeError(`no slab of ${size} bytes`)
    const span = Math.ceil(size / BLOCK_BYTES)
    this.collect()
    const block = this.#takeBlocks(span, BLOCK_KIND.run) || (this.#shed() ? this.#takeBlocks(span, BLOCK_KIND.run) : 0)
    if (block === 0) return 0
    const ref = (this.#first + (block - 1) * BLOCK_BYTES) >> 4
    this.#open(ref)
    this.#f64[this.#row >> 1]! += span * BLOCK_BYTES
    return ref
  }

  /** Gives the empty blocks back that were kept as spares; true when there was one. */
  #shed(): boolean {
    let shed = false
    for (let type = 0; type < SIZES.length; type++)
      for (let block = this.#i32[this.#heads + type]!; block !== 0; ) {
        const row = this.#rows + block * BLOCK_WORDS
        const next = this.#i32[row + B.next]!
        if (this.#i32[row + B.live] === 0 && this.#retire(block, 1)) shed = true
        block = next
      }
    return shed
  }

  /** First fit from the hint, under the lock. A run's first row is written last and cleared first: without it the rest is free. */
  #takeBlocks(span: number, kind: number): number {
    if (!lockWord(this.#memory, this.#header + ARENA_HEADER.word.lock, this.#owner, limits.ARENA_PATIENCE_MS)) return 0
    const i32 = this.#i32
    const hint = Math.max(1, i32[this.#header + ARENA_HEADER.word.hint]!)
    let found = 0
    let lowest = 0
    for (let block = hint, free = 0; block <= this.#blocks; block++) {
      if (i32[this.#rows + block * BLOCK_WORDS + B.owner] !== 0) {
        free = 0
        continue
      }
      if (lowest === 0) lowest = block
      if (++free === span) {
        found = block - span + 1
        break
      }
    }
    if (found !== 0) {
      for (let block = found + span - 1; block >= found; block--) {
        const row = this.#rows + block * BLOCK_WORDS
        i32[row + B.kind] = block === found ? kind : BLOCK_KIND.inside_run
        i32[row + B.carved] = 0
        i32[row + B.live] = 0
        i32[row + B.free] = 0
        i32[row + B.next] = 0
        i32[row + B.previous] = 0
        i32[row + B.span] = span
        if (kind === BLOCK_KIND.run && block === found) {
          // the header of a run must not look held before it is opened
          const ref = (this.#first + (block - 1) * BLOCK_BYTES) >> 4
          i32[(ref << 2) + S.references] = 0
          i32[(ref << 2) + S.state] = SLAB_STATE.free
        }
        atomics.release(i32, row + B.owner, this.#slot)
      }
      i32[this.#header + ARENA_HEADER.word.taken]! += span
      if (lowest === found) i32[this.#header + ARENA_HEADER.word.hint] = found + span
    }
    unlockWord(this.#memory, this.#header + ARENA_HEADER.word.lock, this.#owner)
    return found
  }

  /** Gives blocks back to the pool; false when its lock is not free in time; then they stay. */
  #retire(block: number, span: number): boolean {
    if (!lockWord(this.#memory, this.#header + ARENA_HEADER.word.lock, this.#owner, limits.ARENA_PATIENCE_MS))
      return false
    this.#unlink(block)
    const i32 = this.#i32
    for (let b = block; b < block + span; b++) {
      const row = this.#rows + b * BLOCK_WORDS
      i32[row + B.kind] = BLOCK_KIND.free
      atomics.release(i32, row + B.owner, 0)
    }
    i32[this.#header + ARENA_HEADER.word.taken]! -= span
    if (block < i32[this.#header + ARENA_HEADER.word.hint]!) i32[this.#header + ARENA_HEADER.word.hint] = block
    unlockWord(this.#memory, this.#header + ARENA_HEADER.word.lock, this.#owner)
    return true
  }

  /** Out of its class's list; a run is on none. */
  #unlink(block: number): void {
    const i32 = this.#i32
    const row = this.#rows + block * BLOCK_WORDS
    const kind = i32[row + B.kind]!
    if (kind === BLOCK_KIND.run) return
    const next = i32[row + B.next]!
    const previous = i32[row + B.previous]!
    if (previous === 0) i32[this.#heads + kind - 1] = next
    else i32[this.#rows + previous * BLOCK_WORDS + B.next] = next
    if (next !== 0) i32[this.#rows + next * BLOCK_WORDS + B.previous] = previous
  }

  /** Slab bytes in use, all threads together; exact when no thread is inside a call. */
  used(): number {
    let bytes = 0
    for (let slot = 0; slot < this.#memory.sizes.threads; slot++)
      bytes += this.#f64[(this.#slots + slot * (ARENA_SLOT_ROW.size >> 2)) >> 1]!
    return bytes
  }

  /** Bytes of the blocks that are out of the pool: compared with the cap. */
  taken(): number {
    return this.#i32[this.#header + ARENA_HEADER.word.taken]! * BLOCK_BYTES
  }
}
