import type {
  ChangePanel,
  ClaimedPanel,
  CreatePanel,
  OwnPanel,
  Panel,
  PendingPairing,
  StartedPairing,
} from '../../../protocol/nouns/panel.ts'
import type { Calls } from '../calls.ts'
import { type List, readPages } from '../pages.ts'

/** Panels, and the pairing of screens with them. */
export class Panels {
  readonly #calls: Calls

  constructor(calls: Calls) {
    this.#calls = calls
  }

  /** The oldest first. */
  list(most?: number): Promise<List<Panel>> {
    return readPages(this.#calls, '/panels', {}, most)
  }

  get(id: string): Promise<Panel> {
    return this.#calls.get(pathOf(id))
  }

  async create(panel: CreatePanel): Promise<Panel> {
    return (await this.#calls.json<Panel>({ method: 'POST', path: '/panels', json: panel })).body
  }

  async change(id: string, change: ChangePanel): Promise<Panel> {
    return (await this.#calls.json<Panel>({ method: 'PUT', path: pathOf(id), json: change })).body
  }

  async delete(id: string): Promise<void> {
    await this.#calls.json({ method: 'DELETE', path: pathOf(id) })
  }

  /** Lets the screen that shows the code be this panel. */
  async approve(id: string, code: string): Promise<void> {
    await this.#calls.json({ method: 'POST', path: `${pathOf(id)}/approve`, json: { code } })
  }

  /** Its screens are refused from now on. */
  async unpair(id: string): Promise<void> {
    await this.#calls.json({ method: 'POST', path: `${pathOf(id)}/unpair` })
  }

  /** For a screen, which needs no token: show the code, keep the secret. */
  async startPairing(): Promise<StartedPairing> {
    return (await this.#calls.json<StartedPairing>({ method: 'POST', path: '/panels/pairings' })).body
  }

  /** For a screen: its token, once somebody has approved the code. Ask again every few seconds while it is pending. */
  async claim({ code, secret }: Pick<StartedPairing, 'code' | 'secret'>): Promise<ClaimedPanel | PendingPairing> {
    const path = `/panels/pairings/${encodeURIComponent(code)}/claim`
    return (await this.#calls.json<ClaimedPanel | PendingPairing>({ method: 'POST', path, json: { secret } })).body
  }

  /** For a screen: what it is, and what it shows. */
  own(): Promise<OwnPanel> {
    return this.#calls.get('/panels/me')
  }
}

const pathOf = (id: string): string => `/panels/${encodeURIComponent(id)}`
