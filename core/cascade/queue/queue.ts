import * as atomics from '#atomics'
import type { Arena } from '../../memory/arena.ts'
import { copyBytes } from '../../memory/copy.ts'
import { type EncodedValue, isNumeric } from '../../memory/encoded.ts'
import { JOURNAL_HEADER, journalOffset } from '../../memory/journal/record.ts'
import type { Memory } from '../../memory/region.ts'
import { slotOf } from '../../memory/threads.ts'
import { FLOW_ROW, type FlowTable } from '../flows.ts'
import { DOING, INTENT_ROW, intentWord } from '../publish/intent.ts'
import {
  depthOf,
  GROUP,
  groupOf,
  HEAD_UNITS,
  kindOf,
  packWhat,
  publisherOf,
  QUEUE_ITEM,
  type TakenItem,
  unitsAt,
  unitsOf,
} from './item.ts'
import { SEGMENT_HEAD, SEGMENT_ITEM_UNITS, SEGMENT_UNITS, SegmentPool } from './segments.ts'

const SEGMENT_MASK = ~(SEGMENT_UNITS - 1)
const SEGMENT_SHIFT = Math.log2(SEGMENT_UNITS)
const FIRST_UNIT = SEGMENT_HEAD.size >> 3
/** Most flows whose last, empty segment this thread leaves in place for their next item; a power of two. */
const WARM_FLOWS = 256

/** Of an item that began longer ago; 35 minutes. */
const OLDEST_ROOT_US = 2 ** 31 - 1

const { word } = FLOW_ROW
const item = QUEUE_ITEM.word
const intent = INTENT_ROW.word
const { marked: MARKED, tail: TAIL } = JOURNAL_HEADER.word
const NEXT = SEGMENT_HEAD.word.next
const END = SEGMENT_HEAD.word.end

/**
 * The queue of a flow: a chain of segments. Publishers append under the flow's publish word, the thread that has claimed
 * the flow takes. The only shared words are `appended` and `taken`, each written by one side.
 */
export class IngressQueue {
  readonly #i32: Int32Array
  readonly #f64: Float64Array
  readonly #bytes: Buffer
  readonly #flows: FlowTable
  readonly #arena: Arena
  readonly #owner: number
  readonly #intent: number
  readonly #slot: number
  /** First word of the first ring, and words from one to the next. */
  readonly #rings: number
  readonly #ring_count: number
  readonly #ring_words: number
  /** By slot, the mark of its ring when this thread last looked; none before the first `look`. */
  #marks: Int32Array | null = null
  /** The flow that has a turn, and its items as this thread last counted them; -1: none has. */
  #turn_flow = -1
  #turn_appended = 0
  /** Slot of the thread that the items put here come from. */
  #publisher: number
  readonly #start_i32: number
  readonly #start_f64: number
  readonly #warm: Int32Array
  readonly pool: SegmentPool

  constructor(parts: { memory: Memory; owner: number; arena: Arena; flows: FlowTable }) {
    this.#i32 = parts.memory.i32
    this.#f64 = parts.memory.f64
    this.#bytes = parts.memory.bytes
    this.#flows = parts.flows
    this.#arena = parts.arena
    this.#owner = parts.owner
    this.#intent = intentWord(parts.memory, slotOf(parts.owner))
    this.#slot = this.#publisher = slotOf(parts.owner)
    this.#rings = journalOffset(parts.memory, 0) >> 2
    this.#ring_count = parts.memory.sizes.rings
    this.#ring_words = (journalOffset(parts.memory, 1) >> 2) - this.#rings
    this.pool = new SegmentPool(parts.memory, slotOf(parts.owner))
    this.#start_i32 = this.pool.start >> 2
    this.#start_f64 = this.pool.start >> 3
    // All lanes together keep at most a quarter of the pool warm.
    let warm = WARM_FLOWS
    while (warm > 1 && warm * 32 > this.pool.size) warm >>= 1
    this.#warm = new Int32Array(warm).fill(-1)
  }

  /**
   * Under the flow's publish word. Takes over one reference on `ref`. False: no segment was free, nothing changed. The item
   * belongs to the unit that is open in the ring of `publisher`; by default it can be taken at once.
   */
  append(
    flow: number,
    message: number,
    depth: number,
    version: number,
    ts: number,
    parent_seq: number,
    parent_ts: number,
    value: EncodedValue,
    ref: number,
    group = 0,
    root_ts = ts,
    publisher = this.#slot,
  ): boolean {
    const room = this.room(flow, value, ref)
    if (room === 0) return false
    const i32 = this.#i32
    const f64 = this.#f64
    const said = this.#intent
    i32[this.#flows.row(flow) + word.room] = room
    i32[this.#flows.row(flow) + word.group] = group
    i32[said + intent.depth] = depth
    f64[(said >> 1) + intent.version] = version
    f64[(said >> 1) + intent.ts] = ts
    f64[(said >> 1) + intent.root_ts] = root_ts
    f64[(said >> 1) + intent.parent_seq] = parent_seq
    f64[(said >> 1) + intent.parent_ts] = parent_ts
    const ring = this.#rings + publisher * this.#ring_words
    i32[said + intent.mark] = publisher === this.#slot ? i32[ring + MARKED]! - 1 : i32[ring + TAIL]!
    this.#publisher = publisher
    this.put(flow, message, value, ref)
    this.#publisher = this.#slot
    return true
  }

  /**
   * Reserves the position of the next item, under the flow's publish word: an append of this value cannot fail after it.
   * Nothing visible to others changes. 0: no segment is free.
   */
  room(flow: number, value: EncodedValue, ref: number): number {
    return this.#room(flow, unitsOf(value, ref))
  }

  /**
   * For several items at once: links segments until there is room for this value at `position`, where the items planned
   * before it end, and answers where it ends itself. 0 as `position`: it is the first. Answers 0 when no segment is free;
   * `giveAhead` then gives back what was linked.
   */
  plan(flow: number, position: number, value: EncodedValue, ref: number): number {
    const units = unitsOf(value, ref)
    if (position === 0) position = this.#tail(flow)
    if (position === 0) {
      const first = this.#room(flow, units)
      return first === 0 ? 0 : first + units
    }
    const segment = position & SEGMENT_MASK
    if (position + units <= segment + FIRST_UNIT + SEGMENT_ITEM_UNITS) return position + units
    const next = this.#i32[this.#start_i32 + (segment << 1) + NEXT]! || this.#link(flow, segment)
    return next === 0 ? 0 : next + units
  }

  /**
   * Under the flow's publish word: gives back the linked segments without items, all of them when the queue had none before.
   * Each is set loose before it is unlinked, so a recovery can tell which of the two steps is done.
   */
  giveAhead(flow: number): void {
    const tail = this.#tail(flow)
    if (tail === 0) return
    const row = this.#flows.row(flow)
    const appended = this.#i32[row + word.appended]!
    const taken = atomics.acquire(this.#i32, row + word.taken)
    // Nothing was ever taken from this chain, so its owner has no position in it.
    const untouched = appended === taken && this.#i32[row + word.head_even + (taken & 1)] === 0
    const last = this.#start_i32 + ((tail & SEGMENT_MASK) << 1)
    const ahead = untouched ? tail : this.#i32[last + NEXT]!
    if (ahead === 0) return
    for (let at = ahead; at !== 0; at = this.#nextOf(at)) this.pool.loosen((at & SEGMENT_MASK) >> SEGMENT_SHIFT, flow)
    if (untouched) atomics.release(this.#i32, row + word.tail_even + (appended & 1), 0)
    else {
      this.#i32[last + END] = 0
      atomics.release(this.#i32, last + NEXT, 0)
    }
    for (let at = ahead; at !== 0; ) {
      const next = this.#nextOf(at)
      this.pool.give((at & SEGMENT_MASK) >> SEGMENT_SHIFT)
      at = next
    }
  }

  /**
   * The append itself, at the `room` that the flow's row says, of what the thread's intent row says of version, times and
   * depth: they are there anyhow, and a double that crosses a call would become an object.
   */
  put(flow: number, message: number, value: EncodedValue, ref: number): void {
    const i32 = this.#i32
    const row = this.#flows.row(flow)
    const position = i32[row + word.room]!
    const units = unitsOf(value, ref)
    this.#write(position, message, value, ref, i32[row + word.group]!)
    const appended = i32[row + word.appended]!
    const now = appended & 1
    const then = now ^ 1
    i32[row + word.tail_even + then] = position + units
    i32[row + word.appended_bytes_even + then] =
      i32[row + word.appended_bytes_even + now]! + (units << 3) + (ref !== 0 ? value.length : 0)
    atomics.release(i32, row + word.appended, appended + 1)
  }

  /**
   * By the thread that has claimed the flow, until `endTurn` or the next flow's turn: nobody else takes from it meanwhile, so the line
   * that its publishers write all the time is read again only when the items that were counted are taken.
   */
  beginTurn(flow: number): void {
    this.#turn_flow = flow
    this.#turn_appended = this.#i32[this.#flows.row(flow) + word.taken]!
  }

  endTurn(): void {
    this.#turn_flow = -1
  }

  /** Whether nothing waits behind the items that are taken. */
  #isEmpty(flow: number, row: number, taken: number): boolean {
    if (flow !== this.#turn_flow) return atomics.acquire(this.#i32, row + word.appended) === taken
    if (this.#turn_appended === taken) this.#turn_appended = atomics.acquire(this.#i32, row + word.appended)
    return this.#turn_appended === taken
  }

  /**
   * By the thread that has claimed the flow. False: empty, or the next item was published in a unit that is still open on
   * another thread (unless `open_too`). The item is taken when this returns: it is never taken twice, even if the thread dies.
   */
  take(flow: number, out: TakenItem, open_too = false): boolean {
    const row = this.#flows.row(flow)
    const taken = this.#i32[row + word.taken]!
    if (this.#isEmpty(flow, row, taken)) {
      this.#keepWarm(flow)
      return false
    }
    const now = taken & 1
    const then = now ^ 1
    let position = this.#i32[row + word.head_even + now] || this.#i32[row + word.first]!
    let emptied = -1
    const segment = position & SEGMENT_MASK
    const head = this.#start_i32 + (segment << 1)
    if (this.#i32[head + END]! === position - segment) {
      emptied = segment >> SEGMENT_SHIFT
      position = this.#i32[head + NEXT]!
    }
    if (!open_too && !this.#isClosed(position)) return false
    const ref = this.#read(position, out)
    out.item = taken
    const units = unitsOf(out.value, ref)
    this.#i32[row + word.head_even + then] = position + units
    this.#i32[row + word.taken_bytes_even + then] =
      this.#i32[row + word.taken_bytes_even + now]! + (units << 3) + (ref !== 0 ? out.value.length : 0)
    if (ref === 0) {
      atomics.release(this.#i32, row + word.taken, taken + 1)
    } else {
      this.#i32[this.#intent + intent.flow] = flow
      this.#i32[this.#intent + intent.ref] = ref
      this.#i32[this.#intent + intent.mark] = taken + 1
      this.#f64[(this.#intent >> 1) + intent.version] = this.#arena.generation(ref)
      atomics.release(this.#i32, this.#intent + intent.doing, DOING.taking)
      atomics.release(this.#i32, row + word.taken, taken + 1)
      this.#arena.release(ref)
      this.#i32[this.#intent + intent.doing] = DOING.nothing
    }
    if (emptied >= 0) this.pool.give(emptied)
    return true
  }

  /**
   * After a take whose item says `goes_on`: takes the next item if it belongs to the same group. A publisher that is still
   * appending holds the publish word until the last item of the group is appended; recovery frees the word of a dead one.
   */
  takeJoined(flow: number, out: TakenItem): boolean {
    const i32 = this.#i32
    const row = this.#flows.row(flow)
    const taken = i32[row + word.taken]!
    if (this.#isEmpty(flow, row, taken)) {
      this.#flows.lockPublish(flow, this.#owner)
      this.#flows.unlockPublish(flow, this.#owner)
      if (this.#isEmpty(flow, row, taken)) return false
    }
    let position = i32[row + word.head_even + (taken & 1)]!
    const segment = position & SEGMENT_MASK
    const head = this.#start_i32 + (segment << 1)
    if (i32[head + END]! === position - segment) position = i32[head + NEXT]!
    return (groupOf(i32[this.#start_i32 + (position << 1) + item.what]!) & GROUP.joins) !== 0 && this.take(flow, out)
  }

  /** Time of the oldest item in microseconds since 1970, 0: empty. Anyone may ask; the answer may be one take old. */
  oldest(flow: number): number {
    const row = this.#flows.row(flow)
    for (;;) {
      const taken = atomics.acquire(this.#i32, row + word.taken)
      if (atomics.acquire(this.#i32, row + word.appended) === taken) return 0
      let position = this.#i32[row + word.head_even + (taken & 1)] || this.#i32[row + word.first]!
      const segment = position & SEGMENT_MASK
      const head = this.#start_i32 + (segment << 1)
      if (this.#i32[head + END]! === position - segment) position = this.#i32[head + NEXT]!
      const ts = this.#f64[this.#start_f64 + position + item.ts]!
      if (atomics.recheck(this.#i32, row + word.taken) === taken) return ts
    }
  }

  /** By the thread that has claimed the flow: a take would find an item. */
  isTakeable(flow: number): boolean {
    const row = this.#flows.row(flow)
    const taken = this.#i32[row + word.taken]!
    if (atomics.acquire(this.#i32, row + word.appended) === taken) return false
    let position = this.#i32[row + word.head_even + (taken & 1)] || this.#i32[row + word.first]!
    const segment = position & SEGMENT_MASK
    const head = this.#start_i32 + (segment << 1)
    if (this.#i32[head + END]! === position - segment) position = this.#i32[head + NEXT]!
    return this.#isClosed(position)
  }

  /**
   * The publisher of the item has closed its unit, or is this thread, whose ring is one sequence. So what was taken is never
   * committed without what published it.
   */
  #isClosed(position: number): boolean {
    const i32 = this.#i32
    const at = this.#start_i32 + (position << 1)
    const slot = publisherOf(i32[at + item.what]!)
    if (slot === this.#slot) return true
    const ring = this.#rings + slot * this.#ring_words
    const unit = i32[at + item.unit]!
    // Usually the remembered mark is enough for an item that has waited: the header's cache line stays with the publisher, which writes it often.
    if (this.#marks !== null && ((this.#marks[slot]! - unit) | 0) >= 0) return true
    const marked = atomics.acquire(i32, ring + MARKED)
    if (this.#marks !== null) this.#marks[slot] = marked
    if (((marked - unit) | 0) >= 0) return true
    // The position of an item that has waited until positions wrapped is ahead of the tail, too.
    return ((i32[ring + TAIL]! - unit) | 0) < 0
  }

  /**
   * Remembers the marks of all rings. Must be called again before half of all positions of a ring (16 GiB) are written: several
   * times a minute is enough.
   */
  look(): void {
    const marks = (this.#marks ??= new Int32Array(this.#ring_count))
    for (let slot = 0; slot < marks.length; slot++)
      marks[slot] = atomics.acquire(this.#i32, this.#rings + slot * this.#ring_words + MARKED)
  }

  length(flow: number): number {
    return this.#flows.queued(flow)
  }

  /** By the thread that has claimed the flow: gives the segments of an empty queue back, unless a publisher is inside. */
  trim(flow: number): void {
    const row = this.#flows.row(flow)
    if (!this.#flows.tryLockPublish(flow, this.#owner)) return
    const appended = this.#i32[row + word.appended]!
    const taken = this.#i32[row + word.taken]!
    if (appended === taken) {
      let position = this.#head(row)
      const tail = word.tail_even + (appended & 1)
      if (this.#i32[row + tail] !== 0) {
        this.#i32[row + word.head_even + (taken & 1)] = 0
        atomics.release(this.#i32, row + tail, 0)
        while (position !== 0) {
          const segment = position & SEGMENT_MASK
          position = this.#i32[this.#start_i32 + (segment << 1) + NEXT]!
          this.pool.give(segment >> SEGMENT_SHIFT)
        }
      }
    }
    this.#flows.unlockPublish(flow, this.#owner)
  }

  /**
   * Trims a flow that is free, under a claim for a moment. Items that arrive meanwhile are marked in the ready set of the lane
   * that calls this; any other caller must check the flow again afterwards.
   */
  cool(flow: number): void {
    const owner = this.#flows.row(flow) + word.owner
    if (atomics.compareExchange(this.#i32, owner, 0, this.#owner) !== 0) return
    this.trim(flow)
    atomics.store(this.#i32, owner, 0)
  }

  /** By a holder of both claim and publish word, after the last one died inside: gives back the segments that are not in the chain. */
  sweep(flow: number): void {
    const row = this.#flows.row(flow)
    const appended = this.#i32[row + word.appended]!
    const taken = this.#i32[row + word.taken]!
    if (appended === taken) {
      this.#i32[row + word.tail_even + (appended & 1)] = 0
      this.#i32[row + word.head_even + (taken & 1)] = 0
    }
    const chain = new Set(this.segments(flow))
    for (let segment = 0; segment < this.pool.size; segment++) {
      if (this.pool.flowOf(segment) === flow && !chain.has(segment)) this.pool.give(segment)
    }
  }

  /** Segments of the chain in order, while nobody moves it. */
  *segments(flow: number): Generator<number> {
    const row = this.#flows.row(flow)
    if (this.#i32[row + word.tail_even + (this.#i32[row + word.appended]! & 1)]! === 0) return
    let position = this.#head(row)
    while (position !== 0) {
      const segment = position & SEGMENT_MASK
      yield segment >> SEGMENT_SHIFT
      position = this.#i32[this.#start_i32 + (segment << 1) + NEXT]!
    }
  }

  /** Positions of the waiting items, in units of 8 bytes from `pool.start`, while nobody takes. */
  *positions(flow: number): Generator<number> {
    const row = this.#flows.row(flow)
    let position = this.#head(row)
    for (let left = this.#flows.queued(flow); left > 0; left--) {
      const segment = position & SEGMENT_MASK
      const head = this.#start_i32 + (segment << 1)
      if (this.#i32[head + END]! === position - segment) position = this.#i32[head + NEXT]!
      yield position
      position += unitsAt(this.#i32, this.#start_i32 + (position << 1))
    }
  }

  /** Under the publish word. By message, the versions of its first and its last item. */
  versions(flow: number): Map<number, { readonly first: number; last: number }> {
    const versions = new Map<number, { readonly first: number; last: number }>()
    for (const position of this.positions(flow)) {
      // The item of a rerun is older than the values that the flow has processed.
      if ((groupOf(this.#i32[this.#start_i32 + (position << 1) + item.what]!) & GROUP.again) !== 0) continue
      const message = this.#i32[this.#start_i32 + (position << 1) + item.message]!
      const version = this.#f64[this.#start_f64 + position + item.version]!
      const known = versions.get(message)
      if (known === undefined) versions.set(message, { first: version, last: version })
      else known.last = version
    }
    return versions
  }

  /** Under the publish word. True when `segment` is where the flow appends or will append next. */
  isLinked(flow: number, segment: number): boolean {
    for (let at = this.#tail(flow); at !== 0; at = this.#nextOf(at)) {
      if ((at & SEGMENT_MASK) >> SEGMENT_SHIFT === segment) return true
    }
    return false
  }

  /** Under the publish word: where the next item goes if it fits in there, 0: the queue has no segment. */
  #tail(flow: number): number {
    const row = this.#flows.row(flow)
    return this.#i32[row + word.tail_even + (this.#i32[row + word.appended]! & 1)]!
  }

  /** Of the segment that the position lies in. */
  #nextOf(position: number): number {
    return this.#i32[this.#start_i32 + ((position & SEGMENT_MASK) << 1) + NEXT]!
  }

  /** A guess for a flow that others use. */
  holdsSegments(flow: number): boolean {
    const row = this.#flows.row(flow)
    return this.#i32[row + word.tail_even + (atomics.acquire(this.#i32, row + word.appended) & 1)] !== 0
  }

  /** Where the next item of so many units goes, 0: no segment is free. */
  #room(flow: number, units: number): number {
    const row = this.#flows.row(flow)
    const tail = row + word.tail_even + (this.#i32[row + word.appended]! & 1)
    const position = this.#i32[tail]!
    if (position === 0) {
      const fresh = this.#fresh(flow)
      if (fresh < 0) return 0
      const first = (fresh << SEGMENT_SHIFT) + FIRST_UNIT
      this.#i32[row + word.first] = first
      atomics.release(this.#i32, tail, first)
      this.pool.settle(fresh, flow)
      return first
    }
    const segment = position & SEGMENT_MASK
    const head = this.#start_i32 + (segment << 1)
    if (position + units <= segment + FIRST_UNIT + SEGMENT_ITEM_UNITS) {
      // An earlier publisher reserved more room and did not use it: the segment is open again.
      if (this.#i32[head + END] !== 0) this.#i32[head + END] = 0
      return position
    }
    // One that is linked already is used first.
    const next = this.#i32[head + NEXT]! || this.#link(flow, segment)
    // The end is read only when an item lies beyond it.
    if (next !== 0) this.#i32[head + END] = position - segment
    return next
  }

  /** Another segment behind this one; answers the position of its first item, 0: none is free. */
  #link(flow: number, segment: number): number {
    const fresh = this.#fresh(flow)
    if (fresh < 0) return 0
    const first = (fresh << SEGMENT_SHIFT) + FIRST_UNIT
    atomics.release(this.#i32, this.#start_i32 + (segment << 1) + NEXT, first)
    this.pool.settle(fresh, flow)
    return first
  }

  /** Where the next take reads, before it checks whether the segment ends there. */
  #head(row: number): number {
    return this.#i32[row + word.head_even + (this.#i32[row + word.taken]! & 1)]! || this.#i32[row + word.first]!
  }

  #fresh(flow: number): number {
    const segment = this.pool.take(flow)
    if (segment < 0) return -1
    const head = this.#start_i32 + (segment << (SEGMENT_SHIFT + 1))
    this.#i32[head + NEXT] = 0
    this.#i32[head + END] = 0
    return segment
  }

  #write(position: number, message: number, value: EncodedValue, ref: number, group: number): void {
    const i32 = this.#i32
    const f64 = this.#f64
    const at = this.#start_i32 + (position << 1)
    const at_f64 = this.#start_f64 + position
    const said = this.#intent
    const said_f64 = said >> 1
    i32[at + item.message] = message
    i32[at + item.what] = packWhat(value.kind, group, this.#publisher, i32[said + intent.depth]!)
    i32[at + item.unit] = i32[said + intent.mark]! + 1
    f64[at_f64 + item.version] = f64[said_f64 + intent.version]!
    const ts = f64[said_f64 + intent.ts]!
    f64[at_f64 + item.ts] = ts
    i32[at + item.root_age_us] = Math.max(0, Math.min(ts - f64[said_f64 + intent.root_ts]!, OLDEST_ROOT_US))
    f64[at_f64 + item.parent_seq] = f64[said_f64 + intent.parent_seq]!
    f64[at_f64 + item.parent_ts] = f64[said_f64 + intent.parent_ts]!
    this.#i32[at + item.length] = value.length
    this.#i32[at + item.ref] = ref
    if (ref !== 0) return
    if (isNumeric(value.kind)) this.#f64[at_f64 + HEAD_UNITS] = value.number
    else if (value.length > 0)
      copyBytes(value.bytes, 0, this.#bytes, this.pool.start + ((position + HEAD_UNITS) << 3), value.length)
  }

  /** Returns the slab of the payload, 0: none. */
  #read(position: number, out: TakenItem): number {
    const at = this.#start_i32 + (position << 1)
    const at_f64 = this.#start_f64 + position
    const value = out.value
    const length = this.#i32[at + item.length]!
    const ref = this.#i32[at + item.ref]!
    const what = this.#i32[at + item.what]!
    out.message = this.#i32[at + item.message]!
    out.depth = depthOf(what)
    out.group = groupOf(what)
    out.version = this.#f64[at_f64 + item.version]!
    out.ts = this.#f64[at_f64 + item.ts]!
    out.root_ts = out.ts - this.#i32[at + item.root_age_us]!
    out.parent_seq = this.#f64[at_f64 + item.parent_seq]!
    out.parent_ts = this.#f64[at_f64 + item.parent_ts]!
    value.kind = kindOf(what)
    value.length = length
    if (isNumeric(value.kind)) {
      value.number = this.#f64[at_f64 + HEAD_UNITS]!
    } else if (length > 0) {
      if (value.bytes.length < length) value.bytes = Buffer.allocUnsafeSlow(length)
      const from = ref !== 0 ? this.#arena.offset(ref) : this.pool.start + ((position + HEAD_UNITS) << 3)
      copyBytes(this.#bytes, from, value.bytes, 0, length)
    }
    return ref
  }

  /** The queue is empty. Its segment stays in this thread's cache of such flows; the flow that it evicts is trimmed. */
  #keepWarm(flow: number): void {
    const place = flow & (this.#warm.length - 1)
    const before = this.#warm[place]!
    if (before === flow || !this.holdsSegments(flow)) return
    this.#warm[place] = flow
    if (before >= 0) this.cool(before)
  }
}
