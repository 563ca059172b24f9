import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DashboardLock, Tile } from '../../protocol/nouns/dashboard.ts'
import type { ClaimedPanel, Panel, StartedPairing } from '../../protocol/nouns/panel.ts'
import { FlowsClient } from './flows-client.ts'
import type { LiveEngine } from './live-engine.ts'

/** A tile of a type, below the others. */
export const tile = (id: string, type: string, settings: Record<string, unknown>): Tile => ({
  id,
  type,
  settings,
  position: { wide: { x: 0, y: 0, width: 3, height: 3 } },
})

export interface Answered {
  status: number
  /** Of a refusal. */
  code: string | null
  // biome-ignore lint/suspicious/noExplicitAny: whatever was answered
  body: any
}

/** Requests to a running engine, with a token or without. */
export class Caller {
  readonly #url: string
  readonly token: string | null

  constructor(url: string, token: string | null) {
    this.#url = url
    this.token = token
  }

  async ask(method: string, path: string, body?: unknown): Promise<Answered> {
    const headers = {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(this.token === null ? {} : { authorization: `Bearer ${this.token}` }),
    }
    const answer = await fetch(this.#url + path, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    const isJson = /json/.test(answer.headers.get('content-type') ?? '')
    const read = text === '' ? null : isJson ? JSON.parse(text) : text
    return { status: answer.status, code: answer.status >= 400 ? read.code : null, body: read }
  }

  /** Answers the code of a refusal, else the status. */
  async tries(method: string, path: string, body?: unknown): Promise<string | number> {
    const { status, code } = await this.ask(method, path, body)
    return code ?? status
  }

  /** Answers the body, which must not be a refusal. */
  // biome-ignore lint/suspicious/noExplicitAny: whatever was answered
  async gets(method: string, path: string, body?: unknown): Promise<any> {
    const answered = await this.ask(method, path, body)
    assert.ok(answered.status < 400, `${method} ${path}: ${JSON.stringify(answered.body)}`)
    return answered.body
  }

  socket(): Promise<FlowsClient> {
    return FlowsClient.connect(Number(new URL(this.#url).port), this.token ?? '')
  }
}

/** An engine with dashboards and screens, as an administrator and the screens see it. */
export class PanelStory {
  readonly #live: LiveEngine
  readonly admin: Caller
  readonly nobody: Caller

  constructor(live: LiveEngine) {
    this.#live = live
    this.admin = new Caller(live.url, readFileSync(join(live.data_dir, 'token'), 'utf8').trim())
    this.nobody = new Caller(live.url, null)
  }

  as(token: string | null): Caller {
    return new Caller(this.#live.url, token)
  }

  dashboard(name: string, tiles: readonly Tile[], locked: DashboardLock = false): Promise<{ version: number }> {
    return this.admin.gets('PUT', `/dashboards/${name}`, { document: { locked, tiles } })
  }

  panel(name: string, ...dashboards: string[]): Promise<Panel> {
    return this.admin.gets('POST', '/panels', { name, dashboards })
  }

  /** A screen that is paired with the panel. */
  async pair(panel: string): Promise<Caller> {
    const { code, secret } = (await this.nobody.gets('POST', '/panels/pairings')) as StartedPairing
    assert.equal(await this.admin.tries('POST', `/panels/${panel}/approve`, { code }), 204)
    const claimed = (await this.nobody.gets('POST', `/panels/pairings/${code}/claim`, { secret })) as ClaimedPanel
    return this.as(claimed.token)
  }
}
