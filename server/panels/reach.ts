import { lockMessage, usesOf } from '../../core/dashboards/uses.ts'
import type { DashboardDocument } from '../../protocol/nouns/dashboard.ts'
import type { PanelReach } from '../auth/principal.ts'

/** What a reach asks at the moment of a request; all else is worked out before. */
export interface ReachNow {
  /** Does the message that drives a lock forbid to publish? */
  isClosed(lock: string): boolean
  /** Is the digest a value of one of the messages, or was it one within the last minute? */
  wasShown(digest: string, messages: ReadonlySet<string>): boolean
}

/** What the controls for one message stand under: `open` when one of them has no lock, else the messages of the locks; one open lock is enough. */
type Locked = 'open' | Set<string>

/** What dashboards add up to: sets, so that each question costs a look-up, whatever the number of tiles. */
export class Scope {
  readonly reads = new Set<string>()
  readonly media = new Set<string>()
  readonly asks = new Set<string>()
  readonly dashboards = new Set<string>()
  readonly #controls = new Map<string, Locked>()

  constructor(dashboards: Iterable<readonly [name: string, document: DashboardDocument]>) {
    for (const [name, document] of dashboards) this.#add(name, document)
  }

  #add(name: string, document: DashboardDocument): void {
    this.dashboards.add(name)
    const lock = lockMessage(document)
    // The controls show whether they are locked.
    if (lock !== null) this.reads.add(lock)
    for (const tile of document.tiles) {
      const { reads, publishes, asks, media } = usesOf(tile)
      for (const message of reads) this.reads.add(message)
      for (const message of media) this.media.add(message)
      for (const message of asks) this.asks.add(message)
      if (document.locked !== true) for (const message of publishes) this.#control(message, lock)
    }
  }

  #control(message: string, lock: string | null): void {
    const before = this.#controls.get(message)
    if (before === 'open') return
    if (lock === null) this.#controls.set(message, 'open')
    else if (before === undefined) this.#controls.set(message, new Set([lock]))
    else before.add(lock)
  }

  mayPublish(message: string, now: Pick<ReachNow, 'isClosed'>): boolean {
    if (this.asks.has(message)) return true
    const locked = this.#controls.get(message)
    if (locked === undefined) return false
    if (locked === 'open') return true
    for (const lock of locked) if (!now.isClosed(lock)) return true
    return false
  }
}

export const NO_SCOPE = new Scope([])

/** The reach of one panel, as it is now: its scope is another one as soon as one of its dashboards is. */
export class LiveReach implements PanelReach {
  readonly #now: ReachNow
  scope: Scope = NO_SCOPE

  constructor(now: ReachNow) {
    this.#now = now
  }

  mayPublish(message: string): boolean {
    return this.scope.mayPublish(message, this.#now)
  }

  mayRead(message: string): boolean {
    return this.scope.reads.has(message)
  }

  mayFetch(digest: string): boolean {
    return this.scope.media.size > 0 && this.#now.wasShown(digest, this.scope.media)
  }

  mayShow(dashboard: string): boolean {
    return this.scope.dashboards.has(dashboard)
  }
}
