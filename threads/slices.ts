import type { Steps } from '../core/steps.ts'
import { limits } from '../protocol/limits.ts'

/** Runs the steps, at most `limits.FRONT_SLICE_MS` at a time; the event loop of the thread has its turn in between. */
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

/**
 * The event loop has its turn: timers and sockets are looked at. What is set by `setImmediate` while a socket is served runs right
 * behind that, with nothing in between, so the second one counts.
 */
export const nextTurn = (): Promise<void> => new Promise(resolve => setImmediate(() => setImmediate(resolve)))
