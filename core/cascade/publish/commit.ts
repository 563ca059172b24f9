import * as atomics from '#atomics'
import { limits } from '../../../protocol/limits.ts'
import type { Arena } from '../../memory/arena.ts'
import { copyBytes } from '../../memory/copy.ts'
import type { EncodedValue } from '../../memory/encoded.ts'
import { JOURNAL_HEADER, type JournalWriter, journalOffset, VALUE_FLAG } from '../../memory/journal/journal.ts'
import type { MessageTable } from '../../memory/messages.ts'
import type { Memory } from '../../memory/region.ts'
import { slotOf } from '../../memory/threads.ts'
import { FLOW_ROW, type FlowTable } from '../flows.ts'
import type { IngressQueue } from '../queue/queue.ts'
import { DOING, INTENT_ROW, intentWord, RECORD_BIT } from './intent.ts'
import { REFUSED } from './refused.ts'
import type { Reservations } from './reservations.ts'
import type { Route } from './route.ts'

/** Threads share a clock, and corrections by less are silent; a larger step back means that the machine's clock was set. */
export const CLOCKS_DIFFER_US = limits.CLOCK_JUMP_MS * 1000
/** Flags of a publish's journal record. `queued`: the value enters the queue of its own flow. */
export const RECORD = { none: -1, inner: 0, ...VALUE_FLAG } as const

const { word } = FLOW_ROW
const intent = INTENT_ROW.word

interface CommitParts {
  memory: Memory
  owner: number
  arena: Arena
  journal: JournalWriter
  flows: FlowTable
  queue: IngressQueue
  messages: MessageTable
  reservations: Reservations
}

/** Writes one publish under the words of its flows: intent, slot, version, items, journal. See `Publisher` for the order and why. */
export class Commit {
  readonly #memory: Memory
  readonly #i32: Int32Array
  readonly #f64: Float64Array
  readonly #intent: number
  readonly #arena: Arena
  readonly #journal: JournalWriter
  readonly #journal_tail: number
  readonly #flows: FlowTable
  readonly #queue: IngressQueue
  readonly #messages: MessageTable
  readonly #reservations: Reservations

  constructor(parts: CommitParts) {
    const { memory, owner } = parts
    this.#memory = memory
    this.#i32 = memory.i32
    this.#f64 = memory.f64
    this.#intent = intentWord(memory, slotOf(owner))
    this.#arena = parts.arena
    this.#journal = parts.journal
    this.#journal_tail = (journalOffset(memory, slotOf(owner)) >> 2) + JOURNAL_HEADER.word.tail
    this.#flows = parts.flows
    this.#queue = parts.queue
    this.#messages = parts.messages
    this.#reservations = parts.reservations
  }

  /** The first half of an intent, in the row at once: a double that crosses a call would become an object. */
  say(ts: number, depth: number, parent_seq: number, parent_ts: number, root_ts = ts): void {
    const row_f64 = this.#intent >> 1
    this.#f64[row_f64 + intent.ts] = ts
    this.#f64[row_f64 + intent.root_ts] = root_ts
    this.#f64[row_f64 + intent.parent_seq] = parent_seq
    this.#f64[row_f64 + intent.parent_ts] = parent_ts
    this.#i32[this.#intent + intent.depth] = depth
  }

  /** Under the words of `route`, with room for everything, after `say`. Gives the value the version, or the next one for 0. */
  commit(route: Route, version: number, value: EncodedValue, ref: number, record: number): number {
    const { message, flow, foreign } = route
    const queued = record === RECORD.queued
    const i32 = this.#i32
    const row = this.#intent
    let ts = this.#f64[(row >> 1) + intent.ts]!
    const before = this.#messages.ts(message)
    if (ts < before && before - ts < CLOCKS_DIFFER_US) this.#f64[(row >> 1) + intent.ts] = ts = before
    if (version === 0) version = this.#messages.version(message) + 1
    i32[row + intent.flow] = flow
    i32[row + intent.ref] = ref
    i32[row + intent.mark] = i32[this.#journal_tail]!
    i32[row + intent.record] = record === RECORD.none ? RECORD_BIT.none : record
    const displaced = this.#messages.previousRef(message)
    i32[row + intent.displaced] = displaced
    if (displaced !== 0) i32[row + intent.displaced_generation] = this.#arena.generation(displaced)
    this.#f64[(row >> 1) + intent.version] = version
    if (ref !== 0) this.#shareSlab(route, value, ref, queued)
    atomics.release(i32, row + intent.doing, message + 1)
    this.#messages.write(message, version, ts, value, ref)
    this.#messages.flip(message, version)
    // From here on the publish is committed: recovery would finish it.
    const queue_ref = value.length > limits.QUEUE_INLINE_BYTES ? ref : 0
    let item = 0
    let group = 0
    if (queued) {
      // Of a queued value alone: publishers from outside write that line all the time, and what a lane publishes inside has no use for it.
      item = i32[this.#flows.row(flow) + word.appended]!
      group = i32[this.#flows.row(flow) + word.group]!
      this.#queue.put(flow, message, value, queue_ref)
    }
    for (let i = 0; i < foreign.length; i++) {
      if (this.#reservations.isReserved(foreign[i]!)) this.enqueue(foreign[i]!, message, version, value, queue_ref)
    }
    if (queued) this.#journal.queuedValue(message, version, ts, flow, item, value, ref, group)
    else if (
      record === RECORD.inner &&
      this.#f64[(row >> 1) + intent.parent_seq] !== 0 &&
      this.#messages.isTraced(message)
    )
      this.#journal.rootedValue(message, version, ts, this.#f64[(row >> 1) + intent.root_ts]!, value, ref)
    else if (record !== RECORD.none) this.#journal.value(message, version, ts, record, value, ref)
    if (displaced !== 0) this.release(displaced)
    else i32[row + intent.doing] = DOING.nothing
    return version
  }

  /** Of a value that has no record here, or is not the flow's own. The record first: recovery repeats it for an item that it appends, and only for those. */
  enqueue(flow: number, message: number, version: number, value: EncodedValue, ref: number): void {
    const row = this.#flows.row(flow)
    const depth = this.#i32[this.#intent + intent.depth]!
    const group = this.#i32[row + word.group]!
    const said = this.#intent >> 1
    const parent_seq = this.#f64[said + intent.parent_seq]!
    const parent_ts = this.#f64[said + intent.parent_ts]!
    const item = this.#i32[row + word.appended]!
    this.#journal.queued(flow, message, version, item, depth, group, parent_seq, parent_ts)
    this.#queue.put(flow, message, value, ref)
  }

  /** Releases the displaced slab: the rest of the publish is done. A plain store ends it, see `recover.ts`. */
  release(displaced: number): void {
    atomics.release(this.#i32, this.#intent + intent.doing, DOING.releasing)
    this.#arena.release(displaced)
    this.#i32[this.#intent + intent.doing] = DOING.nothing
  }

  /** One reference for the message slot and one for each item, added while no other thread knows the slab. The journal counts its own. */
  #shareSlab(route: Route, value: EncodedValue, ref: number, queued: boolean): void {
    if (value.length <= limits.QUEUE_INLINE_BYTES) return
    if (queued) this.#arena.retain(ref)
    for (let i = 0; i < route.foreign.length; i++)
      if (this.#reservations.isReserved(route.foreign[i]!)) this.#arena.retain(ref)
  }

  /** Slab with the payload, 0: it lies in the slot, `REFUSED.arena_full`: none, or the arena is over `share` of its cap. */
  slab(value: EncodedValue, share: number): number {
    if (value.length <= limits.SLOT_INLINE_BYTES) return 0
    if (share < 1 && this.#arena.used() + value.length > share * this.#memory.sizes.arena_bytes)
      return REFUSED.arena_full
    const ref = this.#arena.allocate(value.length)
    if (ref === 0) return REFUSED.arena_full
    copyBytes(value.bytes, 0, this.#memory.bytes, this.#arena.offset(ref), value.length)
    return ref
  }

  refuse(ref: number, code: number): number {
    if (ref !== 0) this.#arena.release(ref)
    return code
  }

  /** The item of `again`, after `say`: into one queue and nowhere else. `ref`: the slab that it lies in, 0: none. */
  item(flow: number, message: number, version: number, value: EncodedValue, ref: number): void {
    this.#f64[(this.#intent >> 1) + intent.version] = version
    if (ref !== 0) this.#arena.commit(ref)
    this.#i32[this.#intent + intent.mark] = this.#i32[this.#journal_tail]!
    this.enqueue(flow, message, version, value, ref)
  }
}
