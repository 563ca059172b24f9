import { randomBytes } from 'node:crypto'
import { v7 as uuidv7 } from 'uuid'
import { type ErrorPlace, ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { List, Page } from '../../protocol/nouns/list.ts'
import type { ChangePanel, CreatePanel, OwnPanel, Panel } from '../../protocol/nouns/panel.ts'
import { formatTime } from '../../protocol/time.ts'
import type { PanelPrincipal } from '../auth/principal.ts'
import type { KnownPanels } from '../auth/standing-panels.ts'
import type { DashboardRecords, Dashboards } from '../dashboards/dashboards.ts'
import { type Approval, Pairings } from './pairings.ts'
import { LiveReach, NO_SCOPE, type ReachNow, Scope } from './reach.ts'

export interface PanelsParts {
  readonly records: DashboardRecords
  readonly dashboards: Dashboards
  readonly now: ReachNow
  /** A token for the screens of the panel, bound to the nonce. */
  mint(panel: string, nonce: string): Promise<string>
  now_us(): number
  steady_ms(): number
}

/** What is stored of one. */
interface Stored {
  readonly name: string
  readonly dashboards: readonly string[]
  /** In each token of its screens: another one ends them all. */
  readonly nonce: string
  readonly paired: boolean
  readonly created_at: string
  readonly created_by: string
}

interface Known {
  stored: Stored
  readonly principal: PanelPrincipal
  readonly reach: LiveReach
}

/** What a panel may do is another than before. */
export interface ScopeChange {
  readonly panel: string
  readonly before: Scope
  readonly after: Scope
}

const NONCE_BYTES = 18
const newNonce = (): string => randomBytes(NONCE_BYTES).toString('base64url')

/**
 * The panels, in memory over the store; screens are paired with them. Changes go one after another; the store is written first, and memory
 * follows when the write is synced.
 */
export class Panels implements KnownPanels {
  readonly #parts: PanelsParts
  readonly #panels = new Map<string, Known>()
  readonly #pairings: Pairings
  /** Panels with the same dashboards have the same scope. */
  readonly #scopes = new Map<string, Scope>()
  #last_change: Promise<unknown> = Promise.resolve()
  readonly #scope_followers: ((changes: readonly ScopeChange[]) => void)[] = []
  readonly #end_followers: (() => void)[] = []
  /** Open sockets of a panel. */
  #connected: (panel: string) => number = () => 0

  private constructor(parts: PanelsParts) {
    this.#parts = parts
    this.#pairings = new Pairings(parts)
  }

  static async open(parts: PanelsParts): Promise<Panels> {
    const panels = new Panels(parts)
    for (const { id, body } of await parts.records.list('panel')) panels.#add(id, JSON.parse(body) as Stored)
    parts.dashboards.attach(name => panels.#showing(name))
    parts.dashboards.onChange(name => panels.#dashboardChanged(name))
    return panels
  }

  /** Sockets are opened after panels. */
  attach(connected: (panel: string) => number): void {
    this.#connected = connected
  }

  /** Hears what panels may do from now on, and could before. */
  onScope(follower: (changes: readonly ScopeChange[]) => void): void {
    this.#scope_followers.push(follower)
  }

  /** Hears that tokens of a panel have ended. */
  onEnded(follower: () => void): void {
    this.#end_followers.push(follower)
  }

  /** Messages whose bytes some panel shows. */
  get media(): ReadonlySet<string> {
    const names = new Set<string>()
    for (const { media } of this.#scopes.values()) for (const name of media) names.add(name)
    return names
  }

  standing(id: string): { readonly nonce: string; readonly principal: PanelPrincipal } | null {
    const known = this.#panels.get(id)
    return known === undefined ? null : { nonce: known.stored.nonce, principal: known.principal }
  }

  /** The oldest first. */
  list({ limit, offset }: Page): List<Panel> {
    const items = Iterator.from(this.#panels).drop(offset).take(limit)
    return { items: [...items.map(([id, known]) => this.#shown(id, known.stored))], count: this.#panels.size }
  }

  get(id: string): Panel {
    return this.#shown(id, this.#existing(id).stored)
  }

  own(id: string): OwnPanel {
    const { name, dashboards } = this.#existing(id).stored
    return {
      id,
      name,
      dashboards: dashboards.map(dashboard => ({
        name: dashboard,
        version: this.#parts.dashboards.versionOf(dashboard),
      })),
    }
  }

  create({ name, dashboards }: CreatePanel, by: string): Promise<Panel> {
    return this.#inTurn(async () => {
      if (this.#panels.size >= limits.PANELS)
        throw new ServiceError('too_many_panels', `There are ${limits.PANELS} panels, which is the bound.`)
      this.#refuseName(name, null)
      this.#refuseDashboards(dashboards)
      const id = uuidv7()
      const created_at = formatTime(this.#parts.now_us())
      const stored: Stored = { name, dashboards, nonce: newNonce(), paired: false, created_at, created_by: by }
      await this.#write(id, stored)
      this.#add(id, stored)
      this.#tell([{ panel: id, before: NO_SCOPE, after: this.#panels.get(id)!.reach.scope }])
      return this.#shown(id, stored)
    })
  }

  change(id: string, { name, dashboards }: ChangePanel): Promise<Panel> {
    return this.#inTurn(async () => {
      const known = this.#existing(id)
      if (name !== undefined) this.#refuseName(name, id)
      if (dashboards !== undefined) this.#refuseDashboards(dashboards)
      const stored = {
        ...known.stored,
        ...(name === undefined ? {} : { name }),
        ...(dashboards === undefined ? {} : { dashboards }),
      }
      await this.#write(id, stored)
      known.stored = stored
      this.#rescope([[id, known]])
      return this.#shown(id, stored)
    })
  }

  /** Its screens are refused from now on. */
  remove(id: string): Promise<void> {
    return this.#inTurn(async () => {
      this.#existing(id)
      await this.#parts.records.write([{ kind: 'panel', id, body: null }])
      this.#panels.delete(id)
      this.#dropScopes()
      this.#tell([])
      this.#ended()
    })
  }

  /** Screens with the old nonce are refused from now on; name and dashboards stay. */
  unpair(id: string): Promise<void> {
    return this.#inTurn(async () => {
      const known = this.#existing(id)
      const stored = { ...known.stored, nonce: newNonce(), paired: false }
      await this.#write(id, stored)
      known.stored = stored
      this.#ended()
    })
  }

  startPairing(address: string): ReturnType<Pairings['start']> {
    return this.#pairings.start(address)
  }

  approve(id: string, code: string, by: string): void {
    const { nonce } = this.#existing(id).stored
    this.#pairings.approve(code, { panel: id, nonce }, by)
  }

  /** A token, once, or until when the screen may go on asking. */
  async claim(
    code: string,
    secret: string,
    address: string,
  ): Promise<{ token: string; panel: OwnPanel } | { readonly expires_at: string }> {
    const isGood = ({ panel, nonce }: Approval): boolean => this.#panels.get(panel)?.stored.nonce === nonce
    const claimed = this.#pairings.claim(code, secret, address, isGood)
    if (!('panel' in claimed)) return claimed
    const { panel: id, nonce, giveBack } = claimed
    try {
      await this.#inTurn(() => this.#setPaired(id, nonce))
    } catch (error) {
      giveBack()
      throw error
    }
    // Of one that was unpaired meanwhile the token is dead when it is born.
    const token = await this.#parts.mint(id, nonce)
    return { token, panel: this.own(id) }
  }

  async #setPaired(id: string, nonce: string): Promise<void> {
    const known = this.#panels.get(id)
    if (known === undefined || known.stored.nonce !== nonce || known.stored.paired) return
    const stored = { ...known.stored, paired: true }
    await this.#write(id, stored)
    known.stored = stored
  }

  #add(id: string, stored: Stored): void {
    const reach = new LiveReach(this.#parts.now)
    reach.scope = this.#scopeOf(stored.dashboards)
    const principal: PanelPrincipal = { kind: 'panel', id, actor: `panel:${id}`, scopes: [], reach }
    this.#panels.set(id, { stored, principal, reach })
  }

  #scopeOf(dashboards: readonly string[]): Scope {
    const key = dashboards.join(' ')
    let scope = this.#scopes.get(key)
    if (scope === undefined) {
      scope = new Scope(
        dashboards.flatMap(name => {
          const document = this.#parts.dashboards.document(name)
          return document === null ? [] : [[name, document] as const]
        }),
      )
      this.#scopes.set(key, scope)
    }
    return scope
  }

  #dashboardChanged(name: string): void {
    const showing = [...this.#panels].filter(([, { stored }]) => stored.dashboards.includes(name))
    for (const [, { stored }] of showing) this.#scopes.delete(stored.dashboards.join(' '))
    this.#rescope(showing)
  }

  #rescope(panels: readonly (readonly [id: string, known: Known])[]): void {
    const changes: ScopeChange[] = []
    for (const [panel, { stored, reach }] of panels) {
      const before = reach.scope
      reach.scope = this.#scopeOf(stored.dashboards)
      if (reach.scope !== before) changes.push({ panel, before, after: reach.scope })
    }
    this.#dropScopes()
    if (changes.length > 0) this.#tell(changes)
  }

  #tell(changes: readonly ScopeChange[]): void {
    for (const follower of this.#scope_followers) follower(changes)
  }

  /** Those of no panel. */
  #dropScopes(): void {
    const used = new Set([...this.#panels.values()].map(({ reach }) => reach.scope))
    for (const [key, scope] of this.#scopes) if (!used.has(scope)) this.#scopes.delete(key)
  }

  #showing(dashboard: string): string[] {
    return [...this.#panels.values()].flatMap(({ stored: { name, dashboards } }) =>
      dashboards.includes(dashboard) ? [name] : [],
    )
  }

  #refuseName(name: string, own: string | null): void {
    for (const [id, { stored }] of this.#panels)
      if (stored.name === name && id !== own)
        throw new ServiceError('panel_exists', `There is a panel "${name}" already.`)
  }

  #refuseDashboards(dashboards: readonly string[]): void {
    const errors: ErrorPlace[] = []
    for (const [at, name] of dashboards.entries()) {
      const loc = `body.dashboards[${at}]`
      if (this.#parts.dashboards.document(name) === null) errors.push({ loc, msg: `there is no dashboard "${name}"` })
      else if (dashboards.indexOf(name) !== at) errors.push({ loc, msg: `"${name}" is given twice` })
    }
    if (errors.length > 0) throw new ServiceError('validation', 'The dashboards were refused.', { errors })
  }

  #shown(id: string, { name, dashboards, paired, created_at, created_by }: Stored): Panel {
    return { id, name, dashboards: [...dashboards], paired, connected: this.#connected(id), created_at, created_by }
  }

  #existing(id: string): Known {
    const known = this.#panels.get(id)
    if (known !== undefined) return known
    throw new ServiceError('panel_not_found', `There is no panel "${id}".`)
  }

  #write(id: string, stored: Stored): Promise<unknown> {
    return this.#parts.records.write([{ kind: 'panel', id, body: JSON.stringify(stored) }])
  }

  #ended(): void {
    for (const follower of this.#end_followers) follower()
  }

  #inTurn<Result>(change: () => Promise<Result>): Promise<Result> {
    const result = this.#last_change.then(change)
    this.#last_change = result.catch(() => undefined)
    return result
  }
}
