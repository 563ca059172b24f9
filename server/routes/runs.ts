import Type, { type TString } from 'typebox'
import { parseComparison, parseField, parseOrder } from '../../core/runs/run-query.ts'
import { type ErrorPlace, ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import { NAME_PATTERN } from '../../protocol/names.ts'
import { EngineEvent } from '../../protocol/nouns/event.ts'
import { FlowName } from '../../protocol/nouns/flow.ts'
import {
  ChangeRun,
  CreateRun,
  MetricSeriesList,
  Run,
  RunCounts,
  RunNode,
  RunNodeWhy,
  Runnable,
  RunStatus,
  RunSummary,
  RunTag,
  RunTotals,
} from '../../protocol/nouns/run.ts'
import { formatTime } from '../../protocol/time.ts'
import { EXPORT_RUN_COLUMNS, type ExportRunColumn } from '../../protocol/words/run-columns.ts'
import type { Engine } from '../engine.ts'
import { jsonBytes } from '../http/long-answer.ts'
import { runId, wholeRun } from '../http/parse/short-ids.ts'
import { type Answer, existing, nothing, ok, okLong, type Route, route } from '../http/route.ts'
import { pageOf } from '../list-page.ts'
import type { JsonText, RunAnswer, RunExport, RunPage, RunSearch, RunSelection } from '../store/front/runs.ts'
import { closed, listOf, microseconds, okPage, pageQuery, sinceQuery, untilQuery } from './queries.ts'

const tag = 'runs'
const MetricName = Type.String({ minLength: 1, maxLength: 256, description: '`<flow>.<node>.<name>`' })

const selectionQuery = {
  flow: Type.Optional(FlowName),
  group: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
  tag: Type.Optional(
    Type.Array(RunTag, {
      maxItems: limits.RUN_TAGS,
      description: 'Only runs with this tag. Repeat it for runs that have all of the tags.',
      examples: [['baseline']],
    }),
  ),
  status: Type.Optional(RunStatus),
  since: sinceQuery,
  before: untilQuery,
}
interface Selected {
  flow?: string
  group?: string
  tag?: string[]
  status?: Run['status']
  since?: string
  before?: string
}
const selectionOf = (query: Selected): RunSelection => ({
  flow: query.flow ?? null,
  group: query.group ?? null,
  tags: query.tag ?? [],
  status: query.status ?? null,
  since: microseconds('since', query.since),
  before: microseconds('before', query.before),
})

const Field = (description: string, examples: string[]) =>
  Type.String({ minLength: 1, maxLength: limits.RUN_FIELD_CHARACTERS, description, examples })
const FIELDS = '`input.<name>`, `result.<name>`, `metric.<name>` (its last value), `duration`, `seed` or `created_at`'
const searchQuery = {
  where: Type.Optional(
    Type.Array(Field(`A field, one of = != < <= > >=, and a value: JSON, or else the text.`, ['input.lr<0.1']), {
      maxItems: limits.RUN_COMPARISONS,
      description: `Only runs that fit; may be repeated: that fit all. A field is ${FIELDS}. A run without the field does not fit.`,
      examples: [['input.lr<0.1']],
    }),
  ),
  sort: Type.Optional(
    Field('The field to sort by; with a minus before it the greatest first. Runs without it come last.', [
      '-metric.accuracy',
    ]),
  ),
  columns: Type.Optional(
    Type.String({
      maxLength: limits.RUN_COLUMNS * limits.RUN_FIELD_CHARACTERS,
      description: 'Fields, with commas between them, that each run of the page carries under `columns`.',
      examples: ['metric.loss,input.lr'],
    }),
  ),
}
const ListedRuns = Type.Object({
  ...listOf(
    Type.Object({
      ...RunSummary.properties,
      columns: Type.Optional(
        Type.Record(Type.String(), Type.Unknown(), {
          description: 'By the text of the field; null where there is none.',
        }),
      ),
    }),
  ).properties,
  counts: RunCounts,
  totals: RunTotals,
  truncated: Type.Optional(
    Type.Boolean({
      description: `With \`where\` or \`sort\`: the selection has more runs than the newest ${limits.RUNS_SEARCHED}, which were looked at.`,
    }),
  ),
})
const ListedMetricNames = Type.Object({
  ...listOf(Type.String()).properties,
  before: Type.Optional(
    Type.String({
      format: 'date-time',
      description:
        'The selection has older runs: repeat the request with this `before` for the names of their metrics.',
      examples: ['2026-01-01T00:00:00.000001+00:00'],
    }),
  ),
})

/** Null: the list is asked for as it is kept. */
function searchOf(query: { where?: string[]; sort?: string; columns?: string }): Omit<RunSearch, keyof RunPage> | null {
  const { where = [], sort, columns } = query
  const errors: ErrorPlace[] = []
  const parsed = <Part>(name: string, text: string, part: Part | null, msg: string): Part[] => {
    if (part === null) errors.push({ loc: `query.${name}`, msg: `${JSON.stringify(text)} ${msg}` })
    return part === null ? [] : [part]
  }
  const asked = {
    where: where.flatMap(text =>
      parsed('where', text, parseComparison(text), `is no comparison such as input.lr<0.1; a field is ${FIELDS}`),
    ),
    order: sort === undefined ? null : (parsed('sort', sort, parseOrder(sort), `is no field: ${FIELDS}`)[0] ?? null),
    columns: [...new Set(columns?.split(',').filter(text => text !== ''))].flatMap(text =>
      parsed('columns', text, parseField(text), `is no field: ${FIELDS}`),
    ),
  }
  if (asked.columns.length > limits.RUN_COLUMNS)
    errors.push({ loc: 'query.columns', msg: `has more than ${limits.RUN_COLUMNS} fields` })
  if (errors.length > 0) throw new ServiceError('validation', 'The query was refused.', { errors })
  const isKept = asked.order === null || (asked.order.field.kind === 'created_at' && asked.order.descending)
  if (isKept && where.length + asked.columns.length === 0) return null
  return { ...asked, order: isKept ? null : asked.order }
}

const formQuery = {
  format: Type.Optional(
    Type.Unsafe<'csv' | 'jsonl'>(Type.Union([Type.Literal('csv'), Type.Literal('jsonl')], { default: 'csv' })),
  ),
  raw: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'csv: do not escape cells that a spreadsheet would read as a formula.',
    }),
  ),
}
const stride = Type.Integer({
  minimum: 1,
  maximum: limits.EXPORT_STRIDE,
  default: 1,
  description: 'Only every n-th point of each series, starting with the first.',
})
/** Of an answer with series, besides them. */
const ANSWER_FRAME_BYTES = 512
const MEDIA = { csv: 'text/csv; charset=utf-8', jsonl: 'application/jsonl; charset=utf-8' } as const

function exported(name: string, format: 'csv' | 'jsonl', pages: RunExport): Answer {
  return {
    status: 200,
    headers: {
      'content-disposition': `attachment; filename="${name}.${format}"`,
      ...(pages.truncated ? { 'x-truncated': `the newest ${limits.EXPORT_RUNS} runs` } : {}),
    },
    stream: { type: MEDIA[format], length: null, chunks: pages },
  }
}

const jsonAnswer = (text: JsonText): Answer =>
  text instanceof Uint8Array
    ? jsonBytes(text)
    : { status: 200, stream: { type: 'application/json', length: null, chunks: text } }

const runAnswer = (run: RunAnswer): Answer => ('id' in run ? okLong(run) : jsonAnswer(run))

export function runRoutes({ engine }: { engine: Pick<Engine, 'runs' | 'observe'> }): Route[] {
  const { runs, observe } = engine
  const whole = (id: string): Promise<string> => wholeRun(runs, id)
  return [
    route({
      method: 'POST',
      path: '/runs/flows/{name}',
      scope: 'run',
      object: 'any',
      tag,
      summary: 'Creates a batch run. A second request with the same idempotency key returns the existing run.',
      params: { name: existing(FlowName, 'flow_not_found') },
      body: CreateRun,
      headers: ['idempotency-key'],
      answers: { 200: Run, 201: Run },
      refuses: ['flow_not_found', 'bad_input', 'too_many_runs'],
      handle: async ({ params, body, caller, headers }) => {
        const request = withKey(body, headers['idempotency-key'] ?? '')
        const { run, replayed, mismatch } = await runs.createShown(params.name, request, caller.actor)
        const told: Record<string, string> = replayed ? { 'idempotency-replayed': 'true' } : {}
        if (!replayed && 'id' in run) told['location'] = `/runs/${run.id}`
        if (mismatch) told['idempotency-mismatch'] = 'inputs'
        return { ...runAnswer(run), status: replayed ? 200 : 201, headers: told }
      },
    }),
    route({
      method: 'GET',
      path: '/runs/flows/{name}',
      scope: 'read',
      object: 'any',
      tag,
      summary:
        'Returns what a run of the flow would execute now: the digests of the flow and of the code around the installation.',
      params: { name: existing(FlowName, 'flow_not_found') },
      answers: { 200: Runnable },
      handle: async ({ params }) => ok(await runs.runnable(params.name)),
    }),
    route({
      method: 'GET',
      path: '/runs',
      scope: 'read',
      tag,
      summary: 'Lists summaries of runs, newest first, and the number of runs of each flow.',
      query: Type.Object({ ...pageQuery, ...selectionQuery, ...searchQuery }, closed),
      answers: { 200: ListedRuns },
      refuses: ['bad_filter'],
      handle: async ({ query }) => {
        const page = { limit: query.limit, offset: query.offset, ...selectionOf(query as Selected) }
        const asked = searchOf(query)
        return asked === null ? ok(await runs.list(page)) : jsonAnswer(await runs.search({ ...page, ...asked }))
      },
    }),
    // Before `/runs/{id}`: a fixed word comes before a name.
    route({
      method: 'GET',
      path: '/runs/metrics/names',
      scope: 'read',
      tag,
      summary: `Lists the names of the metrics of the selected runs, at most the newest ${limits.METRIC_NAME_RUNS}.`,
      query: Type.Object({ ...pageQuery, ...selectionQuery }, closed),
      answers: { 200: ListedMetricNames },
      refuses: ['flow_not_found', 'group_not_found', 'tag_not_found'],
      handle: async ({ query }) => {
        const { names, before } = await runs.metricNames(selectionOf(query as Selected))
        const page = pageOf(names.slice(query.offset, query.offset + query.limit), names.length, query.offset)
        return ok(before === null ? page : { ...page, before: formatTime(before) })
      },
    }),
    route({
      method: 'GET',
      path: '/runs/metrics/series',
      scope: 'read',
      tag,
      summary:
        'Returns the curves of the selected runs or of one run. Curves of cached nodes come from the run that executed them.',
      query: Type.Object(
        {
          ...selectionQuery,
          run: Type.Optional(runId.schema as TString),
          name: Type.Optional(MetricName),
          stride,
          offset: Type.Integer({
            ...pageQuery.offset,
            description: 'Points to pass over first, counted over all series.',
          }),
        },
        closed,
      ),
      answers: { 200: MetricSeriesList },
      refuses: ['ambiguous_id', 'run_not_found'],
      handle: async ({ query }) =>
        ok(
          await runs.series({
            ...selectionOf(query as Selected),
            run: query.run === undefined ? null : await whole(query.run),
            name: query.name ?? null,
            stride: query.stride,
            offset: query.offset,
            limit: limits.SERIES_POINTS,
            bytes: limits.LIST_BYTES - ANSWER_FRAME_BYTES,
          }),
        ),
    }),
    route({
      method: 'GET',
      path: '/runs/metrics/export',
      scope: 'read',
      tag,
      summary: 'Streams one row per run, metric and step.',
      query: Type.Object({ ...selectionQuery, ...formQuery, name: Type.Optional(MetricName), stride }, closed),
      answers: { 200: { media: Object.values(MEDIA) } },
      refuses: ['flow_not_found', 'group_not_found', 'tag_not_found', 'metric_not_found'],
      handle: async ({ query }) => {
        const { format = 'csv', raw = false } = query as { format?: 'csv' | 'jsonl'; raw?: boolean }
        const pages = await runs.exportMetrics({
          ...selectionOf(query as Selected),
          format,
          raw,
          name: query.name ?? null,
          stride: query.stride,
        })
        return exported('metrics', format, pages)
      },
    }),
    route({
      method: 'GET',
      path: '/runs/export',
      scope: 'read',
      tag,
      summary: 'Streams one row per run, with the inputs that vary and the numbers of the result.',
      query: Type.Object(
        {
          ...selectionQuery,
          ...formQuery,
          metrics: Type.Optional(
            Type.String({ maxLength: 4096, description: 'Metric names, separated by commas; each becomes a column.' }),
          ),
          columns: Type.Optional(
            Type.String({
              pattern: `^(${EXPORT_RUN_COLUMNS.join('|')})(,(${EXPORT_RUN_COLUMNS.join('|')}))*$`,
              description: `More columns, separated by commas: ${EXPORT_RUN_COLUMNS.join(', ')}.`,
              examples: ['seed,group'],
            }),
          ),
        },
        closed,
      ),
      answers: { 200: { media: Object.values(MEDIA) } },
      refuses: ['too_large', 'flow_not_found', 'group_not_found', 'tag_not_found', 'metric_not_found'],
      handle: async ({ query }) => {
        const { format = 'csv', raw = false } = query as { format?: 'csv' | 'jsonl'; raw?: boolean }
        const metrics = (query.metrics ?? '').split(',').filter(name => name !== '')
        const columns = [...new Set((query.columns ?? '').split(',').filter(name => name !== ''))] as ExportRunColumn[]
        return exported(
          'runs',
          format,
          await runs.exportRuns({ ...selectionOf(query as Selected), format, raw, metrics, columns }),
        )
      },
    }),
    route({
      method: 'GET',
      path: '/runs/{id}',
      scope: 'read',
      object: 'any',
      tag,
      summary: 'Returns a whole run.',
      params: { id: runId },
      answers: { 200: Run },
      refuses: ['ambiguous_id'],
      handle: async ({ params }) => jsonAnswer(await runs.text(await whole(params.id))),
    }),
    route({
      method: 'GET',
      path: '/runs/{id}/nodes',
      scope: 'read',
      object: 'any',
      tag,
      summary: 'Lists the nodes of a run in the order of execution.',
      params: { id: runId },
      answers: { 200: listOf(RunNode) },
      refuses: ['ambiguous_id'],
      handle: async ({ params }) => {
        const nodes = await runs.nodesText(await whole(params.id))
        return 'items' in nodes ? okLong(nodes) : jsonAnswer(nodes)
      },
    }),
    route({
      method: 'GET',
      path: '/runs/{id}/nodes/{node}/why',
      scope: 'read',
      object: 'any',
      tag,
      summary: 'Explains whether the stage cache had the node, and if not, what changed since the most similar run.',
      params: { id: runId, node: existing(Type.String({ pattern: NAME_PATTERN }), 'node_not_found') },
      answers: { 200: RunNodeWhy },
      refuses: ['ambiguous_id'],
      handle: async ({ params }) => ok(await runs.why(await whole(params.id), params.node)),
    }),
    route({
      method: 'GET',
      path: '/runs/{id}/events',
      scope: 'read',
      object: 'any',
      tag,
      summary: 'Lists the events of a run, newest first.',
      params: { id: runId },
      query: Type.Object(pageQuery, closed),
      answers: { 200: listOf(EngineEvent) },
      refuses: ['ambiguous_id'],
      handle: async ({ params, query }) => {
        const run = await whole(params.id)
        await runs.exists(run)
        const all = { flow: null, type: null, since_us: null, until_us: null }
        return okPage(await observe.events({ ...all, run, limit: query.limit, offset: query.offset }), query.offset)
      },
    }),
    route({
      method: 'POST',
      path: '/runs/{id}/cancel',
      scope: 'run',
      object: 'any',
      tag,
      summary:
        'A queued run is cancelled at once; a running one is told to end, and is cancelled when its bodies have.',
      params: { id: runId },
      answers: { 200: Run },
      refuses: ['ambiguous_id', 'run_ended'],
      handle: async ({ params, caller }) => runAnswer(await runs.cancelShown(await whole(params.id), caller.actor)),
    }),
    route({
      method: 'PATCH',
      path: '/runs/{id}',
      scope: 'run',
      object: 'any',
      tag,
      summary: 'Changes the tags or the note of a run. Members that are absent stay unchanged.',
      params: { id: runId },
      body: ChangeRun,
      answers: { 200: Run },
      refuses: ['ambiguous_id', 'too_many_tags', 'disk_full'],
      handle: async ({ params, body, caller }) =>
        runAnswer(await runs.changeShown(await whole(params.id), body, caller.actor)),
    }),
    route({
      method: 'DELETE',
      path: '/runs/{id}',
      scope: 'run',
      object: 'any',
      tag,
      summary: 'Deletes a run that has ended, with its nodes, metrics and logs; its events are kept.',
      params: { id: runId },
      address: true,
      answers: { 204: null },
      refuses: ['ambiguous_id', 'run_not_ended', 'run_in_use', 'disk_full'],
      handle: async ({ params, caller: { actor: name }, address }) => {
        await runs.delete(await whole(params.id), { name, address })
        return nothing
      },
    }),
    route({
      method: 'POST',
      path: '/runs/{id}/retry',
      scope: 'run',
      object: 'any',
      tag,
      summary: 'Creates a new run with the same inputs and the current version of the flow.',
      params: { id: runId },
      answers: { 201: Run },
      refuses: ['ambiguous_id', 'run_not_ended', 'flow_not_found', 'bad_input', 'too_many_runs'],
      handle: async ({ params, caller }) => {
        const run = await runs.retry(await whole(params.id), caller.actor)
        return { status: 201, body: run, long: true, headers: { location: `/runs/${run.id}` } }
      },
    }),
  ]
}

/** The key may come in the body or in the header; two different ones are a mistake. */
function withKey(request: CreateRun, header: string): CreateRun {
  if (header === '') return request
  const { idempotency_key } = request
  if (header.length > limits.IDEMPOTENCY_KEY_CHARACTERS || (idempotency_key ?? header) !== header)
    throw new ServiceError('validation', 'The idempotency key was refused.', {
      errors: [
        {
          loc: 'header.idempotency-key',
          msg:
            header.length > limits.IDEMPOTENCY_KEY_CHARACTERS
              ? `has more than ${limits.IDEMPOTENCY_KEY_CHARACTERS} characters`
              : 'differs from the idempotency_key of the body',
        },
      ],
    })
  return { ...request, idempotency_key: header }
}
