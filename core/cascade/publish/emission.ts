import type { EncodedValue } from '../../memory/encoded.ts'
import type { Route } from './route.ts'

/** What one emission publishes when other flows read several of its messages. `count` of each; `versions` are the answer. */
export interface Emission {
  count: number
  readonly routes: Route[]
  readonly values: EncodedValue[]
  /** Or `REFUSED.arena_full`: that value was not published. */
  readonly versions: number[]
}
