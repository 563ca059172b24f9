import Type from 'typebox'
import { limits } from '../../protocol/limits.ts'
import { Summary, TimeseriesPoint } from '../../protocol/nouns/summary.ts'
import type { Engine } from '../engine.ts'
import { ok, type Route, route } from '../http/route.ts'
import { closed, microseconds, sinceQuery, untilQuery } from './queries.ts'

const tag = 'observability'

export function observabilityRoutes({ engine }: { engine: Pick<Engine, 'observe'> }): Route[] {
  const { observe } = engine
  return [
    route({
      method: 'GET',
      path: '/observability/summary',
      scope: 'read',
      tag,
      summary: 'Returns the state of the engine: version, backlog, nodes that are down, threads, disk.',
      answers: { 200: Summary },
      handle: async () => ok(await observe.summary()),
    }),
    route({
      method: 'GET',
      path: '/observability/timeseries',
      scope: 'read',
      tag,
      summary: `Returns complete bins of the metrics of the engine, oldest first, at most ${limits.TIMESERIES_POINTS}.`,
      query: Type.Object(
        {
          hours: Type.Integer({
            minimum: 0,
            maximum: limits.TIMESERIES_HOURS,
            default: 1,
            description: 'The time range up to now in hours, when `since` is absent; 0 means one hour.',
          }),
          bucket_s: Type.Integer({ minimum: 1, maximum: limits.BUCKET_S_MAX, default: 60 }),
          since: sinceQuery,
          until: untilQuery,
        },
        closed,
      ),
      answers: { 200: Type.Array(TimeseriesPoint, { maxItems: limits.TIMESERIES_POINTS }) },
      handle: async ({ query }) =>
        ok(
          await observe.timeseries({
            hours: query.hours === 0 ? 1 : query.hours,
            bucket_s: query.bucket_s,
            since_us: microseconds('since', query.since),
            until_us: microseconds('until', query.until),
          }),
        ),
    }),
  ]
}
