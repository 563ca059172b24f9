import { type PointBatch, widen } from './point-batch.ts'

const NONE = -1

/**
 * What was drained since the last commit, in the order it came, as columns; the points of one message are chained from the
 * newest to the oldest. Adding one costs a handful of stores whatever the number of messages; a quiet message costs
 * three words.
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
  readonly #head: Int32Array
  #previous: Int32Array
  #version: Float64Array
  #ts: Float64Array
  #number: Float64Array
  #kind: Uint8Array
  #length: Int32Array
  #bytes: Buffer
  #capacity: number
  readonly #first_capacity: number
  readonly #first_bytes: number

  constructor(messages: number, capacity = 65_536, payload_bytes = 256 * 1024) {
    this.dirty = new Int32Array(messages)
    this.many = new Int32Array(messages)
    this.#head = new Int32Array(messages).fill(NONE)
    this.#capacity = this.#first_capacity = capacity
    this.#first_bytes = payload_bytes
    this.#previous = new Int32Array(capacity)
    this.#version = new Float64Array(capacity)
    this.#ts = new Float64Array(capacity)
    this.#number = new Float64Array(capacity)
    this.#kind = new Uint8Array(capacity)
    this.#length = new Int32Array(capacity)
    this.#bytes = Buffer.allocUnsafeSlow(payload_bytes)
  }

  /** A value without payload bytes: `number` is the value. */
  add(message: number, version: number, ts: number, kind: number, number: number): void {
    const position = this.count
    if (position === this.#capacity) this.#grow()
    const before = this.#head[message]!
    if (before === NONE) this.dirty[this.dirtyCount++] = message
    this.many[message]!++
    this.#head[message] = position
    this.#previous[position] = before
    this.#version[position] = version
    this.#ts[position] = ts
    this.#number[position] = number
    this.#kind[position] = kind
    this.#length[position] = 0
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
    this.add(message, version, ts, kind, offset)
    this.#length[this.count - 1] = length
  }

  /** Copies the points of one message into the batch, oldest first. The payloads stay here: the batch borrows `bytes` until the next clear. */
  gather(message: number, batch: PointBatch): void {
    const count = this.many[message]!
    batch.clear()
    batch.reserve(count)
    batch.count = count
    batch.bytes = this.#bytes
    batch.used = this.used
    const { version, ts, number, kind, length } = batch
    let position = this.#head[message]!
    for (let i = count - 1; i >= 0; i--) {
      version[i] = this.#version[position]!
      ts[i] = Math.floor(this.#ts[position]!)
      number[i] = this.#number[position]!
      kind[i] = this.#kind[position]!
      length[i] = this.#length[position]!
      position = this.#previous[position]!
    }
  }

  clear(): void {
    for (let i = 0; i < this.dirtyCount; i++) {
      const message = this.dirty[i]!
      this.#head[message] = NONE
      this.many[message] = 0
    }
    this.dirtyCount = 0
    this.count = 0
    this.used = 0
    // A burst of large values is not kept as memory for ever.
    if (this.#bytes.length > 16 * this.#first_bytes) this.#bytes = Buffer.allocUnsafeSlow(this.#first_bytes)
    if (this.#capacity > 32 * this.#first_capacity) this.#resize(this.#first_capacity)
  }

  #grow(): void {
    this.#resize(this.#capacity * 2)
  }

  #resize(capacity: number): void {
    const keep = capacity > this.#capacity
    this.#capacity = capacity
    const to = <Column extends Float64Array | Int32Array | Uint8Array>(from: Column, column: Column): Column =>
      keep ? widen(from, column) : column
    this.#previous = to(this.#previous, new Int32Array(capacity))
    this.#version = to(this.#version, new Float64Array(capacity))
    this.#ts = to(this.#ts, new Float64Array(capacity))
    this.#number = to(this.#number, new Float64Array(capacity))
    this.#kind = to(this.#kind, new Uint8Array(capacity))
    this.#length = to(this.#length, new Int32Array(capacity))
  }
}
