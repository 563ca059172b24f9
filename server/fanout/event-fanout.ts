import type { EngineEvent } from '../../protocol/nouns/event.ts'
import type { Publisher } from '../http/socket.ts'
import type { Follower } from './follower.ts'

const TOPIC = 'events'
/** A power of two. */
const KEPT = 256

/** Engine events to the sockets that asked for them: one topic. The newest are kept for those that are slow meanwhile. */
export class EventFanout {
  readonly #texts = new Array<string>(KEPT).fill('')
  /** Events so far; the sequence of the next one. */
  #sequence = 0

  /** Answers the length of what went out, 0 when nobody listens. */
  publish(front: Publisher, event: EngineEvent): number {
    const text = JSON.stringify(event)
    this.#texts[this.#sequence++ & (KEPT - 1)] = text
    return front.publish(TOPIC, text) ? text.length : 0
  }

  join(follower: Follower): void {
    if (follower.events) return
    follower.events = true
    if (follower.mode === 'slow') follower.next_event = this.#sequence
    else follower.socket.subscribe(TOPIC)
  }

  leave(follower: Follower): void {
    if (!follower.events) return
    follower.events = false
    if (follower.next_event === -1) follower.socket.unsubscribe(TOPIC)
    follower.next_event = -1
  }

  /** The follower became slow: from here on its events wait. */
  takeOff(follower: Follower): void {
    if (!follower.events || follower.next_event !== -1) return
    follower.socket.unsubscribe(TOPIC)
    follower.next_event = this.#sequence
  }

  /** What it missed, oldest first; those that are no longer kept are counted. Then it is on the topic again. */
  bringBack(follower: Follower, send: (text: string) => void): void {
    if (follower.next_event === -1) return
    const oldest = Math.max(0, this.#sequence - KEPT)
    if (follower.next_event < oldest) {
      send(`{"type":"events_missed","count":${oldest - follower.next_event}}`)
      follower.next_event = oldest
    }
    while (follower.next_event < this.#sequence) send(this.#texts[follower.next_event++ & (KEPT - 1)]!)
    follower.next_event = -1
    follower.socket.subscribe(TOPIC)
  }
}
