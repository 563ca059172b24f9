/**
 * Values held back by `rate_hz`: per message the newest one and when it is due. All under the flow's publish word, so the two
 * slots are not for readers but for crash safety: a hold fills the other slot and then switches `state`, and the next thread
 * finds either the complete old value or the new one.
 */
import * as atomics from '#atomics'
import { limits } from '../../protocol/limits.ts'
import { type Arena, SLAB_ROW, SLAB_STATE } from './arena.ts'
import { copyBytes } from './copy.ts'
import { type EncodedValue, KIND, type Kind } from './encoded.ts'
import { layout } from './layout.ts'
import type { Memory } from './memory.ts'
import { VALUE_SLOT } from './messages.ts'

export const HELD_ROW = layout(
  'HELD_ROW',
  [
    ['state', 'i32', '0 nothing held, 1 slot 0, 2 slot 1'],
    ['spare', 'i32', ''],
    ['due_ms', 'f64', 'when the value is to be published, ms of the steady clock'],
    ['replaced', 'f64', 'values replaced so far'],
    ['passed_us', 'f64', 'when the port last let a value through, microseconds of the steady clock'],
    ['first', `bytes:${VALUE_SLOT.size as 112}`, 'VALUE_SLOT 0; its version is the unit in which it was held'],
    ['second', `bytes:${VALUE_SLOT.size as 112}`, 'VALUE_SLOT 1'],
  ],
  256,
)

const W = VALUE_SLOT.word
const INLINE = VALUE_SLOT.offset.inline

export class HeldTable {
  readonly #i32: Int32Array
  readonly #f64: Float64Array
  readonly #bytes: Buffer
  readonly #base: number
  readonly #rows: number
  readonly #arena: Arena

  constructor(memory: Memory, arena: Arena) {
    this.#i32 = memory.i32
    this.#f64 = memory.f64
    this.#bytes = memory.bytes
    this.#base = memory.regions.held.offset
    this.#rows = memory.sizes.messages
    this.#arena = arena
  }

  #row(index: number): number {
    if (!(index >= 0 && index < this.#rows)) throw new RangeError(`no message ${index}`)
    return this.#base + index * HELD_ROW.size
  }

  /** Keeps the value as the newest one, whole until `take`; `unit` is the writer's, see `JournalWriter.unit`. Takes over the caller's reference to `ref`; a replaced value's slab is released. */
  hold(index: number, due_ms: number, value: EncodedValue, ref: number, unit = 0): 'new' | 'replaced' {
    const row = this.#row(index)
    const i32 = this.#i32
    const state = i32[row >> 2]!
    const next = state === 1 ? 2 : 1
    const slot = row + HELD_ROW.offset.first + (next - 1) * VALUE_SLOT.size
    const at = slot >> 2
    const length = value.length
    // a slot that is not the held one names a slab only when its writer died before it turned `state`
    if (i32[at + W.ref] !== 0) this.#letGo(row, next)
    i32[at + W.kind] = value.kind
    if (value.kind === KIND.float || value.kind === KIND.int || value.kind === KIND.bool) {
      i32[at + W.length] = 8
      i32[at + W.ref] = 0
      this.#f64[(slot + INLINE) >> 3] = value.number
    } else {
      i32[at + W.length] = length
      if (ref === 0) {
        if (length > limits.SLOT_INLINE_BYTES) throw new RangeError('a value of this size lies in a slab')
        copyBytes(value.bytes, 0, this.#bytes, slot + INLINE, length)
      } else i32[(ref << 2) + SLAB_ROW.word.state] = SLAB_STATE.committed
      i32[at + W.ref] = ref
    }
    this.#f64[(row >> 3) + HELD_ROW.word.due_ms] = due_ms
    this.#f64[(slot >> 3) + W.version] = unit
    atomics.release(i32, row >> 2, next)
    if (state === 0) return 'new'
    this.#f64[(row >> 3) + HELD_ROW.word.replaced]! += 1
    this.#letGo(row, state)
    return 'replaced'
  }

  /** Moves the held value into `out` if it is due at `now_ms` (milliseconds of the steady clock); false when there is none. */
  take(index: number, out: EncodedValue, now_ms: number): boolean {
    const row = this.#row(index)
    const i32 = this.#i32
    const state = i32[row >> 2]!
    if (state === 0 || this.#f64[(row >> 3) + HELD_ROW.word.due_ms]! > now_ms) return false
    const slot = row + HELD_ROW.offset.first + (state - 1) * VALUE_SLOT.size
    const at = slot >> 2
    const kind = i32[at + W.kind]! as Kind
    const length = i32[at + W.length]!
    out.kind = kind
    out.length = length
    if (kind === KIND.float || kind === KIND.int || kind === KIND.bool) out.number = this.#f64[(slot + INLINE) >> 3]!
    else if (length > 0) {
      const ref = i32[at + W.ref]!
      if (out.bytes.length < length) out.bytes = Buffer.allocUnsafeSlow(1 << (32 - Math.clz32(length - 1)))
      copyBytes(this.#bytes, ref === 0 ? slot + INLINE : (ref << 4) + SLAB_ROW.size, out.bytes, 0, length)
    }
    atomics.release(i32, row >> 2, 0)
    this.#letGo(row, state)
    return true
  }

  /** The unit that `hold` was told; 0: none. Under the publish word. */
  unit(index: number): number {
    const row = this.#row(index)
    const state = this.#i32[row >> 2]!
    if (state === 0) return 0
    return this.#f64[((row + HELD_ROW.offset.first + (state - 1) * VALUE_SLOT.size) >> 3) + W.version]!
  }

  /** Drops what is held (the message or its `rate_hz` is gone). */
  drop(index: number): void {
    const row = this.#row(index)
    const state = this.#i32[row >> 2]!
    if (state === 0) return
    atomics.release(this.#i32, row >> 2, 0)
    this.#letGo(row, state)
  }

  #letGo(row: number, state: number): void {
    const at = (row + HELD_ROW.offset.first + (state - 1) * VALUE_SLOT.size) >> 2
    const ref = this.#i32[at + W.ref]!
    if (ref === 0) return
    this.#i32[at + W.ref] = 0
    this.#arena.release(ref)
  }

  /** When the held value is due, ms of the steady clock; 0 when nothing is held. Anyone may ask, without the publish word. */
  due(index: number): number {
    const row = this.#row(index)
    return atomics.acquire(this.#i32, row >> 2) === 0 ? 0 : this.#f64[(row >> 3) + HELD_ROW.word.due_ms]!
  }

  /** When the port last let a value through, microseconds of the steady clock; 0: never. Under the flow's publish word. */
  passed(index: number): number {
    return this.#f64[(this.#row(index) >> 3) + HELD_ROW.word.passed_us]!
  }

  setPassed(index: number, ts_us: number): void {
    this.#f64[(this.#row(index) >> 3) + HELD_ROW.word.passed_us] = ts_us
  }

  replaced(index: number): number {
    return this.#f64[(this.#row(index) >> 3) + HELD_ROW.word.replaced]!
  }
}
