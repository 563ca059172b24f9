import Type from 'typebox'
import { Fire } from '../../protocol/nouns/fire.ts'
import { FlowName } from '../../protocol/nouns/flow.ts'
import { NodeDetail } from '../../protocol/nouns/node.ts'
import { NodeError } from '../../protocol/nouns/node-error.ts'
import type { Engine } from '../engine.ts'
import { existing, nothing, ok, type Route, route } from '../http/route.ts'
import { closed, listOf, okPage, pageQuery } from './queries.ts'

const tag = 'nodes'
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
