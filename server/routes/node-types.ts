import Type from 'typebox'
import type { NodeTypeInfo as Info } from '../../protocol/nouns/node-type.ts'
import { NodeTypeInfo } from '../../protocol/nouns/node-type.ts'
import type { AnyNodeType } from '../../threads/nodes/node-type.ts'
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

const infoOf = ({
  name,
  title,
  summary,
  place,
  side_effects,
  targetKey,
  settings,
  inputs,
  outputs,
}: AnyNodeType): Info =>
  ({
    name,
    title,
    summary,
    place,
    side_effects,
    has_target: targetKey !== undefined,
    settings: settings as unknown as Info['settings'],
    inputs,
    outputs,
  }) as Info
