import type { EngineEvent } from '../../protocol/nouns/event.ts'
import type { Publisher } from '../http/socket.ts'
import type { Follower } from './follower.ts'

/** A power of two. */
const KEPT = 256

/**
 * Engine events of one topic to the sockets that asked for events and may have these. The newest are kept for those that are slow
 * meanwhile.
 */
export class EventFanout {
  readonly #topic: string
  readonly #mayHave: (follower: Follower) => boolean
  readonly #texts = new Array<string>(KEPT).fill('')
  /** Events so far; the sequence of the next one. */
  #sequence = 0
  /** Sequence of the next event that a slow follower is owed; those that are not in here are on the topic. */
  readonly #owed = new WeakMap<Follower, number>()

  constructor(topic: string, mayHave: (follower: Follower) => boolean) {
    this.#topic = topic
    this.#mayHave = mayHave
  }

  /** Answers the length of what went out, 0 when nobody listens. */
  publish(front: Publisher, event: EngineEvent): number {
    const text = JSON.stringify(event)
    this.#texts[this.#sequence++ & (KEPT - 1)] = text
    return front.publish(this.#topic, text) ? text.length : 0
  }

  /** To be called before `follower.events` is set. */
  join(follower: Follower): void {
    if (follower.events || !this.#mayHave(follower)) return
    if (follower.mode === 'slow') this.#owed.set(follower, this.#sequence)
    else follower.socket.subscribe(this.#topic)
  }

  /** To be called before `follower.events` is cleared. */
  leave(follower: Follower): void {
    if (!follower.events || !this.#mayHave(follower)) return
    if (!this.#owed.delete(follower)) follower.socket.unsubscribe(this.#topic)
  }

  /** The follower became slow: from here on its events wait. */
  takeOff(follower: Follower): void {
    if (!follower.events || !this.#mayHave(follower) || this.#owed.has(follower)) return
    follower.socket.unsubscribe(this.#topic)
    this.#owed.set(follower, this.#sequence)
  }

  /** What it missed, oldest first; those that are no longer kept are counted. Then it is on the topic again. */
  bringBack(follower: Follower, send: (text: string) => void): void {
    let next = this.#owed.get(follower)
    if (next === undefined) return
    const oldest = Math.max(0, this.#sequence - KEPT)
    if (next < oldest) {
      send(`{"type":"events_missed","count":${oldest - next}}`)
      next = oldest
    }
    while (next < this.#sequence) send(this.#texts[next++ & (KEPT - 1)]!)
    this.#owed.delete(follower)
    follower.socket.subscribe(this.#topic)
  }
}
