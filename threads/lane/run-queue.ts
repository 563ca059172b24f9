import { openSync, readSync } from 'node:fs'

/**
 * How long this thread was ready to run while others had the cores: the kernel's second figure in `schedstat`, nanoseconds.
 * A reading costs some microseconds, so it is only used for bodies that look slow. Other systems have no such file: there
 * nothing is subtracted.
 */
export class RunQueue {
  readonly #file: number | null = open()
  readonly #text = Buffer.alloc(96)
  #waited_ms = this.#read()
  #read_at_ms = 0

  /** Where the next period is measured from. */
  look(now_ms: number): void {
    this.#waited_ms = this.#read()
    this.#read_at_ms = now_ms
  }

  /**
   * For a period that ended just now: the least time of it that the thread waited for a core. That is all its waiting since the
   * last reading, minus what may have been before the period. Takes a reading.
   */
  waitedIn(took_ms: number, now_ms: number): number {
    const before = { waited_ms: this.#waited_ms, read_at_ms: this.#read_at_ms }
    this.look(now_ms)
    return Math.max(0, this.#waited_ms - before.waited_ms - (now_ms - before.read_at_ms - took_ms))
  }

  /** The time that a body has held the thread so far, without the time that other threads of the machine took. Takes a reading. */
  ownPart(held_ms: number, now_ms: number): number {
    return held_ms - this.waitedIn(held_ms, now_ms)
  }

  #read(): number {
    if (this.#file === null) return 0
    const length = readSync(this.#file, this.#text, 0, this.#text.length, 0)
    return Number(this.#text.toString('latin1', 0, length).split(' ')[1] ?? 0) / 1e6
  }
}

/** Opened by the thread that it is about; it stays open as long as the thread lives. */
function open(): number | null {
  try {
    return openSync('/proc/thread-self/schedstat', 'r')
  } catch {
    return null
  }
}
