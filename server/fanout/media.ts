import type { Publisher } from '../http/socket.ts'
import type { Follower } from './follower.ts'
import type { HeldText } from './held-text.ts'
import { type FrameOf, type MediaBytes, MediaFrames, referenceIn } from './media-frames.ts'
import type { Standing } from './standing.ts'
import type { Topics } from './topics.ts'

interface MediaParts {
  readonly bytes: MediaBytes
  readonly topics: Topics
  readonly standing: Standing
  front(): Publisher
  readonly onDefect: (error: unknown) => void
  /** The text goes out now, behind its frame if it has one. */
  publish(text: HeldText, frame: Buffer | null): void
}

export interface MediaCounts {
  /** Frames that went out: one to all sockets of a topic, or one to one socket. */
  readonly sent: number
  /** Values that went out as text only, although somebody wanted their frames. */
  readonly skipped: number
}

/**
 * Frames of the media messages that sockets asked for. A frame goes out just ahead of the text that names it, once for all sockets of the
 * message, and only the newest one of a name in a batch of the journal:
 *
 *   (a value passes) -> held --a newer one passes in the same batch--> its text alone
 *                        held --the batch ends--> its frame, then its text
 *                        held --its bytes are on the disk--> held, until they are read
 *
 * So per name the order stays, and texts of other names may pass a held one.
 */
export class Media {
  readonly #parts: MediaParts
  readonly #frames: MediaFrames
  /** Of `Standing`, since who joins or leaves a topic has not got what is held. */
  readonly #held: Map<number, HeldText>
  readonly #counts = new Map<number, { sent: number; skipped: number }>()
  #in_batch = false

  constructor(parts: MediaParts) {
    this.#parts = parts
    this.#held = parts.standing.held
    this.#frames = new MediaFrames(parts.bytes, parts.topics, digest => this.#loaded(digest), parts.onDefect)
  }

  /** By message index; of those that were ever wanted. */
  get counts(): ReadonlyMap<number, MediaCounts> {
    return this.#counts
  }

  startBatch(): void {
    this.#in_batch = true
  }

  endBatch(): void {
    this.#in_batch = false
    for (const text of this.#held.values()) this.#try(text)
  }

  /** Somebody wants frames of its message. */
  hold(text: HeldText): void {
    this.release(text.message)
    this.#held.set(text.message, text)
    if (!this.#in_batch) this.#try(text)
  }

  /** The held text of the message goes out as it is, if there is one: something newer comes. */
  release(message: number): void {
    const text = this.#held.get(message)
    if (text !== undefined) this.#out(text, 'none')
  }

  /** Its frame comes with its text. */
  isHeld(message: number): boolean {
    return this.#held.has(message)
  }

  /** For one socket. `none`: the text alone. */
  frameOf(message: number, version: number, value: string): FrameOf {
    return this.#frames.of(message, version, value)
  }

  /** To one socket, ahead of the text. */
  send(follower: Follower, message: number, frame: Buffer): void {
    follower.socket.sendBinary(frame)
    this.#count(message).sent++
  }

  forget(message: number): void {
    this.#held.delete(message)
    this.#counts.delete(message)
  }

  #try(text: HeldText): void {
    const frame = this.#frames.of(text.message, text.version, text.value)
    if (frame !== 'loading') this.#out(text, frame)
  }

  #out(text: HeldText, frame: Buffer | 'none'): void {
    const { message } = text
    this.#held.delete(message)
    const { front, topics, standing, publish } = this.#parts
    if (frame === 'none') {
      if (referenceIn(text.value) !== null) this.#count(message).skipped++
      return publish(text, null)
    }
    if (standing.media[message] !== 0) {
      front().publishBinary(topics.media(message), frame)
      this.#count(message).sent++
    }
    publish(text, frame)
  }

  #loaded(digest: string): void {
    for (const text of this.#held.values()) if (text.value.includes(digest)) this.#try(text)
  }

  #count(message: number): { sent: number; skipped: number } {
    let counts = this.#counts.get(message)
    if (counts === undefined) this.#counts.set(message, (counts = { sent: 0, skipped: 0 }))
    return counts
  }
}
