/** The writing end of a journal ring: one thread, in one slot. */
import * as atomics from '#atomics'
import { SLAB_ROW } from '../arena.ts'
import { copyBytes } from '../copy.ts'
import { type EncodedValue, isNumeric } from '../encoded.ts'
import type { Memory } from '../region.ts'
import { SLOT, THREAD_ROW } from '../threads.ts'
import {
  CASCADE_PAYLOAD,
  FRESH_PAYLOAD,
  ITEM_PAYLOAD,
  JOURNAL,
  JOURNAL_HEADER,
  JOURNAL_RECORD,
  journalOffset,
  longestRecord,
  SCHEDULED_ITEM,
  STRIDES,
  travelsByRef,
  VALUE_FLAG,
  VALUE_GROUP,
  VALUE_ITEM,
  VALUE_ROOT,
} from './record.ts'

/** How the writer wakes its readers; called only when they sleep. */
export interface JournalWakes {
  store(): void
  front(): void
}

const HEADER = JOURNAL_RECORD.size
const R = JOURNAL_RECORD.word
const C = CASCADE_PAYLOAD.word
const I = ITEM_PAYLOAD.word
const F = FRESH_PAYLOAD.word
const V = VALUE_ITEM.word
/** Times in microseconds since 1970 are more; an epoch, which a rerun has in place of its parent's start, is less. */
const EPOCHS = 2 ** 24
const COUNT_UNITS = 2
const WAIT_MS = 10

export class JournalWriter {
  readonly #i32: Int32Array
  readonly #f64: Float64Array
  readonly #bytes: Buffer
  readonly #wakes: JournalWakes
  readonly #slot: number
  /** Words from one ring to the next. */
  readonly #ring_words: number
  readonly #head: number
  readonly #data: number
  readonly #units: number
  readonly #mask: number
  readonly #longest: number
  readonly #store_sleeping: number
  readonly #front_sleeping: number
  #tail: number
  #marked: number
  #reserved: number
  #cursor: number
  /** The nearest position that needs a look at the shared words: the end of the lap, of the stride, or of the room. */
  #soft: number
  #records: number

  /** Continues where the last writer of the slot stopped. */
  constructor(memory: Memory, slot: number, wakes: JournalWakes) {
    const at = journalOffset(memory, slot)
    this.#i32 = memory.i32
    this.#f64 = memory.f64
    this.#bytes = memory.bytes
    this.#wakes = wakes
    this.#slot = slot
    this.#ring_words = (JOURNAL_HEADER.size + memory.sizes.ring_bytes) >> 2
    this.#head = at >> 2
    this.#data = at + JOURNAL_HEADER.size
    this.#units = memory.sizes.ring_bytes >> 3
    this.#mask = this.#units - 1
    this.#longest = longestRecord(memory.sizes.ring_bytes)
    const { offset } = memory.regions.threads
    this.#store_sleeping = (offset + SLOT.store * THREAD_ROW.size + THREAD_ROW.offset.sleeping) >> 2
    this.#front_sleeping = (offset + SLOT.front * THREAD_ROW.size + THREAD_ROW.offset.sleeping) >> 2
    this.#tail = atomics.load(this.#i32, this.#head + JOURNAL_HEADER.word.tail)
    this.#marked = atomics.load(this.#i32, this.#head + JOURNAL_HEADER.word.marked)
    this.#reserved = atomics.load(this.#i32, this.#head + JOURNAL_HEADER.word.reserved)
    this.#cursor = atomics.load(this.#i32, this.#head + JOURNAL_HEADER.word.cursor)
    this.#records = this.#countRecords()
    this.#soft = this.#tail
    this.#aim()
  }

  /** Records before the tail: what the newest count record says, and those after it. */
  #countRecords(): number {
    let at = this.#i32[this.#head + JOURNAL_HEADER.word.checkpoint]!
    if (at === this.#tail) return 0
    let records = 0
    while (at !== this.#tail) {
      const record = this.#data + ((at & this.#mask) << 3)
      const kind = this.#i32[(record >> 2) + R.kind]! & 0xff
      if (kind === JOURNAL.count) records = this.#f64[(record >> 3) + 1]!
      else if (kind !== JOURNAL.padding) records++
      at = (at + ((this.#i32[record >> 2]! + 7) >> 3)) | 0
    }
    return records
  }

  #aim(): void {
    const lap = (this.#tail & ~this.#mask) + this.#units
    const room = this.#cursor + this.#units
    let soft = this.#reserved - this.#tail
    if (((lap - this.#tail) | 0) < (soft | 0)) soft = lap - this.#tail
    if (((room - this.#tail) | 0) < (soft | 0)) soft = room - this.#tail
    this.#soft = (this.#tail + (soft | 0)) | 0
  }

  /** Free bytes. Part of them may be lost to padding at the ring's end: ask `hasRoom`. */
  room(): number {
    this.#cursor = atomics.acquire(this.#i32, this.#head + JOURNAL_HEADER.word.cursor)
    return (this.#units - ((this.#tail - this.#cursor) | 0)) << 3
  }

  /** Whether records of these bytes together (rounded up to 8 each, headers included) can be written now. */
  hasRoom(bytes: number): boolean {
    // Within the stride that is announced, and free, nothing needs a look.
    if (((this.#tail + ((bytes + 7) >> 3) - this.#soft) | 0) <= 0) return true
    const units = this.#needed(bytes)
    if (this.#units - ((this.#tail - this.#cursor) | 0) >= units) return true
    this.#cursor = atomics.acquire(this.#i32, this.#head + JOURNAL_HEADER.word.cursor)
    return this.#units - ((this.#tail - this.#cursor) | 0) >= units
  }

  /** Units that `bytes` may take: count records, and the padding at the ring's end, which is smaller than the record that did not fit. */
  #needed(bytes: number): number {
    const units = (bytes + 7) >> 3
    const counts = 3 * (2 + (((units * STRIDES) / this.#units) | 0))
    return (this.#tail & this.#mask) + units + counts >= this.#units ? 2 * units + counts : units + counts
  }

  /**
   * Waits until the store has made room. False when `stop()` turned true, or when the ring can never hold so much. What is
   * unmarked stays so: the store takes it out of the way.
   */
  waitForRoom(bytes: number, stop: () => boolean): boolean {
    if (bytes > this.#units * 3) return false
    const head = this.#head
    while (!this.hasRoom(bytes)) {
      if (stop()) return false
      atomics.store(this.#i32, head + JOURNAL_HEADER.word.waiting, 1)
      const seen = atomics.load(this.#i32, head + JOURNAL_HEADER.word.cursor)
      this.#wakes.store()
      if (seen === this.#cursor) atomics.wait(this.#i32, head + JOURNAL_HEADER.word.cursor, seen, WAIT_MS)
      atomics.store(this.#i32, head + JOURNAL_HEADER.word.waiting, 0)
    }
    return true
  }

  /** Names the unit that is open, for others to ask `isClosed` of; never 0. */
  get unit(): number {
    return this.#slot * 2 ** 32 + ((this.#tail + 1) >>> 0)
  }

  /** Whether what another writer's `unit` named is marked; of this writer's own it is, as far as this writer is concerned. 0: yes. */
  isClosed(unit: number): boolean {
    const slot = Math.floor(unit / 2 ** 32)
    if (unit === 0 || slot === this.#slot) return true
    const head = this.#head + (slot - this.#slot) * this.#ring_words
    const position = unit | 0
    if (((atomics.acquire(this.#i32, head + JOURNAL_HEADER.word.marked) - position) | 0) >= 0) return true
    // What is older than half of all positions lies ahead of the tail.
    return ((this.#i32[head + JOURNAL_HEADER.word.tail]! - position) | 0) < 0
  }

  /** Bytes since the last mark. */
  unmarked(): number {
    return ((this.#tail - this.#marked) | 0) << 3
  }

  /** Byte offset where a record of so many units begins; its room is the caller's. */
  #claim(units: number): number {
    if (((this.#tail + units - this.#soft) | 0) > 0) this.#open(units)
    return this.#data + ((this.#tail & this.#mask) << 3)
  }

  /** Looks at the shared words, announces the next stride with a count record, and pads the lap when the record does not fit in it. */
  #open(units: number): void {
    if (units << 3 > this.#longest) throw new RangeError(`a journal record of ${units << 3} bytes is too long`)
    const worst = this.#tail + 2 * units + COUNT_UNITS + 1
    const opens = ((worst - this.#reserved) | 0) > 0
    let end = this.#tail
    if (opens) end += (this.#left(end) < COUNT_UNITS ? this.#left(end) : 0) + COUNT_UNITS
    if (units > this.#left(end)) end += this.#left(end)
    end += units
    if (((end - this.#cursor) | 0) > this.#units) {
      this.#cursor = atomics.acquire(this.#i32, this.#head + JOURNAL_HEADER.word.cursor)
      if (((end - this.#cursor) | 0) > this.#units) throw new RangeError('the journal has no room: ask hasRoom first')
    }
    if (opens) {
      this.#reserved = (worst + this.#units / STRIDES) | 0
      atomics.announce(this.#i32, this.#head + JOURNAL_HEADER.word.reserved, this.#reserved)
      if (this.#left(this.#tail) < COUNT_UNITS) this.#pad()
      this.#count()
      this.#callStore()
    }
    if (units > this.#left(this.#tail)) this.#pad()
    this.#aim()
  }

  /** A long unit has no marks that would wake the store: half a ring before the writer has to wait, it hears that room is wanted. */
  #callStore(): void {
    if (((this.#tail - this.#marked) | 0) <= this.#units >> 1) return
    if (atomics.acquire(this.#i32, this.#store_sleeping) !== 0) this.#wakes.store()
  }

  /** Units from a position to the end of its lap, at least 1. */
  #left(position: number): number {
    return this.#units - (position & this.#mask)
  }

  #count(): void {
    const at = this.#data + ((this.#tail & this.#mask) << 3)
    this.#i32[at >> 2] = COUNT_UNITS << 3
    this.#i32[(at >> 2) + R.kind] = JOURNAL.count
    this.#f64[(at >> 3) + 1] = this.#records
    const place = this.#tail
    this.#advance(COUNT_UNITS)
    atomics.release(this.#i32, this.#head + JOURNAL_HEADER.word.checkpoint, place)
  }

  #pad(): void {
    const at = (this.#data + ((this.#tail & this.#mask) << 3)) >> 2
    const units = this.#left(this.#tail)
    this.#i32[at] = units << 3
    this.#i32[at + R.kind] = JOURNAL.padding
    this.#advance(units)
  }

  #advance(units: number): void {
    this.#tail = (this.#tail + units) | 0
    atomics.release(this.#i32, this.#head + JOURNAL_HEADER.word.tail, this.#tail)
  }
  /**
   * A published value that entered no queue by itself. A payload over limits.JOURNAL_INLINE_BYTES travels as `ref`: the writer takes a reference of its own
   * for the store, which the store drops once it has copied the value. A shorter one is copied, whatever `ref` says.
   */
  value(message: number, version: number, ts: number, flags: number, value: EncodedValue, ref: number): void {
    const kind = value.kind
    if (isNumeric(kind)) {
      const at = this.#claim((HEADER + 8) >> 3)
      const word = at >> 2
      const half = at >> 3
      this.#i32[word] = HEADER + 8
      this.#i32[word + R.kind] = JOURNAL.value | (kind << 8) | (flags << 16)
      this.#i32[word + R.subject] = message
      this.#i32[word + R.ref] = 0
      this.#f64[half + R.version] = version
      this.#f64[half + R.ts] = ts
      this.#f64[half + R.payload] = value.number
      this.#records++
      this.#advance((HEADER + 8) >> 3)
      return
    }
    this.#endAt(this.#payload(JOURNAL.value | (kind << 8) | (flags << 16), message, version, ts, value, ref, 0))
  }

  /** A published value that entered the queue of its own flow as item `item`, with these bits of GROUP: the record says both. */
  queuedValue(
    message: number,
    version: number,
    ts: number,
    flow: number,
    item: number,
    value: EncodedValue,
    ref: number,
    group = 0,
  ): void {
    const kind = JOURNAL.value | (value.kind << 8) | ((VALUE_FLAG.queued | (group << VALUE_GROUP.shift)) << 16)
    if (!isNumeric(value.kind)) {
      const end = this.#payload(kind, message, version, ts, value, ref, VALUE_ITEM.size)
      this.#item(end, flow, item)
      this.#endAt(end + VALUE_ITEM.size)
      return
    }
    const at = this.#begin(kind, message, 0, version, ts, 8 + VALUE_ITEM.size)
    this.#f64[(at + HEADER) >> 3] = value.number
    this.#item(at + HEADER + 8, flow, item)
    this.#end(8 + VALUE_ITEM.size)
  }

  #item(at: number, flow: number, item: number): void {
    this.#i32[(at >> 2) + V.flow] = flow
    this.#i32[(at >> 2) + V.item] = item
  }

  /** A value that a cascade published which began with a value of `root_ts`. */
  rootedValue(message: number, version: number, ts: number, root_ts: number, value: EncodedValue, ref: number): void {
    const kind = JOURNAL.value | (value.kind << 8) | (VALUE_FLAG.rooted << 16)
    let end: number
    if (isNumeric(value.kind)) {
      end = this.#begin(kind, message, 0, version, ts, 8 + VALUE_ROOT.size) + HEADER + 8
      this.#f64[(end - 8) >> 3] = value.number
    } else end = this.#payload(kind, message, version, ts, value, ref, VALUE_ROOT.size)
    this.#f64[end >> 3] = root_ts
    this.#endAt(end + VALUE_ROOT.size)
  }

  /** A value that is held back until `due_ms` (of the steady clock, as `ts` is); 0: it is not held any more. */
  held(message: number, due_ms: number, ts: number, value: EncodedValue, ref = 0): void {
    const kind = JOURNAL.held | (value.kind << 8)
    if (isNumeric(value.kind)) {
      const at = this.#begin(kind, message, 0, due_ms, ts, 8)
      this.#f64[(at + HEADER) >> 3] = value.number
      this.#end(8)
      return
    }
    this.#endAt(this.#payload(kind, message, due_ms, ts, value, ref, 0))
  }

  /**
   * A value that is to be published at `due_ms`, and which of the message's scheduled values it is. Values before `first` are
   * cancelled. Times are of the steady clock.
   */
  scheduled(
    message: number,
    due_ms: number,
    ts: number,
    number: number,
    first: number,
    value: EncodedValue,
    ref: number,
  ): void {
    const kind = JOURNAL.scheduled | (value.kind << 8)
    const numeric = isNumeric(value.kind)
    const by_ref = !numeric && travelsByRef(value.length)
    const length = numeric || by_ref ? 8 : value.length
    const at = this.#begin(kind, message, by_ref ? ref : 0, due_ms, ts, length + SCHEDULED_ITEM.size)
    if (numeric) this.#f64[(at + HEADER) >> 3] = value.number
    else if (by_ref) {
      // As in `#payload`: the reference before the record.
      atomics.add(this.#i32, (ref << 2) + SLAB_ROW.word.references, 1)
      this.#i32[(at + HEADER) >> 2] = value.length
      this.#i32[(at + HEADER + 4) >> 2] = this.#i32[(ref << 2) + SLAB_ROW.word.generation]!
    } else copyBytes(value.bytes, 0, this.#bytes, at + HEADER, length)
    const item = (at + HEADER + ((length + 7) & ~7)) >> 3
    this.#f64[item + SCHEDULED_ITEM.word.number] = number
    this.#f64[item + SCHEDULED_ITEM.word.first] = first
    this.#end(length + SCHEDULED_ITEM.size)
  }

  /** The scheduled values of the message before `first` are published, or cancelled. */
  released(message: number, first: number, ts: number): void {
    this.#begin(JOURNAL.released, message, 0, first, ts, 0)
    this.#end(0)
  }

  /** With room for `more` bytes; answers the offset where they begin, for the caller to fill and to end. */
  #payload(
    kind: number,
    subject: number,
    version: number,
    ts: number,
    value: EncodedValue,
    ref: number,
    more: number,
  ): number {
    const length = value.length
    if (travelsByRef(length)) {
      if (ref === 0) throw new RangeError('a value of this size travels by its slab')
      const at = this.#begin(kind, subject, ref, version, ts, 8 + more)
      // the reference before the record: a death between the two loses a slab, never frees one under the store
      atomics.add(this.#i32, (ref << 2) + SLAB_ROW.word.references, 1)
      this.#i32[(at + HEADER) >> 2] = length
      this.#i32[(at + HEADER + 4) >> 2] = this.#i32[(ref << 2) + SLAB_ROW.word.generation]!
      return at + HEADER + 8
    }
    const at = this.#begin(kind, subject, 0, version, ts, length + more)
    copyBytes(value.bytes, 0, this.#bytes, at + HEADER, length)
    return at + HEADER + ((length + 7) & ~7)
  }

  /** The record of a cascade. Times in microseconds, `parent_seq` 0 without a parent. */
  cascade(
    flow: number,
    message: number,
    root_version: number,
    seq: number,
    started_us: number,
    duration_us: number,
    status: number,
    executions: number,
    errors: number,
    parent_seq: number,
    parent_ts: number,
  ): void {
    const at = this.#begin(JOURNAL.cascade, flow, message, root_version, started_us, CASCADE_PAYLOAD.size)
    const half = (at + HEADER) >> 3
    const word = (at + HEADER) >> 2
    this.#f64[half + C.seq] = seq
    this.#f64[half + C.duration_us] = duration_us
    this.#f64[half + C.parent_seq] = parent_seq
    this.#f64[half + C.parent_ts] = parent_ts
    this.#i32[word + C.status] = status
    this.#i32[word + C.executions] = executions
    this.#i32[word + C.errors] = errors
    this.#end(CASCADE_PAYLOAD.size)
  }

  /** The whole state of a node (`subject` is its index, `version` counts its writes), or a note; `bytes[0..length)` is msgpack. */
  blob(
    kind: typeof JOURNAL.state | typeof JOURNAL.note,
    subject: number,
    ts: number,
    bytes: Buffer,
    length: number,
    version = 0,
  ): void {
    const at = this.#begin(kind, subject, 0, version, ts, length)
    copyBytes(bytes, 0, this.#bytes, at + HEADER, length)
    this.#end(length)
  }

  /** The flow's items before this number are consumed. */
  taken(flow: number, item: number): void {
    this.#begin(JOURNAL.taken, flow, item, 0, 0, 0)
    this.#end(0)
  }

  /** This version of the message is item `item` in the flow's queue. Of its parent's start only an epoch is written: else it ran in this engine. */
  queued(
    flow: number,
    message: number,
    version: number,
    item: number,
    depth: number,
    group: number,
    parent_seq = 0,
    parent_ts = 0,
  ): void {
    const at = this.#begin(JOURNAL.queued, flow, message, version, 0, ITEM_PAYLOAD.size)
    const word = (at + HEADER) >> 2
    this.#i32[word + I.item] = item
    this.#i32[word + I.depth] = depth
    this.#i32[word + I.group] = group
    this.#i32[word + I.parent_epoch] = parent_ts < EPOCHS ? parent_ts : 0
    this.#f64[((at + HEADER) >> 3) + I.parent_seq] = parent_seq
    this.#end(ITEM_PAYLOAD.size)
  }

  /** The cascade of these items has run no body yet. */
  fresh(flow: number, message: number, root_version: number, item: number, items: number): void {
    const at = this.#begin(JOURNAL.fresh, flow, message, root_version, 0, FRESH_PAYLOAD.size)
    this.#i32[((at + HEADER) >> 2) + F.item] = item
    this.#i32[((at + HEADER) >> 2) + F.items] = items
    this.#end(FRESH_PAYLOAD.size)
  }

  #begin(kind: number, subject: number, ref: number, version: number, ts: number, length: number): number {
    const at = this.#claim((HEADER + length + 7) >> 3)
    const word = at >> 2
    this.#i32[word] = HEADER + length
    this.#i32[word + R.kind] = kind
    this.#i32[word + R.subject] = subject
    this.#i32[word + R.ref] = ref
    this.#f64[(at >> 3) + R.version] = version
    this.#f64[(at >> 3) + R.ts] = ts
    return at
  }

  /** The record is whole: it shows to the front with this step, to the store with the next mark. */
  #end(length: number): void {
    this.#records++
    this.#advance((HEADER + length + 7) >> 3)
  }

  /** As `#end`, at this offset. */
  #endAt(offset: number): void {
    this.#records++
    this.#advance((offset - this.#data - ((this.#tail & this.#mask) << 3)) >> 3)
  }

  /**
   * The end of a unit: all that was written may be committed together, and other threads may go on from it. Wakes the store and the front if they sleep. The
   * store here and the load of `sleeping` stand on either side of a full barrier, as the sleeper's do the other way round.
   */
  mark(): void {
    if (this.#marked === this.#tail) return
    this.close()
    this.tell()
  }

  /** The first half of a mark: other threads may go on from the unit. Who has somebody to wake for that does it before `tell`. */
  close(): void {
    this.#marked = this.#tail
    atomics.store(this.#i32, this.#head + JOURNAL_HEADER.word.marked, this.#tail)
  }

  /** The second half: wakes the store and the front if they sleep. A wake takes microseconds, and they are in no hurry. */
  tell(): void {
    if (atomics.acquire(this.#i32, this.#store_sleeping) !== 0) this.#wakes.store()
    if (atomics.acquire(this.#i32, this.#front_sleeping) !== 0) this.#wakes.front()
  }
}
