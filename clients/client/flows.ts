import type { Static } from 'typebox'
import type {
  Flow,
  FlowCommit,
  FlowCommitDetail,
  FlowSummary,
  PurgedFlow,
  SavedFlow,
  SaveFlow,
} from '../../protocol/nouns/flow.ts'
import type { Calls } from './calls.ts'
import { type List, readPages } from './pages.ts'

/** Flows and their history. */
export class Flows {
  readonly #calls: Calls

  constructor(calls: Calls) {
    this.#calls = calls
  }

  /** By name. */
  list(most?: number): Promise<List<FlowSummary>> {
    return readPages(this.#calls, '/flows', {}, most)
  }

  get(name: string): Promise<Flow> {
    return this.#calls.get(pathOf(name))
  }

  /** Makes the flow, or replaces it. Not sent twice over a known version: it would then refuse itself. */
  async save(name: string, save: SaveFlow): Promise<SavedFlow> {
    const once = save.base_version !== undefined
    return (await this.#calls.json<SavedFlow>({ method: 'PUT', path: pathOf(name), json: save, once })).body
  }

  async delete(name: string): Promise<void> {
    await this.#calls.json({ method: 'DELETE', path: pathOf(name) })
  }

  async setEnabled(name: string, enabled: boolean): Promise<SavedFlow> {
    const path = `${pathOf(name)}/${enabled ? 'enable' : 'disable'}`
    return (await this.#calls.json<SavedFlow>({ method: 'POST', path, idempotent: true })).body
  }

  async rename(name: string, to: string): Promise<SavedFlow> {
    return (await this.#calls.json<SavedFlow>({ method: 'POST', path: `${pathOf(name)}/rename`, json: { to } })).body
  }

  /** The commits, newest first. */
  history(name: string, most?: number): Promise<List<FlowCommit>> {
    return readPages(this.#calls, `${pathOf(name)}/history`, {}, most)
  }

  commit(name: string, commit: string): Promise<Static<typeof FlowCommitDetail>> {
    return this.#calls.get(`${pathOf(name)}/history/${encodeURIComponent(commit)}`)
  }

  /** Drops what waits in the flow; what runs goes on. */
  async purge(name: string): Promise<PurgedFlow> {
    return (await this.#calls.json<PurgedFlow>({ method: 'POST', path: `${pathOf(name)}/purge` })).body
  }

  async restore(name: string, commit: string): Promise<SavedFlow> {
    const path = `${pathOf(name)}/restore`
    return (await this.#calls.json<SavedFlow>({ method: 'POST', path, json: { commit } })).body
  }
}

const pathOf = (name: string): string => `/flows/${encodeURIComponent(name)}`
