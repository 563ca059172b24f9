/**
 * The message table: the latest value of each message. A row has a header and two value slots; one word holds the version
 * (its low 31 bits) and which slot is current. The publisher, under the flow's publish word, fills the other slot and then
 * flips the word. A reader copies the current slot, looks at the word again and starts over if it moved. A publisher that
 * dies leaves the current slot whole, so it never blocks a reader.
 */
import * as atomics from '#atomics'
import { limits } from '../../protocol/limits.ts'
import { SLAB_ROW, SLAB_STATE } from './arena.ts'
import { copyBytes } from './copy.ts'
import { type EncodedValue, KIND, type Kind } from './encoded.ts'
import { layout } from './layout.ts'
import type { Memory } from './memory.ts'

export interface ReadValue extends EncodedValue {
  version: number
  /** Microseconds since 1970. */
  ts: number
}

export const VALUE_SLOT = layout('VALUE_SLOT', [
  ['version', 'f64', 'version of the value, 0 when the slot was never filled'],
  ['ts', 'f64', 'microseconds since 1970'],
  ['kind', 'i32', 'KIND'],
  ['length', 'i32', 'payload bytes'],
  ['ref', 'i32', 'slab that holds the payload, 0 when it is inline'],
  ['spare', 'i32', ''],
  ['inline', `bytes:${limits.SLOT_INLINE_BYTES as 80}`, 'payload; numbers as one double'],
])

export const MESSAGE_ROW = layout(
  'MESSAGE_ROW',
  [
    ['word', 'i32', 'version << 1 | current slot: flipped when the other slot is whole'],
    ['traced', 'i32', '1: records of its values name the root of their cascade'],
    ['flow', 'i32', 'flow index of the message'],
    ['spare', 'i32', ''],
    ['more', 'bytes:16', ''],
    ['first', `bytes:${VALUE_SLOT.size as 112}`, 'VALUE_SLOT 0'],
    ['second', `bytes:${VALUE_SLOT.size as 112}`, 'VALUE_SLOT 1'],
  ],
  256,
)

const SLOT_WORDS = VALUE_SLOT.size >> 2
const FIRST = MESSAGE_ROW.offset.first
const W = VALUE_SLOT.word
const INLINE = VALUE_SLOT.offset.inline

export class MessageTable {
  readonly #i32: Int32Array
  readonly #f64: Float64Array
  readonly #bytes: Buffer
  readonly #base: number
  readonly #rows: number
  readonly #total: number

  constructor(memory: Memory) {
    this.#i32 = memory.i32
    this.#f64 = memory.f64
    this.#bytes = memory.bytes
    this.#base = memory.regions.messages.offset
    this.#rows = memory.sizes.messages
    this.#total = memory.sab.byteLength
  }

  #row(index: number): number {
    if (!(index >= 0 && index < this.#rows)) throw new RangeError(`no message ${index}`)
    return this.#base + index * MESSAGE_ROW.size
  }

  /** Empties a row for a new message. Nobody else may use the index yet; slabs of its previous use were released before. */
  reset(index: number, flow: number): void {
    const row = this.#row(index)
    this.#bytes.fill(0, row, row + MESSAGE_ROW.size)
    this.#i32[(row >> 2) + MESSAGE_ROW.word.flow] = flow
  }

  flow(index: number): number {
    return this.#i32[(this.#row(index) >> 2) + MESSAGE_ROW.word.flow]!
  }

  /** From here on the records of values that cascades publish say what they began with: somebody waits for an answer. Until `reset`. */
  trace(index: number): void {
    this.#i32[(this.#row(index) >> 2) + MESSAGE_ROW.word.traced] = 1
  }

  isTraced(index: number): boolean {
    return this.#i32[(this.#row(index) >> 2) + MESSAGE_ROW.word.traced] !== 0
  }

  /** The version of the latest value, 0 when there is none. */
  version(index: number): number {
    const row = this.#row(index)
    for (;;) {
      const word = atomics.acquire(this.#i32, row >> 2)
      const version = this.#f64[((row + FIRST + (word & 1) * VALUE_SLOT.size) >> 3) + W.version]!
      if (atomics.recheck(this.#i32, row >> 2) === word) return version
    }
  }

  /** Copies the latest value into `out`; false when there is none. `out.bytes` is replaced when it is too small. */
  read(index: number, out: ReadValue): boolean {
    const row = this.#row(index)
    const i32 = this.#i32
    for (;;) {
      const word = atomics.acquire(i32, row >> 2)
      const slot = row + FIRST + (word & 1) * VALUE_SLOT.size
      const version = this.#f64[(slot >> 3) + W.version]!
      const ts = this.#f64[(slot >> 3) + W.ts]!
      const kind = i32[(slot >> 2) + W.kind]! as Kind
      const length = i32[(slot >> 2) + W.length]!
      if (kind === KIND.float || kind === KIND.int || kind === KIND.bool) {
        out.number = this.#f64[(slot + INLINE) >> 3]!
      } else if (length > 0) {
        const ref = i32[(slot >> 2) + W.ref]!
        const from = ref === 0 ? slot + INLINE : (ref << 4) + SLAB_ROW.size
        // a torn header may name anything: copy only bytes inside the memory; the second look rejects them in any case
        if (length > limits.MESSAGE_VALUE_BYTES || from < 0 || from + length > this.#total) {
          if (atomics.recheck(i32, row >> 2) === word) throw new RangeError(`message ${index} holds a broken slot`)
          continue
        }
        if (out.bytes.length < length) out.bytes = Buffer.allocUnsafeSlow(1 << (32 - Math.clz32(length - 1)))
        copyBytes(this.#bytes, from, out.bytes, 0, length)
      }
      // the writer fills this slot again only after it has flipped the word away from it
      if (atomics.recheck(i32, row >> 2) !== word) continue
      out.version = version
      out.ts = ts
      out.kind = kind
      out.length = length
      return version !== 0
    }
  }

  /**
   * Copies the value before the latest one into `out`; false when there is none. Under the flow's publish word only: the
   * next publish overwrites it.
   */
  readBefore(index: number, out: ReadValue): boolean {
    const row = this.#row(index)
    const slot = row + FIRST + (1 - (this.#i32[row >> 2]! & 1)) * VALUE_SLOT.size
    out.version = this.#f64[(slot >> 3) + W.version]!
    out.ts = this.#f64[(slot >> 3) + W.ts]!
    out.kind = this.#i32[(slot >> 2) + W.kind]! as Kind
    out.length = this.#i32[(slot >> 2) + W.length]!
    if (out.kind === KIND.float || out.kind === KIND.int || out.kind === KIND.bool) {
      out.number = this.#f64[(slot + INLINE) >> 3]!
    } else if (out.length > 0) {
      const ref = this.#i32[(slot >> 2) + W.ref]!
      if (out.bytes.length < out.length) out.bytes = Buffer.allocUnsafeSlow(out.length)
      copyBytes(this.#bytes, ref === 0 ? slot + INLINE : (ref << 4) + SLAB_ROW.size, out.bytes, 0, out.length)
    }
    return out.version !== 0
  }

  /**
   * Fills the slot that is not current, under the flow's publish word. A payload over limits.SLOT_INLINE_BYTES lies in
   * `ref` already (written by the caller); this commits the slab. Answers the slab that the slot held before, 0 when none: release it after the flip.
   */
  write(index: number, version: number, ts: number, value: EncodedValue, ref: number): number {
    const row = this.#row(index)
    const i32 = this.#i32
    const current = i32[row >> 2]! & 1
    const slot = row + FIRST + (1 - current) * VALUE_SLOT.size
    const at = slot >> 2
    const displaced = i32[at + W.ref]!
    const kind = value.kind
    this.#f64[(slot >> 3) + W.version] = version
    this.#f64[(slot >> 3) + W.ts] = ts
    i32[at + W.kind] = kind
    // handed over just before the row names it: a death between the two leaks one slab, never frees one twice
    if (ref !== 0) i32[(ref << 2) + SLAB_ROW.word.state] = SLAB_STATE.committed
    i32[at + W.ref] = ref
    if (kind === KIND.float || kind === KIND.int || kind === KIND.bool) {
      i32[at + W.length] = 8
      this.#f64[(slot + INLINE) >> 3] = value.number
      return displaced
    }
    const length = value.length
    i32[at + W.length] = length
    if (ref === 0 && length > 0) {
      if (length > limits.SLOT_INLINE_BYTES) throw new RangeError('a value of this size lies in a slab')
      copyBytes(value.bytes, 0, this.#bytes, slot + INLINE, length)
    }
    return displaced
  }

  /** Makes the slot that `write` filled the latest value. The flip is the only step of a publish that readers see. */
  flip(index: number, version: number): void {
    const at = this.#row(index) >> 2
    atomics.release(this.#i32, at, (version << 1) | (1 - (this.#i32[at]! & 1)))
  }

  /** When the latest value was published, microseconds since 1970. Under the flow's publish word only. */
  ts(index: number): number {
    const row = this.#row(index)
    return this.#f64[((row + FIRST + (this.#i32[row >> 2]! & 1) * VALUE_SLOT.size) >> 3) + W.ts]!
  }

  /** The slab that the latest value lies in, 0 when none. Under the flow's publish word only. */
  ref(index: number): number {
    const row = this.#row(index)
    return this.#i32[(row >> 2) + ((FIRST >> 2) + (this.#i32[row >> 2]! & 1) * SLOT_WORDS) + W.ref]!
  }

  /** The slab that the other slot holds: displaced by the next write. Under the flow's publish word only. */
  previousRef(index: number): number {
    const row = this.#row(index)
    return this.#i32[(row >> 2) + ((FIRST >> 2) + (1 - (this.#i32[row >> 2]! & 1)) * SLOT_WORDS) + W.ref]!
  }
}
