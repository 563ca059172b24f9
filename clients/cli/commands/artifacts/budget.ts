import { bytes } from '../../output/figures.ts'

/** What the sweep could not remove, and what a user can do. */
export const overBudget = (taken: number, over: number): string =>
  `all artifacts take ${bytes(taken)}, ${bytes(over)} over ARTIFACTS_KEEP_MB: runs or messages use them, or they are new. Delete runs with "svc runs delete", or set RUNS_KEEP_DAYS.`
