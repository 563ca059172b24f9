import Type from 'typebox'
import { limits } from '../../../protocol/limits.ts'
import { SearchResult } from '../../../protocol/nouns/search/found.ts'
import { ok, type Route, route } from '../../http/route.ts'
import { closed } from '../queries.ts'

export interface SearchServices {
  search(text: string, limit: number): Promise<SearchResult>
}

export function searchRoutes({ search }: SearchServices): Route[] {
  return [
    route({
      method: 'GET',
      path: '/search',
      scope: 'admin',
      tag: 'search',
      summary:
        'Finds flows, nodes (with their sources), messages, dashboards, panels, runs, artifacts, users and names of secrets.',
      query: Type.Object(
        {
          q: Type.String({ minLength: 1, maxLength: limits.SEARCH_CHARACTERS, description: 'Words; each may go on.' }),
          limit: Type.Integer({ minimum: 1, maximum: limits.SEARCH_FOUND, default: 20 }),
        },
        closed,
      ),
      answers: { 200: SearchResult },
      handle: async ({ query }) => ok(await search(query.q, query.limit)),
    }),
  ]
}
