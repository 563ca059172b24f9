import Type, { type Static } from 'typebox'
import { limits } from '../limits.ts'
import { NAME_PATTERN } from '../names.ts'
import { RUN_STATUSES, type RunStatus as Status } from '../words/run-status.ts'
import { Timestamp } from './timestamp.ts'

/** A batch run: one execution of a flow against inputs, and what is recorded of it. */

const closed = { additionalProperties: false }
const orNull = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) => Type.Union([schema, Type.Null()])
const Name = Type.String({ pattern: NAME_PATTERN })
export const RunId = Type.String({ pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$' })

export const RunStatus = Type.Unsafe<Status>(Type.Union(RUN_STATUSES.map(status => Type.Literal(status))))
export type RunStatus = Status

export const RUN_NODE_STATUSES = [
  'pending',
  'queued',
  'running',
  'succeeded',
  'failed',
  'cancelled',
  'cached',
  'skipped',
] as const
export const RunNodeStatus = Type.Unsafe<RunNodeStatus>(
  Type.Union(
    RUN_NODE_STATUSES.map(status => Type.Literal(status)),
    {
      description:
        '`queued`: waits for resources or a call slot. `skipped`: it was not triggered before the run ended.',
    },
  ),
)
export type RunNodeStatus = (typeof RUN_NODE_STATUSES)[number]

export const RUN_CAUSES = ['api', 'cli', 'sdk'] as const
export const RunCause = Type.Unsafe<RunCause>(Type.Union(RUN_CAUSES.map(cause => Type.Literal(cause))))
export type RunCause = (typeof RUN_CAUSES)[number]

/** A short name, as many as `limits.RUN_TAGS` of a run. */
export const RunTag = Type.String({
  pattern: `^[A-Za-z0-9][A-Za-z0-9._:/-]{0,${limits.RUN_TAG_CHARACTERS - 1}}$`,
  examples: ['baseline'],
})
const tagsOf = (description: string) =>
  Type.Optional(Type.Array(RunTag, { maxItems: limits.RUN_TAGS, description, examples: [['baseline']] }))
const Note = Type.String({
  maxLength: limits.RUN_NOTE_CHARACTERS,
  description: 'A free text; empty when there is no note.',
})

/** Why a run or a node did not succeed. */
export const RunError = Type.Object({
  code: Type.String({
    description:
      'node_error timeout worker_lost engine_restarted out_of_memory cancelled, or another of the error table.',
  }),
  message: Type.String(),
  node: orNull(Type.String({ description: 'The id of the node that failed first.' })),
  stack: orNull(Type.String()),
  inputs: Type.Optional(
    Type.Unknown({
      description: 'Of a node: the inputs of the failed execution; null when they are too large to keep.',
    }),
  ),
})
export type RunError = Static<typeof RunError>

export const CreateRun = Type.Object(
  {
    inputs: Type.Optional(
      Type.Record(Name, Type.Unknown(), {
        description:
          'Values by message; `@run:<id>.<output>` and `sha256:<digest>` are resolved for every dtype. Messages of other flows are named `flow.message`.',
      }),
    ),
    seed: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'Also the value of an input named `seed`.',
      }),
    ),
    timeout: Type.Optional(
      Type.Number({
        exclusiveMinimum: 0,
        maximum: limits.TIMEOUT_S_MAX,
        description: 'Seconds, counted from the start of the run.',
      }),
    ),
    no_cache: Type.Optional(Type.Boolean({ description: 'Run every node, and do not use the stage cache.' })),
    idempotency_key: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: limits.IDEMPOTENCY_KEY_CHARACTERS,
        description: 'The same as the header Idempotency-Key.',
      }),
    ),
    group: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
    tags: tagsOf('Names to find the run by. A repeat of its key adds them to the run that is there.'),
    note: Type.Optional(Note),
    cause: Type.Optional(RunCause),
    origin_commit: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 128,
        description: 'The commit of the repository of the user; ends in `-dirty` when files were changed.',
      }),
    ),
  },
  closed,
)
export type CreateRun = Static<typeof CreateRun>

/** What of a run may be changed after its creation. It does not change what the run is: its key and its results stay. */
export const ChangeRun = Type.Object(
  {
    tags: tagsOf('The tags of the run from now on, instead of those that it has.'),
    add_tags: tagsOf('Tags to add.'),
    remove_tags: tagsOf('Tags to remove; those that the run does not have are ignored.'),
    note: Type.Optional(Note),
  },
  closed,
)
export type ChangeRun = Static<typeof ChangeRun>

export const Run = Type.Object({
  id: Type.String(),
  flow: Type.String(),
  status: RunStatus,
  cause: RunCause,
  created_by: Type.String(),
  seed: orNull(Type.Integer()),
  timeout: orNull(Type.Number({ description: 'seconds' })),
  no_cache: Type.Boolean(),
  group: orNull(Type.String({ description: 'The first of its groups.' })),
  groups: Type.Array(Type.String(), {
    description: 'The group that it was created with, then groups that repeated requests with its key have added.',
  }),
  tags: Type.Array(Type.String(), { description: 'In the order in which they were given.' }),
  note: Type.String({ description: 'A free text; empty when there is no note.' }),
  idempotency_key: orNull(Type.String()),
  version: Type.Integer({ description: 'The version of its flow.' }),
  commit: Type.String({ description: 'The commit of the flow store.' }),
  origin: orNull(Type.Object({}, { additionalProperties: true })),
  origin_commit: orNull(
    Type.String({
      description: 'The commit of the repository of the user, as sent with the run; otherwise equal to `code_commit`.',
    }),
  ),
  code_commit: orNull(
    Type.String({
      description:
        'The commit of the repository around the installation at the start of the run; ends in `-dirty` when files were changed.',
    }),
  ),
  code_digest: orNull(
    Type.String({
      description: 'The digest of the code in the repository around the installation at the start of the run.',
    }),
  ),
  inputs: Type.Record(Type.String(), Type.Unknown(), { description: 'The inputs as they were given.' }),
  inputs_resolved: Type.Record(Type.String(), Type.Unknown(), {
    description: 'The inputs with defaults, seed and resolved references.',
  }),
  inputs_digest: Type.String({ description: 'SHA-256 of the canonical resolved inputs and the seed.' }),
  result: orNull(
    Type.Record(Type.String(), Type.Unknown(), {
      description: 'The last value of every message that the run produced.',
    }),
  ),
  terminal: Type.Array(Type.String(), { description: 'Messages of the result that no node of the flow reads.' }),
  error: orNull(RunError),
  retry_of: orNull(Type.String()),
  attempt: Type.Integer({ description: 'The number of this attempt, from 1; each retry adds one.' }),
  created_at: Timestamp,
  started_at: orNull(Timestamp),
  finished_at: orNull(Timestamp),
  cancel_requested_at: orNull(Timestamp),
  duration: orNull(Type.Number({ description: 'Seconds from the start to the end, or until now while it runs.' })),
})
export type Run = Static<typeof Run>

/** What a run of a flow would execute if it were created now. */
export const Runnable = Type.Object({
  flow: Type.String(),
  version: Type.Integer(),
  commit: Type.String({ description: 'The commit of the flow store.' }),
  content_digest: Type.String({
    description: 'SHA-256 of the nodes and inputs of the flow, without the positions of nodes.',
  }),
  code_digest: orNull(
    Type.String({ description: 'The digest of the code in the repository around the installation, now.' }),
  ),
  origin_commit: orNull(
    Type.String({ description: 'The commit of that repository; ends in `-dirty` when files were changed.' }),
  ),
})
export type Runnable = Static<typeof Runnable>

const { inputs_resolved: _, inputs: _inputs, result: _result, ...short } = Run.properties
/** A run as lists show it; `GET /runs/{id}` has all of it. */
export const RunSummary = Type.Object({
  ...short,
  inputs: Type.Record(Type.String(), Type.Unknown(), {
    description: `Numbers, booleans and texts of at most ${limits.RUN_SUMMARY_CHARACTERS} characters, up to ${limits.RUN_SUMMARY_BYTES} bytes.`,
  }),
  result: orNull(Type.Record(Type.String(), Type.Unknown(), { description: 'The result, shortened in the same way.' })),
  error: orNull(
    Type.Object({
      code: RunError.properties.code,
      message: Type.String({ description: `At most ${limits.RUN_SUMMARY_ERROR_CHARACTERS} characters.` }),
      node: RunError.properties.node,
    }),
  ),
  truncated: Type.Boolean({ description: 'True when parts of the inputs, the result or the error are left out here.' }),
})
export type RunSummary = Static<typeof RunSummary>

/** Resources as asked for, and as granted: cut down to the largest machine. */
export const ResourceAmounts = Type.Object({
  cpus: orNull(Type.Number()),
  gpus: orNull(Type.Number()),
  ram_mb: orNull(Type.Number()),
  flavor: orNull(Type.String()),
})
export type ResourceAmounts = Static<typeof ResourceAmounts>

export const RunNode = Type.Object({
  run: Type.String(),
  node: Type.String({ description: 'Its id.' }),
  status: RunNodeStatus,
  attempt: Type.Integer(),
  executions: Type.Integer(),
  emissions: Type.Integer(),
  asked: orNull(ResourceAmounts),
  granted: orNull(ResourceAmounts),
  machine: orNull(Type.String()),
  queued_at: orNull(Timestamp),
  started_at: orNull(Timestamp),
  finished_at: orNull(Timestamp),
  duration: orNull(Type.Number({ description: 'Seconds that its body ran.' })),
  duration_s: orNull(Type.Number({ description: 'The expected seconds, from the node or its flavor.' })),
  cache_key: orNull(Type.String()),
  cached_from: orNull(Type.String({ description: 'The run whose outputs are used.' })),
  metrics_dropped: Type.Integer({
    description: 'Points of `ctx.metric` that were dropped, because they were over the bounds of the run.',
  }),
  outputs: orNull(
    Type.Record(Type.String(), Type.Unknown(), {
      description: 'The last value of each message, by `<flow>.<message>`.',
    }),
  ),
  error: orNull(RunError),
})
export type RunNode = Static<typeof RunNode>

const CACHE_OUTCOMES = ['hit', 'miss', 'off', 'not_cacheable'] as const
export type CacheOutcome = (typeof CACHE_OUTCOMES)[number]

/** `svc why`: how a node came by its outputs, against the nearest earlier run that has the same node. */
export const RunNodeWhy = Type.Object({
  run: Type.String(),
  node: Type.String(),
  status: RunNodeStatus,
  cache: Type.Unsafe<CacheOutcome>(
    Type.Union(
      CACHE_OUTCOMES.map(word => Type.Literal(word)),
      {
        description:
          '`off`: the run or the node does not use the cache. `not_cacheable`: a built-in type, or its inputs were not complete when it started.',
      },
    ),
  ),
  cached_from: orNull(Type.String()),
  nearest: orNull(Type.String({ description: 'The run that this one was compared with.' })),
  changed: Type.Array(Type.String(), {
    description: 'Parts of the fingerprint that differ: source settings code env ports values.<port>',
  }),
})
export type RunNodeWhy = Static<typeof RunNodeWhy>

/** How many runs there are, over all pages and filters. */
export const RunCounts = Type.Record(
  Type.String(),
  Type.Object({ total: Type.Integer(), live: Type.Integer() }, { description: 'By flow.' }),
  {
    description: `Of at most ${limits.RUN_COUNTS} flows: the one that is asked for, then those with the most live runs, then with the most runs.`,
  },
)
export type RunCounts = Static<typeof RunCounts>

/** The same over all flows. */
export const RunTotals = Type.Object({
  flows: Type.Integer({ description: 'Flows that have runs.' }),
  total: Type.Integer(),
  live: Type.Integer(),
})
export type RunTotals = Static<typeof RunTotals>

/** One curve of one run. */
export const MetricSeries = Type.Object({
  run: Type.String(),
  name: Type.String({ description: '`<flow>.<node>.<name>`' }),
  steps: Type.Array(Type.Number()),
  values: Type.Array(Type.Number()),
})
export type MetricSeries = Static<typeof MetricSeries>

/** What is answered of the curves that were asked for. */
export const MetricSeriesList = Type.Object({
  items: Type.Array(MetricSeries, {
    description: `A page ends where it would be longer than ${limits.LIST_BYTES} bytes. A series that has no room for all of its points goes on on the next page.`,
  }),
  count: Type.Integer({ description: 'Series of this page.' }),
  next: Type.Optional(Type.Integer({ description: 'The offset of the next page, in points; absent on the last one.' })),
})
export type MetricSeriesList = Static<typeof MetricSeriesList>
