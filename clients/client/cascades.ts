import type { Cascade, Rerun } from '../../protocol/nouns/cascade.ts'
import type { Calls } from './calls.ts'

export interface CascadeQuery {
  readonly flow?: string | undefined
  readonly status?: Cascade['status'] | undefined
  /** RFC 3339. */
  readonly since?: string | undefined
  readonly before?: string | undefined
  readonly limit?: number | undefined
  readonly offset?: number | undefined
}

/** What published messages started, live. */
export class Cascades {
  readonly #calls: Calls

  constructor(calls: Calls) {
    this.#calls = calls
  }

  /** One page, newest first. */
  list(query: CascadeQuery = {}): Promise<{ items: Cascade[]; count: number }> {
    return this.#calls.get('/cascades', { ...query })
  }

  get(id: string): Promise<Cascade> {
    return this.#calls.get(pathOf(id))
  }

  /** Starts an interrupted or failed one again. Sent once: a second call would start a second cascade. */
  async rerun(id: string): Promise<Rerun> {
    return (await this.#calls.json<Rerun>({ method: 'POST', path: `${pathOf(id)}/rerun` })).body
  }
}

const pathOf = (id: string): string => `/cascades/${encodeURIComponent(id)}`
