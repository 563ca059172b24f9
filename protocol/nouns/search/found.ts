import Type, { type Static } from 'typebox'
import { limits } from '../../limits.ts'

/** What `GET /search` answers. */

export const SEARCH_KINDS = [
  'flow',
  'node',
  'message',
  'dashboard',
  'panel',
  'run',
  'artifact',
  'user',
  'secret',
] as const
export type SearchKind = (typeof SEARCH_KINDS)[number]

export const Found = Type.Object({
  kind: Type.Unsafe<SearchKind>(Type.Union(SEARCH_KINDS.map(kind => Type.Literal(kind)))),
  name: Type.String({
    description: 'The name or the id of the thing; of a node `flow.node`, of an artifact its digest.',
  }),
  flow: Type.Union([Type.String(), Type.Null()], { description: 'The flow that it belongs to.' }),
  snippet: Type.Array(Type.Object({ text: Type.String(), match: Type.Boolean() }), {
    description: 'A piece of its text in parts; `match`: this part is what was looked for. Plain text, no HTML.',
  }),
})
export type Found = Static<typeof Found>

export const SearchResult = Type.Object({
  found: Type.Array(Found, { description: `The best first, at most ${limits.SEARCH_FOUND}.` }),
  more: Type.Boolean({ description: 'There are more; say more of what you look for.' }),
  complete: Type.Boolean({ description: 'False while the index is being made: a search may miss things.' }),
})
export type SearchResult = Static<typeof SearchResult>
