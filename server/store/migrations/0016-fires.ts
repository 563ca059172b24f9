/** What became of the occurrences of inject nodes, and up to when all of them are on record. */
export const fires = {
  number: 16,
  name: 'fires',
  sql: `
CREATE TABLE fires (
  node TEXT NOT NULL,
  opened INTEGER NOT NULL,
  scheduled INTEGER NOT NULL,
  last_scheduled INTEGER NOT NULL,
  fired INTEGER,
  last_fired INTEGER,
  status TEXT NOT NULL,
  reason TEXT,
  late_s REAL NOT NULL,
  count INTEGER NOT NULL,
  at_least INTEGER NOT NULL,
  PRIMARY KEY (node, opened)
) STRICT, WITHOUT ROWID;
CREATE TABLE fires_seen (
  node TEXT PRIMARY KEY,
  schedule TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`,
} as const
