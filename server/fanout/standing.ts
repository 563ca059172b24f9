import type { Follower } from './follower.ts'
import type { HeldText } from './held-text.ts'
import type { Topics } from './topics.ts'

const NOBODY: readonly Follower[] = []

/**
 * Which value of each message passed the fan-out, and which sockets stand on its topic or ahead of it; `Follower` has the places.
 * The arrays are public: what is asked for each value of the journal reads them in place.
 */
export class Standing {
  readonly #topics: Topics
  /** Newest version that passed, by message index. */
  readonly passed: Float64Array
  /** Sockets that stand live or ahead, by message index: values are decoded for them only. */
  readonly active: Int32Array
  readonly activeMessages = new Set<number>()
  /** Values that have passed and whose text waits for its frame, by message index. */
  readonly held = new Map<number, HeldText>()
  /** Sockets on the topic of its frames, by message index. */
  readonly media: Int32Array
  /** Those that stand ahead, by message index. */
  readonly ahead = new Map<number, Set<Follower>>()

  constructor(messages: number, topics: Topics) {
    this.#topics = topics
    this.passed = new Float64Array(messages)
    this.active = new Int32Array(messages)
    this.media = new Int32Array(messages)
  }

  /** The newest version that went out: a held text has not. */
  #out(message: number): number {
    const held = this.held.get(message)
    return held === undefined ? this.passed[message]! : held.version - held.missed - 1
  }

  /** From `behind` to where a socket stands that has got version `got`. */
  join(follower: Follower, message: number, got: number): void {
    if (this.active[message] === 0) {
      // With nobody live, nobody loses anything when the journal's values up to this one are left out.
      this.held.delete(message)
      if (got > this.passed[message]!) this.passed[message] = got
    }
    const passed = this.#out(message)
    if (got < passed) {
      // The journal shows a value an instant before the message table does: look again in the next turn.
      follower.behind.set(message, got)
      return
    }
    follower.behind.delete(message)
    if (this.active[message]!++ === 0) this.activeMessages.add(message)
    if (got === passed) this.goLive(follower, message)
    else {
      follower.ahead.set(message, got)
      const ahead = this.ahead.get(message)
      if (ahead === undefined) this.ahead.set(message, new Set([follower]))
      else ahead.add(follower)
    }
    if (follower.frames_owed.has(message)) this.oweFrame(follower, message)
  }

  /** The frame of the value that it has, or gets. Of one that stands behind it is known when it joins. */
  oweFrame(follower: Follower, message: number): void {
    follower.frames_owed.set(message, follower.ahead.get(message) ?? this.passed[message]!)
  }

  goLive(follower: Follower, message: number): void {
    follower.live.add(message)
    follower.socket.subscribe(this.#topics.topic(message))
    if (follower.media.has(message)) this.joinMedia(follower, message)
  }

  /** Of the next value that passes. */
  wantsFrames(message: number): boolean {
    if (this.media[message] !== 0) return true
    for (const follower of this.ahead.get(message) ?? NOBODY) if (follower.media.has(message)) return true
    return false
  }

  /** It is live on the message, and its frames are wanted. */
  joinMedia(follower: Follower, message: number): void {
    this.media[message]!++
    follower.socket.subscribe(this.#topics.media(message))
  }

  leaveMedia(follower: Follower, message: number): void {
    this.media[message]!--
    follower.socket.unsubscribe(this.#topics.media(message))
  }

  /** It does not follow the message any more, wherever it stands. */
  leave(follower: Follower, message: number): void {
    if (follower.behind.delete(message)) return
    if (follower.ahead.has(message)) {
      this.#leaveAhead(follower, message)
      follower.ahead.delete(message)
    } else if (follower.live.delete(message)) {
      follower.socket.unsubscribe(this.#topics.topic(message))
      if (follower.media.has(message)) this.leaveMedia(follower, message)
      this.#deactivate(message)
    }
  }

  /** Off all topics; each name is owed the newest value from now on. About 0.3 us a name. */
  takeOff(follower: Follower): void {
    for (const message of follower.live) {
      follower.socket.unsubscribe(this.#topics.topic(message))
      if (follower.media.has(message)) this.leaveMedia(follower, message)
      this.#deactivate(message)
      follower.behind.set(message, this.#out(message))
    }
    follower.live.clear()
    for (const [message, version] of follower.ahead) {
      this.#leaveAhead(follower, message)
      follower.behind.set(message, version)
    }
    follower.ahead.clear()
  }

  /** Its socket is closed, and with that off its topics. */
  forget(follower: Follower): void {
    for (const message of follower.live) {
      if (follower.media.has(message)) this.media[message]!--
      this.#deactivate(message)
    }
    for (const message of follower.ahead.keys()) this.#leaveAhead(follower, message)
    follower.live.clear()
    follower.ahead.clear()
    follower.behind.clear()
  }

  #deactivate(message: number): void {
    if (--this.active[message]! === 0) this.activeMessages.delete(message)
  }

  /** Leaves the entry in `follower.ahead` to the caller, who may be walking it. */
  #leaveAhead(follower: Follower, message: number): void {
    const ahead = this.ahead.get(message)
    if (ahead?.delete(follower) && ahead.size === 0) this.ahead.delete(message)
    this.#deactivate(message)
  }
}
