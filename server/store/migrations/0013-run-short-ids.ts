/** Runs by the last group of their id, which is random: short ids are its beginnings. */
export const runShortIds = {
  number: 13,
  name: 'run-short-ids',
  sql: `
CREATE INDEX runs_by_short_id ON runs (substr(id, 25));
`,
} as const
