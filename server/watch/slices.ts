import type { Steps } from '../../core/steps.ts'
import { limits } from '../../protocol/limits.ts'

/** Runs the steps on the front thread, at most `limits.FRONT_SLICE_MS` at a time; the event loop has its turn in between. */
export async function inSlices<Result>(steps: Steps<Result>): Promise<Result> {
  for (;;) {
    const until_ms = performance.now() + limits.FRONT_SLICE_MS
    do {
      const step = steps.next()
      if (step.done) return step.value
      if (step.value !== undefined) await step.value
    } while (performance.now() < until_ms)
    await nextTurn()
  }
}

/** Long work of several callers, one after the other: the steps of two that are cut in slices each would run in one turn of the event loop. */
export class SliceLine {
  #last: Promise<unknown> = Promise.resolve()

  run<Result>(steps: Steps<Result>): Promise<Result> {
    const done = this.#last.then(() => inSlices(steps))
    this.#last = done.then(nextTurn, nextTurn)
    return done
  }
}

/** Work between whose parts the event loop has its turn, when the parts so far took longer than a slice. */
export class Slice {
  #until_ms = performance.now() + limits.FRONT_SLICE_MS

  async rest(): Promise<void> {
    if (performance.now() < this.#until_ms) return
    await nextTurn()
    this.#until_ms = performance.now() + limits.FRONT_SLICE_MS
  }
}

/**
 * The event loop has its turn: timers and sockets are looked at. What is set by `setImmediate` while a socket is served runs right
 * behind that, with nothing in between, so the second one counts.
 */
export const nextTurn = (): Promise<void> => new Promise(resolve => setImmediate(() => setImmediate(resolve)))
