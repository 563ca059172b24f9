/** What each flow had accepted and not consumed when the row was written; see waiting/blob.ts. */
export const waiting = {
  number: 4,
  name: 'waiting',
  sql: `
CREATE TABLE waiting (
  flow INTEGER PRIMARY KEY,
  count INTEGER NOT NULL,
  bytes BLOB NOT NULL
) STRICT;
`,
} as const
