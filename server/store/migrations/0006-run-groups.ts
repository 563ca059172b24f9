/**
 * The groups that a run was put into after its creation, in that order; the one that it was created with stands in its row. By group
 * and the run's time, so that a list of a group merges both in the order in which runs are listed.
 */
export const runGroups = {
  number: 6,
  name: 'run-groups',
  sql: `
CREATE TABLE run_groups (
  grouped TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  run INTEGER NOT NULL,
  position INTEGER NOT NULL,
  PRIMARY KEY (grouped, created_at)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_groups_of_run ON run_groups (run, position);
`,
} as const
