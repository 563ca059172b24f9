/**
 * Sleeping, waking, and the lock on an owner word.
 *
 * Sleep: announce, look for work once more, sleep. A waker makes work visible first and looks at `sleeping` then. One of
 * the two sees the other, because both sides store, then load, with full barriers between.
 *
 * Lock: the word holds 0 or the owner word of the holder; its sign bit says that a thread sleeps until it is free. A dead holder is
 * named by the word, so the front can free it once it has repaired what the word guards. Sleepers wake by themselves every
 * few milliseconds, so a wake that went to a dead thread only causes a delay.
 */
import * as atomics from '#atomics'
import type { Memory } from './memory.ts'
import { THREAD_ROW } from './threads.ts'

const SLEPT_FOR = -0x80000000
const SLICE_MS = 2

/** The buffer that the word of a lock lies in. */
type Words = Pick<Memory, 'i32'>

/** The owner word in a lock word, without the bit for sleepers. */
export const holderOf = (word: number): number => word & 0x7fffffff

/**
 * Takes the word for `owner`, or answers false after about `patience_ms`. A thread that must also notice deaths (the front
 * frees the words of dead threads, and cannot do that while it sleeps here) passes a short patience.
 */
export function lockWord(
  memory: Words,
  word: number,
  owner: number,
  patience_ms: number = Number.POSITIVE_INFINITY,
): boolean {
  return atomics.compareExchange(memory.i32, word, 0, owner) === 0 || lockSlowly(memory.i32, word, owner, patience_ms)
}

function lockSlowly(i32: Int32Array, word: number, owner: number, patience_ms: number): boolean {
  for (let spin = 0; spin < atomics.SPINS; spin++) {
    atomics.pause()
    if (atomics.load(i32, word) === 0 && atomics.compareExchange(i32, word, 0, owner) === 0) return true
  }
  for (let left = patience_ms; ; left -= SLICE_MS) {
    const seen = atomics.load(i32, word)
    // whoever slept takes the word with the bit set: other threads may still sleep
    if (seen === 0) {
      if (atomics.compareExchange(i32, word, 0, owner | SLEPT_FOR) === 0) return true
      continue
    }
    if (left <= 0) return false
    const marked = seen | SLEPT_FOR
    if (seen === marked || atomics.compareExchange(i32, word, seen, marked) === seen)
      atomics.wait(i32, word, marked, SLICE_MS)
  }
}

/**
 * Gives the word back. The look and the store are two plain steps, 13 ns cheaper than one exchange; a sleeper that sets its
 * bit and falls asleep just between them is not notified and wakes at the end of its slice.
 */
export function unlockWord(memory: Words, word: number, owner: number): void {
  const { i32 } = memory
  const held = atomics.acquire(i32, word)
  if (holderOf(held) !== owner) throw new RangeError(`word ${word} is not held by its unlocker`)
  atomics.release(i32, word, 0)
  if (held !== owner) atomics.notify(i32, word, 1)
}

/**
 * `unlockWord` whose store is a full barrier, for a thread that afterwards checks whether to notify others of its writes under
 * the word. After a plain store those loads could be done before the writes are visible: then neither side sees the other.
 */
export function unlockWordWithBarrier(memory: Words, word: number, owner: number): void {
  const { i32 } = memory
  if (holderOf(atomics.acquire(i32, word)) !== owner) throw new RangeError(`word ${word} is not held by its unlocker`)
  if (atomics.exchange(i32, word, 0) !== owner) atomics.notify(i32, word, 1)
}

/** Frees the word if the dead thread held it; true when it did. What the word guards must have been repaired before. */
export function recoverWord(memory: Words, word: number, dead_owner: number): boolean {
  const held = atomics.load(memory.i32, word)
  if (holderOf(held) !== dead_owner || dead_owner === 0) return false
  // only the sign bit can still change under a dead holder
  atomics.exchange(memory.i32, word, 0)
  atomics.notify(memory.i32, word)
  return true
}

/** Wakes the thread in a slot if it sleeps or is about to; of several wakers one does it. Call it after the work is visible. */
export function wakeThread(memory: Memory, slot: number): boolean {
  const row = (memory.regions.threads.offset + slot * THREAD_ROW.size) >> 2
  const { i32 } = memory
  if (atomics.load(i32, row + THREAD_ROW.word.sleeping) === 0) return false
  if (atomics.exchange(i32, row + THREAD_ROW.word.sleeping, 0) === 0) return false
  atomics.add(i32, row + THREAD_ROW.word.wake, 1)
  atomics.notify(i32, row + THREAD_ROW.word.wake)
  return true
}

/** A thread's own sleep. `const ticket = sleeper.announce(); if (work()) sleeper.cancel(); else sleeper.sleep(ticket, ms)` */
export class Sleeper {
  readonly #i32: Int32Array
  readonly #wake: number
  readonly #sleeping: number
  #pending = false

  constructor(memory: Memory, slot: number) {
    const row = (memory.regions.threads.offset + slot * THREAD_ROW.size) >> 2
    this.#i32 = memory.i32
    this.#wake = row + THREAD_ROW.word.wake
    this.#sleeping = row + THREAD_ROW.word.sleeping
  }

  /** From here on wakers notify. Look for work after this call, never before it only. */
  announce(): number {
    const ticket = atomics.load(this.#i32, this.#wake)
    atomics.store(this.#i32, this.#sleeping, 1)
    return ticket
  }

  /** There was work after all. Also ends a `sleepAsync` that still waits. */
  cancel(): void {
    atomics.store(this.#i32, this.#sleeping, 0)
    if (!this.#pending) return
    atomics.add(this.#i32, this.#wake, 1)
    atomics.notify(this.#i32, this.#wake)
  }

  /** Blocks the thread: its event loop serves nothing meanwhile. */
  sleep(ticket: number, ms: number): void {
    atomics.wait(this.#i32, this.#wake, ticket, ms)
    atomics.store(this.#i32, this.#sleeping, 0)
  }

  /** Sleeps without blocking the event loop. One at a time. */
  async sleepAsync(ticket: number, ms: number): Promise<void> {
    const waiting = atomics.waitAsync(this.#i32, this.#wake, ticket, ms)
    if (waiting.async) {
      this.#pending = true
      await waiting.value
      this.#pending = false
    }
    atomics.store(this.#i32, this.#sleeping, 0)
  }
}
