import type {
  Dashboard,
  DashboardSummary,
  DashboardVersion,
  DashboardVersionDetail,
  SaveDashboard,
  SavedDashboard,
  TileTypeInfo,
} from '../../../protocol/nouns/dashboard.ts'
import type { Calls } from '../calls.ts'
import { type List, readPages } from '../pages.ts'

/** Dashboards and their history. */
export class Dashboards {
  readonly #calls: Calls

  constructor(calls: Calls) {
    this.#calls = calls
  }

  /** By name. */
  list(most?: number): Promise<List<DashboardSummary>> {
    return readPages(this.#calls, '/dashboards', {}, most)
  }

  get(name: string): Promise<Dashboard> {
    return this.#calls.get(pathOf(name))
  }

  /** Makes the dashboard, or replaces it. Not sent twice over a known version: it would then refuse itself. */
  async save(name: string, save: SaveDashboard): Promise<SavedDashboard> {
    const once = save.version !== undefined
    return (await this.#calls.json<SavedDashboard>({ method: 'PUT', path: pathOf(name), json: save, once })).body
  }

  async delete(name: string): Promise<void> {
    await this.#calls.json({ method: 'DELETE', path: pathOf(name) })
  }

  /** The versions that are kept, newest first; also of one that was deleted. */
  history(name: string, most?: number): Promise<List<DashboardVersion>> {
    return readPages(this.#calls, `${pathOf(name)}/history`, {}, most)
  }

  version(name: string, version: number): Promise<DashboardVersionDetail> {
    return this.#calls.get(`${pathOf(name)}/history/${version}`)
  }

  async restore(name: string, version: number): Promise<SavedDashboard> {
    const path = `${pathOf(name)}/restore`
    return (await this.#calls.json<SavedDashboard>({ method: 'POST', path, json: { version } })).body
  }

  /** The types of tiles. */
  types(): Promise<List<TileTypeInfo>> {
    return readPages(this.#calls, '/tile-types')
  }
}

const pathOf = (name: string): string => `/dashboards/${encodeURIComponent(name)}`
