import Type from 'typebox'
import { Cascade, Rerun } from '../../protocol/nouns/cascade.ts'
import { FlowName } from '../../protocol/nouns/flow.ts'
import type { Engine } from '../engine.ts'
import { cascadeId, wholeCascade } from '../http/parse/short-ids.ts'
import { accepted, ok, type Route, route } from '../http/route.ts'
import { closed, listOf, microseconds, okPage, pageQuery, sinceQuery, untilQuery } from './queries.ts'

const tag = 'cascades'

export function cascadeRoutes({ engine }: { engine: Pick<Engine, 'observe' | 'cascades'> }): Route[] {
  const { observe, cascades } = engine
  return [
    route({
      method: 'GET',
      path: '/cascades',
      scope: 'read',
      tag,
      summary: 'Lists cascades, newest first.',
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
        okPage(
          await observe.cascades({
            limit: query.limit,
            offset: query.offset,
            flow: query.flow ?? null,
            status: query.status ?? null,
            since_us: microseconds('since', query.since),
            before_us: microseconds('before', query.before),
          }),
          query.offset,
        ),
    }),
    route({
      method: 'GET',
      path: '/cascades/{id}',
      scope: 'read',
      object: 'any',
      tag,
      summary: 'Returns a cascade.',
      params: { id: cascadeId },
      answers: { 200: Cascade },
      refuses: ['ambiguous_id'],
      handle: async ({ params }) => ok(await observe.cascade(await wholeCascade(observe, params.id))),
    }),
    route({
      method: 'POST',
      path: '/cascades/{id}/rerun',
      scope: 'run',
      object: 'any',
      tag,
      summary:
        'Runs an interrupted or failed cascade again, from the value that began it, as a new cascade of its flow.',
      params: { id: cascadeId },
      answers: { 202: Rerun },
      refuses: [
        'ambiguous_id',
        'cascade_running',
        'cascade_succeeded',
        'root_value_gone',
        'flow_disabled',
        'backlogged',
      ],
      handle: async ({ params }) => accepted(await cascades.rerun(await wholeCascade(observe, params.id))),
    }),
  ]
}
