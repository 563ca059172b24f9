/**
 * An outbox: messages on their way out of the engine, from the lane that owns their flow to the thread that sends them, in a buffer of its
 * own that outlives both. One writer at a time (a flow has one owner) and one reader.
 *
 * Positions count bytes for ever, modulo 2^32; a record lies whole behind its position, so before the end of the ring there may be padding.
 * They are multiples of 8. The lowest bit of `tail` says that the outbox is closed: one word decides whether a record came before that.
 */
import * as atomics from '#atomics'
import { layout } from './layout.ts'

export const OUTBOX_HEADER = layout(
  'OUTBOX_HEADER',
  [
    ['head', 'i32', 'position of the first record that has not been sent; written by the reader alone'],
    ['sleeping', 'i32', '1: the reader waits for records, and is to be woken'],
    ['wakes', 'i32', 'counts how often it was; it sleeps on this word'],
    ['reader_line', 'bytes:48', 'what the reader writes and what the writer writes lie on different cache lines'],
    [
      'tail',
      'i32',
      'position behind the last whole record, written by the writer; + 1: closed, nothing comes any more',
    ],
    ['wanted', 'i32', 'bytes of room that the writer waits for, and is to be woken; 0: it does not wait'],
    ['room', 'i32', 'counts how often it was woken; it sleeps on this word'],
    ['writer_line', 'bytes:48', ''],
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
const CLOSED = 1

/** A buffer for an outbox; `bytes` is a power of two. */
export function newOutbox(bytes: number): SharedArrayBuffer {
  if (!Number.isInteger(Math.log2(bytes)) || bytes < 64) throw new RangeError('an outbox is a power of two of bytes')
  return new SharedArrayBuffer(OUTBOX_HEADER.size + bytes)
}

/** From now on nothing is pushed any more: what is in it is all that there will be. Any thread may close it. */
export function closeOutbox(sab: SharedArrayBuffer, offset = 0, bytes = sab.byteLength): void {
  const { i32 } = new Ring(sab, offset, bytes)
  atomics.or(i32, H.tail, CLOSED)
  wake(i32, H.sleeping, H.wakes)
}

/** An outbox in a buffer: it has all of it, or a part. */
class Ring {
  readonly i32: Int32Array
  readonly bytes: Buffer
  readonly size: number

  constructor(sab: SharedArrayBuffer, offset: number, bytes: number) {
    this.i32 = new Int32Array(sab, offset, bytes >> 2)
    this.bytes = Buffer.from(sab, offset, bytes)
    this.size = bytes - OUTBOX_HEADER.size
  }

  /** Byte offset of a position in the buffer. */
  at(position: number): number {
    return OUTBOX_HEADER.size + (position & (this.size - 1))
  }

  /** Bytes from the position to the end of the ring. */
  toEnd(position: number): number {
    return this.size - (position & (this.size - 1))
  }

  /** Bytes from `head` to `tail`, whether it is closed or not. */
  used(head: number, tail: number): number {
    return ((tail & ~CLOSED) - head) | 0
  }
}

/**
 * Whoever sleeps says so in a word, looks for what it waits for once more, and sleeps on a count of wakes; whoever wakes it takes the word
 * and counts before it notifies. The count keeps a wake that comes between the look and the sleep: a word that only says "asleep" would
 * be cleared by a late waker for a sleep that it does not end.
 */
function wake(i32: Int32Array, word: number, count: number): void {
  if (atomics.load(i32, word) !== 0 && atomics.exchange(i32, word, 0) !== 0) wakeAnyway(i32, count)
}

/** For a waker that takes the place of a dead one, which may have taken the word and not notified. A sleeper that had no reason looks again. */
function wakeAnyway(i32: Int32Array, count: number): void {
  atomics.add(i32, count, 1)
  atomics.notify(i32, count)
}

/** Null: the wake has come already. */
function sleep(i32: Int32Array, count: number, seen: number): Promise<unknown> | null {
  const waiting = atomics.waitAsync(i32, count, seen)
  return waiting.async ? waiting.value : null
}

const recordBytes = (topic: number, payload: number): number => (OUTBOX_RECORD.size + topic + payload + 7) & ~7

/** What became of a push. */
export type Pushed = 'pushed' | 'full' | 'closed'

export class OutboxWriter {
  readonly #ring: Ring

  constructor(sab: SharedArrayBuffer, offset = 0, bytes = sab.byteLength) {
    this.#ring = new Ring(sab, offset, bytes)
    wakeAnyway(this.#ring.i32, H.wakes)
  }

  /** Could it ever fit? A record may need padding before it of nearly its own length. */
  fits(topic: string, payload: string): boolean {
    return recordBytes(Buffer.byteLength(topic), Buffer.byteLength(payload)) <= this.#ring.size >> 1
  }

  /** A record shows whole or not at all: its last step is `tail`. */
  push(topic: string, payload: string, flags: number): Pushed {
    const { i32, bytes } = this.#ring
    const topic_bytes = Buffer.byteLength(topic)
    const payload_bytes = Buffer.byteLength(payload)
    const length = recordBytes(topic_bytes, payload_bytes)
    const before = i32[H.tail]!
    if ((before & CLOSED) !== 0) return 'closed'
    const pad = this.#padding(before, length)
    if (pad + length > this.#free(before)) return 'full'
    let tail = before
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
    if (atomics.compareExchange(i32, H.tail, before, (tail + length) | 0) !== before) return 'closed'
    wake(i32, H.sleeping, H.wakes)
    return 'pushed'
  }

  /**
   * After a push that was `full`: resolves when there is room for it, and for a quarter of the ring, so that a thread is not woken for
   * every record; null: there is room already. Of a closed outbox it never resolves.
   */
  waitForRoom(topic: string, payload: string): Promise<unknown> | null {
    const { i32, size } = this.#ring
    const tail = i32[H.tail]!
    const length = recordBytes(Buffer.byteLength(topic), Buffer.byteLength(payload))
    const wanted = Math.max(this.#padding(tail, length) + length, size >> 2)
    const seen = atomics.load(i32, H.room)
    atomics.store(i32, H.wanted, wanted)
    if ((tail & CLOSED) === 0 && this.#free(tail) >= wanted) {
      atomics.store(i32, H.wanted, 0)
      return null
    }
    return sleep(i32, H.room, seen)
  }

  #padding(tail: number, length: number): number {
    const to_end = this.#ring.toEnd(tail & ~CLOSED)
    return to_end < length ? to_end : 0
  }

  #free(tail: number): number {
    return this.#ring.size - this.#ring.used(atomics.acquire(this.#ring.i32, H.head), tail)
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

  constructor(sab: SharedArrayBuffer, offset = 0, bytes = sab.byteLength) {
    this.#ring = new Ring(sab, offset, bytes)
    this.#cursor = this.#ring.i32[H.head]!
    wakeAnyway(this.#ring.i32, H.room)
  }

  /** The next record that this reader has not had; null: there is none. */
  next(): OutboxRecord | null {
    const { i32, bytes } = this.#ring
    if (this.#unread(atomics.acquire(i32, H.tail)) === 0) return null
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
    const { i32, size } = this.#ring
    // A full barrier: either the writer sees the room before it sleeps, or its wish is seen here.
    atomics.store(i32, H.head, end)
    const wanted = atomics.load(i32, H.wanted)
    if (wanted !== 0 && size - this.usedBytes >= wanted) wake(i32, H.wanted, H.room)
  }

  /** What was read and not `sent` is read again. */
  again(): void {
    this.#cursor = this.#ring.i32[H.head]!
  }

  /**
   * Lets the oldest records fall out until at most `most` bytes are left, and as much room as the writer waits for; those of them too
   * that were read. Answers how many.
   */
  trim(most: number): number {
    const { i32, size } = this.#ring
    this.again()
    let count = 0
    const left = Math.min(most, size - atomics.load(i32, H.wanted))
    while (this.#unread(atomics.acquire(i32, H.tail)) > left) {
      this.#skipPadding()
      this.#cursor = (this.#cursor + i32[(this.#ring.at(this.#cursor) >> 2) + R.bytes]!) | 0
      count++
    }
    if (count > 0) this.sent(this.#cursor)
    return count
  }

  get isEmpty(): boolean {
    return this.usedBytes === 0
  }

  /** Of what has not been sent. */
  get usedBytes(): number {
    const { i32 } = this.#ring
    return this.#ring.used(i32[H.head]!, atomics.acquire(i32, H.tail))
  }

  /** Nothing comes any more. */
  get isClosed(): boolean {
    return (atomics.acquire(this.#ring.i32, H.tail) & CLOSED) !== 0
  }

  /** Resolves when there is something that was not read, or the outbox is closed; null: there is already. `wake` ends it early. */
  waitForMore(): Promise<unknown> | null {
    const { i32 } = this.#ring
    const seen = atomics.load(i32, H.wakes)
    atomics.store(i32, H.sleeping, 1)
    if (this.#unread(atomics.load(i32, H.tail)) > 0) {
      atomics.store(i32, H.sleeping, 0)
      return null
    }
    return sleep(i32, H.wakes, seen)
  }

  wake(): void {
    wake(this.#ring.i32, H.sleeping, H.wakes)
  }

  /** Bytes before `tail` that this reader has not had. */
  #unread(tail: number): number {
    return this.#ring.used(this.#cursor, tail)
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
