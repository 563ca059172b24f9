import type { Rekeyed, Secret } from '../../../protocol/nouns/accounts/secret.ts'
import type { Calls } from '../calls.ts'
import { type List, readPages } from '../pages.ts'

/** Texts that flows use by name. Values go in, and never out. */
export class Secrets {
  readonly #calls: Calls

  constructor(calls: Calls) {
    this.#calls = calls
  }

  /** By name. */
  list(): Promise<List<Secret>> {
    return readPages(this.#calls, '/secrets/')
  }

  async set(name: string, value: string): Promise<void> {
    await this.#calls.json({ method: 'PUT', path: pathOf(name), json: { value } })
  }

  async delete(name: string): Promise<void> {
    await this.#calls.json({ method: 'DELETE', path: pathOf(name) })
  }

  /** Seals all of them under a new key. */
  async rekey(): Promise<Rekeyed> {
    return (await this.#calls.json<Rekeyed>({ method: 'POST', path: '/secret-keys', idempotent: true })).body
  }
}

const pathOf = (name: string): string => `/secrets/${encodeURIComponent(name)}`
