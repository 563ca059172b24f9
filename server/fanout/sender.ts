import type { Publisher } from '../http/socket.ts'
import { type Follower, missedBefore } from './follower.ts'
import type { Topics } from './topics.ts'
import { type ValueDecoder, ValueText } from './value-text.ts'

/** Before the front is there, nobody is. */
const NOBODY: Publisher = { publish: () => false, publishBinary: () => false, subscribers: () => 0 }

/** Writes what goes out: on the topic of a message, or to one socket. Counts it. */
export class Sender {
  front: Publisher = NOBODY
  readonly #topics: Topics
  readonly #text: ValueText
  readonly #onDefect: (error: unknown) => void
  /** Values that went out on a topic. */
  published = 0
  /** Values sent to one socket. */
  sent = 0
  dropped = 0

  constructor(topics: Topics, decoder: ValueDecoder, onDefect: (error: unknown) => void) {
    this.#topics = topics
    this.#text = new ValueText(decoder)
    this.#onDefect = onDefect
  }

  /** Only the codec writes values, so one that it cannot read is a defect; its followers get null in its place. */
  encode(kind: number, number: number, bytes: Buffer, at: number, length: number): string {
    try {
      return this.#text.value(kind, number, bytes, at, length)
    } catch (error) {
      this.#onDefect(error)
      return 'null'
    }
  }

  /** To all sockets on the topic. Answers the length of the text. */
  publish(message: number, ts: number, version: number, value: string, missed: number): number {
    const text = this.#text.event(ts, this.#topics.middle(message), version, value, missed)
    this.front.publish(this.#topics.topic(message), text)
    this.published++
    return text.length
  }

  /** To one socket, which has got version `has`. */
  sendValue(follower: Follower, message: number, ts: number, version: number, value: string, has: number): void {
    this.send(follower, this.#text.event(ts, this.#topics.middle(message), version, value, missedBefore(version, has)))
    this.sent++
  }

  send(follower: Follower, text: string): void {
    if (follower.socket.send(text) === 'dropped' && follower.socket.isOpen) this.dropped++
  }
}
