import { checkDashboardSteps } from '../../core/dashboards/check.ts'
import { namedIn, renamedIn } from '../../core/dashboards/uses.ts'
import { dashboardDiff } from '../../protocol/dashboards/dashboard-diff.ts'
import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import { isName } from '../../protocol/names.ts'
import { didYouMean } from '../../protocol/nearest.ts'
import type {
  Dashboard,
  DashboardDocument,
  DashboardSummary,
  DashboardVersion,
  DashboardVersionDetail,
  DashboardWarning,
  SavedDashboard,
} from '../../protocol/nouns/dashboard.ts'
import type { EventType } from '../../protocol/nouns/event.ts'
import type { List, Page } from '../../protocol/nouns/list.ts'
import { formatTime } from '../../protocol/time.ts'
import type { RecordKind, RecordRange, RecordWrite, StoredRecord } from '../store/front/requests.ts'
import { inSlices } from '../watch/slices.ts'
import type { Locks } from './locks.ts'

export interface DashboardRecords {
  list(kind: RecordKind, range?: Partial<Omit<RecordRange, 'kind'>>): Promise<StoredRecord[]>
  write(records: readonly RecordWrite[]): Promise<unknown>
}

export interface DashboardsParts {
  readonly records: DashboardRecords
  readonly locks: Locks
  /** Are there a message and a flow of the name? */
  readonly messages: { get(name: string): unknown }
  readonly flows: { find(name: string): unknown }
  announce(type: EventType, flow: null, more: Record<string, unknown>): void
  now_us(): number
}

/** What is stored of one under its name. A deleted one has no document, and keeps its history for a while. */
interface Stored {
  readonly document: DashboardDocument | null
  /** Oldest first; the last one is the present version. */
  readonly versions: readonly DashboardVersion[]
}

/** What a save does. */
interface Change {
  readonly name: string
  readonly document: DashboardDocument | null
  readonly action: 'save' | 'restore' | 'rename' | 'delete'
  readonly by: string
}

/** What is to be written for a change, and what is to be done when it is. */
interface Prepared {
  readonly records: readonly RecordWrite[]
  readonly done: () => SavedDashboard
}

/**
 * Dashboards, in memory over the store. Changes go one after another; the store is written first, and memory follows when the write is synced.
 *
 *   'dashboard'          <name>            what is there now, and the list of its versions
 *   'dashboard_version'  <name>/<version>  the document of that version
 */
export class Dashboards {
  readonly #parts: DashboardsParts
  readonly #stored = new Map<string, Stored>()
  #last_change: Promise<unknown> = Promise.resolve()
  readonly #followers: ((name: string) => void)[] = []
  /** Names of the panels that show a dashboard. */
  #panelsOf: (name: string) => readonly string[] = () => []

  constructor(parts: DashboardsParts) {
    this.#parts = parts
  }

  /** What is stored; before anybody asks. */
  async load(): Promise<void> {
    for (const { id, body } of await this.#parts.records.list('dashboard'))
      this.#stored.set(id, JSON.parse(body) as Stored)
  }

  /** Panels are opened after dashboards, of which they have some. */
  attach(panelsOf: (name: string) => readonly string[]): void {
    this.#panelsOf = panelsOf
  }

  /** Hears of each dashboard that was saved or deleted. */
  onChange(follower: (name: string) => void): void {
    this.#followers.push(follower)
  }

  /** Null: there is none. */
  document(name: string): DashboardDocument | null {
    return this.#stored.get(name)?.document ?? null
  }

  /** 0: there is none. */
  versionOf(name: string): number {
    const stored = this.#stored.get(name)
    return stored === undefined || stored.document === null ? 0 : newest(stored).version
  }

  list({ limit, offset }: Page): List<DashboardSummary> {
    const names = this.#names()
    return { items: names.slice(offset, offset + limit).map(name => this.#summary(name)), count: names.length }
  }

  get(name: string): Required<Dashboard> {
    const stored = this.#existing(name)
    const { version, author, at } = newest(stored)
    const { document } = stored
    return {
      name,
      version,
      document,
      is_locked: this.#parts.locks.isLocked(document.locked),
      updated_at: at,
      updated_by: author,
      warnings: this.#warnings(document),
    }
  }

  /** As a panel sees its own: nothing of who made it, nor of what else there is. */
  shownTo(name: string): Dashboard {
    const { version, document, is_locked } = this.get(name)
    return { name, version, document, is_locked }
  }

  save(name: string, given: unknown, version: number | undefined, by: string): Promise<SavedDashboard> {
    return this.#inTurn(async () => {
      this.#refuseStale(name, version)
      if (!isName(name)) throw new ServiceError('validation', `"${name}" is not a valid name of a dashboard.`)
      const document = await inSlices(checkDashboardSteps(given))
      this.#refuseLong(document)
      if (this.document(name) === null && this.#names().length >= limits.DASHBOARDS)
        throw new ServiceError('too_many_dashboards', `There are ${limits.DASHBOARDS} dashboards, which is the bound.`)
      return this.#change({ name, document, action: 'save', by })
    })
  }

  remove(name: string, by: string): Promise<void> {
    return this.#inTurn(async () => {
      this.#existing(name)
      const panels = this.#panelsOf(name)
      if (panels.length > 0) {
        const more = panels.length === 1 ? '' : `, and ${panels.length - 1} more panels do`
        throw new ServiceError('dashboard_in_use', `Panel "${panels[0]}" shows the dashboard "${name}"${more}.`)
      }
      await this.#change({ name, document: null, action: 'delete', by })
      await this.#forgetDeleted()
    })
  }

  /** Newest first; also of one that was deleted. */
  history(name: string, { limit, offset }: Page): List<DashboardVersion> {
    const { versions } = this.#everStored(name)
    return { items: versions.toReversed().slice(offset, offset + limit), count: versions.length }
  }

  async version(name: string, version: number): Promise<DashboardVersionDetail> {
    const { versions } = this.#everStored(name)
    const at = versions.findIndex(one => one.version === version)
    if (at === -1)
      throw new ServiceError(
        'version_not_found',
        `Version ${version} of dashboard "${name}" is not there, or no longer.`,
      )
    const document = await this.#documentOf(name, version)
    const before = at === 0 ? document : await this.#documentOf(name, versions[at - 1]!.version)
    const diff = at === 0 && version > 1 ? [] : dashboardDiff(at === 0 ? null : before, document)
    return { ...versions[at]!, document, diff }
  }

  restore(name: string, version: number, by: string): Promise<SavedDashboard> {
    return this.#inTurn(async () => {
      const { document } = await this.version(name, version)
      if (document === null)
        throw new ServiceError('version_not_found', `Version ${version} of dashboard "${name}" is its deletion.`)
      return this.#change({ name, document: await inSlices(checkDashboardSteps(document)), action: 'restore', by })
    })
  }

  /**
   * A flow gets another name: `write` is given what is to be written together with that, and resolves when it is. A dashboard that names the
   * flow or its messages gets a version of its own.
   */
  renaming<Result>(
    from: string,
    to: string,
    by: string,
    write: (records: readonly RecordWrite[]) => Promise<Result>,
  ): Promise<Result> {
    return this.#inTurn(async () => {
      const prepared: Prepared[] = []
      for (const [name, { document }] of this.#stored) {
        const renamed = document && renamedIn(document, from, to)
        if (renamed) prepared.push(this.#prepare({ name, document: renamed, action: 'rename', by }))
      }
      const result = await write(prepared.flatMap(({ records }) => records))
      for (const { done } of prepared) done()
      return result
    })
  }

  async #change(change: Change): Promise<SavedDashboard> {
    const { records, done } = this.#prepare(change)
    await this.#parts.records.write(records)
    return done()
  }

  #prepare({ name, document, action, by }: Change): Prepared {
    const before = this.#stored.get(name)?.versions ?? []
    const version: DashboardVersion = {
      version: (before.at(-1)?.version ?? 0) + 1,
      author: by,
      at: formatTime(this.#parts.now_us()),
      action,
      tiles: document?.tiles.length ?? 0,
    }
    const versions = [...before, version]
    const old = versions.splice(0, Math.max(0, versions.length - limits.DASHBOARD_VERSIONS))
    const stored: Stored = { document, versions }
    const records: RecordWrite[] = [
      { kind: 'dashboard', id: name, body: JSON.stringify(stored) },
      { kind: 'dashboard_version', id: versionId(name, version.version), body: JSON.stringify(document) },
      ...old.map(one => removed(name, one)),
    ]
    const done = (): SavedDashboard => {
      this.#stored.set(name, stored)
      const type = action === 'delete' ? 'dashboard_deleted' : 'dashboard_saved'
      this.#parts.announce(type, null, { name, version: version.version, action, by })
      for (const follower of this.#followers) follower(name)
      return { name, version: version.version, warnings: document === null ? [] : this.#warnings(document) }
    }
    return { records, done }
  }

  /** The histories of deleted ones are bounded: the one that was deleted first goes. */
  async #forgetDeleted(): Promise<void> {
    const deleted = [...this.#stored].filter(([, { document }]) => document === null)
    if (deleted.length <= limits.DASHBOARDS_DELETED) return
    deleted.sort(([, one], [, other]) => (newest(one).at < newest(other).at ? -1 : 1))
    const [name, { versions }] = deleted[0]!
    const rows = versions.map(version => removed(name, version))
    await this.#parts.records.write([{ kind: 'dashboard', id: name, body: null }, ...rows])
    this.#stored.delete(name)
  }

  async #documentOf(name: string, version: number): Promise<DashboardDocument | null> {
    const id = versionId(name, version)
    const [found] = await this.#parts.records.list('dashboard_version', { from: id, to: `${id}/`, limit: 1 })
    return found === undefined ? null : (JSON.parse(found.body) as DashboardDocument | null)
  }

  #refuseStale(name: string, version: number | undefined): void {
    if (version === undefined || version === this.versionOf(name)) return
    const stored = this.#stored.get(name)
    if (stored === undefined || stored.document === null)
      throw new ServiceError(
        'stale_version',
        `There is no dashboard "${name}" any more; the save began from version ${version}.`,
        {
          current: { version: 0, author: stored ? newest(stored).author : null, at: stored ? newest(stored).at : null },
        },
      )
    const current = newest(stored)
    throw new ServiceError(
      'stale_version',
      `Dashboard "${name}" has version ${current.version}, saved by ${current.author} at ${current.at}; the save began from version ${version}.`,
      { current: { version: current.version, author: current.author, at: current.at } },
    )
  }

  #refuseLong(document: DashboardDocument): void {
    const bytes = Buffer.byteLength(JSON.stringify(document))
    if (bytes > limits.DASHBOARD_BYTES)
      throw new ServiceError('too_large', `The document has ${bytes} bytes; ${limits.DASHBOARD_BYTES} are allowed.`)
  }

  #warnings(document: DashboardDocument): DashboardWarning[] {
    const { messages, flows } = this.#parts
    const warnings: DashboardWarning[] = []
    for (const { loc, name, kind } of namedIn(document)) {
      if (warnings.length >= limits.ERROR_PLACES) break
      if (kind === 'message' && messages.get(name) === undefined)
        warnings.push({ loc, msg: `there is no message "${name}" now` })
      if (kind === 'flow' && flows.find(name) === undefined)
        warnings.push({ loc, msg: `there is no flow "${name}" now` })
    }
    return warnings
  }

  #summary(name: string): DashboardSummary {
    const { version, tiles, at, author } = newest(this.#existing(name))
    return { name, version, tiles, updated_at: at, updated_by: author, panels: [...this.#panelsOf(name)] }
  }

  #names(): string[] {
    return [...this.#stored].flatMap(([name, { document }]) => (document === null ? [] : [name])).sort()
  }

  #existing(name: string): Stored & { readonly document: DashboardDocument } {
    const stored = this.#stored.get(name)
    if (stored !== undefined && stored.document !== null) return { ...stored, document: stored.document }
    throw new ServiceError('dashboard_not_found', `There is no dashboard "${name}".${didYouMean(name, this.#names())}`)
  }

  #everStored(name: string): Stored {
    const stored = this.#stored.get(name)
    if (stored !== undefined) return stored
    throw new ServiceError('dashboard_not_found', `There is no dashboard "${name}".${didYouMean(name, this.#names())}`)
  }

  #inTurn<Result>(change: () => Promise<Result>): Promise<Result> {
    const result = this.#last_change.then(change)
    this.#last_change = result.catch(() => undefined)
    return result
  }
}

const VERSION_DIGITS = 12
const versionId = (name: string, version: number): string => `${name}/${String(version).padStart(VERSION_DIGITS, '0')}`
const removed = (name: string, { version }: DashboardVersion): RecordWrite => ({
  kind: 'dashboard_version',
  id: versionId(name, version),
  body: null,
})
const newest = ({ versions }: Stored): DashboardVersion => versions.at(-1)!
