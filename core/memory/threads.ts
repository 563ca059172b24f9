/**
 * The thread table: who holds which slot. An owner word identifies a thread uniquely: its slot, and a count of the threads that
 * have held the slot. So the word of a dead thread never equals that of its successor.
 */
import * as atomics from '#atomics'
import { layout } from './layout.ts'
import type { Memory } from './memory.ts'

/** Thread slots. Lanes hold `lane` .. `lane + limits.LANE_SLOTS - 1`; a retiring lane and its replacement differ. */
export const SLOT = { front: 1, store: 2, reader: 3, timer: 4, connectors: 5, lane: 8 } as const
export const THREAD_KIND = { none: 0, front: 1, store: 2, reader: 3, timer: 4, lane: 5, connectors: 6 } as const
export const THREAD_STATE = { empty: 0, running: 1, left: 2, dead: 3 } as const

const SLOT_BITS = 6
export const SLOT_MASK = (1 << SLOT_BITS) - 1
const EPOCH_MASK = (1 << 24) - 1

/** `epoch << 6 | slot`, never 0 and never negative: the sign bit of a word that holds an owner is free for its user. */
export const ownerWord = (epoch: number, slot: number): number => (epoch << SLOT_BITS) | slot
export const slotOf = (owner: number): number => owner & SLOT_MASK
export const epochOf = (owner: number): number => (owner >>> SLOT_BITS) & EPOCH_MASK

export const THREAD_ROW = layout(
  'THREAD_ROW',
  [
    ['owner', 'i32', 'owner word of the thread that holds the slot, 0 when none does'],
    ['epoch', 'i32', 'threads that held the slot so far'],
    ['kind', 'i32', 'THREAD_KIND'],
    ['state', 'i32', 'THREAD_STATE'],
    ['current_node', 'i32', 'node index of the body that runs now, plus 1; 0 when none'],
    ['cascades_in_flight', 'i32', 'cascades of this thread that outlived the turn that began them'],
    ['current_since_ms', 'f64', 'when that body began'],
    ['executions', 'f64', 'bodies run since the slot was entered'],
    ['heartbeat_ms', 'f64', 'when the thread last came round its loop, by its own clock; 0: it does not say'],
    ['published', 'f64', 'values published since the slot was entered'],
    ['thread', 'i32', 'threadId of the worker that holds the slot; 0 for the front'],
    ['posted', 'i32', 'messages posted to a lane so far (the front); a lane looks at its port when it has changed'],
    ['wake', 'i32', 'counts wakes; the thread sleeps on it (a cache line of its own)'],
    ['sleeping', 'i32', '1 while the thread sleeps or is about to'],
  ],
  128,
)

const { owner: OWNER, epoch: EPOCH, kind: KIND, state: STATE } = THREAD_ROW.word

export class ThreadTable {
  readonly #i32: Int32Array
  readonly #f64: Float64Array
  readonly #base: number
  readonly #threads: number

  constructor(memory: Memory) {
    this.#i32 = memory.i32
    this.#f64 = memory.f64
    this.#base = memory.regions.threads.offset
    this.#threads = memory.sizes.threads
  }

  /** Byte offset of a slot's row. */
  row(slot: number): number {
    if (!(slot > 0 && slot < this.#threads)) throw new RangeError(`no thread slot ${slot}`)
    return this.#base + slot * THREAD_ROW.size
  }

  /** Takes an empty slot for a new thread and answers its owner word. */
  enter(slot: number, kind: number): number {
    const row = this.row(slot) >> 2
    const epoch = (atomics.add(this.#i32, row + EPOCH, 1) % EPOCH_MASK) + 1
    const owner = ownerWord(epoch, slot)
    if (atomics.compareExchange(this.#i32, row + OWNER, 0, owner) !== 0)
      throw new RangeError(`thread slot ${slot} is held`)
    this.#i32[row + KIND] = kind
    this.#i32[row + THREAD_ROW.word.current_node] = 0
    this.#i32[row + THREAD_ROW.word.thread] = 0
    this.#i32[row + THREAD_ROW.word.sleeping] = 0
    const half = row >> 1
    this.#f64[half + THREAD_ROW.word.current_since_ms] = 0
    this.#f64[half + THREAD_ROW.word.executions] = 0
    this.#f64[half + THREAD_ROW.word.heartbeat_ms] = 0
    this.#f64[half + THREAD_ROW.word.published] = 0
    atomics.store(this.#i32, row + STATE, THREAD_STATE.running)
    return owner
  }

  /** The thread ends regularly: it holds nothing any more, and its free lists stay for the next thread in the slot. */
  leave(owner: number): void {
    const row = this.row(slotOf(owner)) >> 2
    atomics.store(this.#i32, row + STATE, THREAD_STATE.left)
    atomics.compareExchange(this.#i32, row + OWNER, owner, 0)
  }

  isAlive(owner: number): boolean {
    const slot = slotOf(owner)
    return slot > 0 && slot < this.#threads && atomics.load(this.#i32, (this.row(slot) >> 2) + OWNER) === owner
  }

  /** Called by the front once the exit is confirmed. Answers the owner word that the thread had, 0 when it held none. */
  markDead(slot: number): number {
    const row = this.row(slot) >> 2
    atomics.store(this.#i32, row + STATE, THREAD_STATE.dead)
    return atomics.exchange(this.#i32, row + OWNER, 0)
  }

  ownerOf(slot: number): number {
    return atomics.load(this.#i32, (this.row(slot) >> 2) + OWNER)
  }

  state(slot: number): number {
    return atomics.load(this.#i32, (this.row(slot) >> 2) + STATE)
  }

  kind(slot: number): number {
    return this.#i32[(this.row(slot) >> 2) + KIND]!
  }
}
