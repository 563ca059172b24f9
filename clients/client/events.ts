import type { EngineEvent, EventType } from '../../protocol/nouns/event.ts'
import type { Calls } from './calls.ts'
import type { List } from './pages.ts'

export interface EventQuery {
  readonly flow?: string | undefined
  readonly type?: EventType | undefined
  /** RFC 3339. */
  readonly since?: string | undefined
  readonly until?: string | undefined
  readonly limit?: number | undefined
  readonly offset?: number | undefined
}

/** What happened in the engine. Those of type `audit` are for superusers. */
export class Events {
  readonly #calls: Calls

  constructor(calls: Calls) {
    this.#calls = calls
  }

  /** One page, newest first. */
  list(query: EventQuery = {}): Promise<List<EngineEvent>> {
    return this.#calls.get('/events', { ...query })
  }
}
