import { KIND } from '../../../protocol/values/encoded.ts'
import { kindOf, lengthOf, metaOf, type PointBatch } from './point-batch.ts'
import { putVarint, VarintReader, zigzag } from './varint.ts'

/**
 * A run of points of one message as columns:
 *
 *   u8      format, 1
 *   u8      low four bits: the kind of all values, or 15 when they differ; bit 4: versions follow one another by 1
 *   varint  count
 *   varint  first version
 *   varint  first time, microseconds
 *   zigzag  count-1 differences of time
 *   zigzag  count-1 differences of version, unless bit 4
 *   values  by kind, below
 *
 *   float   u8 0: 8 bytes each | u8 1: one double that all equal | u8 2, u8 p: zigzag differences of value * 10^p
 *   int     u8 0: 8 bytes each | u8 2, u8 0: zigzag differences
 *   bool    one bit each
 *   null    nothing
 *   str json  varint lengths, then the payloads
 *   differing  count kind bytes, then each value: float and int 8 bytes, bool 1 byte, null nothing, payload length and bytes
 */
const FORMAT = 1
const DIFFERING = 15
const CONTIGUOUS = 16
const VALUES = { raw: 0, constant: 1, scaled: 2 } as const
const POWERS = [1, 10, 100, 1000, 10_000]
/** Differences of such integers are exact, also doubled by zigzag. */
const SCALED_END = 2 ** 50
const NUMBER_BYTES = 9

const carriesBytes = (kind: number): boolean => kind === KIND.str || kind === KIND.json

export class PointEncoder {
  bytes: Buffer = Buffer.allocUnsafeSlow(64 * 1024)
  readonly #scaled = new Float64Array(65_536)
  readonly #double = new Float64Array(1)
  readonly #doubleBytes = new Uint8Array(this.#double.buffer)

  /** Encodes `batch[from..to)` into `this.bytes`; returns the length. What was there before is overwritten. */
  encode(batch: PointBatch, from: number, to: number): number {
    const count = to - from
    const { version, ts, meta } = batch
    let payload = 0
    let differing = false
    let contiguous = true
    const first = kindOf(meta[from]!)
    for (let i = from + 1; i < to; i++) {
      if ((meta[i]! & 15) !== first) differing = true
      if (version[i] !== version[i - 1]! + 1) contiguous = false
    }
    if (differing || carriesBytes(first)) for (let i = from; i < to; i++) payload += lengthOf(meta[i]!)
    this.#reserve(64 + count * (3 * NUMBER_BYTES + 1) + payload)
    const bytes = this.bytes
    bytes[0] = FORMAT
    bytes[1] = (differing ? DIFFERING : first) | (contiguous ? CONTIGUOUS : 0)
    let at = putVarint(bytes, 2, count)
    at = putVarint(bytes, at, version[from]!)
    at = putVarint(bytes, at, ts[from]!)
    for (let i = from + 1; i < to; i++) {
      const step = ts[i]! - ts[i - 1]!
      if (step >= 0 && step < 64) bytes[at++] = step << 1
      else at = putVarint(bytes, at, zigzag(step))
    }
    if (!contiguous)
      for (let i = from + 1; i < to; i++) at = putVarint(bytes, at, zigzag(version[i]! - version[i - 1]!))
    if (differing) return this.#differing(batch, from, to, at)
    switch (first) {
      case KIND.float:
        return this.#numbers(batch.number, from, to, at, POWERS.length)
      case KIND.int:
        return this.#numbers(batch.number, from, to, at, 1)
      case KIND.bool:
        return this.#bits(batch.number, from, to, at)
      case KIND.str:
      case KIND.json:
        return this.#payloads(batch, from, to, at)
      default:
        return at
    }
  }

  #reserve(bytes: number): void {
    if (this.bytes.length < bytes) this.bytes = Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(bytes)))
  }

  #numbers(number: Float64Array, from: number, to: number, at: number, powers: number): number {
    const bytes = this.bytes
    const first = number[from]!
    let same = true
    for (let i = from + 1; i < to; i++) {
      if (!Object.is(number[i], first)) {
        same = false
        break
      }
    }
    if (same) {
      bytes[at] = VALUES.constant
      this.#double[0] = first
      bytes.set(this.#doubleBytes, at + 1)
      return at + NUMBER_BYTES
    }
    const power = to - from <= this.#scaled.length ? this.#scale(number, from, to, powers) : -1
    if (power >= 0) {
      bytes[at++] = VALUES.scaled
      bytes[at++] = power
      const scaled = this.#scaled
      let before = 0
      for (let i = 0; i < to - from; i++) {
        const value = scaled[i]!
        const step = value - before
        before = value
        if (step >= 0 && step < 64) bytes[at++] = step << 1
        else at = putVarint(bytes, at, zigzag(step))
      }
      return at
    }
    bytes[at++] = VALUES.raw
    const source = new Uint8Array(number.buffer, number.byteOffset + from * 8, (to - from) * 8)
    bytes.set(source, at)
    return at + source.length
  }

  /** The smallest power of ten that makes all values whole, exactly and reversibly; -1 when none does. Fills `#scaled`. */
  #scale(number: Float64Array, from: number, to: number, powers: number): number {
    const scaled = this.#scaled
    let power = 0
    let factor = 1
    for (let i = from; i < to; i++) {
      const value = number[i]!
      let whole = Math.round(value * factor)
      while (
        whole / factor !== value ||
        whole >= SCALED_END ||
        whole <= -SCALED_END ||
        (whole === 0 && 1 / value < 0)
      ) {
        if (++power >= powers) return -1
        factor = POWERS[power]!
        // A later value needs more digits. Check that the ones before still come back exactly with the higher power.
        for (let j = from; j < i; j++) {
          const again = Math.round(number[j]! * factor)
          if (again / factor !== number[j] || again >= SCALED_END || again <= -SCALED_END) return -1
          scaled[j - from] = again
        }
        whole = Math.round(value * factor)
      }
      scaled[i - from] = whole
    }
    return power
  }

  #bits(number: Float64Array, from: number, to: number, at: number): number {
    const bytes = this.bytes
    const end = at + Math.ceil((to - from) / 8)
    bytes.fill(0, at, end)
    for (let i = 0; i < to - from; i++) if (number[from + i] !== 0) bytes[at + (i >> 3)]! |= 1 << (i & 7)
    return end
  }

  #payloads(batch: PointBatch, from: number, to: number, at: number): number {
    const bytes = this.bytes
    for (let i = from; i < to; i++) at = putVarint(bytes, at, lengthOf(batch.meta[i]!))
    for (let i = from; i < to; i++) at = this.#copy(batch, i, at)
    return at
  }

  #copy(batch: PointBatch, i: number, at: number): number {
    const offset = batch.number[i]!
    const length = lengthOf(batch.meta[i]!)
    this.bytes.set(batch.bytes.subarray(offset, offset + length), at)
    return at + length
  }

  #differing(batch: PointBatch, from: number, to: number, at: number): number {
    const bytes = this.bytes
    for (let i = from; i < to; i++) bytes[at++] = kindOf(batch.meta[i]!)
    for (let i = from; i < to; i++) {
      const kind = kindOf(batch.meta[i]!)
      if (kind === KIND.float || kind === KIND.int) {
        this.#double[0] = batch.number[i]!
        bytes.set(this.#doubleBytes, at)
        at += 8
      } else if (kind === KIND.bool) bytes[at++] = batch.number[i]!
      else if (carriesBytes(kind)) at = this.#copy(batch, i, putVarint(bytes, at, lengthOf(batch.meta[i]!)))
    }
    return at
  }
}

export class PointDecoder {
  readonly #reader = new VarintReader(new Uint8Array(0))
  readonly #double = new Float64Array(1)
  readonly #doubleBytes = new Uint8Array(this.#double.buffer)

  /** Appends the points of the chunk at `source[at..end)` to the batch. */
  decode(source: Uint8Array, at: number, end: number, into: PointBatch): void {
    const bytes = source.subarray(at, end)
    if (bytes[0] !== FORMAT) throw new RangeError(`chunk format ${bytes[0]} is unknown`)
    const shape = bytes[1]!
    const reader = this.#reader.reset(bytes, 2)
    const count = reader.next()
    // Every point takes at least one byte or one bit of a column, so a damaged count cannot ask for more than is plausible.
    if (count > bytes.length * 8 + 8) throw new RangeError(`chunk of ${bytes.length} bytes claims ${count} points`)
    into.reserve(count)
    const from = into.count
    const to = from + count
    const { version, ts } = into
    let number = reader.next()
    let time = reader.next()
    version[from] = number
    ts[from] = time
    for (let i = from + 1; i < to; i++) ts[i] = time += reader.nextSigned()
    if (shape & CONTIGUOUS) for (let i = from + 1; i < to; i++) version[i] = ++number
    else for (let i = from + 1; i < to; i++) version[i] = number += reader.nextSigned()
    const kind = shape & 15
    if (kind === DIFFERING) this.#differing(into, from, to)
    else this.#uniform(into, from, to, kind)
    into.count = to
  }

  #uniform(into: PointBatch, from: number, to: number, kind: number): void {
    into.meta.fill(metaOf(kind, 0), from, to)
    const reader = this.#reader
    switch (kind) {
      case KIND.float:
      case KIND.int:
        this.#numbers(into.number, from, to)
        return
      case KIND.bool:
        for (let i = 0; i < to - from; i++) {
          into.number[from + i] = (reader.bytes[reader.at + (i >> 3)]! >> (i & 7)) & 1
        }
        reader.at += Math.ceil((to - from) / 8)
        return
      case KIND.str:
      case KIND.json:
        for (let i = from; i < to; i++) into.meta[i] = metaOf(kind, reader.next())
        for (let i = from; i < to; i++) this.#payload(into, i)
        return
      default:
        into.number.fill(0, from, to)
    }
  }

  #payload(into: PointBatch, i: number): void {
    const reader = this.#reader
    const length = lengthOf(into.meta[i]!)
    if (reader.at + length > reader.bytes.length) throw new RangeError('encoded bytes end within a payload')
    into.number[i] = into.payload(reader.bytes, reader.at, length)
    reader.at += length
  }

  #numbers(number: Float64Array, from: number, to: number): void {
    const reader = this.#reader
    const form = reader.bytes[reader.at++]
    switch (form) {
      case VALUES.raw: {
        const length = (to - from) * 8
        if (reader.at + length > reader.bytes.length) throw new RangeError('encoded bytes end within the values')
        const into = new Uint8Array(number.buffer, number.byteOffset + from * 8, length)
        into.set(reader.bytes.subarray(reader.at, reader.at + length))
        reader.at += length
        return
      }
      case VALUES.constant:
        number.fill(this.#next8(), from, to)
        return
      case VALUES.scaled: {
        const factor = POWERS[reader.bytes[reader.at++]!]
        if (factor === undefined) throw new RangeError('chunk scale is unknown')
        let value = 0
        for (let i = from; i < to; i++) {
          value += reader.nextSigned()
          number[i] = value / factor
        }
        return
      }
      default:
        throw new RangeError(`chunk value form ${form} is unknown`)
    }
  }

  #next8(): number {
    const reader = this.#reader
    if (reader.at + 8 > reader.bytes.length) throw new RangeError('encoded bytes end within a value')
    this.#doubleBytes.set(reader.bytes.subarray(reader.at, reader.at + 8))
    reader.at += 8
    return this.#double[0]!
  }

  #differing(into: PointBatch, from: number, to: number): void {
    const reader = this.#reader
    for (let i = from; i < to; i++) into.meta[i] = metaOf(reader.bytes[reader.at++]!, 0)
    for (let i = from; i < to; i++) {
      const kind = kindOf(into.meta[i]!)
      if (kind === KIND.float || kind === KIND.int) into.number[i] = this.#next8()
      else if (kind === KIND.bool) into.number[i] = reader.bytes[reader.at++]!
      else if (carriesBytes(kind)) {
        into.meta[i] = metaOf(kind, reader.next())
        this.#payload(into, i)
      } else into.number[i] = 0
    }
  }
}
