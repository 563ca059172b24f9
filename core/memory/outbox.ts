/**
 * An outbox: messages on their way out of the engine, from the lane that owns their flow to the thread that sends them, in a buffer of its
 * own that outlives both. One writer at a time (a flow has one owner) and one reader.
 *
 * Positions count bytes for ever, modulo 2^32; a record lies whole behind its position, so before the end of the ring there may be padding.
 */
import * as atomics from '#atomics'
import { layout } from './layout.ts'

export const OUTBOX_HEADER = layout(
  'OUTBOX_HEADER',
  [
    ['head', 'i32', 'position of the first record that has not been sent; written by the reader alone'],
    ['reader_line', 'bytes:60', 'what the reader writes and what the writer writes lie on different cache lines'],
    ['tail', 'i32', 'position behind the last whole record; written by the writer alone'],
    ['sleeping', 'i32', '1: the reader waits on tail, and is to be woken'],
    ['writer_line', 'bytes:56', ''],
  ],
  64,
)

export const OUTBOX_RECORD = layout('OUTBOX_RECORD', [
  ['bytes', 'i32', 'of the whole record, a multiple of 8; negative: padding to the end of the ring'],
  ['flags', 'i32', 'what the sender makes of it'],
  ['topic_bytes', 'i32', 'of the topic, which follows'],
  ['payload_bytes', 'i32', 'of the payload, which follows the topic'],
])

const H = OUTBOX_HEADER.word
const R = OUTBOX_RECORD.word

/** A buffer for an outbox; `bytes` is a power of two. */
export function newOutbox(bytes: number): SharedArrayBuffer {
  if (!Number.isInteger(Math.log2(bytes)) || bytes < 64) throw new RangeError('an outbox is a power of two of bytes')
  return new SharedArrayBuffer(OUTBOX_HEADER.size + bytes)
}

class Ring {
  readonly i32: Int32Array
  readonly bytes: Buffer
  readonly size: number

  constructor(sab: SharedArrayBuffer) {
    this.i32 = new Int32Array(sab)
    this.bytes = Buffer.from(sab)
    this.size = sab.byteLength - OUTBOX_HEADER.size
  }

  /** Byte offset of a position in the buffer. */
  at(position: number): number {
    return OUTBOX_HEADER.size + (position & (this.size - 1))
  }

  /** Bytes from the position to the end of the ring. */
  toEnd(position: number): number {
    return this.size - (position & (this.size - 1))
  }
}

const recordBytes = (topic: number, payload: number): number => (OUTBOX_RECORD.size + topic + payload + 7) & ~7

export class OutboxWriter {
  readonly #ring: Ring

  constructor(sab: SharedArrayBuffer) {
    this.#ring = new Ring(sab)
  }

  /** Could it ever fit? A record may need padding before it of nearly its own length. */
  fits(topic: string, payload: string): boolean {
    return recordBytes(Buffer.byteLength(topic), Buffer.byteLength(payload)) <= this.#ring.size >> 1
  }

  /** False: there is no room now. A record shows whole or not at all: its last step is `tail`. */
  push(topic: string, payload: string, flags: number): boolean {
    const { i32, bytes } = this.#ring
    const topic_bytes = Buffer.byteLength(topic)
    const payload_bytes = Buffer.byteLength(payload)
    const length = recordBytes(topic_bytes, payload_bytes)
    let tail = i32[H.tail]!
    const free = this.#ring.size - ((tail - atomics.acquire(i32, H.head)) | 0)
    const to_end = this.#ring.toEnd(tail)
    const pad = to_end < length ? to_end : 0
    if (pad + length > free) return false
    if (pad > 0) {
      i32[(this.#ring.at(tail) >> 2) + R.bytes] = -pad
      tail = (tail + pad) | 0
    }
    const at = this.#ring.at(tail)
    const word = at >> 2
    i32[word + R.bytes] = length
    i32[word + R.flags] = flags
    i32[word + R.topic_bytes] = topic_bytes
    i32[word + R.payload_bytes] = payload_bytes
    bytes.write(topic, at + OUTBOX_RECORD.size, topic_bytes, 'utf8')
    bytes.write(payload, at + OUTBOX_RECORD.size + topic_bytes, payload_bytes, 'utf8')
    // A full barrier: either the reader sees this record before it sleeps, or its sleep is seen here.
    atomics.store(i32, H.tail, (tail + length) | 0)
    if (atomics.load(i32, H.sleeping) !== 0) {
      atomics.store(i32, H.sleeping, 0)
      atomics.notify(i32, H.tail)
    }
    return true
  }
}

/** A record that was read. */
export interface OutboxRecord {
  readonly topic: string
  /** A copy. */
  readonly payload: Buffer
  readonly flags: number
  /** Where the next one begins: what `sent` wants. */
  readonly end: number
}

export class OutboxReader {
  readonly #ring: Ring
  /** Of the next record to read; between head and tail. */
  #cursor: number

  constructor(sab: SharedArrayBuffer) {
    this.#ring = new Ring(sab)
    this.#cursor = this.#ring.i32[H.head]!
  }

  /** The next record that this reader has not had; null: there is none. */
  next(): OutboxRecord | null {
    const { i32, bytes } = this.#ring
    if (this.#isAtEnd) return null
    this.#skipPadding()
    const at = this.#ring.at(this.#cursor)
    const word = at >> 2
    const topic_from = at + OUTBOX_RECORD.size
    const payload_from = topic_from + i32[word + R.topic_bytes]!
    const payload = Buffer.allocUnsafe(i32[word + R.payload_bytes]!)
    bytes.copy(payload, 0, payload_from, payload_from + payload.length)
    const topic = bytes.toString('utf8', topic_from, payload_from)
    this.#cursor = (this.#cursor + i32[word + R.bytes]!) | 0
    return { topic, payload, flags: i32[word + R.flags]!, end: this.#cursor }
  }

  /** Everything before `end` is sent: its room is the writer's. */
  sent(end: number): void {
    atomics.release(this.#ring.i32, H.head, end)
  }

  /** What was read and not `sent` is read again. */
  again(): void {
    this.#cursor = this.#ring.i32[H.head]!
  }

  /** Lets the oldest records fall out until at most `most` bytes are left, those of them too that were read; answers how many. */
  trim(most: number): number {
    const { i32 } = this.#ring
    this.again()
    let count = 0
    while (((atomics.acquire(i32, H.tail) - this.#cursor) | 0) > most) {
      this.#skipPadding()
      this.#cursor = (this.#cursor + i32[(this.#ring.at(this.#cursor) >> 2) + R.bytes]!) | 0
      count++
    }
    this.sent(this.#cursor)
    return count
  }

  get isEmpty(): boolean {
    return this.#ring.i32[H.head] === atomics.acquire(this.#ring.i32, H.tail)
  }

  /** Resolves when there is something that was not read; null: there is already. `wake` ends it early. */
  waitForMore(): Promise<unknown> | null {
    const { i32 } = this.#ring
    atomics.store(i32, H.sleeping, 1)
    const tail = atomics.load(i32, H.tail)
    if (tail === this.#cursor) {
      const waiting = atomics.waitAsync(i32, H.tail, tail)
      if (waiting.async) return waiting.value
    }
    atomics.store(i32, H.sleeping, 0)
    return null
  }

  wake(): void {
    atomics.notify(this.#ring.i32, H.tail)
  }

  /** Has this reader had every record that shows now? */
  get #isAtEnd(): boolean {
    return this.#cursor === atomics.acquire(this.#ring.i32, H.tail)
  }

  /**
   * Sets the cursor behind padding. Only after a look at the tail that showed something behind the cursor: padding and the record after
   * it show together, so with padding there is a record, and a second look at the tail is not needed. (One would see a later tail, and
   * take padding that came in between for a record.)
   */
  #skipPadding(): void {
    const bytes = this.#ring.i32[(this.#ring.at(this.#cursor) >> 2) + R.bytes]!
    if (bytes < 0) this.#cursor = (this.#cursor - bytes) | 0
  }
}
