/** What goes with a run, and how the runs are found that reuse one. */
export const runDeletes = {
  number: 10,
  name: 'run-deletes',
  sql: `
CREATE INDEX run_nodes_by_origin ON run_nodes (cached_from) WHERE cached_from IS NOT NULL;
CREATE TRIGGER runs_go AFTER DELETE ON runs BEGIN
  DELETE FROM run_nodes WHERE run = OLD.seq;
  DELETE FROM run_metrics WHERE run = OLD.seq;
  DELETE FROM metric_chunks WHERE run = OLD.seq;
  DELETE FROM run_artifacts WHERE run = OLD.seq;
  DELETE FROM run_groups WHERE run = OLD.seq;
  DELETE FROM run_documents WHERE run = OLD.seq;
END;
`,
} as const
