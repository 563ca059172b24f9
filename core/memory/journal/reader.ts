/** The reading ends of a journal ring: the store's, which holds the writer back, and the front's, which does not. */
import * as atomics from '#atomics'
import { Arena, SLAB_ROW } from '../arena.ts'
import { copyBytes } from '../copy.ts'
import { KIND } from '../encoded.ts'
import type { Memory } from '../region.ts'
import { SLOT } from '../threads.ts'
import { CASCADE_PAYLOAD, JOURNAL, JOURNAL_HEADER, JOURNAL_RECORD, journalOffset } from './record.ts'

/** `bytes[at .. at + length)` is only good during the call. Times in microseconds since 1970, due_ms in milliseconds. */
export interface JournalVisitor {
  value(
    message: number,
    version: number,
    ts: number,
    flags: number,
    kind: number,
    number: number,
    bytes: Buffer,
    at: number,
    length: number,
  ): void
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
  ): void
  /** `kind` is JOURNAL.state (subject: node index; a higher version is newer, in whatever ring it stands) or JOURNAL.note. */
  blob(kind: number, subject: number, ts: number, bytes: Buffer, at: number, length: number, version: number): void
  held(
    message: number,
    due_ms: number,
    ts: number,
    kind: number,
    number: number,
    bytes: Buffer,
    at: number,
    length: number,
  ): void
  taken(flow: number, count: number): void
}

const R = JOURNAL_RECORD.word
const HEADER = JOURNAL_RECORD.size
const C = CASCADE_PAYLOAD.word
const BATCH_BYTES = 64 * 1024

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

  /** In place: the writer does not come past the cursor. A visitor that throws leaves the cursor where it was. */
  #drainStore(visitor: JournalVisitor, max_bytes: number, marked: number): void {
    const head = this.#head
    let position = this.#position
    if (position === marked) return
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
    atomics.store(this.#i32, head + JOURNAL_HEADER.word.cursor, position)
    if (atomics.acquire(this.#i32, head + JOURNAL_HEADER.word.waiting) !== 0)
      atomics.notify(this.#i32, head + JOURNAL_HEADER.word.cursor)
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

  /** Lapped: goes on at the newest count record, which says what was missed. False when even that was overtaken; try later. */
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
    while (at < stop) {
      const word = at >> 2
      const size = i32[word]!
      const next = at + ((size + 7) & ~7)
      if (next > end) break
      const kinds = i32[word + R.kind]!
      const half = at >> 3
      switch (kinds & 0xff) {
        case JOURNAL.padding:
        case JOURNAL.count:
          at = next
          continue
        case JOURNAL.value: {
          const kind = (kinds >> 8) & 0xff
          if (kind === KIND.float || kind === KIND.int || kind === KIND.bool)
            visitor.value(
              i32[word + R.subject]!,
              f64[half + R.version]!,
              f64[half + R.ts]!,
              (kinds >> 16) & 0xff,
              kind,
              f64[half + (HEADER >> 3)]!,
              bytes,
              at + HEADER,
              8,
            )
          else if (i32[word + R.ref] === 0)
            visitor.value(
              i32[word + R.subject]!,
              f64[half + R.version]!,
              f64[half + R.ts]!,
              (kinds >> 16) & 0xff,
              kind,
              0,
              bytes,
              at + HEADER,
              size - HEADER,
            )
          else this.#visitLong(visitor, i32, f64, at, false)
          break
        }
        case JOURNAL.held: {
          const kind = (kinds >> 8) & 0xff
          if (i32[word + R.ref] !== 0) this.#visitLong(visitor, i32, f64, at, true)
          else {
            const numeric = kind === KIND.float || kind === KIND.int || kind === KIND.bool
            visitor.held(
              i32[word + R.subject]!,
              f64[half + R.version]!,
              f64[half + R.ts]!,
              kind,
              numeric ? f64[half + (HEADER >> 3)]! : 0,
              bytes,
              at + HEADER,
              size - HEADER,
            )
          }
          break
        }
        case JOURNAL.cascade: {
          const payload = half + (HEADER >> 3)
          const words = word + (HEADER >> 2)
          visitor.cascade(
            i32[word + R.subject]!,
            i32[word + R.ref]!,
            f64[half + R.version]!,
            f64[payload + C.seq]!,
            f64[half + R.ts]!,
            f64[payload + C.duration_us]!,
            i32[words + C.status]!,
            i32[words + C.executions]!,
            i32[words + C.errors]!,
            f64[payload + C.parent_seq]!,
            f64[payload + C.parent_ts]!,
          )
          break
        }
        case JOURNAL.state:
        case JOURNAL.note:
          visitor.blob(
            kinds & 0xff,
            i32[word + R.subject]!,
            f64[half + R.ts]!,
            bytes,
            at + HEADER,
            size - HEADER,
            f64[half + R.version]!,
          )
          break
        case JOURNAL.taken:
          visitor.taken(i32[word + R.subject]!, f64[half + R.version]!)
          break
        default:
          throw new RangeError(`a journal record of kind ${kinds & 0xff}`)
      }
      this.#records++
      at = next
    }
    return at
  }

  /** A value in a slab. The store holds a reference and drops it; the front copies and then looks whether the slab is still the same. */
  #visitLong(visitor: JournalVisitor, i32: Int32Array, f64: Float64Array, at: number, held: boolean): void {
    const word = at >> 2
    const ref = i32[word + R.ref]!
    const length = i32[word + (HEADER >> 2)]!
    const generation = i32[word + (HEADER >> 2) + 1]!
    let bytes = this.#memory.bytes
    let from = (ref << 4) + SLAB_ROW.size
    if (this.#role === 'front') {
      if (this.#long.length < length) this.#long = Buffer.alloc(1 << (32 - Math.clz32(length - 1)))
      copyBytes(bytes, from, this.#long, 0, length)
      if (atomics.recheck(this.#i32, (ref << 2) + SLAB_ROW.word.generation) !== generation) {
        this.#missed++
        return
      }
      bytes = this.#long
      from = 0
    }
    const kinds = i32[word + R.kind]!
    const kind = (kinds >> 8) & 0xff
    const subject = i32[word + R.subject]!
    const version = f64[(at >> 3) + R.version]!
    const ts = f64[(at >> 3) + R.ts]!
    if (held) visitor.held(subject, version, ts, kind, 0, bytes, from, length)
    else visitor.value(subject, version, ts, (kinds >> 16) & 0xff, kind, 0, bytes, from, length)
    if (this.#role === 'store') this.#arena.release(ref)
  }
}
