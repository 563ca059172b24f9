/**
 * The one table of errors that a user can cause. Each has a stable code, an HTTP status, a title, and a hint that says what
 * to do next. `docs/errors.md` carries the same table and a test holds the two together. A programmer's mistake is an
 * assertion and never stands here.
 */
interface Row {
  readonly status: number
  readonly title: string
  /** What to do next; appended to the detail when the place that refuses says nothing more precise. */
  readonly next: string
}

const table = {
  // the request itself
  malformed_request: { status: 400, title: 'Malformed request', next: 'Send a well-formed HTTP/1.1 request.' },
  malformed_json: { status: 422, title: 'Malformed JSON', next: 'Send one JSON document in UTF-8.' },
  malformed_frame: { status: 422, title: 'Malformed frame', next: 'Send one JSON object with a known "type".' },
  too_deep: { status: 422, title: 'Nested too deeply', next: 'Flatten the value; 64 levels are allowed.' },
  validation: { status: 422, title: 'Validation failed', next: 'Correct the places named in "errors".' },
  too_large: { status: 413, title: 'Too large', next: 'Send less; the bound is named in the detail.' },
  unsupported_media_type: {
    status: 415,
    title: 'Unsupported media type',
    next: 'Send application/json, or a form where the route takes one, without a Content-Encoding.',
  },
  headers_too_large: { status: 431, title: 'Header fields too large', next: 'Send fewer and shorter headers.' },
  url_too_long: { status: 414, title: 'The address is too long', next: 'Send long data in the body.' },
  upgrade_required: {
    status: 426,
    title: 'This path takes a websocket',
    next: 'Open a websocket on this path with the subprotocol svc.v1.',
  },
  not_found: { status: 404, title: 'Not found', next: 'Check the path; GET /openapi.json lists the routes.' },
  method_not_allowed: { status: 405, title: 'Method not allowed', next: 'Use a method named in the Allow header.' },
  internal: {
    status: 500,
    title: 'Internal error',
    next: 'This is a defect of the engine: look into serve.log, and report it.',
  },

  // who may
  unauthenticated: { status: 401, title: 'Not signed in', next: 'Send "Authorization: Bearer <token>".' },
  wrong_credentials: { status: 401, title: 'Wrong user name or password', next: 'Check both and try again.' },
  wrong_password: { status: 403, title: 'Wrong password', next: 'Check the old password and try again.' },
  token_expired: { status: 401, title: 'The token has expired', next: 'Sign in again with POST /login/access-token.' },
  host_refused: {
    status: 421,
    title: 'Host refused',
    next: 'Use the address that the engine listens on, or name this host in ALLOWED_HOSTS.',
  },
  forbidden: { status: 403, title: 'Not allowed', next: 'Ask an administrator of this engine.' },
  origin_refused: { status: 403, title: 'Origin refused', next: 'Open the page from the address of the engine.' },
  rate_limited: { status: 429, title: 'Too many attempts', next: 'Wait for the time in Retry-After.' },
  too_many_connections: { status: 503, title: 'Too many connections', next: 'Close some, then try again.' },

  // flows
  flow_not_found: { status: 404, title: 'No such flow', next: 'GET /flows lists the flows.' },
  flow_exists: { status: 409, title: 'A flow of this name exists', next: 'Choose another name.' },
  flow_disabled: { status: 409, title: 'The flow is disabled', next: 'Enable it with POST /flows/{name}/enable.' },
  flow_has_live_run: { status: 409, title: 'The flow has a live run', next: 'Cancel the run or wait for it.' },
  stale_version: { status: 409, title: 'Stale version', next: 'Read it again, apply the change, save again.' },
  commit_not_found: { status: 404, title: 'No such commit', next: 'GET /flows/{name}/history lists the commits.' },
  too_many_flows: { status: 409, title: 'Too many flows', next: 'Delete flows that are not needed.' },
  duplicate_name: { status: 422, title: 'A name is used twice', next: 'Rename one of them.' },
  second_producer: { status: 422, title: 'A message has two producers', next: 'Let one node produce it.' },
  dtype_mismatch: { status: 422, title: 'The dtypes differ', next: 'Give both ends the same dtype, or json.' },
  bad_line: { status: 422, title: 'Bad line', next: 'Look at the line and at the format of the node.' },
  bad_message: { status: 422, title: 'Bad message', next: 'Look at the message and at the settings of the node.' },
  bad_topic: {
    status: 422,
    title: 'Bad topic',
    next: 'Give the ports that the topic names values that make a topic.',
  },
  unknown_secret: {
    status: 422,
    title: 'Unknown secret',
    next: 'Store the secret first, or write the value itself.',
  },
  request_failed: {
    status: 502,
    title: 'Request failed',
    next: 'Look at the address, and whether it can be reached from the engine.',
  },
  hook_not_found: { status: 404, title: 'Nothing listens here', next: 'Check the address.' },
  hook_refused: {
    status: 403,
    title: 'The webhook refuses the request',
    next: 'Send the header that the node asks for, made with its secret.',
  },
  hook_busy: {
    status: 503,
    title: 'The webhook is busy',
    next: 'Send the request again after the time in Retry-After.',
  },
  hook_timeout: {
    status: 504,
    title: 'The flow has not answered in time',
    next: 'Check the flow, or raise timeout_s of the node.',
  },
  address_refused: {
    status: 403,
    title: 'Connectors may not reach the address',
    next: 'Use another address, or have CONNECTOR_ALLOW name its network.',
  },
  unknown_node_type: { status: 422, title: 'Unknown node type', next: 'Use a type that GET /node-types lists.' },
  bad_settings: { status: 422, title: 'Bad settings', next: 'Correct the setting that is named.' },
  bad_cron: { status: 422, title: 'Bad cron expression', next: 'Write five or six cron fields.' },
  syntax_error: { status: 422, title: 'Syntax error in node source', next: 'Correct the line and column named.' },
  no_default_export: {
    status: 422,
    title: 'The source has no default export',
    next: 'Write "export default (inputs, ctx) => outputs".',
  },
  unknown_flavor: { status: 422, title: 'Unknown flavor', next: 'Create the flavor first, or give numbers.' },
  flavor_conflict: { status: 422, title: 'Flavor and number together', next: 'Give a flavor or a number, not both.' },
  language_unavailable: { status: 422, title: 'Language not available', next: 'Use ts or js.' },

  // messages and values
  message_not_found: { status: 404, title: 'No such message', next: 'GET /messages lists the messages.' },
  no_media: {
    status: 422,
    title: 'The message has no media frames',
    next: 'Ask for messages of dtype image, audio, video or artifact; GET /messages lists them.',
  },
  wrong_dtype: { status: 422, title: 'Wrong dtype', next: 'Send a value of the dtype that the message declares.' },
  not_finite: {
    status: 422,
    title: 'Not a finite number',
    next: 'NaN and infinity are refused; send a number or nothing.',
  },
  value_too_large: {
    status: 413,
    title: 'The value is too large',
    next: 'Store bytes as an artifact and publish its reference.',
  },
  check_late: {
    status: 503,
    title: 'The check of the source took too long',
    next: 'Send the same save again; no mistake was found.',
  },
  backlogged: {
    status: 503,
    title: 'The flow is backlogged',
    next: 'Wait for the time in Retry-After, then publish again.',
  },
  not_durable: {
    status: 507,
    title: 'Published, but not on disk',
    next: 'Do not publish it again: the value was accepted and its nodes run. Check the disk.',
  },
  too_many_nodes: { status: 409, title: 'Too many nodes', next: 'Delete flows that are not needed.' },
  too_many_messages: { status: 409, title: 'Too many messages', next: 'Delete flows that are not needed.' },

  // nodes and their bodies (kept on the node, not answered)
  node_not_found: { status: 404, title: 'No such node', next: 'GET /flows/{name} shows the nodes.' },
  no_body: {
    status: 409,
    title: 'The node has no body to try',
    next: 'Try a node of type code, or of another type that runs a body.',
  },
  too_many_tries: { status: 503, title: 'Too many tries at once', next: 'Wait until one has ended, then try again.' },
  group_not_found: {
    status: 404,
    title: 'No run is in this group',
    next: 'Use the name of a group that runs are in; GET /runs lists them with their groups.',
  },
  tag_not_found: {
    status: 404,
    title: 'No run has this tag',
    next: 'Use a tag that a run has; GET /runs lists runs with their tags.',
  },
  metric_not_found: {
    status: 404,
    title: 'No selected run carries this metric',
    next: 'Use a metric name that the selected runs have recorded; GET /runs/metrics/series lists them.',
  },
  node_error: {
    status: 500,
    title: 'The body threw',
    next: 'Correct the body or what it is given; the inputs of the failed execution are kept.',
  },
  undeclared_key: { status: 500, title: 'Undeclared output', next: 'Declare an output port of that name.' },
  bad_output: {
    status: 500,
    title: 'The body did not return an object',
    next: 'Return an object whose keys are output ports.',
  },
  emit_after_end: {
    status: 500,
    title: 'Emission after the body had ended',
    next: 'Return a promise that settles after the last emission, or yield the outputs.',
  },
  emit_overflow: { status: 500, title: 'Too many unawaited emits', next: 'Await ctx.emit, or yield.' },
  state_too_large: {
    status: 500,
    title: 'ctx.state is too large',
    next: 'Keep at most 64 KiB; store the rest as an artifact.',
  },
  bad_state: {
    status: 500,
    title: 'ctx.state cannot be stored',
    next: 'Keep only data that JSON can hold.',
  },
  bad_metric: { status: 500, title: 'Bad metric', next: 'Call ctx.metric(name, value, step).' },
  bad_report: { status: 500, title: 'Bad report', next: 'Call ctx.report("ok" or "down", text).' },
  timeout: { status: 500, title: 'The body ran past its timeout', next: 'Raise the timeout or shorten the body.' },
  node_silent: {
    status: 500,
    title: 'The body did not answer',
    next: 'Its thread was ended. Change the body so that it returns, or awaits now and then.',
  },
  out_of_memory: { status: 500, title: 'Out of memory', next: 'Keep less in memory, or declare resources.ram.' },
  thread_lost: {
    status: 500,
    title: 'The thread died',
    next: 'The body ended its thread; look at the error before this one.',
  },
  interrupted: {
    status: 500,
    title: 'Interrupted',
    next: 'The thread or the engine ended. Check what was done, then run the cascade or the run again.',
  },
  body_not_loaded: {
    status: 500,
    title: 'The body could not be loaded',
    next: 'Check what it imports, then POST /modules/refresh.',
  },
  plan_changed: {
    status: 500,
    title: 'The plan changed',
    next: 'Publish the value again: the waiting item was dropped, because its port no longer exists.',
  },
  cycle: { status: 500, title: 'A cycle did not end', next: 'Break the cycle that the issue names.' },
  hard_cap: {
    status: 500,
    title: 'Dropped at the hard bound',
    next: 'Publish less, or speed up the flow that is named.',
  },

  ambiguous_id: { status: 409, title: 'Several ids begin so', next: 'Give more characters of the id.' },

  // cascades
  cascade_not_found: { status: 404, title: 'No such cascade', next: 'GET /cascades lists the recorded cascades.' },

  cascade_running: { status: 409, title: 'The cascade has not ended', next: 'Wait until it has ended.' },
  cascade_succeeded: {
    status: 409,
    title: 'The cascade has succeeded',
    next: 'Publish the value again to run its nodes once more.',
  },
  root_value_gone: {
    status: 409,
    title: 'The value that began the cascade is gone',
    next: 'Publish a new value of the message instead.',
  },

  // batch runs
  run_not_found: { status: 404, title: 'No such run', next: 'GET /runs lists the runs.' },
  run_ended: { status: 409, title: 'The run has ended', next: 'Retry it with POST /runs/{id}/retry.' },
  run_in_use: {
    status: 409,
    title: 'Another run reuses nodes of this one',
    next: 'Delete the run that is named first.',
  },
  run_not_ended: { status: 409, title: 'The run has not ended', next: 'Wait for it, or cancel it.' },
  bad_filter: {
    status: 422,
    title: 'The filter or order of a list names what no run has',
    next: 'Name one of those that are there.',
  },
  too_many_tags: {
    status: 422,
    title: 'Too many tags on one run',
    next: 'Remove some tags of the run first.',
  },
  too_many_runs: {
    status: 503,
    title: 'Too many queued runs',
    next: 'Wait until some runs have ended, then try again.',
  },
  bad_input: { status: 422, title: 'Wrong inputs for a run', next: 'Correct the inputs named in "errors".' },
  worker_lost: {
    status: 500,
    title: 'The worker was lost',
    next: 'Check what the body did and its lines in serve.log, then run it again.',
  },
  engine_restarted: { status: 500, title: 'The engine was restarted', next: 'Retry the run.' },
  cancelled: { status: 500, title: 'Cancelled', next: 'Retry the run.' },

  // workers
  worker_protocol: {
    status: 409,
    title: 'The worker speaks another protocol version',
    next: 'Use the worker of the same release as the engine.',
  },
  bad_worker_frame: {
    status: 422,
    title: 'Malformed worker frame',
    next: 'Send frames as docs/worker-protocol.md describes them.',
  },

  // resources
  flavor_not_found: { status: 404, title: 'No such flavor', next: 'GET /flavors lists the flavors.' },
  flavor_in_use: { status: 409, title: 'The flavor is in use', next: 'Change the nodes that use it first.' },
  secret_not_found: { status: 404, title: 'No such secret', next: 'GET /secrets/ lists the names of the secrets.' },
  secret_in_use: { status: 409, title: 'The secret is in use', next: 'Change the nodes that use it first.' },
  secret_unreadable: {
    status: 409,
    title: 'The secret cannot be opened',
    next: 'Put the key file back from its backup, or store the value again.',
  },
  bad_secret: { status: 422, title: 'Bad secret', next: 'Send a text that is not empty; bytes as base64.' },
  too_many_secrets: { status: 409, title: 'Too many secrets', next: 'Delete secrets that are not needed.' },
  too_many_flavors: { status: 409, title: 'Too many flavors', next: 'Delete flavors that are not needed.' },
  bad_resources: { status: 422, title: 'Wrong resources', next: 'Correct the amount or the variable that is named.' },

  // artifacts
  artifact_not_found: { status: 404, title: 'No such artifact', next: 'Store it with PUT /artifacts.' },
  artifact_fell_out: {
    status: 410,
    title: 'The volatile artifact has fallen out',
    next: 'Read it sooner, raise ARTIFACT_VOLATILE_BYTES, or keep it with ctx.keep while it is there.',
  },
  artifact_damaged: {
    status: 500,
    title: 'The artifact is damaged',
    next: 'Store it again from its source; POST /artifacts/verify lists all damaged ones.',
  },
  bad_artifact: { status: 500, title: 'Not an artifact', next: 'Give bytes and a media type, or a stored reference.' },
  bad_range: {
    status: 416,
    title: 'The range lies outside the artifact',
    next: 'Ask for bytes within the size that is named.',
  },
  bad_media_type: { status: 422, title: 'Not a media type', next: 'Give a media type such as image/png.' },
  upload_incomplete: { status: 400, title: 'The upload ended early', next: 'Send the whole body again.' },

  // dashboards and panels
  dashboard_not_found: { status: 404, title: 'No such dashboard', next: 'GET /dashboards lists the dashboards.' },
  dashboard_in_use: {
    status: 409,
    title: 'Panels show the dashboard',
    next: 'Take it off the panels first, with PUT /panels/{id}.',
  },
  version_not_found: {
    status: 404,
    title: 'No such version',
    next: 'GET /dashboards/{name}/history lists the versions that are kept.',
  },
  too_many_dashboards: { status: 409, title: 'Too many dashboards', next: 'Delete dashboards that are not needed.' },
  unknown_tile_type: { status: 422, title: 'Unknown tile type', next: 'Use a type that GET /tile-types lists.' },
  bad_tile: { status: 422, title: 'Bad settings of a tile', next: 'Correct the setting that is named.' },
  panel_not_found: { status: 404, title: 'No such panel', next: 'GET /panels lists the panels.' },
  panel_exists: { status: 409, title: 'A panel of this name exists', next: 'Choose another name.' },
  too_many_panels: { status: 409, title: 'Too many panels', next: 'Delete panels that are not needed.' },
  pairing_not_found: {
    status: 404,
    title: 'No such pairing code',
    next: 'Check the code on the screen; a code is valid for ten minutes and one approval.',
  },
  too_many_pairings: {
    status: 429,
    title: 'Too many pairing codes',
    next: 'Wait until codes are approved or expire, then ask for a new one.',
  },

  // users
  user_exists: { status: 409, title: 'A user of this name exists', next: 'Choose another name.' },
  user_not_found: { status: 404, title: 'No such user', next: 'GET /users lists the users.' },
  last_superuser: {
    status: 409,
    title: 'The last superuser cannot be removed',
    next: 'Make another user a superuser first.',
  },
  too_many_users: { status: 409, title: 'Too many users', next: 'Delete users that are not needed.' },
  token_exists: { status: 409, title: 'A token of this name exists', next: 'Revoke it first, or choose another name.' },
  token_not_found: { status: 404, title: 'No such token', next: 'GET /tokens lists the lasting tokens.' },
  too_many_tokens: { status: 409, title: 'Too many tokens', next: 'Revoke tokens that are not needed.' },
  client_not_found: { status: 404, title: 'No such client', next: 'GET /clients lists the clients.' },
  too_many_clients: { status: 409, title: 'Too many clients', next: 'Delete clients that are not needed.' },
  reset_refused: {
    status: 400,
    title: 'The reset link is not valid',
    next: 'Request a new link with POST /password-recovery.',
  },

  // the engine
  unhealthy: { status: 503, title: 'A part of the engine does not answer', next: 'Look into serve.log.' },
  starting: { status: 503, title: 'The engine is starting', next: 'Try again in a moment.' },
  rebuilding: { status: 503, title: 'The engine is rebuilding', next: 'Try again in a moment.' },
  disk_full: { status: 507, title: 'The disk is full', next: 'Free space in the data directory, then try again.' },
  disk_read_only: {
    status: 500,
    title: 'The disk is read-only',
    next: 'Make the data directory writable; the engine then continues by itself.',
  },
  disk_failed: {
    status: 500,
    title: 'The disk failed',
    next: 'Check the device and its file system; the engine continues by itself when writes succeed.',
  },
  database_damaged: {
    status: 500,
    title: 'The database is damaged',
    next: 'Stop the engine and run "svc verify"; docs/repair.md describes the next steps.',
  },
  database_lost: {
    status: 500,
    title: 'The files of the installation are gone',
    next: 'Stop the engine, put the files back, and start it again; docs/repair.md shows how.',
  },
  store_failed: { status: 500, title: 'The store failed', next: 'Look into serve.log.' },
  store_silent: {
    status: 503,
    title: 'The store does not answer',
    next: 'Check the disk of the data directory, then try again.',
  },

  // starting the engine and using the command line (exit codes, not answers)
  bad_setting: { status: 500, title: 'Bad setting', next: 'Correct the variable or flag that is named.' },
  second_engine: {
    status: 409,
    title: 'The installation has a running engine',
    next: 'Use that engine, or stop it first.',
  },
  address_in_use: {
    status: 409,
    title: 'The address is in use',
    next: 'Choose another with --port, or let --port 0 pick one.',
  },
  bad_installation: {
    status: 500,
    title: 'The installation cannot be used',
    next: 'Repair what is named, or choose another directory with --data-dir.',
  },
  bad_backup: {
    status: 500,
    title: 'The backup cannot be used',
    next: 'Nothing was restored. Take another backup: "svc backup <file>" verifies what it writes.',
  },
  backup_failed: {
    status: 500,
    title: 'The backup cannot be written',
    next: 'Nothing was kept. Make room, or give the rights that are missing, then try again.',
  },
  backup_unreadable: {
    status: 500,
    title: 'The backup cannot be read',
    next: 'Check the path and its rights, then try again.',
  },
  restore_failed: {
    status: 500,
    title: 'The backup cannot be written out here',
    next: 'Nothing was restored, and the backup is whole. Make room, or give the rights that are missing, then try again.',
  },
  database_missing: {
    status: 500,
    title: 'The database is missing',
    next: 'Put engine.db back from a backup, with engine.db-wal and redo.log if the backup has them. To begin with an empty database, move key.pem away.',
  },
  bad_database: {
    status: 500,
    title: 'engine.db cannot be used',
    next: 'Run "svc verify" for the whole list; docs/repair.md describes the next steps.',
  },
  wrong_database: {
    status: 500,
    title: 'DATABASE_URL names another database',
    next: 'Unset DATABASE_URL; the engine keeps its state in one embedded file.',
  },
  newer_schema: {
    status: 500,
    title: 'The data directory is from a newer release',
    next: 'Start the release that wrote it, or a newer one.',
  },
} as const satisfies Record<string, Row>

export type ErrorCode = keyof typeof table
export const errorTable: Readonly<Record<ErrorCode, Row>> = table

/** One place in a request, a document or a source that was refused. */
export interface ErrorPlace {
  /** Where: `body.nodes[2].ports.outputs[0].dtype`, `query.limit`, `nodes[2].source:3:14`. */
  readonly loc: string
  readonly msg: string
}

/** Who made a version, and when (RFC 3339). Version 0: there is none. */
export interface CurrentVersion {
  readonly version: number
  readonly author: string | null
  readonly at: string | null
}

/** An error that a user can cause. Crosses threads as `toJSON()` and is rebuilt by `ServiceError.from`. */
export class ServiceError extends Error {
  readonly code: ErrorCode
  readonly detail: string
  readonly errors: readonly ErrorPlace[]
  /** Seconds to wait, for 429 and 503. */
  readonly retry_after_s: number | null
  /** What is there in place of the version that a save began from. */
  readonly current: CurrentVersion | null

  constructor(
    code: ErrorCode,
    detail?: string,
    options: { errors?: readonly ErrorPlace[]; retry_after_s?: number; current?: CurrentVersion } = {},
  ) {
    const text = detail === undefined ? errorTable[code].next : `${detail} ${errorTable[code].next}`
    super(text)
    this.name = 'ServiceError'
    this.code = code
    this.detail = text
    this.errors = options.errors ?? []
    this.retry_after_s = options.retry_after_s ?? null
    this.current = options.current ?? null
  }

  get status(): number {
    return errorTable[this.code].status
  }

  /** Plain data for another thread; also the body of the RFC 9457 answer, less `instance`. */
  toJSON(): Problem {
    const row = errorTable[this.code]
    return {
      type: `about:blank#${this.code}`,
      title: row.title,
      status: row.status,
      detail: this.detail,
      code: this.code,
      errors: [...this.errors],
      ...(this.current === null ? {} : { current: this.current }),
    }
  }

  static from(problem: Problem): ServiceError {
    const error = Object.create(ServiceError.prototype) as ServiceError
    return Object.assign(error, {
      name: 'ServiceError',
      message: problem.detail,
      code: problem.code,
      detail: problem.detail,
      errors: problem.errors,
      retry_after_s: null,
      current: problem.current ?? null,
    })
  }
}

/** `application/problem+json` (RFC 9457). */
export interface Problem {
  type: string
  title: string
  status: number
  detail: string
  code: ErrorCode
  errors: ErrorPlace[]
  /** Of `stale_version`. */
  current?: CurrentVersion
  instance?: string
}
