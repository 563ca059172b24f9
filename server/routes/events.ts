import Type from 'typebox'
import { ServiceError } from '../../protocol/errors.ts'
import { EngineEvent } from '../../protocol/nouns/event.ts'
import { FlowName } from '../../protocol/nouns/flow.ts'
import { AUDIT_ACTIONS } from '../../protocol/words/audit-actions.ts'
import { EVENT_TYPES } from '../../protocol/words/event-types.ts'
import { mayDo } from '../auth/principal.ts'
import type { Engine } from '../engine.ts'
import { type Route, route } from '../http/route.ts'
import { closed, listOf, microseconds, okPage, pageQuery, sinceQuery, untilQuery } from './queries.ts'

export function eventRoutes({ engine }: { engine: Pick<Engine, 'observe'> }): Route[] {
  return [
    route({
      method: 'GET',
      path: '/events',
      scope: 'read',
      tag: 'observability',
      summary: 'Lists engine events, newest first. Only superusers see events of type `audit`.',
      query: Type.Object(
        {
          ...pageQuery,
          flow: Type.Optional(FlowName),
          type: Type.Optional(Type.Union(EVENT_TYPES.map(type => Type.Literal(type)))),
          since: sinceQuery,
          until: untilQuery,
          actor: Type.Optional(Type.String({ maxLength: 256 })),
          action: Type.Optional(Type.Enum([...AUDIT_ACTIONS])),
        },
        closed,
      ),
      answers: { 200: listOf(EngineEvent) },
      refuses: ['forbidden'],
      handle: async ({ query, caller }) => {
        if (query.type === 'audit' && !mayDo(caller, 'admin'))
          throw new ServiceError('forbidden', 'Only a superuser may read events of type "audit".')
        return okPage(
          await engine.observe.events({
            limit: query.limit,
            offset: query.offset,
            flow: query.flow ?? null,
            type: (query.type as string | undefined) ?? null,
            since_us: microseconds('since', query.since),
            until_us: microseconds('until', query.until),
            audit: mayDo(caller, 'admin'),
            actor: query.actor ?? null,
            action: query.action ?? null,
          }),
          query.offset,
        )
      },
    }),
  ]
}
