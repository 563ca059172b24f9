import Type from 'typebox'
import { Cascade } from '../../protocol/nouns/cascade.ts'
import { FlowName } from '../../protocol/nouns/flow.ts'
import type { Engine } from '../engine.ts'
import { existing, ok, type Route, route } from '../http/route.ts'
import { closed, listOf, microseconds, pageQuery, sinceQuery, untilQuery } from './queries.ts'

const tag = 'cascades'
const CascadeId = Type.String({ pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' })

export function cascadeRoutes({ engine }: { engine: Pick<Engine, 'observe'> }): Route[] {
  const { observe } = engine
  return [
    route({
      method: 'GET',
      path: '/cascades',
      who: 'user',
      tag,
      summary: 'What published messages started, newest first.',
      query: Type.Object(
        {
          ...pageQuery,
          flow: Type.Optional(FlowName),
          status: Type.Optional(Cascade.properties.status),
          since: sinceQuery,
          before: untilQuery,
        },
        closed,
      ),
      answers: { 200: listOf(Cascade) },
      handle: async ({ query }) =>
        ok(
          await observe.cascades({
            limit: query.limit,
            offset: query.offset,
            flow: query.flow ?? null,
            status: query.status ?? null,
            since_us: microseconds('since', query.since),
            before_us: microseconds('before', query.before),
          }),
        ),
    }),
    route({
      method: 'GET',
      path: '/cascades/{id}',
      who: 'user',
      tag,
      summary: 'One cascade.',
      params: { id: existing(CascadeId, 'cascade_not_found') },
      answers: { 200: Cascade },
      handle: async ({ params }) => ok(await observe.cascade(params.id)),
    }),
  ]
}
