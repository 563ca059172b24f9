/** Runs that were claimed and wait for resources: no body of theirs has run, so a start queues them again. */
export const unbegunRuns = {
  number: 14,
  name: 'unbegun-runs',
  sql: `
ALTER TABLE runs ADD COLUMN unbegun INTEGER NOT NULL DEFAULT 0;
`,
} as const
