import type { Steps } from '../../core/steps.ts'
import { limits } from '../../protocol/limits.ts'
import type { OwnPanel } from '../../protocol/nouns/panel.ts'
import type { PanelPrincipal } from '../auth/principal.ts'
import type { Fanout } from '../fanout/fanout.ts'
import type { Follower } from '../fanout/follower.ts'
import type { PanelFollowers } from '../fanout/sockets/flows.ts'
import type { MessageDirectory } from '../fanout/topics.ts'
import { inSlices } from '../watch/slices.ts'
import type { SourceTrouble } from './sources.ts'

export interface PanelSocketsParts {
  readonly fanout: Pick<Fanout, 'followName' | 'unfollowName' | 'setMedia'>
  readonly directory: MessageDirectory
  /** What is wrong with what produces a message; null: nothing. */
  troubleOf(message: string): SourceTrouble | null
  own(panel: string): OwnPanel
  onDefect(error: unknown): void
}

/** One socket of a screen. */
interface Open {
  readonly follower: Follower
  readonly principal: PanelPrincipal
  /** What the screen asked for, by name; messages that are not there are followed when they come. */
  readonly names: Set<string>
  /** Those whose frames it wants; they are followed as well. */
  readonly media: Set<string>
}

const sameTrouble = (one: SourceTrouble | null | undefined, other: SourceTrouble | null): boolean =>
  one?.code === other?.code && one?.since === other?.since

/**
 * The open sockets of screens. When what a panel may do changes, they lose the names that it lost, and are told; when a message comes that they asked
 * for, they follow it; when the source of a message goes down, those that follow the message are told. All of it in slices.
 */
export class PanelSockets implements PanelFollowers {
  readonly #parts: PanelSocketsParts
  readonly #open = new Map<Follower, Open>()
  readonly #of_panel = new Map<string, Set<Open>>()
  readonly #of_message = new Map<string, Set<Open>>()
  /** As it was told last. */
  readonly #troubles = new Map<string, SourceTrouble>()
  /** Sockets to be compared with what they may follow. */
  readonly #stale = new Set<Open>()
  /** Of those, the ones whose panel has changed. */
  readonly #changed = new Set<Open>()
  #settling: Promise<void> | null = null
  #look: NodeJS.Timeout | null = null
  #looking = false

  constructor(parts: PanelSocketsParts) {
    this.#parts = parts
  }

  connected(panel: string): number {
    return this.#of_panel.get(panel)?.size ?? 0
  }

  opened(follower: Follower, principal: PanelPrincipal): void {
    const open: Open = { follower, principal, names: new Set(), media: new Set() }
    this.#open.set(follower, open)
    add(this.#of_panel, principal.id, open)
    if (this.#look !== null) return
    this.#look = setInterval(() => this.#lookAtSources(), limits.PANEL_SOURCE_LOOK_MS)
    this.#look.unref()
  }

  closed(follower: Follower): void {
    const open = this.#open.get(follower)
    if (open === undefined) return
    this.#open.delete(follower)
    this.#stale.delete(open)
    this.#changed.delete(open)
    drop(this.#of_panel, open.principal.id, open)
    for (const name of [...open.names, ...open.media]) drop(this.#of_message, name, open)
    if (this.#open.size > 0 || this.#look === null) return
    clearInterval(this.#look)
    this.#look = null
  }

  /** Names that it may follow; it follows those that are there. */
  asked(follower: Follower, names: Iterable<string>): void {
    const open = this.#open.get(follower)
    if (open === undefined) return
    for (const name of names) this.#ask(open, open.names, name)
  }

  unasked(follower: Follower, names: Iterable<string>): void {
    const open = this.#open.get(follower)
    if (open === undefined) return
    for (const name of names) this.#unask(open, open.names, name)
  }

  /** In place of those of before. */
  askedMedia(follower: Follower, names: readonly string[]): void {
    const open = this.#open.get(follower)
    if (open === undefined) return
    const wanted = new Set(names)
    for (const name of open.media) if (!wanted.has(name)) this.#unask(open, open.media, name)
    for (const name of wanted) this.#ask(open, open.media, name)
  }

  /** The panels may do other things from now on. */
  panelsChanged(panels: Iterable<string>): void {
    for (const panel of panels)
      for (const open of this.#of_panel.get(panel) ?? []) {
        this.#stale.add(open)
        this.#changed.add(open)
      }
    this.#settle()
  }

  /** Messages of the flow came or went. */
  flowChanged(flow: string): void {
    const prefix = `${flow}.`
    for (const [name, opens] of this.#of_message)
      if (name.startsWith(prefix)) for (const open of opens) this.#stale.add(open)
    this.#settle()
  }

  /** Resolves when every socket follows what it may. */
  settled(): Promise<void> {
    return this.#settling ?? Promise.resolve()
  }

  #settle(): void {
    if (this.#settling !== null || this.#stale.size === 0) return
    this.#settling = inSlices(this.#settleSteps())
      .catch(error => this.#parts.onDefect(error))
      .finally(() => {
        this.#settling = null
        this.#settle()
      })
  }

  *#settleSteps(): Steps<void> {
    for (const open of this.#stale) {
      this.#stale.delete(open)
      this.#compare(open, this.#changed.delete(open))
      yield
    }
  }

  #compare(open: Open, isChanged: boolean): void {
    const { fanout, directory, own } = this.#parts
    const { follower, principal, names, media } = open
    const { reach } = principal
    const lost = new Set([...names, ...media].filter(name => !reach.mayRead(name)))
    for (const name of names) {
      const message = directory.indexOf(name)
      if (message === -1) continue
      if (lost.has(name)) fanout.unfollowName(follower, message)
      else if (!follower.names.has(message)) fanout.followName(follower, message, 'asked')
    }
    for (const name of lost) {
      this.#unask(open, names, name)
      this.#unask(open, media, name)
    }
    if (media.size > 0 || follower.media.size > 0) this.#followMedia(open)
    if (!isChanged) return
    const { dashboards } = own(principal.id)
    tell(open, JSON.stringify({ type: 'panel_changed', lost: [...lost], dashboards }))
  }

  #followMedia({ follower, media }: Open): void {
    const { fanout, directory } = this.#parts
    const messages = [...media].map(name => directory.indexOf(name)).filter(message => message !== -1)
    fanout.setMedia(follower, new Set(messages.filter(message => directory.isMedia(message))))
  }

  /** `of`: the names or the media of the socket. */
  #ask(open: Open, of: Set<string>, name: string): void {
    const isNew = !open.names.has(name) && !open.media.has(name)
    of.add(name)
    if (!isNew) return
    add(this.#of_message, name, open)
    if (this.#tellOf(name)) return
    const trouble = this.#troubles.get(name)
    if (trouble !== undefined) tell(open, sourceFrame(name, trouble))
  }

  #unask(open: Open, of: Set<string>, name: string): void {
    of.delete(name)
    if (open.names.has(name) || open.media.has(name)) return
    drop(this.#of_message, name, open)
    if (!this.#of_message.has(name)) this.#troubles.delete(name)
  }

  #lookAtSources(): void {
    if (this.#looking) return
    this.#looking = true
    inSlices(this.#lookSteps())
      .catch(error => this.#parts.onDefect(error))
      .finally(() => {
        this.#looking = false
      })
  }

  *#lookSteps(): Steps<void> {
    for (const name of this.#of_message.keys()) {
      this.#tellOf(name)
      yield
    }
  }

  /** Tells all that asked for the message how its source is, if that is another than before. */
  #tellOf(name: string): boolean {
    const trouble = this.#parts.troubleOf(name)
    if (sameTrouble(this.#troubles.get(name), trouble)) return false
    if (trouble === null) this.#troubles.delete(name)
    else this.#troubles.set(name, trouble)
    const frame = sourceFrame(name, trouble)
    for (const open of this.#of_message.get(name) ?? []) tell(open, frame)
    return true
  }
}

const sourceFrame = (name: string, trouble: SourceTrouble | null): string =>
  JSON.stringify({ type: 'source', name, ...(trouble === null ? { status: 'ok' } : { status: 'down', ...trouble }) })

function tell({ follower }: Open, text: string): void {
  if (follower.socket.isOpen) follower.socket.send(text)
}

function add<Key, Item>(sets: Map<Key, Set<Item>>, key: Key, item: Item): void {
  const set = sets.get(key)
  if (set === undefined) sets.set(key, new Set([item]))
  else set.add(item)
}

function drop<Key, Item>(sets: Map<Key, Set<Item>>, key: Key, item: Item): void {
  const set = sets.get(key)
  if (set?.delete(item) && set.size === 0) sets.delete(key)
}
