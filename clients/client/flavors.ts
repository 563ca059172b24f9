import type { Flavor, PutFlavor } from '../../protocol/nouns/flavor.ts'
import type { Calls } from './calls.ts'
import { type List, readPages } from './pages.ts'

/** Named sizes that nodes ask for. */
export class Flavors {
  readonly #calls: Calls

  constructor(calls: Calls) {
    this.#calls = calls
  }

  /** By name. */
  list(): Promise<List<Flavor>> {
    return readPages(this.#calls, '/flavors')
  }

  async put(name: string, flavor: PutFlavor): Promise<Flavor> {
    return (await this.#calls.json<Flavor>({ method: 'PUT', path: pathOf(name), json: flavor })).body
  }

  async delete(name: string): Promise<void> {
    await this.#calls.json({ method: 'DELETE', path: pathOf(name) })
  }
}

const pathOf = (name: string): string => `/flavors/${encodeURIComponent(name)}`
