import { create } from 'zustand'
import type { EngineEvent } from '../../../../protocol/nouns/event.ts'
import { LiveSocket, type ValueFrame } from '../../../client/live/live-socket.ts'
import { API_URL } from './client.ts'
import { heedFailure } from './session.ts'

/** Is the socket open, and since when not? */
export const useLink = create<{ readonly isOpen: boolean; readonly since_ms: number | null }>(() => ({
  isOpen: false,
  since_ms: null,
}))

type Listener<Value> = (value: Value) => void

/**
 * The one socket of the app. What it brings never goes through the state of React: who shows a value listens to its name and writes it into
 * the page, so that a thousand values that change ten times a second render nothing.
 */
class Live {
  #socket: LiveSocket | null = null
  readonly #newest = new Map<string, ValueFrame>()
  readonly #values = new Map<string, Set<Listener<ValueFrame>>>()
  readonly #events = new Set<Listener<EngineEvent>>()

  /** Opens the socket with the first listener. */
  #open(): void {
    this.#socket ??= new LiveSocket({
      find: () => ({ url: API_URL, token: null }),
      onValue: frame => {
        this.#newest.set(frame.name, frame)
        for (const listener of this.#values.get(frame.name) ?? []) listener(frame)
      },
      onEvent: event => {
        for (const listener of this.#events) listener(event)
      },
      onLink: url => useLink.setState({ isOpen: url !== null, since_ms: url === null ? Date.now() : null }),
      onFailure: error => {
        this.#socket = null
        useLink.setState({ isOpen: false, since_ms: Date.now() })
        heedFailure(error)
      },
    })
  }

  /** Engine events, as they happen. Returns what ends it. */
  events(listener: Listener<EngineEvent>): () => void {
    this.#events.add(listener)
    this.#open()
    return () => void this.#events.delete(listener)
  }
}

export const live = new Live()
