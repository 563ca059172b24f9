import Type from 'typebox'
import { ServiceError } from '../../protocol/errors.ts'
import { Fire } from '../../protocol/nouns/fire.ts'
import { FlowName } from '../../protocol/nouns/flow.ts'
import { NodeDetail, TriedNode, TryNode } from '../../protocol/nouns/node.ts'
import { NodeError } from '../../protocol/nouns/node-error.ts'
import { mayDo } from '../auth/principal.ts'
import type { Engine } from '../engine.ts'
import { existing, nothing, ok, okLong, type Route, route } from '../http/route.ts'
import { closed, listOf, okPage, pageQuery } from './queries.ts'

const tag = 'nodes'
/** What a draft can be refused with, as a save of it would be. */
const DRAFT_REFUSALS = [
  'bad_settings',
  'bad_cron',
  'syntax_error',
  'no_default_export',
  'unknown_secret',
  'unknown_flavor',
  'language_unavailable',
  'disk_full',
  'disk_read_only',
  'disk_failed',
  'check_late',
] as const
const params = { flow: existing(FlowName, 'node_not_found'), node: existing(FlowName, 'node_not_found') }

export function nodeRoutes({ engine }: { engine: Pick<Engine, 'nodes'> }): Route[] {
  const { nodes } = engine
  return [
    route({
      method: 'GET',
      path: '/nodes/{flow}.{node}',
      scope: 'read',
      object: 'any',
      tag,
      summary: 'Returns a node: its counts, and the latencies of the node and its input wires.',
      params,
      answers: { 200: NodeDetail },
      handle: ({ params: { flow, node } }) => ok(nodes.get(`${flow}.${node}`)),
    }),
    route({
      method: 'GET',
      path: '/nodes/{flow}.{node}/errors',
      scope: 'read',
      object: 'any',
      tag,
      summary: 'Lists the last failed executions of a node with their inputs, newest first.',
      params,
      query: Type.Object(pageQuery, closed),
      answers: { 200: listOf(NodeError) },
      handle: async ({ params: { flow, node }, query: { limit, offset } }) => {
        const { items, count } = await nodes.errors(`${flow}.${node}`)
        return okPage({ items: items.slice(offset, offset + limit), count }, offset)
      },
    }),
    route({
      method: 'GET',
      path: '/nodes/{flow}.{node}/fires',
      scope: 'read',
      object: 'any',
      tag,
      summary: 'Lists what became of the scheduled occurrences of an inject node, newest first.',
      params,
      query: Type.Object(pageQuery, closed),
      answers: { 200: listOf(Fire) },
      handle: async ({ params: { flow, node }, query }) =>
        okPage(await nodes.fires(`${flow}.${node}`, query), query.offset),
    }),
    route({
      method: 'POST',
      path: '/flows/{name}/nodes/{id}/try',
      scope: 'run',
      object: 'any',
      tag,
      summary:
        'Runs the body of a node once on given or newest inputs, and publishes and keeps nothing. Another source or other settings need the scope "code".',
      params: { name: params.flow, id: params.node },
      body: TryNode,
      gone: true,
      answers: { 200: TriedNode },
      refuses: ['bad_input', 'no_body', 'too_many_tries', ...DRAFT_REFUSALS],
      handle: async ({ params: { name, id }, body, caller, gone }) => {
        if ((body.source !== undefined || body.settings !== undefined) && !mayDo(caller, 'code'))
          throw new ServiceError('forbidden', 'Trying another source or other settings needs the scope "code".')
        return okLong(await nodes.try(`${name}.${id}`, body, gone))
      },
    }),
    route({
      method: 'POST',
      path: '/nodes/{flow}.{node}/acknowledge',
      scope: 'run',
      object: 'any',
      tag,
      summary: "Clears a node's last error.",
      params,
      answers: { 204: null },
      refuses: ['disk_full'],
      handle: async ({ params: { flow, node }, caller }) => {
        await nodes.acknowledge(`${flow}.${node}`, caller.actor)
        return nothing
      },
    }),
  ]
}
