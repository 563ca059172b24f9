import { metaOf, type PointBatch, resized } from './point-batch.ts'

/**
 * The points that were read since the last commit, in order of arrival, as columns. Adding a point takes a few stores, whatever
 * the number of messages; a quiet message costs two words. At the commit one pass sorts the points by message.
 */
export class PendingPoints {
  count = 0
  /** Payload bytes held. */
  used = 0
  /** The messages that have points, `dirty[0..dirtyCount)`. */
  readonly dirty: Int32Array
  dirtyCount = 0
  /** Points per message. */
  readonly many: Int32Array
  readonly #place: Int32Array
  #message: Int32Array
  #version: Float64Array
  #ts: Float64Array
  #number: Float64Array
  #meta: Int32Array
  #bytes: Buffer
  #capacity: number
  readonly #first_capacity: number
  readonly #first_bytes: number

  constructor(messages: number, capacity = 65_536, payload_bytes = 256 * 1024) {
    this.dirty = new Int32Array(messages)
    this.many = new Int32Array(messages)
    this.#place = new Int32Array(messages)
    this.#capacity = this.#first_capacity = capacity
    this.#first_bytes = payload_bytes
    this.#message = new Int32Array(capacity)
    this.#version = new Float64Array(capacity)
    this.#ts = new Float64Array(capacity)
    this.#number = new Float64Array(capacity)
    this.#meta = new Int32Array(capacity)
    this.#bytes = Buffer.allocUnsafeSlow(payload_bytes)
  }

  /** A value without payload bytes: `number` is the value. */
  add(message: number, version: number, ts: number, meta: number, number: number): void {
    const position = this.count
    if (position === this.#capacity) this.#resize(this.#capacity * 2, true)
    const many = this.many[message]!
    if (many === 0) this.dirty[this.dirtyCount++] = message
    this.many[message] = many + 1
    this.#message[position] = message
    this.#version[position] = version
    this.#ts[position] = ts
    this.#number[position] = number
    this.#meta[position] = meta
    this.count = position + 1
  }

  addBytes(
    message: number,
    version: number,
    ts: number,
    kind: number,
    source: Uint8Array,
    at: number,
    length: number,
  ): void {
    const offset = this.used
    if (offset + length > this.#bytes.length) {
      const grown = Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(offset + length)))
      this.#bytes.copy(grown, 0, 0, offset)
      this.#bytes = grown
    }
    this.#bytes.set(source.subarray(at, at + length), offset)
    this.used = offset + length
    this.add(message, version, ts, metaOf(kind, length), offset)
  }

  /**
   * Fills the batch with all points, those of one message together and in the order they came, messages in the order of
   * `dirty`. The payloads stay here: the batch borrows `bytes` until the next clear.
   */
  sort(batch: PointBatch): void {
    batch.clear()
    batch.reserve(this.count)
    batch.count = this.count
    batch.bytes = this.#bytes
    batch.used = this.used
    const place = this.#place
    let next = 0
    for (let i = 0; i < this.dirtyCount; i++) {
      const message = this.dirty[i]!
      place[message] = next
      next += this.many[message]!
    }
    const { version, ts, number, meta } = batch
    for (let i = 0; i < this.count; i++) {
      const to = place[this.#message[i]!]!++
      version[to] = this.#version[i]!
      ts[to] = Math.floor(this.#ts[i]!)
      number[to] = this.#number[i]!
      meta[to] = this.#meta[i]!
    }
  }

  clear(): void {
    for (let i = 0; i < this.dirtyCount; i++) this.many[this.dirty[i]!] = 0
    this.dirtyCount = 0
    this.count = 0
    this.used = 0
    // Memory that a burst has needed is freed.
    if (this.#bytes.length > 64 * this.#first_bytes) this.#bytes = Buffer.allocUnsafeSlow(this.#first_bytes)
    if (this.#capacity > 16 * this.#first_capacity) this.#resize(this.#first_capacity, false)
  }

  #resize(capacity: number, keep: boolean): void {
    this.#capacity = capacity
    this.#message = resized(this.#message, new Int32Array(capacity), keep)
    this.#version = resized(this.#version, new Float64Array(capacity), keep)
    this.#ts = resized(this.#ts, new Float64Array(capacity), keep)
    this.#number = resized(this.#number, new Float64Array(capacity), keep)
    this.#meta = resized(this.#meta, new Int32Array(capacity), keep)
  }
}
