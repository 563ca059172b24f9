import type { Steps } from '../../core/steps.ts'
import { limits } from '../../protocol/limits.ts'
import { inSlices, nextTurn } from '../../threads/slices.ts'

export { inSlices, nextTurn }

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
