/** Values that `delay` and `trigger` nodes publish later. */
export const scheduled = {
  number: 15,
  name: 'scheduled',
  sql: `
CREATE TABLE scheduled (
  message INTEGER NOT NULL,
  entry INTEGER NOT NULL,
  due_ms REAL NOT NULL,
  ts INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  number REAL NOT NULL,
  bytes BLOB,
  PRIMARY KEY (message, entry)
) STRICT, WITHOUT ROWID;
`,
} as const
