/** The reading ends of a journal ring: the store's, which holds the writer back, and the front's, which does not. */
import * as atomics from '#atomics'
import { Arena, SLAB_ROW } from '../arena.ts'
import { copyBytes } from '../copy.ts'
import { isNumeric } from '../encoded.ts'
import type { Memory } from '../region.ts'
import { SLOT } from '../threads.ts'
import {
  JOURNAL,
  JOURNAL_HEADER,
  JOURNAL_RECORD,
  journalOffset,
  SCHEDULED_ITEM,
  VALUE_FLAG,
  VALUE_ITEM,
} from './record.ts'
import { type JournalVisitor, RecordView } from './view.ts'

const R = JOURNAL_RECORD.word
const HEADER = JOURNAL_RECORD.size
/** In the word of the kind: the record ends with VALUE_ITEM or VALUE_ROOT. */
const HAS_END = (VALUE_FLAG.queued | VALUE_FLAG.rooted) << 16
const BATCH_BYTES = 64 * 1024
/** A larger stage is not kept after use. */
const KEPT_STAGE_BYTES = 1024 * 1024

export class JournalReader {
  readonly #memory: Memory
  readonly #i32: Int32Array
  readonly #f64: Float64Array
  readonly #head: number
  readonly #data: number
  readonly #units: number
  readonly #mask: number
  readonly #role: 'store' | 'front'
  /** The store's: drops the references that records carry. */
  readonly #arena: Arena
  #position: number
  #records = 0
  #missed = 0
  #scratch: Buffer
  #scratch_i32: Int32Array
  #scratch_f64: Float64Array
  #long: Buffer
  readonly #view = new RecordView()
  /** The store's: what was copied out of the ring before its mark, `[#staged_from, #staged_to)` of the scratch. It precedes the cursor. */
  #staged_from = 0
  #staged_to = 0

  /** The store goes on at its cursor. The front begins at the start of the ring: make its readers before the writers. */
  constructor(memory: Memory, slot: number, role: 'store' | 'front') {
    const at = journalOffset(memory, slot)
    this.#memory = memory
    this.#i32 = memory.i32
    this.#f64 = memory.f64
    this.#head = at >> 2
    this.#data = at + JOURNAL_HEADER.size
    this.#units = memory.sizes.ring_bytes >> 3
    this.#mask = this.#units - 1
    this.#role = role
    this.#arena = new Arena(memory, role === 'store' ? SLOT.store : SLOT.front)
    this.#position = role === 'store' ? atomics.load(this.#i32, this.#head + JOURNAL_HEADER.word.cursor) : 0
    const batch = role === 'store' ? 0 : Math.min(BATCH_BYTES, memory.sizes.ring_bytes >> 1)
    this.#scratch = Buffer.alloc(0)
    this.#scratch_i32 = new Int32Array(0)
    this.#scratch_f64 = new Float64Array(0)
    this.#long = Buffer.alloc(0)
    this.#grow(batch)
  }

  #grow(bytes: number): void {
    const buffer = new ArrayBuffer(bytes)
    this.#scratch = Buffer.from(buffer)
    this.#scratch_i32 = new Int32Array(buffer)
    this.#scratch_f64 = new Float64Array(buffer)
  }

  /** Records that the front was lapped on and never saw. */
  missed(): number {
    return this.#missed
  }

  /** Bytes that wait for this reader. */
  waiting(): number {
    const { marked, tail } = JOURNAL_HEADER.word
    const end = atomics.acquire(this.#i32, this.#head + (this.#role === 'store' ? marked : tail))
    return ((end - this.#position) | 0) << 3
  }

  /** The store's: the position up to which the writer has marked its records. */
  marked(): number {
    return atomics.acquire(this.#i32, this.#head + JOURNAL_HEADER.word.marked)
  }

  /** Visits what is there, oldest first, up to about `max_bytes` of records; answers how many it visited. */
  drain(visitor: JournalVisitor, max_bytes: number): number {
    const before = this.#records
    if (this.#role === 'store') this.#drainStore(visitor, max_bytes, this.marked())
    else return this.#drainFront(visitor, max_bytes)
    return this.#records - before
  }

  /** The store's: visits everything up to `mark`, which `marked` has answered; answers the bytes. */
  drainTo(visitor: JournalVisitor, mark: number): number {
    const bytes = ((mark - this.#position) | 0) << 3
    if (bytes > 0) this.#drainStore(visitor, bytes, mark)
    return bytes
  }

  /** The store's: the writer waits for room, or has marked nothing for half a ring. */
  get isCramped(): boolean {
    const { waiting, tail, cursor } = JOURNAL_HEADER.word
    if (atomics.acquire(this.#i32, this.#head + waiting) !== 0) return true
    const end = atomics.acquire(this.#i32, this.#head + tail)
    return ((end - this.#i32[this.#head + cursor]!) | 0) > this.#units >> 1
  }

  /** The store's: bytes that are staged. */
  get staged(): number {
    return this.#staged_to - this.#staged_from
  }

  /**
   * The store's: copies what is written and not marked, so that the writer of a long unit has its ring again. It is visited
   * when its mark comes. `drain` to the mark first: only staged records may precede the cursor.
   */
  stage(): void {
    const head = this.#head
    const tail = atomics.acquire(this.#i32, head + JOURNAL_HEADER.word.tail)
    let at = (this.#position + (this.staged >> 3)) | 0
    if (at === tail) return
    this.#makeStage(((tail - at) | 0) << 3)
    while (at !== tail) {
      const units = Math.min(this.#units - (at & this.#mask), (tail - at) | 0)
      const from = this.#data + ((at & this.#mask) << 3)
      this.#memory.bytes.copy(this.#scratch, this.#staged_to, from, from + (units << 3))
      this.#staged_to += units << 3
      at = (at + units) | 0
    }
    this.#moveCursor(at)
  }

  /** Room behind what is staged. */
  #makeStage(bytes: number): void {
    if (this.#staged_to + bytes <= this.#scratch.length) return
    const staged = this.#scratch.subarray(this.#staged_from, this.#staged_to)
    const want = staged.length + bytes
    if (want <= this.#scratch.length) staged.copy(this.#scratch, 0)
    else {
      this.#grow(2 ** Math.ceil(Math.log2(want)))
      staged.copy(this.#scratch, 0)
    }
    this.#staged_from = 0
    this.#staged_to = staged.length
  }

  /** Answers the units that it visited, of those that are marked. */
  #visitStaged(visitor: JournalVisitor, units: number): number {
    const from = this.#staged_from
    const end = from + (Math.min(units << 3, this.staged) & ~7)
    const to = this.#visit(visitor, this.#scratch_i32, this.#scratch_f64, this.#scratch, from, end, end)
    this.#staged_from = to
    if (to === this.#staged_to) {
      this.#staged_from = this.#staged_to = 0
      if (this.#scratch.length > KEPT_STAGE_BYTES) this.#grow(0)
    }
    return (to - from) >> 3
  }

  #moveCursor(position: number): void {
    const head = this.#head
    atomics.store(this.#i32, head + JOURNAL_HEADER.word.cursor, position)
    if (atomics.acquire(this.#i32, head + JOURNAL_HEADER.word.waiting) !== 0)
      atomics.notify(this.#i32, head + JOURNAL_HEADER.word.cursor)
  }

  /** In place: the writer does not come past the cursor. A visitor that throws leaves the cursor where it was. */
  #drainStore(visitor: JournalVisitor, max_bytes: number, marked: number): void {
    let position = this.#position
    if (position === marked) return
    if (this.#staged_to > this.#staged_from) {
      position = (position + this.#visitStaged(visitor, (marked - position) | 0)) | 0
      this.#position = position
      if (position === marked) return
    }
    let left = max_bytes >> 3
    while (position !== marked && left > 0) {
      // up to the end of the lap; records do not cross it
      const lap = this.#units - (position & this.#mask)
      const whole = Math.min(lap, (marked - position) | 0)
      const from = this.#data + ((position & this.#mask) << 3)
      const end = this.#visit(
        visitor,
        this.#i32,
        this.#f64,
        this.#memory.bytes,
        from,
        from + (whole << 3),
        from + (Math.min(whole, left) << 3),
      )
      const units = (end - from) >> 3
      position = (position + units) | 0
      left -= units
    }
    this.#position = position
    this.#moveCursor(position)
  }

  /** By copies: a batch is visited only when the writer had not announced to overwrite it by the time it was copied. */
  #drainFront(visitor: JournalVisitor, max_bytes: number): number {
    const head = this.#head
    let left = max_bytes >> 3
    let visited = 0
    while (left > 0) {
      const tail = atomics.acquire(this.#i32, head + JOURNAL_HEADER.word.tail)
      const position = this.#position
      const ahead = (tail - position) | 0
      if (ahead === 0) break
      if (ahead < 0 || ahead > this.#units) {
        if (!this.#catchUp()) break
        continue
      }
      const lap = this.#units - (position & this.#mask)
      const units = Math.min(ahead, lap, this.#scratch.length >> 3, Math.max(left, 8))
      const from = this.#data + ((position & this.#mask) << 3)
      this.#memory.bytes.copy(this.#scratch, 0, from, from + (units << 3))
      const reserved = atomics.recheck(this.#i32, head + JOURNAL_HEADER.word.reserved)
      if (((reserved - position) | 0) > this.#units) {
        if (!this.#catchUp()) break
        continue
      }
      const before = this.#records
      const end = this.#visit(visitor, this.#scratch_i32, this.#scratch_f64, this.#scratch, 0, units << 3, units << 3)
      visited += this.#records - before
      if (end === 0) {
        // one record longer than the batch or what is left of the budget: take it whole
        const bytes = (this.#scratch_i32[0]! + 7) & ~7
        if (bytes > this.#scratch.length) this.#grow(1 << (32 - Math.clz32(bytes - 1)))
        left = Math.max(left, bytes >> 3)
        continue
      }
      this.#position = (position + (end >> 3)) | 0
      left -= end >> 3
    }
    return visited
  }

  /** Lapped: continues at the newest count record, which has the number of missed records. False when even that was overwritten; try later. */
  #catchUp(): boolean {
    const head = this.#head
    const place = atomics.acquire(this.#i32, head + JOURNAL_HEADER.word.checkpoint)
    const records = this.#f64[((this.#data + ((place & this.#mask) << 3)) >> 3) + 1]!
    const reserved = atomics.recheck(this.#i32, head + JOURNAL_HEADER.word.reserved)
    if (((reserved - place) | 0) > this.#units) return false
    this.#missed += records - this.#records
    this.#records = records
    this.#position = place
    return true
  }

  /**
   * Visits the records of `[at, end)` that are whole and begin before `stop`; answers where it stopped. The arrays are the
   * shared memory for the store and the scratch copy for the front.
   */
  #visit(
    visitor: JournalVisitor,
    i32: Int32Array,
    f64: Float64Array,
    bytes: Buffer,
    at: number,
    end: number,
    stop: number,
  ): number {
    const view = this.#view
    view.over(i32, f64, bytes)
    while (at < stop) {
      const word = at >> 2
      const size = i32[word]!
      const next = at + ((size + 7) & ~7)
      if (next > end) break
      const kinds = i32[word + R.kind]!
      const kind = kinds & 0xff
      if (kind === JOURNAL.padding || kind === JOURNAL.count) {
        at = next
        continue
      }
      if (kind > JOURNAL.released) throw new RangeError(`a journal record of kind ${kind}`)
      const isScheduled = kind === JOURNAL.scheduled
      const more = (kinds & HAS_END) !== 0 ? VALUE_ITEM.size : isScheduled ? SCHEDULED_ITEM.size : 0
      view.show(at, size - HEADER - more)
      const isLong =
        (kind === JOURNAL.value || kind === JOURNAL.held || isScheduled) &&
        i32[word + R.ref] !== 0 &&
        !isNumeric((kinds >> 8) & 0xff)
      if (isLong) {
        this.#visitLong(visitor, i32, at)
        view.over(i32, f64, bytes)
      } else visitor.visit(view)
      this.#records++
      at = next
    }
    return at
  }

  /** A value in a slab. The store holds a reference and drops it; the front copies and then checks whether the slab is still the same. */
  #visitLong(visitor: JournalVisitor, i32: Int32Array, at: number): void {
    const ref = i32[(at >> 2) + R.ref]!
    const length = i32[(at + HEADER) >> 2]!
    const generation = i32[(at + HEADER + 4) >> 2]!
    const from = (ref << 4) + SLAB_ROW.size
    if (this.#role === 'store') {
      this.#view.payload(this.#memory.bytes, from, length)
      visitor.visit(this.#view)
      this.#arena.release(ref)
      return
    }
    if (this.#long.length < length) this.#long = Buffer.alloc(1 << (32 - Math.clz32(length - 1)))
    copyBytes(this.#memory.bytes, from, this.#long, 0, length)
    if (atomics.recheck(this.#i32, (ref << 2) + SLAB_ROW.word.generation) !== generation) {
      this.#missed++
      return
    }
    this.#view.payload(this.#long, 0, length)
    visitor.visit(this.#view)
  }
}
