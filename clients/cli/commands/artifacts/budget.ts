import { bytes } from '../../output/figures.ts'

/** Tells how much the sweep could not remove, and what to do. */
export const overBudget = (taken: number, over: number): string =>
  `all artifacts take ${bytes(taken)}, ${bytes(over)} over ARTIFACTS_KEEP_MB: runs or messages use them, or they are new. Delete runs with "svc runs delete", or set RUNS_KEEP_DAYS.`
