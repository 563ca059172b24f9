import Type from 'typebox'
import { ServiceError } from '../../../protocol/errors.ts'
import { limits } from '../../../protocol/limits.ts'
import { EVENT_TYPES } from '../../../protocol/words/event-types.ts'
import { mayDo } from '../../auth/principal.ts'
import { wholeRun } from '../../http/parse/short-ids.ts'
import { closed, flowName, page, pageOf, runId, since, timeOf, until } from '../arguments.ts'
import { listOf, shortened } from '../results.ts'
import { tableOf } from '../tables.ts'
import { type Tool, tool } from '../tool.ts'

const VALUE_SHOWN = 500

/** Each member by its beginning. */
const shownEvent = (event: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(event).flatMap(([name, value]) => (value === null ? [] : [[name, shortened(value, VALUE_SHOWN)]])),
  )

export const observeTools: readonly Tool[] = [
  tool({
    name: 'list_events',
    title: 'List events',
    description:
      'Lists what happened in the engine, newest first: saves, errors of nodes, runs, restarts; of one flow, one run or one type.',
    scope: 'read',
    input: Type.Object(
      {
        flow: Type.Optional(flowName),
        run: Type.Optional(runId),
        type: Type.Optional(Type.Enum([...EVENT_TYPES])),
        since,
        until,
        ...page,
      },
      closed,
    ),
    run: async ({ flow, run, type, since, until, ...args }, { engine, caller }) => {
      const { limit, offset } = pageOf(args)
      const audit = mayDo(caller, 'admin')
      if (type === 'audit' && !audit)
        throw new ServiceError('forbidden', 'Events of type "audit" need the scope "admin".')
      const range = { since_us: timeOf('since', since), until_us: timeOf('until', until) }
      const asked = {
        flow: flow ?? null,
        run: run === undefined ? null : await wholeRun(engine.runs, run),
        type: type ?? null,
        audit,
        ...range,
        limit,
        offset,
      }
      const { items, count } = await engine.observe.events(asked)
      return listOf(items.map(shownEvent), count, offset)
    },
  }),
  tool({
    name: 'search',
    title: 'Search',
    description:
      'Finds flows, nodes with their sources, messages, dashboards, panels, runs, artifacts, users and names of secrets by words; each word may go on.',
    scope: 'admin',
    reads_only: true,
    input: Type.Object(
      {
        text: Type.String({ minLength: 1, maxLength: limits.SEARCH_CHARACTERS }),
        limit: Type.Optional(
          Type.Integer({ minimum: 1, maximum: limits.SEARCH_FOUND, description: '20 when absent.' }),
        ),
      },
      closed,
    ),
    run: ({ text, limit = 20 }, { search }) => search(text, limit),
  }),
  tool({
    name: 'read_status',
    title: 'Read the status of the engine',
    description: 'Returns how the engine is: version, flows with issues, nodes that are down, backlog, threads, disk.',
    scope: 'read',
    input: Type.Object({}, closed),
    run: (_, { engine }) => engine.observe.summary(),
  }),
  tool({
    name: 'read_activity',
    title: 'Read the activity of the engine',
    description:
      'Returns a table of what the engine did in closed bins of time: published, executions, errors, cascades, waiting.',
    scope: 'read',
    input: Type.Object(
      {
        hours: Type.Optional(
          Type.Integer({ minimum: 1, maximum: limits.TIMESERIES_HOURS, description: 'Up to now; 1 when absent.' }),
        ),
        bucket_s: Type.Optional(
          Type.Integer({ minimum: 10, maximum: limits.BUCKET_S_MAX, description: '300 when absent.' }),
        ),
      },
      closed,
    ),
    run: async ({ hours = 1, bucket_s = 300 }, { engine }) => {
      const points = await engine.observe.timeseries({ hours, bucket_s, since_us: null, until_us: null })
      const columns = ['ts', 'published', 'executions', 'errors', 'cascades', 'waiting'] as const
      const rows = points.map(point => columns.map(column => point[column]))
      return tableOf({ title: `activity, bins of ${bucket_s} s`, columns, rows })
    },
  }),
]
