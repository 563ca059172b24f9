/**
 * Every setting of `svc serve`: its variable, its flag, its default in words. `server/config.ts` reads them, `svc serve --help`
 * prints them, and a test holds `docs/installation.md` to them. A flag beats its variable; an empty variable counts as unset.
 */
export interface Setting {
  readonly variable: string | null
  readonly flag: string | null
  /** What the flag takes, `<count>`; null for a switch. */
  readonly argument: string | null
  readonly default: string
  readonly description: string
}

const setting = (
  variable: string | null,
  flag: string | null,
  argument: string | null,
  byDefault: string,
  description: string,
): Setting => ({ variable, flag, argument, default: byDefault, description })

export const settings = {
  max_runs: setting('FLOW_MAX_RUNS', '--max-runs', '<count>', '4', 'concurrent runs'),
  max_cascades: setting('FLOW_MAX_CASCADES', '--max-cascades', '<count>', '1000', 'concurrent cascades'),
  max_workers: setting('FLOW_MAX_WORKERS', '--max-workers', '<count>', 'cores, at least 2', 'slots for node calls'),
  lanes: setting(
    'FLOW_LANES',
    null,
    null,
    'cores less 1, at least 2, at most 8',
    'threads for live cascades, at most 8',
  ),
  isolation: setting('FLOW_ISOLATION', null, null, 'thread', 'thread or process: where bodies run that do not say it'),
  keep_node_errors: setting(
    'FLOW_KEEP_NODE_ERRORS',
    null,
    null,
    '0',
    '1: an error of a node stays an issue until it is acknowledged, also when the node runs well again',
  ),
  cpus: setting('FLOW_CPUS', null, null, 'cores less 2, at least 1', 'cores accounted to nodes'),
  gpus: setting(
    'FLOW_GPUS',
    '--gpus',
    '<count>',
    '0: counted on this machine',
    'cards accounted to nodes; 0 counts them',
  ),
  host: setting('FLOW_HOST', '--host', '<address>', '127.0.0.1', 'the address to listen on'),
  port: setting('FLOW_PORT', '--port', '<port>', '8700', 'the port to listen on; 0 picks a free one'),
  data_dir: setting('DATA_DIR', '--data-dir', '<path>', 'the .svc found upward', 'the directory that keeps all state'),
  global: setting(null, '--global', null, 'off', 'the installation of this user instead of the one beside the code'),
  database_url: setting('DATABASE_URL', null, null, 'unset', 'may only name the embedded database, sqlite:///<file>'),
  node_venv: setting('NODE_VENV', null, null, 'auto', 'auto or managed: the environment of Python bodies'),
  timezone: setting('TZ', null, null, 'UTC', 'the timezone of cron expressions'),
  trusted_proxies: setting('TRUSTED_PROXIES', null, null, 'none', 'addresses or networks, separated by commas'),
  allowed_hosts: setting(
    'ALLOWED_HOSTS',
    null,
    null,
    'none',
    'names of this engine besides localhost and the address it listens on',
  ),
  max_artifact_bytes: setting('MAX_ARTIFACT_BYTES', null, null, '2147483648', 'bytes of one artifact; 0: no bound'),
  artifact_gc_interval_s: setting(
    'ARTIFACT_GC_INTERVAL_S',
    null,
    null,
    '3600',
    'seconds between sweeps of artifacts; 0: none',
  ),
  runs_keep_days: setting('RUNS_KEEP_DAYS', null, null, '0', 'days that a run is kept after its end; 0: for ever'),
  runs_keep_count: setting('RUNS_KEEP_COUNT', null, null, '0', 'runs that have ended and are kept, the newest; 0: all'),
  runs_keep_mb: setting(
    'RUNS_KEEP_MB',
    null,
    null,
    '0',
    'MiB of runs that have ended, without logs and metrics; 0: no bound',
  ),
  run_logs_keep_days: setting(
    'RUN_LOGS_KEEP_DAYS',
    null,
    null,
    '0',
    'days that the log of a run is kept after its end; 0: as long as the run',
  ),
  run_logs_keep_mb: setting('RUN_LOGS_KEEP_MB', null, null, '2048', 'MiB of logs of runs; 0: no bound'),
  run_metrics_keep_days: setting(
    'RUN_METRICS_KEEP_DAYS',
    null,
    null,
    '0',
    'days that the metrics of a run are kept after its end; 0: as long as the run',
  ),
  run_metrics_keep_mb: setting('RUN_METRICS_KEEP_MB', null, null, '8192', 'MiB of metrics of runs; 0: no bound'),
  plain: setting(null, '--plain', null, 'off', 'print one line, "ready <address>", and nothing else'),
  example: setting(null, '--example', null, 'off', 'store the example flows when the installation is empty'),
} as const satisfies Record<string, Setting>

export type SettingName = keyof typeof settings

/** Variables that the commands other than `serve` read. */
export const clientVariables = {
  SVC_URL: 'the address of the engine',
  SVC_TOKEN: 'the access token for it',
  NO_COLOR: 'set to anything: no colours',
  XDG_CONFIG_HOME: 'where `svc login` keeps what it got, under `svc/`; `~/.config` when unset',
  XDG_DATA_HOME: 'where `--global` keeps its installation, under `svc/`; `~/.local/share` when unset',
} as const

/** Exit codes of the command line. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  refused: 3,
  no_engine: 4,
  not_signed_in: 5,
  interrupted: 130,
} as const
export type ExitCode = (typeof EXIT)[keyof typeof EXIT]
