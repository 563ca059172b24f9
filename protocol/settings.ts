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
  max_runs: setting('FLOW_MAX_RUNS', '--max-runs', '<count>', '4', 'maximum of concurrent batch runs'),
  max_cascades: setting('FLOW_MAX_CASCADES', '--max-cascades', '<count>', '1000', 'maximum of concurrent cascades'),
  max_workers: setting(
    'FLOW_MAX_WORKERS',
    '--max-workers',
    '<count>',
    'cores, at least 2',
    'number of call slots: threads that run one body each',
  ),
  lanes: setting(
    'FLOW_LANES',
    null,
    null,
    'cores less 1, at least 2, at most 8',
    'number of lanes: threads that run live flows',
  ),
  isolation: setting(
    'FLOW_ISOLATION',
    null,
    null,
    'thread',
    'thread or process: where bodies run whose node does not choose',
  ),
  body_user: setting(
    'FLOW_BODY_USER',
    null,
    null,
    'the user of the engine',
    'the user who runs bodies, which then all run in processes; needs an engine that runs as root',
  ),
  keep_node_errors: setting(
    'FLOW_KEEP_NODE_ERRORS',
    null,
    null,
    '0',
    '1: an error of a node stays an issue until it is acknowledged, also after the node has run without an error',
  ),
  cpus: setting('FLOW_CPUS', null, null, 'cores less 2, at least 1', 'cores that nodes may use'),
  gpus: setting(
    'FLOW_GPUS',
    '--gpus',
    '<count>',
    '0: counted on this machine',
    'cards (GPUs) that nodes may use; 0 counts the cards of the machine',
  ),
  host: setting('FLOW_HOST', '--host', '<address>', '127.0.0.1', 'the address to listen on'),
  port: setting('FLOW_PORT', '--port', '<port>', '8700', 'the port to listen on; 0 picks a free one'),
  data_dir: setting(
    'DATA_DIR',
    '--data-dir',
    '<path>',
    'the nearest .svc in this or a parent directory',
    'the directory that keeps all state',
  ),
  global: setting(
    null,
    '--global',
    null,
    'off',
    'use the installation of this user instead of the one beside the code',
  ),
  database_url: setting('DATABASE_URL', null, null, 'unset', 'may only name the embedded database: sqlite:///<file>'),
  node_venv: setting('NODE_VENV', null, null, 'auto', 'auto or managed: the environment of Python bodies'),
  timezone: setting('TZ', null, null, 'UTC', 'the timezone of cron expressions'),
  trusted_proxies: setting(
    'TRUSTED_PROXIES',
    null,
    null,
    'none',
    'addresses or networks of proxies to trust, separated by commas',
  ),
  public_url: setting(
    'PUBLIC_URL',
    null,
    null,
    'unset',
    'the address at which browsers reach this engine, such as https://engine.example; its host is allowed, and links in mails begin with it',
  ),
  smtp_url: setting(
    'SMTP_URL',
    null,
    null,
    'unset: links for a new password are written to a file',
    'the mail server that sends links for a new password: smtp://user:password@mail.example:587 or smtps://mail.example',
  ),
  mail_from: setting('MAIL_FROM', null, null, 'unset', 'the address that mails come from; SMTP_URL needs it'),
  allowed_hosts: setting(
    'ALLOWED_HOSTS',
    null,
    null,
    'none',
    'more host names of this engine, besides localhost and its own address',
  ),
  connector_allow: setting(
    'CONNECTOR_ALLOW',
    null,
    null,
    'none',
    'networks that connectors may reach although they are refused otherwise, separated by commas',
  ),
  connector_deny: setting(
    'CONNECTOR_DENY',
    null,
    null,
    'none',
    'networks that connectors may not reach, besides link-local addresses and the metadata services of clouds',
  ),
  max_artifact_bytes: setting(
    'MAX_ARTIFACT_BYTES',
    null,
    null,
    '2147483648',
    'maximum bytes of an artifact; 0: no bound',
  ),
  artifact_gc_interval_s: setting(
    'ARTIFACT_GC_INTERVAL_S',
    null,
    null,
    '3600',
    'seconds between two sweeps of artifacts; 0: no automatic sweeps',
  ),
  artifacts_keep_days: setting(
    'ARTIFACTS_KEEP_DAYS',
    null,
    null,
    '0',
    'days to keep an unused artifact after it was last stored; 0: an hour',
  ),
  artifacts_keep_mb: setting(
    'ARTIFACTS_KEEP_MB',
    null,
    null,
    '0',
    'MiB of artifacts over which the oldest unused ones are removed first; 0: no bound',
  ),
  artifact_volatile_bytes: setting(
    'ARTIFACT_VOLATILE_BYTES',
    null,
    null,
    '50331648',
    'bytes of memory for volatile artifacts; the oldest ones fall out when it is full',
  ),
  runs_keep_days: setting('RUNS_KEEP_DAYS', null, null, '0', 'days to keep a run after its end; 0: no limit'),
  runs_keep_count: setting('RUNS_KEEP_COUNT', null, null, '0', 'how many ended runs are kept, the newest ones; 0: all'),
  runs_keep_mb: setting(
    'RUNS_KEEP_MB',
    null,
    null,
    '0',
    'maximum MiB of ended runs, without logs and metrics; 0: no bound',
  ),
  run_logs_keep_days: setting(
    'RUN_LOGS_KEEP_DAYS',
    null,
    null,
    '0',
    'days to keep the log of a run after its end; 0: as long as the run',
  ),
  run_logs_keep_mb: setting('RUN_LOGS_KEEP_MB', null, null, '2048', 'maximum MiB of logs of runs; 0: no bound'),
  run_metrics_keep_days: setting(
    'RUN_METRICS_KEEP_DAYS',
    null,
    null,
    '0',
    'days to keep the metrics of a run after its end; 0: as long as the run',
  ),
  run_metrics_keep_mb: setting(
    'RUN_METRICS_KEEP_MB',
    null,
    null,
    '8192',
    'maximum MiB of metrics of runs; 0: no bound',
  ),
  plain: setting(null, '--plain', null, 'off', 'print one line, "ready <address>", and nothing else'),
  example: setting(null, '--example', null, 'off', 'store the example flows when the installation is empty'),
} as const satisfies Record<string, Setting>

export type SettingName = keyof typeof settings

/** Variables that the commands other than `serve` read. */
export const clientVariables = {
  SVC_URL: 'the address of the engine',
  SVC_TOKEN: 'the access token for it',
  NO_COLOR: 'set to anything: no colours',
  XDG_CONFIG_HOME: 'where `svc login` stores its tokens, in `svc/`; `~/.config` when unset',
  XDG_DATA_HOME: 'where `--global` stores its installation, in `svc/`; `~/.local/share` when unset',
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
