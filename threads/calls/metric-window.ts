import { limits } from '../../protocol/limits.ts'

// As they were before any body was loaded.
const { load, wait, notify, add } = Atomics

/** Points that were taken from a thread, counted up: written by whoever takes them, waited for by the thread. */
export type MetricsTaken = SharedArrayBuffer

export const newMetricsTaken = (): MetricsTaken => new SharedArrayBuffer(4)

export function takeMetrics(taken: MetricsTaken, points: number): void {
  const word = new Int32Array(taken)
  add(word, 0, points)
  notify(word, 0)
}

/**
 * Bounds the points of one call that are on their way. `ctx.metric` returns at once and a body may call it a million times
 * without an await, so the thread stands still at the bound: memory stays bounded and no point is lost. Where nobody takes anything
 * (a full disk) it goes on after a while, and its points are dropped until there is room again.
 */
export class MetricWindow {
  readonly #word: Int32Array
  readonly #from: number
  readonly #wait_ms: number
  #sent = 0
  /** The last wait was in vain. */
  #stuck = false

  constructor(taken: MetricsTaken, wait_ms: number = limits.METRIC_WAIT_MS) {
    this.#word = new Int32Array(taken)
    this.#from = load(this.#word, 0)
    this.#wait_ms = wait_ms
  }

  /** True when so many may be sent; false: they are to be dropped. */
  enter(points: number): boolean {
    for (;;) {
      const taken = load(this.#word, 0)
      // What comes late from an earlier call of this thread widens the window for a moment. The count goes round at 2^31.
      if (this.#sent - ((taken - this.#from) | 0) + points <= limits.METRIC_POINTS_AWAY) {
        this.#stuck = false
        this.#sent += points
        return true
      }
      if (this.#stuck) return false
      this.#stuck = wait(this.#word, 0, taken, this.#wait_ms) === 'timed-out'
    }
  }
}
