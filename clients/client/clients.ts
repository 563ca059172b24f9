import type { Client, CreateClient, CreatedClient } from '../../protocol/nouns/accounts/client.ts'
import type { Calls } from './calls.ts'
import { type List, readPages } from './pages.ts'

/** Agents and programs that act for a user; for superusers. */
export class Clients {
  readonly #calls: Calls

  constructor(calls: Calls) {
    this.#calls = calls
  }

  /** By name. */
  list(most?: number): Promise<List<Client>> {
    return readPages(this.#calls, '/clients', {}, most)
  }

  /** The answer is the only one that shows the token. */
  async create(client: CreateClient): Promise<CreatedClient> {
    return (await this.#calls.json<CreatedClient>({ method: 'POST', path: '/clients', json: client })).body
  }

  /** Its tokens are refused at once. */
  async delete(client_id: string): Promise<void> {
    await this.#calls.json({ method: 'DELETE', path: `/clients/${encodeURIComponent(client_id)}` })
  }
}
