/**
 * Values that are to be published later, by `delay` and `trigger` nodes: per message a list in the order in which they are due. An
 * entry is a slab of the arena. Everything is under the publish word of the flow, unless it says so.
 *
 * V8 ends a thread at function entries and loop back edges only. An entry is put into its list, and taken out, by plain
 * stores between two of them, so a thread that dies leaves a whole list; the slabs that it was releasing are named in the row
 * (`recover.ts`). Numbers go up by one; the store knows an entry by it.
 */
import { limits } from '../../protocol/limits.ts'
import { type Arena, SLAB_ROW, SLAB_STATE } from './arena.ts'
import { copyBytes } from './copy.ts'
import { type EncodedValue, isNumeric, KIND, type Kind } from './encoded.ts'
import { layout } from './layout.ts'
import type { Memory } from './memory.ts'

export const SCHEDULED_ROW = layout(
  'SCHEDULED_ROW',
  [
    ['head', 'i32', 'slab of the entry that is due first, 0: nothing is scheduled'],
    ['tail', 'i32', 'slab of the entry that is due last, while there is a head'],
    ['due_ms', 'f64', 'when the head is due, ms of the steady clock; 0: nothing is scheduled'],
    ['next', 'f64', 'entries so far: the number of the next one, less 1'],
    ['releasing', 'f64', 'number of the entry that the timer is publishing, 0: none'],
    ['published', 'i32', '1: a timer that died has published that entry and not taken it out'],
    [
      'replacing',
      'i32',
      '1: the tail takes the place of all others, which are being taken out; 2: all are cancelled and are being taken out',
    ],
    ['replaced', 'f64', 'entries so far that a newer value replaced or cancelled'],
    ['gone', 'i32', 'slab that is being released, 0: none'],
    ['gone_generation', 'i32', 'its generation'],
    ['gone_value', 'i32', 'the same of a slab of a long value'],
    ['gone_value_generation', 'i32', ''],
  ],
  64,
)

export const SCHEDULED_ENTRY = layout('SCHEDULED_ENTRY', [
  ['next', 'i32', 'slab of the next entry, 0: it is the last one'],
  ['kind', 'i32', 'KIND of the value'],
  ['length', 'i32', 'bytes of the value'],
  ['ref', 'i32', 'slab of a value that is too long for a record of the journal, else 0'],
  ['due_ms', 'f64', 'when it is to be published, ms of the steady clock'],
  ['number', 'f64', 'among those of its message, from 1'],
  ['unit', 'f64', 'in which it was scheduled, see JournalWriter.unit'],
  ['value', 'bytes:0', 'number or bytes'],
])

const R = SCHEDULED_ROW.word
const E = SCHEDULED_ENTRY.word

export class ScheduledTable {
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
    this.#base = memory.regions.scheduled.offset
    this.#rows = memory.sizes.messages
    this.#arena = arena
  }

  #row(message: number): number {
    if (!(message >= 0 && message < this.#rows)) throw new RangeError(`no message ${message}`)
    return this.#base + message * SCHEDULED_ROW.size
  }

  /** A slab with the value, which no other thread knows yet; 0: the arena is full. Without the publish word. */
  prepare(value: EncodedValue): number {
    const numeric = isNumeric(value.kind)
    const is_long = !numeric && value.length > limits.JOURNAL_INLINE_BYTES
    const i32 = this.#i32
    let ref = 0
    if (is_long) {
      ref = this.#arena.allocate(value.length)
      if (ref === 0) return 0
      copyBytes(value.bytes, 0, this.#bytes, this.#arena.offset(ref), value.length)
    }
    const entry = this.#arena.allocate(SCHEDULED_ENTRY.size + (numeric ? 8 : is_long ? 0 : value.length))
    if (entry === 0) {
      if (ref !== 0) this.#arena.release(ref)
      return 0
    }
    const at = this.#arena.offset(entry)
    i32[(at >> 2) + E.next] = 0
    i32[(at >> 2) + E.kind] = value.kind
    i32[(at >> 2) + E.length] = numeric ? 8 : value.length
    i32[(at >> 2) + E.ref] = ref
    if (numeric) this.#f64[(at >> 3) + E.value] = value.number
    else if (!is_long) copyBytes(value.bytes, 0, this.#bytes, at + SCHEDULED_ENTRY.size, value.length)
    return entry
  }

  /** Slab of a long value, 0: it lies in the entry. */
  valueOf(entry: number): number {
    return this.#i32[(this.#arena.offset(entry) >> 2) + E.ref]!
  }

  /**
   * Puts it behind all others, or, with a `number`, as a start brings it back. True when it is the only one. `replaces`: the caller
   * takes out all others with `dropOthers`.
   */
  append(
    message: number,
    entry: number,
    due_ms: number,
    unit: number,
    number = this.next(message),
    replaces: 0 | 1 = 0,
  ): boolean {
    const row = this.#row(message)
    const at = this.#arena.offset(entry)
    const i32 = this.#i32
    const f64 = this.#f64
    const tail = i32[(row >> 2) + R.tail]!
    const tail_at = tail === 0 ? 0 : this.#arena.offset(tail)
    const head = i32[(row >> 2) + R.head]!
    const ref = i32[(at >> 2) + E.ref]!
    f64[(at >> 3) + E.due_ms] = due_ms
    f64[(at >> 3) + E.number] = number
    f64[(at >> 3) + E.unit] = unit
    // From here to the end there is no call and no loop.
    i32[(entry << 2) + SLAB_ROW.word.state] = SLAB_STATE.committed
    if (ref !== 0) i32[(ref << 2) + SLAB_ROW.word.state] = SLAB_STATE.committed
    f64[(row >> 3) + R.next] = number
    if (head === 0) {
      i32[(row >> 2) + R.head] = entry
      f64[(row >> 3) + R.due_ms] = due_ms
    } else i32[(tail_at >> 2) + E.next] = entry
    i32[(row >> 2) + R.tail] = entry
    i32[(row >> 2) + R.replacing] = replaces
    return head === 0
  }

  /** Everything that is scheduled is cancelled: before its record, and the caller takes it out with `dropOthers`. */
  cancel(message: number): void {
    this.#i32[(this.#row(message) >> 2) + R.replacing] = 2
  }

  isCancelled(message: number): boolean {
    return this.#i32[(this.#row(message) >> 2) + R.replacing] === 2
  }

  /**
   * A tail that was appended in place of all others is the only one then; after a cancel there is none. Answers how many went, and the bytes
   * that they counted for.
   */
  dropOthers(message: number): { readonly count: number; readonly bytes: number } {
    const row = this.#row(message) >> 2
    let count = 0
    let bytes = 0
    const replacing = this.#i32[row + R.replacing]
    if (replacing === 0) return { count, bytes }
    const stays = replacing === 2 ? 0 : this.#i32[row + R.tail]
    for (; this.#i32[row + R.head] !== stays; count++) bytes += this.pop(message)
    this.#i32[row + R.replacing] = 0
    return { count, bytes }
  }

  /** Moves the value of the head into `out`, which stays scheduled. Answers its number, 0: nothing is scheduled. */
  peek(message: number, out: EncodedValue): number {
    const head = this.#i32[(this.#row(message) >> 2) + R.head]!
    return head === 0 ? 0 : this.#readEntry(head, out)
  }

  /** The tail as its record says it, for recovery; under the word that a dead thread held. */
  last(message: number) {
    const row = this.#row(message) >> 2
    const head = this.#i32[row + R.head]!
    if (head === 0) return null
    const tail = this.#i32[row + R.tail]!
    const at = this.#arena.offset(tail) >> 3
    const value: EncodedValue = { kind: KIND.none, number: 0, bytes: Buffer.alloc(0), length: 0 }
    const entry = this.#readEntry(tail, value)
    const first = head === tail || this.#i32[row + R.replacing] === 1 ? entry : 0
    const ref = this.#i32[(at << 1) + E.ref]!
    return { entry, first, value, ref, due_ms: this.#f64[at + E.due_ms]!, unit: this.#f64[at + E.unit]! }
  }

  #readEntry(entry: number, out: EncodedValue): number {
    const at = this.#arena.offset(entry)
    const i32 = this.#i32
    out.kind = i32[(at >> 2) + E.kind]! as Kind
    out.length = i32[(at >> 2) + E.length]!
    const ref = i32[(at >> 2) + E.ref]!
    if (isNumeric(out.kind)) out.number = this.#f64[(at >> 3) + E.value]!
    else if (out.kind !== KIND.none && out.length > 0) {
      if (out.bytes.length < out.length) out.bytes = Buffer.allocUnsafeSlow(1 << (32 - Math.clz32(out.length - 1)))
      const from = ref === 0 ? at + SCHEDULED_ENTRY.size : this.#arena.offset(ref)
      copyBytes(this.#bytes, from, out.bytes, 0, out.length)
    }
    return this.#f64[(at >> 3) + E.number]!
  }

  /** Takes the head out. Answers the bytes that it counted for. */
  pop(message: number): number {
    const row = this.#row(message)
    const i32 = this.#i32
    const head = i32[(row >> 2) + R.head]!
    const at = this.#arena.offset(head)
    const bytes = this.#bytesAt(at)
    const next = i32[(at >> 2) + E.next]!
    const ref = i32[(at >> 2) + E.ref]!
    const due_ms = next === 0 ? 0 : this.#f64[(this.#arena.offset(next) >> 3) + E.due_ms]!
    const generation = this.#arena.generation(head)
    const value_generation = ref === 0 ? 0 : this.#arena.generation(ref)
    // From here to the releases there is no call and no loop.
    i32[(row >> 2) + R.gone_generation] = generation
    i32[(row >> 2) + R.gone_value_generation] = value_generation
    i32[(row >> 2) + R.gone] = head
    i32[(row >> 2) + R.gone_value] = ref
    i32[(row >> 2) + R.head] = next
    this.#f64[(row >> 3) + R.due_ms] = due_ms
    if (next === 0) i32[(row >> 2) + R.tail] = 0
    this.#arena.release(head)
    i32[(row >> 2) + R.gone] = 0
    if (ref === 0) return bytes
    this.#arena.release(ref)
    i32[(row >> 2) + R.gone_value] = 0
    return bytes
  }

  /** Number of an entry in its list. */
  numberOf(entry: number): number {
    return this.#f64[(this.#arena.offset(entry) >> 3) + E.number]!
  }

  /** Bytes that a prepared or scheduled entry counts for. */
  bytesOf(entry: number): number {
    return this.#bytesAt(this.#arena.offset(entry))
  }

  #bytesAt(at: number): number {
    return SCHEDULED_ENTRY.size + this.#i32[(at >> 2) + E.length]!
  }

  /** When the head is due, ms of the steady clock; 0: nothing is scheduled. Anyone may ask, without the publish word. */
  due(message: number): number {
    return this.#f64[(this.#row(message) >> 3) + R.due_ms]!
  }

  /** When the last one is due; 0: nothing is scheduled. */
  lastDue(message: number): number {
    const row = this.#row(message)
    if (this.#i32[(row >> 2) + R.head] === 0) return 0
    return this.#f64[(this.#arena.offset(this.#i32[(row >> 2) + R.tail]!) >> 3) + E.due_ms]!
  }

  /** Number of the next entry. */
  next(message: number): number {
    return this.#f64[(this.#row(message) >> 3) + R.next]! + 1
  }

  /** Number of the head, 0: nothing is scheduled. */
  first(message: number): number {
    const head = this.#i32[(this.#row(message) >> 2) + R.head]!
    return head === 0 ? 0 : this.#f64[(this.#arena.offset(head) >> 3) + E.number]!
  }

  /** Of the head: the unit in which it was scheduled; 0: nothing is scheduled. */
  unit(message: number): number {
    const head = this.#i32[(this.#row(message) >> 2) + R.head]!
    return head === 0 ? 0 : this.#f64[(this.#arena.offset(head) >> 3) + E.unit]!
  }

  /** Entries so far that a newer value replaced or cancelled. Anyone may ask. */
  replaced(message: number): number {
    return this.#f64[(this.#row(message) >> 3) + R.replaced]!
  }

  countReplaced(message: number, count: number): void {
    this.#f64[(this.#row(message) >> 3) + R.replaced]! += count
  }

  // ---- the publish of the head, by the timer

  /** The timer is about to publish the entry. False when a timer that died has published it. */
  begin(message: number, number: number): boolean {
    const row = this.#row(message) >> 3
    if (this.#f64[row + R.releasing] === number && this.#i32[(row << 1) + R.published] === 1) return false
    this.#i32[(row << 1) + R.published] = 0
    this.#f64[row + R.releasing] = number
    return true
  }

  /** After the death of the timer: did it commit the publish of the entry that it was releasing, if there is one? */
  settle(message: number, published: boolean): void {
    const row = this.#row(message) >> 3
    if (this.#f64[row + R.releasing] === 0 || this.#i32[(row << 1) + R.published] === 1) return
    if (published) this.#i32[(row << 1) + R.published] = 1
    else this.#f64[row + R.releasing] = 0
  }

  ended(message: number): void {
    this.#f64[(this.#row(message) >> 3) + R.releasing] = 0
  }

  /** What a thread that died here was releasing. Under the word that it held; the caller finishes it. */
  takeGone(message: number): { readonly ref: number; readonly generation: number }[] {
    const row = this.#row(message) >> 2
    const i32 = this.#i32
    const gone = [
      { ref: i32[row + R.gone]!, generation: i32[row + R.gone_generation]! },
      { ref: i32[row + R.gone_value]!, generation: i32[row + R.gone_value_generation]! },
    ]
    i32[row + R.gone] = i32[row + R.gone_value] = 0
    return gone.filter(({ ref }) => ref !== 0)
  }

  /** Of a message, in order. */
  *entries(message: number): Iterable<number> {
    for (let entry = this.#i32[(this.#row(message) >> 2) + R.head]!; entry !== 0; ) {
      yield entry
      entry = this.#i32[(this.#arena.offset(entry) >> 2) + E.next]!
    }
  }
}

/** For the audit. */
export function* slabsOfScheduled(memory: Memory, message: number): Iterable<number> {
  const { i32 } = memory
  const row = (memory.regions.scheduled.offset + message * SCHEDULED_ROW.size) >> 2
  for (let entry = i32[row + R.head]!; entry !== 0; ) {
    yield entry
    const at = ((entry << 4) + SLAB_ROW.size) >> 2
    yield i32[at + E.ref]!
    entry = i32[at + E.next]!
  }
}
