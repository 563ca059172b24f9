/**
 * What bodies of batch runs wrote: a head for each run, and its lines in chunks, which `core/runs/log-lines.ts` describes. `first` is the
 * number of a chunk's first line within the run, from 1; `dropped` counts the lines that were not kept. They go with their run.
 */
export const runLogs = {
  number: 8,
  name: 'run-logs',
  sql: `
CREATE TABLE run_logs (
  run INTEGER PRIMARY KEY,
  lines INTEGER NOT NULL,
  dropped INTEGER NOT NULL,
  bytes INTEGER NOT NULL
) STRICT;
CREATE TABLE run_log_chunks (
  run INTEGER NOT NULL,
  first INTEGER NOT NULL,
  count INTEGER NOT NULL,
  from_us INTEGER NOT NULL,
  bytes BLOB NOT NULL,
  PRIMARY KEY (run, first)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER run_logs_go AFTER DELETE ON runs BEGIN
  DELETE FROM run_log_chunks WHERE run = OLD.seq;
  DELETE FROM run_logs WHERE run = OLD.seq;
END;
`,
} as const
