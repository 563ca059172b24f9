import { openSync, readSync } from 'node:fs'

/**
 * How long this thread stood ready to run while others had the cores: the kernel's second figure in `schedstat`, nanoseconds.
 * A reading costs some microseconds, so it is for what looks slow, not for every body. Other systems have no such file:
 * nothing is known there, and nothing is taken off.
 */
export class RunQueue {
  readonly #file: number | null = open()
  readonly #text = Buffer.alloc(96)
  #waited_ms = this.#read()
  #read_at_ms = 0

  /** Where the next stretch is measured from. */
  look(now_ms: number): void {
    this.#waited_ms = this.#read()
    this.#read_at_ms = now_ms
  }

  /**
   * Of a stretch that ended just now and took so long, how much of it was waiting, at least: all that the thread has waited
   * since the last look, less what may have been before the stretch. Looks.
   */
  waitedIn(took_ms: number, now_ms: number): number {
    const before = { waited_ms: this.#waited_ms, read_at_ms: this.#read_at_ms }
    this.look(now_ms)
    return Math.max(0, this.#waited_ms - before.waited_ms - (now_ms - before.read_at_ms - took_ms))
  }

  /** Of what a body has held the thread until now: what other threads of the machine took is not its own. Looks. */
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
