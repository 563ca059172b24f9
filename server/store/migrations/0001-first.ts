/**
 * Times are microseconds since 1970. `latest.log` says up to which row of the log the bins of a row are complete,
 * `latest.forgotten` up to which row of the log values are those of a flow that was deleted.
 */
export const first = {
  number: 1,
  name: 'first',
  sql: `
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE disk (class TEXT PRIMARY KEY, bytes INTEGER NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE flows (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL UNIQUE,
  enabled INTEGER NOT NULL,
  version INTEGER NOT NULL,
  head TEXT NOT NULL,
  document TEXT NOT NULL,
  origin TEXT,
  updated_at INTEGER NOT NULL,
  updated_by TEXT NOT NULL,
  deleted INTEGER NOT NULL DEFAULT 0,
  not_run INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE commits (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  hash TEXT NOT NULL UNIQUE,
  flow INTEGER NOT NULL,
  name TEXT NOT NULL,
  version INTEGER NOT NULL,
  parent TEXT,
  document TEXT,
  enabled INTEGER NOT NULL,
  origin TEXT,
  author TEXT NOT NULL,
  message TEXT NOT NULL,
  at INTEGER NOT NULL,
  action TEXT NOT NULL
) STRICT;
CREATE INDEX commits_of_flow ON commits (flow, seq);

CREATE TABLE blobs (
  id INTEGER PRIMARY KEY,
  digest TEXT NOT NULL UNIQUE,
  form INTEGER NOT NULL,
  base TEXT,
  behind INTEGER NOT NULL DEFAULT 0,
  size INTEGER NOT NULL,
  bytes BLOB NOT NULL
) STRICT;

CREATE TABLE users (
  name TEXT PRIMARY KEY,
  password_hash TEXT NOT NULL,
  superuser INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE messages (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL UNIQUE,
  dtype TEXT NOT NULL
) STRICT;

CREATE TABLE latest (
  message INTEGER PRIMARY KEY,
  version INTEGER NOT NULL,
  ts INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  number REAL NOT NULL,
  bytes BLOB,
  log INTEGER NOT NULL,
  forgotten INTEGER NOT NULL DEFAULT 0,
  bins BLOB
) STRICT;

CREATE TABLE held (
  message INTEGER PRIMARY KEY,
  due_ms REAL NOT NULL,
  ts INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  number REAL NOT NULL,
  bytes BLOB
) STRICT;

CREATE TABLE states (node TEXT PRIMARY KEY, bytes BLOB NOT NULL) STRICT;

CREATE TABLE log (id INTEGER PRIMARY KEY AUTOINCREMENT, bytes BLOB NOT NULL) STRICT;

CREATE TABLE chunks (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  message INTEGER NOT NULL,
  small INTEGER NOT NULL,
  count INTEGER NOT NULL,
  ts_min INTEGER NOT NULL,
  ts_max INTEGER NOT NULL,
  bytes BLOB NOT NULL
) STRICT;
CREATE INDEX chunks_of_message ON chunks (message, ts_max, id, ts_min);
CREATE INDEX small_chunks ON chunks (message) WHERE small = 1;

CREATE TABLE rollups (
  message INTEGER NOT NULL,
  bucket_s INTEGER NOT NULL,
  start INTEGER NOT NULL,
  count INTEGER NOT NULL,
  sum REAL,
  min REAL,
  max REAL,
  last_ts INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  number REAL NOT NULL,
  bytes BLOB,
  PRIMARY KEY (message, bucket_s, start)
) STRICT, WITHOUT ROWID;

CREATE TABLE cascades (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  epoch INTEGER NOT NULL,
  small INTEGER NOT NULL,
  count INTEGER NOT NULL,
  seq_min INTEGER NOT NULL,
  seq_max INTEGER NOT NULL,
  started_min INTEGER NOT NULL,
  started_max INTEGER NOT NULL,
  flows BLOB NOT NULL,
  bytes BLOB NOT NULL
) STRICT;
CREATE INDEX cascades_by_start ON cascades (started_max, started_min, count);
CREATE INDEX cascades_by_seq ON cascades (epoch, seq_max, seq_min);

CREATE TABLE running (
  epoch INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  flow INTEGER NOT NULL,
  message INTEGER NOT NULL,
  root_version INTEGER NOT NULL,
  started INTEGER NOT NULL,
  executions INTEGER NOT NULL,
  errors INTEGER NOT NULL,
  parent_seq INTEGER NOT NULL,
  parent_ts INTEGER NOT NULL,
  PRIMARY KEY (epoch, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  ts INTEGER NOT NULL,
  type TEXT NOT NULL,
  flow TEXT,
  body TEXT NOT NULL
) STRICT;
CREATE INDEX events_by_time ON events (ts);
CREATE INDEX events_of_flow ON events (flow, ts);
CREATE INDEX events_of_type ON events (type, ts);

CREATE TABLE node_errors (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  node TEXT NOT NULL,
  code TEXT NOT NULL,
  message TEXT NOT NULL,
  stack TEXT,
  ts INTEGER NOT NULL,
  inputs BLOB,
  cascade TEXT,
  acknowledged INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX node_errors_of_node ON node_errors (node, id);
CREATE INDEX node_errors_by_time ON node_errors (ts);

CREATE TABLE samples (
  ts INTEGER PRIMARY KEY,
  published INTEGER NOT NULL,
  executions INTEGER NOT NULL,
  errors INTEGER NOT NULL,
  cascades INTEGER NOT NULL,
  waiting INTEGER NOT NULL,
  sockets INTEGER NOT NULL
) STRICT;
`,
} as const
