/**
 * The engine's clocks, in three words that one thread writes and all read. Every thread counts the same monotonic
 * milliseconds; added to a word they are a time since 1970:
 *
 *   now      wall: the machine's clock. The front re-anchors it when that clock is set, so it can go back
 *   steady   start: the clock as it stood when the engine started. It never jumps: intervals, rate limits, what is due
 *   age      wall without `doubt`: never ahead of the machine's clock, and never jumps forward. For deciding what is old enough to be removed
 */

import type { Memory } from './memory.ts'
import { CONTROL } from './region.ts'

/** The monotonic clock of a thread. Together with `ahead_ms` it is that of the process, the same in all its threads. */
export interface ThreadClock {
  now(): number
  readonly ahead_ms: number
}

export class Clock {
  readonly #f64: Float64Array
  readonly #start: number
  readonly #wall: number
  readonly #doubt: number
  readonly #thread: ThreadClock
  readonly #ahead_us: number

  constructor(memory: Memory, thread: ThreadClock) {
    const control = memory.regions.control.offset >> 3
    this.#f64 = memory.f64
    this.#start = control + CONTROL.word.clock_start_us
    this.#wall = control + CONTROL.word.clock_wall_us
    this.#doubt = control + CONTROL.word.clock_doubt_us
    this.#thread = thread
    this.#ahead_us = thread.ahead_ms * 1000
  }

  /** Before any other thread has the memory. */
  begin(wall_us: number): void {
    const anchor_us = wall_us - this.#thread.now() * 1000 - this.#ahead_us
    this.#f64[this.#start] = anchor_us
    this.#f64[this.#wall] = anchor_us
  }

  /** What the microseconds of this thread's clock are added to. */
  get origin_us(): number {
    return this.#f64[this.#wall]! + this.#ahead_us
  }

  /** For timestamps. */
  readonly now_us = (): number => Math.floor(this.origin_us + this.#thread.now() * 1000)

  /** For intervals. */
  readonly steady_us = (): number => Math.floor(this.#f64[this.#start]! + this.#ahead_us + this.#thread.now() * 1000)

  /** For what is removed when it is old. */
  readonly age_us = (): number => this.now_us() - this.#f64[this.#doubt]!

  /** The size of a jump forward of the machine's clock that is not accepted yet. */
  get doubt_us(): number {
    return this.#f64[this.#doubt]!
  }

  /**
   * The one writer: the wall clock is set by `by_us`. Between the two stores a reader finds an age that is too small, and
   * removes less.
   */
  shift(by_us: number, doubt_us: number): void {
    const before_us = this.#f64[this.#doubt]!
    if (doubt_us > before_us) this.#f64[this.#doubt] = doubt_us
    this.#f64[this.#wall]! += by_us
    this.#f64[this.#doubt] = doubt_us
  }
}
