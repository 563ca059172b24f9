import Type from 'typebox'
import { NodeTypeInfo } from '../../protocol/nouns/node-type.ts'
import { infoOf } from '../../threads/nodes/node-type-info.ts'
import { NODE_TYPES } from '../../threads/nodes/types/index.ts'
import { type Route, route } from '../http/route.ts'
import { pageOf } from '../list-page.ts'
import { closed, listOf, okPage, pageQuery } from './queries.ts'

export function nodeTypeRoutes(): Route[] {
  return [
    route({
      method: 'GET',
      path: '/node-types',
      scope: 'read',
      tag: 'nodes',
      summary: 'Lists the node types with their settings as JSON Schema and their ports.',
      query: Type.Object(pageQuery, closed),
      answers: { 200: listOf(NodeTypeInfo) },
      handle: ({ query: { limit, offset } }) => {
        const shown = Iterator.from(NODE_TYPES).drop(offset).take(limit).map(infoOf)
        return okPage(pageOf(shown, NODE_TYPES.length, offset), offset)
      },
    }),
  ]
}
