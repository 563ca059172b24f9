import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { heedFailure } from './session.ts'

/** What was read stays on the screen while it is read again. Calls are tried again by the client library itself, where that helps. */
export const queries = new QueryClient({
  queryCache: new QueryCache({ onError: heedFailure }),
  mutationCache: new MutationCache({ onError: heedFailure }),
  defaultOptions: {
    queries: { retry: false, staleTime: 5_000, refetchOnWindowFocus: true, networkMode: 'always' },
    mutations: { networkMode: 'always' },
  },
})
