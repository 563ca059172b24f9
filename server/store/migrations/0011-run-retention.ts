/**
 * What a run takes, counted once when it has ended (null until then), so that classes of run data can be held to budgets. The first index
 * finds the runs that are not counted yet, the second those whose log is still there.
 */
export const runRetention = {
  number: 11,
  name: 'run-retention',
  sql: `
ALTER TABLE runs ADD COLUMN bytes INTEGER;
CREATE INDEX runs_not_counted ON runs (seq) WHERE bytes IS NULL AND finished_at IS NOT NULL;
CREATE INDEX run_logs_kept ON run_logs (run) WHERE bytes > 0;
`,
} as const
