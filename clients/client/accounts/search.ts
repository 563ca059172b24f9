import type { SearchResult } from '../../../protocol/nouns/search/found.ts'
import type { Calls } from '../calls.ts'

/** Things of the engine by words of their names and texts; for superusers. */
export function search(calls: Calls, text: string, limit?: number): Promise<SearchResult> {
  return calls.get('/search', { q: text, ...(limit === undefined ? {} : { limit }) })
}
