/**
 * Every bound of the service, in one place. Units stand last in the name. `assertLimits()` holds the relations between
 * them and runs once at engine start.
 */
const KIB = 1024
const MIB = 1024 * KIB
const GIB = 1024 * MIB

export const limits = {
  // values and messages
  MESSAGE_VALUE_BYTES: 1 * MIB,
  VALUE_DEPTH: 64,
  /** Members, objects and lists of one value: what packing and unpacking it takes goes by them. */
  VALUE_PARTS: 20_000,
  /** Of one list in a body: as many as a value of the largest size can have. */
  LIST_ITEMS: 512 * KIB,
  ARENA_BYTES: 256 * MIB,
  /** New values may fill this share of the arena; the rest is for cascades that run. */
  ARENA_INGRESS_SHARE: 7 / 8,
  /** A thread that cannot get the pool of blocks in this time acts as if the arena were full. */
  ARENA_PATIENCE_MS: 200,
  /** The front lets go of a publish word after so long, so that it hears of the death of the thread that it waits for. */
  PUBLISH_PATIENCE_MS: 100,
  /** A repair waits so long for a live publisher; a dead one is another recovery's work. */
  RECOVER_PATIENCE_MS: 50,
  PUBLISH_LIST_ITEMS: 1_000,

  // the size of the tables in shared memory
  FLOWS: 16_384,
  MESSAGES: 65_536,
  NODES: 65_536,
  /** Those to nodes that several messages wake; the others need no row. */
  WIRES: 32_768,
  THREADS: 64,
  LANES: 8,
  LANE_SLOTS: 16,
  QUEUE_SEGMENT_BYTES: 4 * KIB,
  QUEUE_SEGMENTS: 32_768,
  SLOT_INLINE_BYTES: 80,
  QUEUE_INLINE_BYTES: 1 * KIB,
  JOURNAL_INLINE_BYTES: 4 * KIB,

  // flow documents
  FLOW_NODES: 2_000,
  NODE_PORTS: 64,
  FLOW_INPUTS: 256,
  SOURCE_BYTES: 256 * KIB,
  SOURCE_CHECK_MS: 10_000,
  SOURCE_CHECK_RETRY_S: 5,
  CHECKED_BODIES_CHARACTERS: 16 * MIB,
  BODIES_UNUSED: 1_024,
  SETTINGS_BYTES: 256 * KIB,
  STATE_BYTES: 64 * KIB,
  /** Of one variable in `resources.env`, and of all of a node's together with their names. */
  VARIABLE_CHARACTERS: 4_096,
  ENVIRONMENT_BYTES: 64 * KIB,
  COMPACT_EVERY_CHANGES: 500,

  // live execution
  FLOW_WAITING_ITEMS: 10_000,
  FLOW_WAITING_BYTES: 64 * MIB,
  FLOW_WAITING_HARD_FACTOR: 4,
  /** Told to a publisher that is refused. */
  BACKLOG_RETRY_S: 1,
  /** So many engines that died while a resumed item ran; the next one drops it. */
  ENGINE_DEATHS_OF_ITEM: 2,
  /** A lane waits so long for the suspect of another lane to end before it runs its own. */
  SUSPECT_TURN_MS: 3_000,
  FLOW_PRESSURE_SHOWN: 0.6,
  FLOW_PRESSURE_DEGRADED: 0.85,
  /** Below it a source that was held back goes on. */
  FLOW_PRESSURE_EASED: 0.75,
  DEGRADED_AFTER_MS: 5_000,
  BACKLOG_WATCH_MS: 250,
  /** When the status says so: within 3 s, and within 5 s no more. */
  OVERLOAD_LOOK_MS: 500,
  OVERLOADED_AFTER_MS: 1_500,
  OVERLOAD_OVER_AFTER_MS: 2_500,
  MAX_CASCADES: 1_000,
  BEGUN_ROWS: 4_096,
  TURN_ITEMS: 256,
  TURN_MS: 1,
  GENERATOR_PULLS_PER_TURN: 256,
  UNAWAITED_EMITS: 10_000,
  UNAWAITED_EMIT_BYTES: 64 * MIB,
  WAVE_DEPTH: 1_000,
  BACK_EDGE_WAVES: 10_000,
  SLOW_BODY_MS: 20,
  SLOW_BODY_MEDIAN_OF: 32,
  FAST_BODY_MS: 10,
  /** Of the last executions of a promoted body, so many may be no fast ones when it goes back. */
  FAST_BODY_STRAYS: 1 / 8,
  BLOCKED_LANE_MS: 1_000,
  NODE_SILENT_MS: 90_000,
  CANCEL_GRACE_MS: 10_000,
  RETIRE_GRACE_MS: 90_000,
  FAILED_INPUTS_KEPT: 20,
  FAILED_INPUT_BYTES: 16 * KIB,
  LATENCY_MINUTE_MS: 60_000,
  NODE_ERROR_KEPT_MS: 24 * 3_600_000,
  NODE_ERRORS_RECORDED_PER_S: 20,
  LOG_LINES_PER_NODE_PER_S: 100,
  /** Gauges of a node that are kept; with a further name the oldest gives way. */
  GAUGES_PER_NODE: 64,
  LOG_LINE_BYTES: 8 * KIB,
  RATE_HZ_MIN: 1e-6,
  RATE_HZ_MAX: 1e6,
  /** Values of a flow that wait for their time in `delay` and `trigger` nodes: more refuse what comes into the flow; four times as many are dropped. */
  SCHEDULED_VALUES: 131_072,
  SCHEDULED_BYTES: 64 * MIB,
  /** Longest time that a value waits in them. */
  DELAY_S_MAX: 31_536_000,
  /** Due values that the timer publishes together. */
  RELEASED_TOGETHER: 256,
  /** How long a value stays held when the flow refuses it at the interval's end. */
  HELD_AGAIN_MS: 100,
  TIMEOUT_S_MAX: 31_536_000,
  /** Connectors: a source that is held back looks again after so long, and goes on at the latest after so long. */
  CONNECTOR_ROOM_LOOK_MS: 2,
  CONNECTOR_ROOM_MS: 250,
  /** What a connector reaches outside is tried again after 1 s, and later and later up to 60 s. */
  CONNECTOR_BACK_OFF_MIN_MS: 1_000,
  CONNECTOR_BACK_OFF_MAX_MS: 60_000,
  /** A connector that does not let go is left behind after so long. */
  CONNECTOR_CLOSE_MS: 2_000,
  /** What a batch run has opened waits so long for the next one. */
  CONNECTOR_BORROWED_MS: 10_000,
  CONNECTORS_LOOK_MS: 250,
  CONNECTOR_TIMEOUT_S_MAX: 600,
  /** Requests to outside: redirects that are followed, tries after the first, and the first pause between two, which doubles. */
  WEB_REDIRECTS: 5,
  WEB_RETRIES: 3,
  WEB_RETRY_MS: 200,
  /** Of one answer, unpacked; one that becomes an artifact goes by MAX_ARTIFACT_BYTES. */
  WEB_ANSWER_BYTES: 4 * MIB,
  /** Of an artifact that is sent: it is read whole. */
  WEB_SENT_BYTES: 64 * MIB,
  /** An answer that nobody reads is read to its end up to here; else its connection is closed. */
  WEB_DRAINED_BYTES: 64 * KIB,
  /** Connections to one origin that stay open unused, and for how long. */
  WEB_FREE_SOCKETS: 8,
  WEB_FREE_SOCKET_MS: 4_000,
  /** A poll comes so much late at most, so that many do not come at once; and looks at the clock so often while it waits. */
  POLL_JITTER_MS: 500,
  POLL_WAIT_MS: 60_000,
  URL_CHARACTERS: 2_048,
  POINTER_CHARACTERS: 1_024,
  POLL_EVERY_S_MIN: 0.1,
  /** Of a lines node. */
  LINE_BYTES: 64 * KIB,
  LINES_CONNECTIONS: 256,
  /** A line that is begun must end within so long. */
  LINE_OPEN_MS: 30_000,
  LINES_FILE_PIECE_BYTES: 64 * KIB,
  LINES_FILE_LOOK_MS: 100,
  LINES_UDP_BUFFER_BYTES: 4 * MIB,
  BAD_LINE_CHARACTERS: 200,
  /** Of an mqtt-in node. */
  MQTT_FILTERS: 256,
  /** Topics whose nodes are remembered, of one broker. */
  MQTT_ROUTES: 4_096,
  MQTT_SHOWN_CHARACTERS: 200,
  MQTT_CONNECT_MS: 10_000,
  MQTT_END_MS: 500,
  MQTT_KEEPALIVE_S: 30,
  /** The system asks a silent peer after so long, and gives it up some 10 s later. */
  MQTT_TCP_KEEPALIVE_MS: 10_000,
  /** A connection that lasts so long is well: the next pause is the shortest again. So many shorter ones may have a twin. */
  MQTT_STEADY_MS: 5_000,
  MQTT_SHORT_LIVES: 3,
  /** Messages of QoS 1 and 2 on one connection that are not acknowledged; and those that one node sends before the next has its turn. */
  MQTT_IN_FLIGHT: 100,
  /** With MQTT 3.1.1 a broker does not say how many it takes. Mosquitto drops what comes of QoS 2 beyond 20. */
  MQTT_IN_FLIGHT_UNTOLD: 20,
  MQTT_OUT_TURN: 128,
  /** Messages of QoS 1 and 2 that a broker may send on one connection before they are acknowledged (MQTT 5). */
  MQTT_RECEIVE: 1_000,
  /** What an mqtt-in node keeps of them while its flow is full, before nothing more is read from the connection. */
  MQTT_HELD: 1_000,
  MQTT_HELD_BYTES: 16 * MIB,
  /** A call of an mqtt-out node whose message nobody takes fails after so long. */
  MQTT_CALL_MS: 30_000,
  /** What an mqtt-out node has to send and the broker has not; a power of two, and twice the longest message. */
  OUTBOX_BYTES: 4 * MIB,
  /** While the broker is away the oldest fall out beyond a half, looked at so often. */
  OUTBOX_TRIM_MS: 20,
  /** The gauge waiting_bytes of a node with an outbox is set so often. */
  OUTBOX_GAUGE_MS: 1_000,
  INJECT_EVERY_S_MIN: 0.001,
  INJECT_EVERY_S_MAX: 31_536_000,
  CRON_CHARACTERS: 256,
  /** The record of what injects published: from so much on an occurrence is late. */
  FIRE_LATE_MS: 1_000,
  /** Occurrences within so much of one another are one row, which grows for at most so long. */
  FIRES_RUN_GAP_MS: 60_000,
  FIRES_RUN_MS: 3_600_000,
  /** Of the occurrences of a cron expression that were missed at once, so many are counted. */
  FIRES_MISSED_COUNTED: 2_000,
  /** Rows of a node. */
  FIRES_KEPT: 1_000,

  // cameras and microphones
  CAMERA_FPS_MIN: 0.01,
  CAMERA_FPS_MAX: 120,
  CAMERA_WIDTH_MIN: 16,
  CAMERA_WIDTH_MAX: 7_680,
  /** Percent, of pictures that are encoded here. */
  CAMERA_QUALITY: 90,
  CAMERA_TEST_FPS: 25,
  CHUNK_S_MIN: 0.1,
  CHUNK_S_MAX: 60,
  /** The volatile store takes no more either. */
  MEDIA_FRAME_BYTES: 16 * MIB,
  /** Of the lines before a frame. */
  MEDIA_HEAD_BYTES: 1 * KIB,
  /** What is kept of that which ffmpeg prints. */
  MEDIA_STDERR_BYTES: 8 * KIB,
  MEDIA_REASON_CHARACTERS: 400,
  /** Without its first frame, ffmpeg is ended after so long. Some cameras send a whole picture only every 10 s. */
  MEDIA_START_MS: 15_000,
  /** After its first frame: so many intervals, and at least so long. */
  MEDIA_STALL_INTERVALS: 3,
  MEDIA_STALL_MS: 2_000,
  MEDIA_LOOK_MS: 200,
  /** Of two outputs of one ffmpeg. */
  MEDIA_CHUNKS_APART: 16,
  /** ffmpeg itself gives a silent server up after so long. */
  MEDIA_READ_TIMEOUT_MS: 5_000,
  /** A capture that went on for so long is tried again soon. */
  MEDIA_STEADY_MS: 5_000,
  /** Between asking ffmpeg to end and killing it. */
  MEDIA_END_MS: 1_000,

  // the clock
  /** The machine's clock is followed from so much on; below it is what two looks at two clocks differ by. */
  CLOCK_FOLLOW_MS: 2,
  /** From so much on it was set, and not merely corrected: an event says so. */
  CLOCK_JUMP_MS: 100,
  /** What is removed by its age: a jump forward makes nothing older before the clock has stood there for so long. */
  CLOCK_BELIEVED_MS: 24 * 3_600_000,
  /** A daily time that a jump of at most so much skips is made up for, and one that it repeats is not repeated. */
  CRON_JUMP_MS: 3 * 3_600_000,

  // the journal between threads and the store
  JOURNAL_RING_BYTES: 8 * MIB,
  /** What a lane writes without a mark, in bytes and in time, before it marks in the middle of a cascade. */
  UNIT_BYTES: 8 * MIB,
  UNIT_MS: 1_000,
  GROUP_COMMIT_MS: 50,

  // batch runs
  MAX_RUNS: 4,
  RUNS_QUEUED: 100_000,
  /** Runs that wait for resources and hold no place, and the bytes of their values: no queued run begins above it. */
  RUNS_ASIDE: 1_000,
  RUNS_ASIDE_BYTES: 256 * MIB,
  IDEMPOTENCY_KEY_CHARACTERS: 255,
  RUN_RESULT_BYTES: 16 * MIB,
  /** JSON of a value of a run that is longer stands beside its row, in pieces. */
  RUN_DOCUMENT_CHARACTERS: 4 * KIB,
  RUN_DOCUMENT_PIECE_BYTES: 64 * KIB,
  /** What lists show of the inputs of a run, and the same of its result: in all, and of each text. */
  RUN_SUMMARY_BYTES: 1 * KIB,
  RUN_SUMMARY_CHARACTERS: 64,
  RUN_SUMMARY_ERROR_CHARACTERS: 256,
  /** Of one run. */
  RUN_TAGS: 32,
  RUN_TAG_CHARACTERS: 64,
  RUN_NOTE_CHARACTERS: 2_000,
  /** Flows whose runs a list of runs counts. */
  RUN_COUNTS: 1_000,
  /** One answer has the names of the metrics of so many runs, the newest of its selection. */
  METRIC_NAME_RUNS: 10_000,
  /** A list that compares or sorts by values of runs looks at so many, the newest of its selection. */
  RUNS_SEARCHED: 10_000,
  /** Comparisons of one list, columns of one list, and the characters of each. */
  RUN_COMPARISONS: 8,
  RUN_COLUMNS: 16,
  RUN_FIELD_CHARACTERS: 300,
  METRIC_BATCH_POINTS: 500,
  METRIC_BATCH_MS: 2_000,
  METRIC_NAMES_PER_RUN: 10_000,
  METRIC_POINTS_PER_RUN: 4_000_000,
  /** Of a run, taken from its bodies and not written. */
  METRIC_POINTS_WAITING: 32_768,
  /** Of one write: more wait for the next. */
  METRIC_POINTS_WRITE: 16_384,
  /** Of one call, sent and not taken: at the bound the body is blocked in `ctx.metric`, so long at most. */
  METRIC_POINTS_AWAY: 8_192,
  /** A run keeps so many lines of its log, and so much of them; each counts its characters and 16. */
  RUN_LOG_LINES: 1_000_000,
  RUN_LOG_BYTES: 128 * MIB,
  /** Of a run, taken from its bodies and not written. */
  RUN_LOG_WAITING: 2 * MIB,
  /** Of one write: more wait for the next. */
  RUN_LOG_WRITE: MIB,
  /** Of one stored row, which is read whole. */
  RUN_LOG_CHUNK: 64 * KIB,
  /** Of one call, sent and not taken: at the bound the body is blocked in `ctx.log`. */
  RUN_LOG_AWAY: 512 * KIB,
  RUN_LOG_BATCH_LINES: 256,
  RUN_LOG_BATCH: 32 * KIB,
  RUN_LOG_BATCH_MS: 50,
  /** Lines of one page at most. */
  RUN_LOG_PAGE_LINES: 1_000,
  RUN_LOG_PAGE_BYTES: 256 * KIB,
  /** A body that is blocked for points or lines that nobody takes goes on after this. */
  SEND_WAIT_MS: 5_000,
  CACHE_INDEX_ENTRIES: 200_000,
  CACHE_INDEX_BYTES: 64 * MIB,
  EXPORT_RUNS: 10_000,
  EXPORT_STRIDE: 1_000_000,
  EXPORT_COLUMNS: 16_384,
  EXPORT_PAGE_BYTES: 256 * KIB,
  SERIES_POINTS: 1_000_000,
  CODE_DIGEST_BYTES: 256 * MIB,
  /** For each call of git. */
  CODE_DIGEST_GIT_MS: 10_000,
  /** A claim or an end that the disk refuses is written again after this; what else refuses it is waited for longer each time. */
  RUN_WRITE_RETRY_MS: 500,
  RUN_WRITE_SLOWEST_MS: 10_000,
  /** A run's progress is written this often; with its end in any case. */
  RUN_PROGRESS_MS: 500,

  // resource books and flavors
  BOOK_MACHINES: 64,
  BOOK_CLAIMS: 1_024,
  BOOK_WAITING: 4_096,
  /** Of the nodes that wait, in one answer: the first of the line. */
  WAITING_NODES_SHOWN: 500,
  BOOK_HEAD_MS: 60_000,
  BOOK_PATIENCE_MS: 200,
  MACHINE_CARDS: 64,
  NODE_QUEUED_EVERY_MS: 1_000,
  FLAVORS: 256,

  // search: of a query, of one text in the index, of an answer
  SEARCH_CHARACTERS: 200,
  SEARCH_WORDS: 16,
  SEARCH_TEXT_CHARACTERS: 64 * KIB,
  SEARCH_FOUND: 100,

  // secrets
  SECRETS: 1_000,
  SECRET_NAME_CHARACTERS: 128,
  SECRET_BYTES: 64 * KIB,
  /** Nodes that are remembered to have asked for one while they ran. */
  SECRET_USES_KEPT: 1_000,
  /** Nodes that a list names for each. */
  SECRET_USES_SHOWN: 1_000,
  /** Keys that the key file keeps beside the first one. */
  SECRET_KEYS: 16,

  // workers
  WORKERS: 256,
  WORKER_FRAME_BYTES: 72 * MIB,
  WORKER_FRAME_ITEMS: 8 * MIB,
  WORKER_FRAME_DEPTH: 68,
  WORKER_HELLO_MS: 5_000,
  WORKER_HEARTBEATS_IN_SILENCE: 9,
  WORKER_TOKEN_LIFETIME_S: 60,
  WORKER_METRIC_POINTS: 1_000,
  WORKER_LOG_LINES: 1_000,
  WORKER_UNPROCESSED_BYTES: 256 * MIB,
  PROCESS_START_MS: 30_000,
  PROCESS_IDLE_MS: 60_000,
  /** Processes that stand idle beside those that run. */
  PROCESSES_IDLE: 8,
  PROCESS_END_MS: 2_000,
  PROCESS_MEMORY_SHARE: 0.8,
  PROCESS_MEMORY_WATCH_MS: 100,

  // artifacts
  ARTIFACT_BYTES: 2 * GIB,
  ARTIFACT_META_BYTES: 64 * KIB,
  ARTIFACT_RANGES: 16,
  ARTIFACT_GC_INTERVAL_S: 3_600,
  ARTIFACT_SPARED_S: 3_600,
  UPLOADS_AT_ONCE: 64,
  UPLOAD_PIECE_BYTES: 256 * KIB,
  UPLOAD_WAITING_BYTES: 1 * MIB,
  RECEIVE_BUFFER_BYTES: 208 * KIB,
  STREAM_CHUNK_BYTES: 256 * KIB,
  STREAM_CHUNKS_KEPT: 32,
  ARTIFACT_SWEEP_BATCH: 1_000,
  /** Unused artifacts that one round removes to get within the budget. */
  ARTIFACT_SWEEP_OLDEST: 65_536,
  /** The volatile store: by default, at least, at most. */
  VOLATILE_BYTES: 48 * MIB,
  VOLATILE_BYTES_MIN: 1 * MIB,
  VOLATILE_BYTES_MAX: 1 * GIB,
  /** Of one volatile artifact: a share of the store, and what the front copies at once. */
  VOLATILE_ARTIFACT_SHARE: 1 / 4,
  VOLATILE_ARTIFACT_BYTES: 16 * MIB,
  /** The store holds as many artifacts as there are rows, one for each so many bytes. */
  VOLATILE_BYTES_PER_ROW: 2 * KIB,
  /** Of one that a process stores or reads: it travels through the front. */
  VOLATILE_PROCESS_BYTES: 4 * MIB,
  /** A writer that waits longer for another one stores its artifact on disk. */
  VOLATILE_PATIENCE_MS: 100,

  // HTTP
  BODY_BYTES: 1 * MIB,
  FLOW_BODY_BYTES: 8 * MIB,
  /** Longer bodies are read in slices, between which the front does other things. */
  BODY_AT_ONCE_BYTES: 32 * KIB,
  JSON_DEPTH: 64,
  ERROR_PLACES: 100,
  URL_BYTES: 8 * KIB,
  HEADER_BYTES: 16 * KIB,
  HEADER_COUNT: 100,
  /** Those of other engines and programs of the same host are among them. */
  COOKIE_BYTES: 8 * KIB,
  CONNECTIONS: 10_000,
  BODIES_BYTES: 128 * MIB,
  BODY_DRAIN_BYTES: 16 * MIB,
  LIST_LIMIT: 1_000,
  LIST_LIMIT_DEFAULT: 100,
  LIST_OFFSET: 1_000_000,
  /** Of the beginning of an id that is taken for the id; and ids that are shown when several begin so. */
  SHORT_ID_CHARACTERS: 4,
  SHORT_ID_CANDIDATES: 8,
  /** Of one page of any list: a page that would be longer ends earlier, and says where the next one begins. */
  LIST_BYTES: 256 * KIB,
  TIMESERIES_POINTS: 2_000,
  TIMESERIES_HOURS: 24 * 366,
  HISTORY_POINTS: 10_000,
  HISTORY_ANSWER_BYTES: 4 * MIB,
  BUCKET_S_MAX: 31_536_000,

  // webhooks: requests that a node serves at once, bodies of all of them together, and the bound of one
  HOOK_PLACES: 64,
  HOOK_BODIES_BYTES: 32 * MIB,
  HOOK_BODY_BYTES: 8 * MIB,
  HOOK_FORM_BYTES: 64 * KIB,
  /** From its head on; a client that sends a byte now and then is refused after it. */
  HOOK_RECEIVE_MS: 30_000,

  // MCP
  /** Of what a tool, a resource or a prompt answers: what is longer is cut, and says how to ask for the rest. */
  MCP_RESULT_BYTES: 48 * KIB,
  /** Members and items of a message, besides what stands in the arguments of a tool. */
  MCP_MESSAGE_PARTS: 2_000,
  /** Items of a list that a tool answers. */
  MCP_LIST_ITEMS: 200,
  /** A tool that follows something waits for at most so long. */
  MCP_FOLLOW_S: 50,
  /** Sessions of clients of the older protocol; those of one caller; without a request or an open stream they end after so long. */
  MCP_SESSIONS: 512,
  MCP_CALLER_SESSIONS: 16,
  MCP_SESSION_IDLE_MS: 1_800_000,
  /** What a session keeps of what it has sent, for a client that comes back. */
  MCP_SESSION_EVENTS: 64,
  MCP_SESSION_EVENT_BYTES: 256 * KIB,
  /** Open streams of events, those of one caller, and how often each says that it is there: a silent one is closed after ten seconds. */
  MCP_STREAMS: 1_024,
  MCP_CALLER_STREAMS: 128,
  MCP_KEEP_ALIVE_MS: 4_000,
  MCP_LOOK_MS: 15_000,

  // sockets
  SOCKETS: 4_096,
  SOCKET_FRAME_BYTES: 2 * MIB,
  SOCKET_NAMES: 10_000,
  SOCKET_BACKPRESSURE_BYTES: 64 * MIB,
  SOCKET_SLOW_BYTES: 256 * KIB,
  /** Runs whose logs a connection follows, and how much of them it may have unread. */
  SOCKET_LOGS: 16,
  SOCKET_LOG_BYTES: 64 * KIB,
  /** How often the figures of flows are taken, and how many flows a frame of them has. */
  ACTIVITY_MS: 1_000,
  ACTIVITY_FLOWS: 500,
  /** Flows whose figures a connection follows; with so much unread it gets none. */
  SOCKET_FIGURES: 256,
  SOCKET_FIGURE_BYTES: 64 * KIB,
  /** From one round of figures to the next; what somebody asked for comes for the first time this long after the last round. */
  FIGURES_MS: 1_000,
  FIGURES_SOON_MS: 250,
  SOCKET_SWEEP_MS: 10,
  /** Of one media frame: an artifact with more bytes goes out as its reference only. */
  SOCKET_MEDIA_BYTES: 4 * MIB,
  SOCKET_STALLED_MS: 30_000,
  SOCKET_BATCH: 32,
  /** Values that wait for an older one of another journal ring. */
  VALUES_AHEAD_BYTES: 4 * MIB,
  SOCKET_ERRORS: 100,
  SOCKET_ERRORS_MS: 10_000,
  SOCKET_UNREAD_BYTES: 16 * MIB,
  /** A socket that answers no ping for this long is closed; the library allows 8..960. */
  SOCKET_IDLE_S: 120,
  /** How often the tokens of open sockets are looked at besides: with each frame, and when an account or a token ends. */
  TOKEN_SWEEP_MS: 15_000,
  FRONT_SLICE_MS: 2,

  // the front thread
  /** What holds it for longer is counted and logged. */
  FRONT_HELD_MS: 20,
  FRONT_LOOK_MS: 20,
  FRONT_HELD_LOGGED_MS: 60_000,
  /** How often the engine's own figures are kept for the time series. */
  SAMPLE_MS: 10_000,

  // dashboards and panels
  DASHBOARDS: 500,
  /** As JSON. */
  DASHBOARD_BYTES: 128 * KIB,
  DASHBOARD_TILES: 200,
  /** Of one dashboard: the oldest goes. */
  DASHBOARD_VERSIONS: 200,
  /** Deleted ones whose history is kept: the one that was deleted first goes. */
  DASHBOARDS_DELETED: 100,
  /** Of the grid. */
  TILE_ROWS: 1_000,
  TILE_TITLE_CHARACTERS: 128,
  TILE_WORD_CHARACTERS: 64,
  TILE_TEXT_CHARACTERS: 16 * KIB,
  TILE_SPAN_S: 366 * 86_400,
  CHART_MESSAGES: 8,
  TABLE_MESSAGES: 64,
  TABLE_COLUMNS: 16,
  SELECT_OPTIONS: 64,
  RUN_CURVES_RUNS: 20,
  QUERY_EVERY_S_MIN: 0.1,
  PANELS: 1_000,
  PANEL_NAME_CHARACTERS: 64,
  /** Of one panel. */
  PANEL_DASHBOARDS: 20,
  /** Ten years: it ends earlier when the panel is unpaired. */
  PANEL_TOKEN_LIFETIME_S: 3_660 * 86_400,
  /** What a panel showed so long ago it may still fetch, and so many different ones of a message. */
  PANEL_MEDIA_MS: 60_000,
  PANEL_MEDIA_SHOWN: 2_048,
  /** How often the sources of what open screens show are looked at. */
  PANEL_SOURCE_LOOK_MS: 500,
  PAIRINGS_PENDING: 50,
  /** Of one address. */
  PAIRINGS_OF_ADDRESS: 10,
  CLAIM_BODY_BYTES: 4 * KIB,
  PAIRING_TTL_MS: 600_000,
  /** Wrong codes and secrets of one address, or of one user. */
  PAIRING_FAILURES: 10,
  PAIRING_WINDOW_MS: 300_000,

  // signing in
  LOGIN_FAILURES: 10,
  LOGIN_WINDOW_MS: 300_000,
  /** Of one account, from addresses that are new to it. */
  LOGIN_ACCOUNT_FAILURES: 100,
  LOGIN_ACCOUNT_WINDOW_MS: 24 * 3_600_000,
  LOGIN_BUCKETS: 10_000,
  /** Of one user. */
  KNOWN_ADDRESSES: 16,
  KNOWN_ADDRESS_WRITTEN_MS: 24 * 3_600_000,
  /** Of one user; with one more, all tokens of the user end. */
  REVOKED_TOKENS: 16,
  /** Audit events that anybody can cause. */
  AUDIT_OPEN_PER_MIN: 60,
  LOGIN_AT_ONCE: 32,
  /** Of those, from addresses that the account does not know. */
  LOGIN_STRANGERS_AT_ONCE: 24,
  TOKEN_LIFETIME_S: 8 * 3_600,
  TOKEN_BYTES: 4 * KIB,
  TOKENS_REMEMBERED: 4_096,
  PASSWORD_CHARACTERS_MIN: 8,
  PASSWORD_CHARACTERS: 256,
  RESET_LIFETIME_S: 48 * 3_600,
  /** Mails with links for a new password that go to one user. */
  RESET_MAILS: 5,
  RESET_MAILS_WINDOW_MS: 3_600_000,
  /** All of one mail; a server that sends a byte now and then beats the other three. */
  MAIL_MS: 10_000,
  MAIL_CONNECT_MS: 2_000,
  MAIL_GREETING_MS: 1_000,
  MAIL_SILENT_MS: 3_000,
  MAILS_AT_ONCE: 8,
  USERS: 10_000,
  /** Programs that asked to become clients, in memory until a user lets them in. */
  OAUTH_FIELD_CHARACTERS: 2_048,
  OAUTH_BODY_BYTES: 16 * KIB,
  REGISTRATIONS: 100,
  REGISTRATION_LIFETIME_MS: 3_600_000,
  REDIRECT_URIS: 10,
  REDIRECT_URI_CHARACTERS: 1_024,
  /** Consent pages that wait for a user. */
  AUTHORIZATIONS: 200,
  /** Of one client: with one more its oldest goes, and none of others. */
  AUTHORIZATIONS_OF_CLIENT: 5,
  AUTHORIZATION_LIFETIME_MS: 600_000,
  /** Of an authorization code. */
  CODE_LIFETIME_MS: 60_000,
  CLIENT_ACCESS_LIFETIME_S: 3_600,
  REFRESH_LIFETIME_S: 90 * 86_400,
  /** So long a refresh is answered again whose answer may not have arrived. */
  REFRESH_AGAIN_MS: 30_000,
  LASTING_TOKENS: 100,
  /** Ten years. */
  LASTING_TOKEN_LIFETIME_S: 3_660 * 86_400,
  /** Agents and programs, those that wait for an approval too. */
  CLIENTS: 1_000,
  CLIENT_NAME_CHARACTERS: 128,
  /** Ten years. */
  CLIENT_LIFETIME_S: 3_660 * 86_400,
  CLIENT_USE_WRITTEN_MS: 60_000,

  // the store
  HISTORY_BYTES: 2 * GIB,
  CASCADES_BYTES: 512 * MIB,
  EVENTS_BYTES: 256 * MIB,
  WAL_BYTES: 64 * MIB,
  /** By default; those of runs themselves have none. */
  RUN_LOGS_BYTES: 2 * GIB,
  RUN_METRICS_BYTES: 8 * GIB,
  RETENTION_EVERY_MS: 60_000,
  /** Of one step of the retention: runs, and about what goes with them. */
  RETENTION_RUNS: 64,
  RETENTION_BYTES: 16 * MIB,
  /** Told to whoever is refused because the store does not answer. */
  STORE_RETRY_S: 5,
  /** A health check waits so long for the store. */
  STORE_ANSWER_MS: 5_000,
  /** The redo log of run writes, between two commits. */
  REDO_BYTES: 2 * MIB,
  CHUNK_POINTS: 4_096,
  CHUNK_BYTES: 4 * MIB,

  // processes
  /** Of the log on standard output, not read yet. */
  LOG_OUTPUT_BYTES: MIB,
  SERVE_LOG_BYTES: 5 * MIB,
  MODULE_CACHE_BYTES: 32 * MIB,
  RESTARTS_PER_MINUTE: 5,
  RESTART_AFTER_MS: 1_000,
  STOP_GRACE_MS: 15_000,
  BEGIN_AFTER_MS: 20,
  LANE_HEAP_MB: 1_024,
  CALL_HEAP_MB: 1_024,
  /** A call slot that has not begun a call by then is replaced: a timer that an earlier body left behind keeps its thread. */
  SLOT_BEGIN_MS: 5_000,
  HEAP_WATCH_MS: 250,
  /** How often each thread is pinged. */
  THREAD_PING_MS: 1_000,
  /** Without an answer to a ping. */
  THREAD_SILENT_MS: 30_000,
  /** One that does not end by itself is ended: a hung thread is not to hold up the end of the engine. */
  THREAD_CLOSE_MS: 5_000,
  THREAD_LOAD_MS: 5_000,
  /** The second time within `THREAD_RESTART_WITHIN_MS`; longer each time. */
  THREAD_RESTART_AFTER_MS: 100,
  THREAD_RESTART_WITHIN_MS: 60_000,
  HEAP_END_SHARE: 0.9,

  // tries of bodies
  /** At once; they have call slots of their own. */
  TRIES: 2,
  /** How long a body may run, and how long whoever asks waits besides, for a place and for resources. */
  TRY_S: 10,
  TRY_S_MAX: 60,
  TRY_WAIT_MS: 10_000,
  /** A body that was told to end has so long before its thread is ended. */
  TRY_GRACE_MS: 500,
  /** Emissions after which a try is ended, and how many of them are answered. */
  TRY_EMISSIONS: 1_000,
  TRY_EMISSIONS_SHOWN: 100,
  TRY_LINES: 500,
  TRY_LOG_CHARACTERS: 64 * KIB,
  /** Of one value that is answered, and of all of them. */
  TRY_VALUE_BYTES: 64 * KIB,
  TRY_ANSWER_BYTES: 256 * KIB,

  // the command line
  SYNC_MODULE_S: 30,
} as const

/** Relations that the code relies on; a broken one is a programmer's mistake. */
export function assertLimits(): void {
  const hold = (truth: boolean, relation: string): void => {
    if (!truth) throw new RangeError(`limits: ${relation}`)
  }
  hold(
    limits.RECEIVE_BUFFER_BYTES * 2 < 512 * KIB,
    'uWebSockets.js reads on while a read fills 512 KiB; the kernel doubles',
  )
  hold(limits.SOCKET_BACKPRESSURE_BYTES >= 16 * MIB, 'uWebSockets.js drops sends silently past maxBackpressure')
  hold(
    limits.SOCKET_BACKPRESSURE_BYTES > limits.SOCKET_SLOW_BYTES + 2 * limits.MESSAGE_VALUE_BYTES,
    'a slow socket is noticed before it is full',
  )
  hold(
    limits.SOCKET_UNREAD_BYTES < limits.SOCKET_BACKPRESSURE_BYTES,
    'unread answers end a socket before one is dropped',
  )
  hold(
    limits.SOCKET_BACKPRESSURE_BYTES > limits.SOCKET_SLOW_BYTES + 4 * limits.SOCKET_MEDIA_BYTES,
    'a slow socket is noticed before media frames fill it',
  )
  hold(limits.HISTORY_ANSWER_BYTES >= limits.MESSAGE_VALUE_BYTES, 'an answer has room for a value of the largest size')
  hold(limits.SOCKET_FRAME_BYTES > limits.MESSAGE_VALUE_BYTES, 'a frame carries a value of the largest size')
  hold(limits.FLOW_BODY_BYTES >= limits.SOURCE_BYTES, 'a flow document carries a source of the largest size')
  hold(limits.JOURNAL_RING_BYTES >= 8 * limits.MESSAGE_VALUE_BYTES, 'the ring takes a turn of large values')
  hold(limits.FAST_BODY_MS < limits.SLOW_BODY_MS, 'a body that goes back to its lane is well below what promotes it')
  hold(limits.SLOW_BODY_MEDIAN_OF === 32, 'one bit of a word stands for each')
  hold(limits.FLOW_PRESSURE_SHOWN < limits.FLOW_PRESSURE_DEGRADED, 'pressure shows before it degrades')
  hold(
    limits.WORKER_FRAME_BYTES >=
      limits.NODE_PORTS * limits.MESSAGE_VALUE_BYTES + 4 * limits.SETTINGS_BYTES + limits.STATE_BYTES,
    'a worker frame carries the inputs of any node',
  )
  hold(limits.WORKER_FRAME_BYTES > 2 * limits.VOLATILE_PROCESS_BYTES, 'a worker frame carries a volatile artifact')
  hold(limits.ENVIRONMENT_BYTES <= 128 * KIB, 'Linux takes no longer variable, and 2 MiB of arguments and environment')
  hold(limits.WORKER_FRAME_DEPTH >= limits.VALUE_DEPTH + 3, 'a worker frame carries values of the largest depth')
  hold(limits.WORKER_HEARTBEATS_IN_SILENCE >= 3, 'a lost heartbeat is no silence')
  hold(8 + limits.LANE_SLOTS <= limits.THREADS, 'every thread has a slot')
  hold(limits.LANE_SLOTS >= 2 * limits.LANES, 'a lane is replaced while the old one ends')
  hold(
    limits.BEGUN_ROWS > limits.MAX_CASCADES + limits.LANE_SLOTS,
    'every cascade in flight has a row, unless more are allowed than by default',
  )
  hold(
    limits.FLOW_WAITING_HARD_FACTOR * limits.FLOW_WAITING_BYTES <= (limits.LANE_HEAP_MB * MIB) / 2,
    'a lane has room for a flow at its hard bound',
  )
  hold(
    limits.SUSPECT_TURN_MS > 2 * limits.UNIT_MS + limits.BLOCKED_LANE_MS / 2,
    'a suspect that has the turn for longer is recorded as open by then',
  )
  hold(limits.METRIC_NAME_RUNS >= limits.EXPORT_RUNS, 'an export knows the metrics of all its runs')
  hold(limits.MQTT_HELD >= limits.MQTT_RECEIVE, 'an mqtt-in node keeps all that a broker may send unacknowledged')
  hold(Number.isInteger(Math.log2(limits.JOURNAL_RING_BYTES)), 'ring positions are masked')
}
