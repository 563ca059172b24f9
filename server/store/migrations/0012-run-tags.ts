/** Tags of runs, and a text. By tag and the run's time, as groups are, so that a list of a tag is in the order of lists of runs. */
export const runTags = {
  number: 12,
  name: 'run-tags',
  sql: `
CREATE TABLE run_tags (
  tag TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  run INTEGER NOT NULL,
  position INTEGER NOT NULL,
  PRIMARY KEY (tag, created_at)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_tags_of_run ON run_tags (run, position);
ALTER TABLE runs ADD COLUMN note TEXT NOT NULL DEFAULT '';
CREATE TRIGGER run_tags_go AFTER DELETE ON runs BEGIN
  DELETE FROM run_tags WHERE run = OLD.seq;
END;
`,
} as const
