import type { ReadStream } from 'node:tty'
import type { Address } from '../client/socket.ts'
import { type Terminal, TerminalGuard } from './device/guard.ts'
import { type Key, KeyDecoder } from './device/keys.ts'
import { type Look, Renderer } from './device/renderer.ts'
import { drawScreen, type Size } from './draw/screen.ts'
import { Feed } from './feed.ts'
import { lastLines } from './last-lines.ts'
import { pressed } from './pressed.ts'
import type { EngineState, FlowState } from './state/engine-state.ts'
import { orderedFlows } from './state/order.ts'
import { FIRST_VIEW, flowUnder, type Overlay, type Shown, type View } from './view.ts'

/** At most four times a second, whatever comes in. A key shows sooner. */
const REDRAW_MS = 250
const KEY_MS = 30

export interface DashboardOptions {
  readonly find: () => Address
  /** Of the installation; empty when the engine is elsewhere. */
  readonly name: string
  readonly input: ReadStream
  readonly output: Terminal
  readonly look: Look
  /** What is shown first, over all else. */
  readonly greeting: Overlay | null
  /** Lines for the log that no engine tells. */
  followNotes?(listener: (text: string) => void): void
}

export type Leave = 'left' | 'interrupted'

/** Shows an engine until it is left. Rejects, with the terminal given back, when the engine lets us in no more. */
export async function showDashboard(options: DashboardOptions): Promise<Leave> {
  const over = Promise.withResolvers<Leave>()
  const feed = await Feed.open({ find: options.find, name: options.name, onFailure: over.reject })
  const dashboard = new Dashboard(options, feed, over.resolve)
  options.followNotes?.(text => feed.note(text))
  try {
    return await over.promise
  } finally {
    dashboard.close()
    feed.close()
  }
}

class Dashboard {
  readonly #options: DashboardOptions
  readonly #feed: Feed
  readonly #end: (how: Leave) => void
  readonly #guard: TerminalGuard
  readonly #renderer: Renderer
  readonly #keys = new KeyDecoder(key => this.#press(key))
  readonly #timer: NodeJS.Timeout
  #view: View
  /** While it is paused, what was known then. */
  #paused: EngineState | null = null
  #ordered: { flows: readonly FlowState[]; of: string; heard_ms: number | null; list: unknown } | null = null
  #soon: NodeJS.Timeout | null = null
  /** The terminal has not taken the last screen yet. */
  #isWriting = false

  constructor(options: DashboardOptions, feed: Feed, end: (how: Leave) => void) {
    this.#options = options
    this.#feed = feed
    this.#end = end
    this.#view = { ...FIRST_VIEW, overlay: options.greeting }
    this.#renderer = new Renderer(options.look)
    const { input, output } = options
    this.#guard = new TerminalGuard({
      input,
      output,
      lastWords: () => lastLines(this.#feed.state, this.#size()),
      onBack: () => this.#anew(),
    })
    this.#guard.hold()
    input.on('data', this.#read)
    output.on('resize', this.#resized)
    output.on('drain', this.#drained)
    this.#timer = setInterval(() => this.#draw(), REDRAW_MS)
    this.#draw()
  }

  close(): void {
    clearInterval(this.#timer)
    if (this.#soon !== null) clearTimeout(this.#soon)
    const { input, output } = this.#options
    input.off('data', this.#read)
    output.off('resize', this.#resized)
    output.off('drain', this.#drained)
    input.pause()
    this.#guard.end()
  }

  readonly #read = (bytes: Buffer): void => this.#keys.read(bytes)
  readonly #resized = (): void => this.#anew()
  readonly #drained = (): void => {
    this.#isWriting = false
  }

  #anew(): void {
    this.#renderer.forget()
    this.#draw()
  }

  #press(key: Key): void {
    const { view, wish } = pressed(this.#shown(), key)
    if (view.paused_ms !== this.#view.paused_ms)
      this.#paused = view.paused_ms === null ? null : structuredClone(this.#feed.state)
    this.#view = view
    switch (wish) {
      case 'leave':
        return this.#end('left')
      case 'interrupt':
        return this.#end('interrupted')
      case 'suspend':
        return this.#guard.suspend()
      case 'redraw':
        return this.#anew()
      case null:
        this.#soon ??= setTimeout(() => {
          this.#soon = null
          this.#draw()
        }, KEY_MS)
    }
  }

  #shown(): Shown {
    const engine = this.#paused ?? this.#feed.state
    const flows = this.#flows(engine)
    return { engine, view: this.#view, flows, now_ms: performance.now(), wall_ms: Date.now() }
  }

  /** Put in order when figures have come, or the order is another. */
  #flows(engine: EngineState): readonly FlowState[] {
    const { sort, filter } = this.#view
    const of = `${sort} ${filter}`
    const known = this.#ordered
    if (known?.of === of && known.heard_ms === engine.heard_ms && known.list === engine.flows) return known.flows
    const flows = orderedFlows(engine, sort, filter)
    this.#ordered = { flows, of, heard_ms: engine.heard_ms, list: engine.flows }
    return flows
  }

  #size(): Size {
    return { columns: this.#options.output.columns || 80, rows: this.#options.output.rows || 24 }
  }

  #draw(): void {
    if (!this.#guard.isHeld) return
    const shown = this.#shown()
    if (this.#paused === null) this.#feed.openFlow(flowUnder(shown)?.name ?? null)
    // A slow line gets fewer screens, not later ones.
    if (this.#isWriting) return
    const size = this.#size()
    const text = this.#renderer.draw(drawScreen(shown, size), size)
    if (text !== '') this.#isWriting = !this.#options.output.write(text)
  }
}
