import type { EngineEvent, EventType } from '../../protocol/nouns/event.ts'
import type { AuditAction } from '../../protocol/words/audit-actions.ts'
import type { Calls } from './calls.ts'
import type { List } from './pages.ts'

export interface EventQuery {
  readonly flow?: string | undefined
  readonly type?: EventType | undefined
  /** Of events of type `audit`: who did it, and what. */
  readonly actor?: string | undefined
  readonly action?: AuditAction | undefined
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
