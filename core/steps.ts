/**
 * Long work in steps: it yields where others may have their turn, and returns its result. A promise that it yields is waited
 * for before it goes on, by whoever can wait.
 */
export type Steps<Result> = Generator<Promise<unknown> | undefined, Result, void>

/** All steps at once; for work that yields no promise. */
export function finish<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}
