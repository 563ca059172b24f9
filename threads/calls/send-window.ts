import { limits } from '../../protocol/limits.ts'

// As they were before any body was loaded.
const { load, wait, notify, add } = Atomics

/** What of a thread was taken, counted up, a word for each of TAKEN: written by whoever takes it, waited for by the thread. */
export type Taken = SharedArrayBuffer

/** Words of it. */
export const TAKEN = { points: 0, lines: 1 } as const
export type TakenWhat = keyof typeof TAKEN

export const newTaken = (): Taken => new SharedArrayBuffer(4 * Object.keys(TAKEN).length)

export function addTaken(taken: Taken, what: TakenWhat, count: number): void {
  const word = new Int32Array(taken)
  add(word, TAKEN[what], count)
  notify(word, TAKEN[what])
}

/** Points, and characters of lines, that one call may have on their way. */
const MOST: Readonly<Record<TakenWhat, number>> = {
  points: limits.METRIC_POINTS_AWAY,
  lines: limits.RUN_LOG_AWAY,
}

/**
 * Bounds what one call of a batch run has on its way. `ctx.metric` and `ctx.log` return at once and a body may call them a million
 * times without an await, so the thread blocks at the bound: memory stays bounded and nothing is lost. When nothing is taken (a
 * full disk) it continues after a while, and its points and lines are dropped until there is room again.
 */
export class SendWindow {
  readonly #word: Int32Array
  readonly #at: number
  readonly #most: number
  readonly #from: number
  readonly #wait_ms: number
  #sent = 0
  /** The last wait was in vain. */
  #stuck = false

  constructor(taken: Taken, what: TakenWhat, wait_ms: number = limits.SEND_WAIT_MS) {
    this.#word = new Int32Array(taken)
    this.#at = TAKEN[what]
    this.#most = MOST[what]
    this.#from = load(this.#word, this.#at)
    this.#wait_ms = wait_ms
  }

  /** True when so much may be sent; false: it is to be dropped. */
  enter(count: number): boolean {
    for (;;) {
      const taken = load(this.#word, this.#at)
      // A late acknowledgement of an earlier call of this thread widens the window for a moment. The count wraps at 2^31.
      if (this.#sent - ((taken - this.#from) | 0) + count <= this.#most) {
        this.#stuck = false
        this.#sent += count
        return true
      }
      if (this.#stuck) return false
      this.#stuck = wait(this.#word, this.#at, taken, this.#wait_ms) === 'timed-out'
    }
  }
}
