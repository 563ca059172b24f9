/**
 * Batch runs, their nodes, metrics and artifacts, and flavors. Times are microseconds since 1970. Runs name their flow by its row, so
 * that a rename moves them; nodes and metrics are named within the flow. `run_counts` follows `runs` in the same transaction; its flow 0
 * is all flows together. `run_metrics` is the head of each curve, `metric_chunks` its points, a row for each write. In `run_nodes` the
 * columns that lists and the stage cache look at stand before those that may be long.
 */
export const runs = {
  number: 2,
  name: 'runs',
  sql: `
CREATE TABLE runs (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  flow INTEGER NOT NULL,
  status TEXT NOT NULL,
  cause TEXT NOT NULL,
  created_by TEXT NOT NULL,
  seed INTEGER,
  timeout REAL,
  no_cache INTEGER NOT NULL,
  grouped TEXT,
  idempotency_key TEXT,
  version INTEGER NOT NULL,
  "commit" TEXT NOT NULL,
  origin TEXT,
  origin_commit TEXT,
  code_digest TEXT,
  inputs TEXT NOT NULL,
  resolved TEXT NOT NULL,
  inputs_digest TEXT NOT NULL,
  result TEXT,
  terminal TEXT NOT NULL DEFAULT '[]',
  error TEXT,
  retry_of TEXT,
  attempt INTEGER NOT NULL,
  epoch INTEGER,
  created_at INTEGER NOT NULL,
  started_at INTEGER,
  finished_at INTEGER,
  cancel_requested_at INTEGER
) STRICT;
CREATE UNIQUE INDEX runs_by_time ON runs (created_at);
CREATE INDEX runs_of_flow ON runs (flow, created_at);
CREATE INDEX runs_by_status ON runs (status, created_at);
CREATE INDEX runs_of_flow_by_status ON runs (flow, status, created_at);
CREATE INDEX runs_of_group ON runs (grouped, created_at, flow, status) WHERE grouped IS NOT NULL;
CREATE UNIQUE INDEX runs_by_key ON runs (flow, created_by, idempotency_key) WHERE idempotency_key IS NOT NULL;

CREATE TABLE run_counts (
  flow INTEGER NOT NULL,
  status TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (flow, status)
) STRICT, WITHOUT ROWID;

CREATE TABLE run_nodes (
  run INTEGER NOT NULL,
  node TEXT NOT NULL,
  position INTEGER NOT NULL,
  status TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  executions INTEGER NOT NULL,
  emissions INTEGER NOT NULL,
  asked TEXT,
  granted TEXT,
  machine TEXT,
  queued_at INTEGER,
  started_at INTEGER,
  finished_at INTEGER,
  body_s REAL,
  expected_s REAL,
  cache_key TEXT,
  cached_from TEXT,
  error TEXT,
  parts TEXT,
  outputs TEXT,
  PRIMARY KEY (run, node)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_nodes_by_key ON run_nodes (cache_key, run) WHERE cache_key IS NOT NULL AND status = 'succeeded';
CREATE INDEX run_nodes_origins ON run_nodes (run, node) WHERE cache_key IS NOT NULL AND status = 'succeeded';

CREATE TABLE metric_names (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE run_metrics (
  run INTEGER NOT NULL,
  name INTEGER NOT NULL,
  chunks INTEGER NOT NULL,
  points INTEGER NOT NULL,
  last_value REAL NOT NULL,
  PRIMARY KEY (run, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE metric_chunks (
  run INTEGER NOT NULL,
  name INTEGER NOT NULL,
  chunk INTEGER NOT NULL,
  count INTEGER NOT NULL,
  bytes BLOB NOT NULL,
  PRIMARY KEY (run, name, chunk)
) STRICT, WITHOUT ROWID;

CREATE TABLE run_artifacts (
  run INTEGER NOT NULL,
  digest TEXT NOT NULL,
  PRIMARY KEY (run, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_artifacts_by_digest ON run_artifacts (digest);

CREATE TABLE flavors (
  name TEXT PRIMARY KEY,
  cpus REAL,
  gpus INTEGER,
  ram REAL,
  duration_s REAL
) STRICT, WITHOUT ROWID;

ALTER TABLE events ADD COLUMN run TEXT;
CREATE INDEX events_of_run ON events (run, ts) WHERE run IS NOT NULL;
`,
} as const
