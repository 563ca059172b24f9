import { LiveSocket, type ScreenFrame, type ValueFrame } from '../../../client/live/live-socket.ts'
import { type MediaFrame, mediaFrameOf } from '../../../client/live/media.ts'
import { Freshness } from './freshness.ts'

/** What is known of a message. */
export interface Seen {
  value: ValueFrame | null
  /** Since when nothing good comes of it; null: it does. */
  down: { since: string | null } | null
  readonly fresh: Freshness
}

interface BoardLiveOptions {
  readonly url: string
  readonly token: string
  onChanged(): void
  onLink(isOpen: boolean): void
  /** The token has ended, or the engine is not to be had: a ClientError. */
  onFailure(error: unknown): void
}

/** The socket of a screen. Who draws a message asks for it by name; values and frames are handed over as they come. */
export class BoardLive {
  readonly #socket: LiveSocket
  readonly #seen = new Map<string, Seen>()
  readonly #drawing = new Map<string, Set<() => void>>()
  readonly #frames = new Map<string, Set<(frame: MediaFrame) => void>>()

  constructor({ url, token, onChanged, onLink, onFailure }: BoardLiveOptions) {
    this.#socket = new LiveSocket({
      find: () => ({ url, token }),
      onValue: frame => {
        const seen = this.#of(frame.name)
        seen.value = frame
        seen.fresh.came(Date.now())
        this.#redraw(frame.name)
      },
      onFrame: bytes => {
        const frame = mediaFrameOf(bytes)
        for (const draw of this.#frames.get(frame.name) ?? []) draw(frame)
      },
      onScreen: frame => this.#heard(frame, onChanged),
      onLink: link => onLink(link !== null),
      onFailure,
    })
  }

  /** What is known of a message now. */
  seen(name: string): Seen {
    return this.#of(name)
  }

  /** Calls `draw` with each change of the message. Returns what ends it. */
  draw(name: string, draw: () => void): () => void {
    const drawing = this.#drawing.get(name) ?? new Set()
    this.#drawing.set(name, drawing)
    drawing.add(draw)
    if (drawing.size === 1) this.#socket.follow({ names: [name] })
    draw()
    return () => {
      drawing.delete(draw)
      if (drawing.size > 0) return
      this.#drawing.delete(name)
      this.#socket.unfollow({ names: [name] })
    }
  }

  frames(name: string, draw: (frame: MediaFrame) => void): () => void {
    const drawing = this.#frames.get(name) ?? new Set()
    this.#frames.set(name, drawing)
    drawing.add(draw)
    this.#socket.media([...this.#frames.keys()])
    return () => {
      drawing.delete(draw)
      if (drawing.size > 0) return
      this.#frames.delete(name)
      this.#socket.media([...this.#frames.keys()])
    }
  }

  publish(name: string, value: unknown): Promise<number> {
    return this.#socket.publish(name, value)
  }

  close(): void {
    this.#socket.close()
  }

  #heard(frame: ScreenFrame, onChanged: () => void): void {
    if (frame.type === 'panel_changed') return onChanged()
    this.#of(frame.name).down = frame.status === 'down' ? { since: frame.since } : null
    this.#redraw(frame.name)
  }

  #of(name: string): Seen {
    let seen = this.#seen.get(name)
    if (seen === undefined) this.#seen.set(name, (seen = { value: null, down: null, fresh: new Freshness() }))
    return seen
  }

  #redraw(name: string): void {
    for (const draw of this.#drawing.get(name) ?? []) draw()
  }
}
