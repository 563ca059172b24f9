import { KIND } from '../../core/memory/encoded.ts'
import type { EventFanout } from './event-fanout.ts'
import type { Follower } from './follower.ts'
import type { Media } from './media.ts'
import type { FrameOf } from './media-frames.ts'
import type { NewestValue, NewestValues } from './passing-value.ts'
import type { Sender } from './sender.ts'
import type { SlowSockets } from './slow-sockets.ts'
import type { Standing } from './standing.ts'

interface CatchUpParts {
  values: NewestValues
  scratch: NewestValue
  standing: Standing
  sender: Sender
  slow: SlowSockets
  media: Media
  events: readonly EventFanout[]
  now_ms: () => number
  slice_ms: number
}

/** How often the clock is looked at while a socket is brought up to date. */
const LOOK_EVERY = 16
const WAIT = -1

/** Brings sockets up to date that are owed something, in turn, a slice of time in each turn of the event loop. */
export class CatchUp {
  readonly #values: NewestValues
  readonly #scratch: NewestValue
  readonly #standing: Standing
  readonly #sender: Sender
  readonly #slow: SlowSockets
  readonly #media: Media
  readonly #events: readonly EventFanout[]
  readonly #now: () => number
  readonly #slice_ms: number
  readonly #queue: Follower[] = []
  #scheduled = false

  constructor(parts: CatchUpParts) {
    this.#values = parts.values
    this.#scratch = parts.scratch
    this.#standing = parts.standing
    this.#sender = parts.sender
    this.#slow = parts.slow
    this.#media = parts.media
    this.#events = parts.events
    this.#now = parts.now_ms
    this.#slice_ms = parts.slice_ms
  }

  /** In a later phase of this turn of the event loop, so that a `have` that came with a `subscribe` counts. */
  schedule(follower: Follower): void {
    if (!follower.queued) {
      follower.queued = true
      this.#queue.push(follower)
    }
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => this.#turn())
  }

  /** Those that are owed something, in turn, for at most a slice of time. */
  #turn(): void {
    this.#scheduled = false
    const until = this.#now() + this.#slice_ms
    const again: Follower[] = []
    let settled = false
    while (this.#queue.length > 0 && this.#now() < until) {
      const follower = this.#queue.shift()!
      follower.queued = false
      if (follower.mode !== 'ready') continue
      const owed = follower.behind.size + follower.frames_owed.size
      follower.socket.cork(() => this.#serve(follower, until))
      const left = follower.behind.size + follower.frames_owed.size
      if (left < owed) settled = true
      if (follower.mode === 'ready' && left > 0) again.push(follower)
    }
    for (const follower of again) {
      follower.queued = true
      this.#queue.push(follower)
    }
    if (this.#queue.length === 0) return
    this.#scheduled = true
    // Nothing settled: the message table is an instant behind the journal. No reason to spin until it is not.
    if (settled) setImmediate(() => this.#turn())
    else setTimeout(() => this.#turn(), 1)
  }

  #serve(follower: Follower, until: number): void {
    const send = (text: string): void => this.#sender.send(follower, text)
    for (const events of this.#events) events.bringBack(follower, send)
    let served = 0
    for (const [message, has] of follower.behind) {
      if (++served % LOOK_EVERY === 0 && this.#now() >= until) return
      const got = this.#sendNewest(follower, message, has)
      if (got === WAIT) continue
      this.#standing.join(follower, message, got)
      if (!this.#slow.isOver(follower)) continue
      this.#slow.slowDown(follower)
      return
    }
    for (const [message, version] of follower.frames_owed) {
      // Its value is owed, too, and comes with a frame if it is newer.
      if (follower.behind.has(message)) continue
      if (this.#now() >= until) return
      this.#sendFrame(follower, message, version)
      if (!this.#slow.isOver(follower)) continue
      this.#slow.slowDown(follower)
      return
    }
    follower.look_at = 0
  }

  /** The frame of a value whose text the socket has got. One that passes meanwhile comes over the topic. */
  #sendFrame(follower: Follower, message: number, version: number): void {
    const newest = this.#scratch
    const values = this.#values
    // This one or a newer one comes over the topic, or is about to.
    if (
      (follower.live.has(message) && this.#media.isHeld(message)) ||
      this.#standing.passed[message]! > version ||
      values.version(message) !== version ||
      !values.read(message, newest)
    ) {
      follower.frames_owed.delete(message)
      return
    }
    const frame = this.#frameOf(message)
    if (frame === 'loading') return
    follower.frames_owed.delete(message)
    if (frame !== 'none') this.#media.send(follower, message, frame)
  }

  /** Of the value in the scratch. */
  #frameOf(message: number): FrameOf {
    const { kind, number, bytes, length, version } = this.#scratch
    if (kind === KIND.none) return 'none'
    return this.#media.frameOf(message, version, this.#sender.encode(kind, number, bytes, 0, length))
  }

  /** Sends the newest value if the socket has not got it; answers the version that it has then, or `WAIT`: its frame is being read. */
  #sendNewest(follower: Follower, message: number, has: number): number {
    const values = this.#values
    const newest = this.#scratch
    if (values.version(message) <= has || !values.read(message, newest)) return Math.max(has, 0)
    if (newest.kind === KIND.none) return newest.version
    const value = this.#sender.encode(newest.kind, newest.number, newest.bytes, 0, newest.length)
    if (follower.media.has(message)) {
      const frame = this.#media.frameOf(message, newest.version, value)
      if (frame === 'loading') return WAIT
      if (frame !== 'none') this.#media.send(follower, message, frame)
      follower.frames_owed.delete(message)
    }
    this.#sender.sendValue(follower, message, newest.ts, newest.version, value, has)
    return newest.version
  }
}
