import type { Socket } from '../http/socket.ts'

/**
 * How far a socket is with a name, as one number: the version that it has got, or, for a newcomer that has got none, a
 * negative number that keeps which version was the newest when it came.
 */
export const newcomerSince = (version: number): number => -1 - version

/** What a socket that is so far has not got once it gets `version`. The value that a newcomer found there is none of it. */
export const missedBefore = (version: number, has: number): number =>
  Math.max(0, version - (has < 0 ? -1 - has : has) - 1)

/**
 * What one socket follows, and how far it is with each name. A followed name stands in exactly one of three places:
 *
 *   live    on the topic of its message: it has got every value that passed the fan-out
 *   ahead   it was given a version from the message table that the journal has not reached yet; it goes live there
 *   behind  it is owed the newest value, and gets it from the message table before it goes live
 *
 *   (follow) -> behind -> live <-> ahead
 *                 ^--------'          a slow socket goes back, with all its names
 */
export class Follower {
  readonly socket: Socket
  /** Message indexes asked for by name. `resumed`: only a `have` frame named it, so its flow's unsubscribe ends it too. */
  readonly names = new Map<number, 'asked' | 'resumed'>()
  readonly flows = new Set<string>()
  /** Message indexes whose frames are wanted, too; they are followed while they are. */
  readonly media = new Set<number>()
  /** Message index -> the version whose frame is owed, unless a newer value passes. */
  readonly frames_owed = new Map<number, number>()
  /** Engine events are wanted. */
  events = false

  readonly live = new Set<number>()
  /** Message index -> the version that the socket has got. */
  readonly ahead = new Map<number, number>()
  /** Message index -> how far the socket is. In the order in which they are served. */
  readonly behind = new Map<number, number>()

  /**
   * ready   gets what is published, or is being brought up to date
   * slow    its buffer passed the bound; it gets nothing until that has drained
   * gone    closed; belongs to nobody
   */
  #mode: 'ready' | 'slow' | 'gone' = 'ready'
  /** Stands in the queue of those that are being brought up to date. */
  queued = false
  /** The fan-out's byte count at which the buffer of this socket has to be looked at again. */
  look_at = 0
  /** When its buffer last shrank, while it is slow. */
  progress_ms = 0

  constructor(socket: Socket) {
    this.socket = socket
  }

  get mode(): 'ready' | 'slow' | 'gone' {
    return this.#mode
  }

  move(to: 'ready' | 'slow' | 'gone'): void {
    if (this.#mode === to || this.#mode === 'gone') throw new RangeError(`a ${this.#mode} socket becomes ${to}`)
    this.#mode = to
  }

  follows(message: number): boolean {
    return this.live.has(message) || this.ahead.has(message) || this.behind.has(message)
  }

  get followed(): number {
    return this.live.size + this.ahead.size + this.behind.size
  }
}
