import { create } from 'zustand'
import type { EngineEvent } from '../../../../protocol/nouns/event.ts'
import type { ActivityFrame, FlowActivity } from '../../../../protocol/socket/activity.ts'
import { LiveSocket, type ValueFrame } from '../../../client/live/live-socket.ts'
import { type MediaFrame, mediaFrameOf } from '../../../client/live/media.ts'
import { API_URL } from './client.ts'
import { heedFailure } from './session.ts'

/** Is the socket open, and since when not? */
export const useLink = create<{ readonly isOpen: boolean; readonly since_ms: number | null }>(() => ({
  isOpen: false,
  since_ms: null,
}))

type Listener<Value> = (value: Value) => void

/** Listeners by name, of which the first and the last are told to whoever follows. */
class Listeners<Value> {
  readonly #by_name = new Map<string, Set<Listener<Value>>>()

  get names(): string[] {
    return [...this.#by_name.keys()]
  }

  /** True when it is the first of the name. */
  add(name: string, listener: Listener<Value>): boolean {
    const listeners = this.#by_name.get(name)
    listeners?.add(listener)
    if (listeners === undefined) this.#by_name.set(name, new Set([listener]))
    return listeners === undefined
  }

  /** True when it was the last of the name. */
  remove(name: string, listener: Listener<Value>): boolean {
    const listeners = this.#by_name.get(name)
    if (listeners?.delete(listener) !== true || listeners.size > 0) return false
    return this.#by_name.delete(name)
  }

  tell(name: string, value: Value): void {
    const listeners = this.#by_name.get(name)
    if (listeners !== undefined) for (const listener of listeners) listener(value)
  }
}

/**
 * The one socket of the app, opened with the first listener. What it brings never goes through the state of React: who shows a value listens to
 * its name and writes it into the page once a frame (`painter.ts`), so that a thousand values that change ten times a second render nothing.
 *
 * Each method that takes a listener returns what ends it.
 */
class Live {
  #socket: LiveSocket | null = null
  readonly #newest = new Map<string, ValueFrame>()
  readonly #values = new Listeners<ValueFrame>()
  readonly #flows = new Listeners<ValueFrame>()
  readonly #frames = new Listeners<MediaFrame>()
  readonly #events = new Set<Listener<EngineEvent>>()
  readonly #activity = new Set<Listener<ActivityFrame>>()
  readonly #flow_activity = new Map<string, FlowActivity>()

  /** The newest value that came; null before, and of a message that nobody follows. */
  newest(name: string): ValueFrame | null {
    return this.#newest.get(name) ?? null
  }

  /** The figures of a flow that came last; null before. */
  activityOf(flow: string): FlowActivity | null {
    return this.#flow_activity.get(flow) ?? null
  }

  /** Values of one message: the one that is here at once, then each that comes. */
  value(name: string, listener: Listener<ValueFrame>): () => void {
    const is_first = this.#values.add(name, listener)
    const socket = this.#open()
    if (is_first) socket.follow({ names: [name] })
    const newest = this.#newest.get(name)
    if (newest !== undefined) listener(newest)
    return () => {
      if (!this.#values.remove(name, listener)) return
      this.#newest.delete(name)
      this.#socket?.unfollow({ names: [name] })
    }
  }

  /** Values of every message of a flow, also of those that it gets later. */
  flow(flow: string, listener: Listener<ValueFrame>): () => void {
    const is_first = this.#flows.add(flow, listener)
    const socket = this.#open()
    if (is_first) socket.follow({ flows: [flow] })
    return () => {
      if (this.#flows.remove(flow, listener)) this.#socket?.unfollow({ flows: [flow] })
    }
  }

  /** The bytes behind values of a message, each just ahead of its value. */
  frames(name: string, listener: Listener<MediaFrame>): () => void {
    const is_first = this.#frames.add(name, listener)
    const socket = this.#open()
    if (is_first) socket.media(this.#frames.names)
    return () => {
      if (this.#frames.remove(name, listener)) this.#socket?.media(this.#frames.names)
    }
  }

  /** Engine events, as they happen. */
  events(listener: Listener<EngineEvent>): () => void {
    this.#events.add(listener)
    this.#open()
    return () => void this.#events.delete(listener)
  }

  /** Figures of flows, once a second: of all of them after each connection, then of those that have changed. */
  activity(listener: Listener<ActivityFrame>): () => void {
    this.#activity.add(listener)
    this.#open()
    return () => void this.#activity.delete(listener)
  }

  /** With the figures come those of the nodes of this flow. */
  nodesOf(flow: string | null): void {
    this.#open().followNodes(flow)
  }

  /** Resolves with the version. Rejects with a ClientError. */
  publish(name: string, value: unknown): Promise<number> {
    return this.#open().publish(name, value)
  }

  /** Ends it: for who signs out. */
  close(): void {
    this.#socket?.close()
    this.#socket = null
    this.#newest.clear()
    useLink.setState({ isOpen: false, since_ms: null })
  }

  #open(): LiveSocket {
    return (this.#socket ??= new LiveSocket({
      find: () => ({ url: API_URL, token: null }),
      onValue: frame => {
        const { name } = frame
        this.#newest.set(name, frame)
        this.#values.tell(name, frame)
        this.#flows.tell(name.slice(0, name.indexOf('.')), frame)
      },
      onFrame: bytes => {
        const frame = mediaFrameOf(bytes)
        this.#frames.tell(frame.name, frame)
      },
      onEvent: event => {
        for (const listener of this.#events) listener(event)
      },
      onActivity: frame => {
        for (const flow of frame.flows) this.#flow_activity.set(flow.flow, flow)
        for (const listener of this.#activity) listener(frame)
      },
      onLink: url => useLink.setState({ isOpen: url !== null, since_ms: url === null ? Date.now() : null }),
      onFailure: error => {
        this.#socket = null
        useLink.setState({ isOpen: false, since_ms: Date.now() })
        heedFailure(error)
      },
    }))
  }
}

export const live = new Live()
