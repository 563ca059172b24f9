/**
 * What of a run may be long stands beside its row, in pieces that are read one at a time: `part` is `inputs`, `resolved` or `result`,
 * or an output of a node. The column in the row is empty then, and the summaries hold what lists show of it.
 */
export const runDocuments = {
  number: 9,
  name: 'run-documents',
  sql: `
CREATE TABLE run_documents (
  run INTEGER NOT NULL,
  part TEXT NOT NULL,
  piece INTEGER NOT NULL,
  json BLOB NOT NULL,
  PRIMARY KEY (run, part, piece)
) STRICT, WITHOUT ROWID;
ALTER TABLE runs ADD COLUMN inputs_summary TEXT;
ALTER TABLE runs ADD COLUMN result_summary TEXT;
`,
} as const
