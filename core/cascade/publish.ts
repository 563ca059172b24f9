import * as atomics from '#atomics'
import { limits } from '../../protocol/limits.ts'
import type { Arena } from '../memory/arena.ts'
import { copyBytes } from '../memory/copy.ts'
import type { EncodedValue } from '../memory/encoded.ts'
import {
  ITEM_RECORD_BYTES,
  JOURNAL_HEADER,
  JOURNAL_RECORD,
  type JournalWriter,
  journalOffset,
  travelsByRef,
  VALUE_FLAG,
} from '../memory/journal/journal.ts'
import type { MessageTable } from '../memory/messages.ts'
import type { Memory } from '../memory/region.ts'
import { slotOf } from '../memory/threads.ts'
import { type Bounds, flowBounds } from './bounds.ts'
import { FLOW_ROW, type FlowTable } from './flows.ts'
import { DOING, INTENT_ROW, intentWord, RECORD_BIT } from './intent.ts'
import { GROUP, type IngressQueue, itemBytes } from './queue.ts'
import type { ReadySet } from './ready.ts'
import type { Route } from './route.ts'
import { flowsOf, Together } from './together.ts'

export type { Route } from './route.ts'

/** Why a publish was refused: nothing changed and no version was used. */
export const REFUSED = {
  /** A flow downstream stands at its bound. */
  backlogged: -1,
  /** No slab for the value. */
  arena_full: -2,
  /** No segment for the item. */
  queue_full: -3,
  /** The store is behind. */
  journal_full: -4,
  /** A publisher holds one of the flows for longer than the patience: it died and is not recovered yet. */
  held: -5,
} as const

/** The front lets go after so long, so that it hears of the death of the thread that it waits for. */
const PATIENCE_MS = 100
/** The clocks of two threads differ by less; a step back by more is the machine's clock that was set. */
const CLOCKS_DIFFER_US = 100_000
/** New values may fill this share of the arena; the rest is for cascades that run. */
const INGRESS_SHARE = 7 / 8
/** Flags of a publish's journal record. */
const RECORD = { none: -1, inner: 0, ...VALUE_FLAG } as const
const NO_FLOWS: readonly number[] = []

const { word } = FLOW_ROW
const intent = INTENT_ROW.word

/** What one emission publishes when other flows read several of its messages. `count` of each; `versions` are the answer. */
export interface Emission {
  count: number
  readonly routes: Route[]
  readonly values: EncodedValue[]
  /** Or `REFUSED.arena_full`: that value was not published. */
  readonly versions: number[]
}

export interface PublisherParts {
  memory: Memory
  owner: number
  arena: Arena
  journal: JournalWriter
  flows: FlowTable
  queue: IngressQueue
  ready: ReadySet
  messages: MessageTable
  /** An inner publish found a reading flow at its hard cap, or no segment for it. Called under the publish word: count, do not throw. */
  dropped?: (flow: number, message: number) => void
  /** Children of inner publishes are dropped at the hard bound. */
  bounds?: Bounds
}

/**
 * The one station that every publisher passes. Under the publish words of the flow and of the flows that read the message:
 * write the intent, fill the other slot, flip the version, append the items, journal. The flip commits: a thread that dies
 * before it has published nothing, and what one that dies after it left undone is finished from its intent (`recover.ts`).
 * So the table has a version before any queue has it, and version order is queue order in every flow. Versions and times of a
 * message go the same way, whichever threads publish it: the history, which is read by time, has them in order.
 */
export class Publisher {
  readonly #memory: Memory
  readonly #i32: Int32Array
  readonly #f64: Float64Array
  readonly #owner: number
  readonly #intent: number
  readonly #arena: Arena
  readonly #journal: JournalWriter
  readonly #journal_tail: number
  readonly #flows: FlowTable
  readonly #queue: IngressQueue
  readonly #ready: ReadySet
  readonly #messages: MessageTable
  readonly #dropped: (flow: number, message: number) => void
  readonly #bounds: Bounds
  readonly #together = new Together()
  readonly #refs: number[] = []
  /** Flows that got an item from this thread since its last mark, and which they are: nobody takes it before. */
  readonly #untold: number[] = []
  readonly #is_untold: Uint8Array
  /** Place in its list of the value for which there was no room, when `publishList` was refused last. */
  refused_at = 0

  constructor(parts: PublisherParts) {
    this.#memory = parts.memory
    this.#i32 = parts.memory.i32
    this.#f64 = parts.memory.f64
    this.#owner = parts.owner
    this.#intent = intentWord(parts.memory, slotOf(parts.owner))
    this.#arena = parts.arena
    this.#journal = parts.journal
    this.#journal_tail = (journalOffset(parts.memory, slotOf(parts.owner)) >> 2) + JOURNAL_HEADER.word.tail
    this.#flows = parts.flows
    this.#queue = parts.queue
    this.#ready = parts.ready
    this.#messages = parts.messages
    this.#dropped = parts.dropped ?? (() => {})
    this.#bounds = parts.bounds ?? flowBounds
    this.#is_untold = new Uint8Array(parts.flows.size)
  }

  /**
   * By the front and the timer: the value starts a cascade. Returns the version, or one of `REFUSED`. `ends_unit`: marks; what this
   * thread wrote before belongs to the same unit. A lane says false, and ends its unit itself.
   */
  publish(route: Route, value: EncodedValue, ts: number, ends_unit = true): number {
    if (!this.#journal.hasRoom(journalBytes(value) + itemRecordBytes(route))) return REFUSED.journal_full
    // A look before a long value is copied; the one that counts is below.
    if (value.length > limits.SLOT_INLINE_BYTES && this.#backlogged(route)) return REFUSED.backlogged
    const ref = this.#slab(value, INGRESS_SHARE)
    if (ref < 0) return ref
    if (!this.#lock(route, PATIENCE_MS)) return this.#refuse(ref, REFUSED.held)
    // Nobody else can append here now: the flow's own bound is exact, those further down are soft.
    const refused = this.#backlogged(route) ? REFUSED.backlogged : this.#reserveAll(route, value, ref)
    if (refused < 0) {
      this.#unlock(route)
      return this.#refuse(ref, refused)
    }
    this.#say(ts, 0, 0, 0)
    const version = this.#commit(route, 0, value, ref, route.queued, route.queued ? RECORD.queued : RECORD.inner)
    if (ends_unit) {
      this.#journal.mark()
      this.#unlockAndTell(route, route.queued)
    } else {
      this.#unlock(route)
      if (route.queued) this.#tellLater(route.flow)
      for (let i = 0; i < route.foreign.length; i++) this.#tellLater(route.foreign[i]!)
    }
    return version
  }

  /**
   * By a lane, inside a cascade: the table, the journal, and children one level deeper in the flows that read the message.
   * Readers in the flow itself are the lane's own work. Never refused for back pressure; a child that finds its flow at the
   * hard cap is dropped and counted. The lane has made sure of room in the journal (`JournalWriter.waitForRoom`). Other
   * threads take the children when the lane has marked, and hear of them from `tell`.
   * Returns the version, or `REFUSED.arena_full`: the value is large and no slab is left.
   */
  publishInner(
    route: Route,
    value: EncodedValue,
    ts: number,
    depth: number,
    parent_seq: number,
    parent_ts: number,
    root_ts = ts,
  ): number {
    if (!this.#journal.hasRoom(journalBytes(value) + itemRecordBytes(route)))
      throw new RangeError('a lane publishes without room in its journal')
    if (route.foreign.length === 0 && value.length <= limits.SLOT_INLINE_BYTES)
      return this.#publishSmall(route, value, ts)
    const ref = this.#slab(value, 1)
    if (ref < 0) return ref
    const children = route.foreign.length > 0
    this.#lock(route, Number.POSITIVE_INFINITY)
    if (children) this.#reserveOrDrop(route, value, ref)
    this.#say(ts, depth + 1, parent_seq, parent_ts, root_ts)
    const version = this.#commit(route, 0, value, ref, false, RECORD.inner)
    this.#unlock(route)
    for (let i = 0; i < route.foreign.length; i++) this.#tellLater(route.foreign[i]!)
    return version
  }

  /**
   * By the front: all of the list, one cascade each, or nothing of it. Everything that one of its values needs is had before
   * the first one is committed. Fills in the versions and returns 0, or returns one of `REFUSED`. `values` may be longer.
   */
  publishList(routes: readonly Route[], values: readonly EncodedValue[], ts: number, versions: number[]): number {
    let bytes = 0
    for (let i = 0; i < routes.length; i++) bytes += ((journalBytes(values[i]!) + 7) & ~7) + itemRecordBytes(routes[i]!)
    this.refused_at = 0
    if (!this.#journal.hasRoom(bytes)) return REFUSED.journal_full
    for (let i = 0; i < routes.length; i++) {
      const ref = this.#slab(values[i]!, INGRESS_SHARE)
      if (ref < 0) return this.#refuseList(i, i, ref)
      this.#refs[i] = ref
    }
    const flows = flowsOf(routes)
    if (!this.#lockAll(flows, PATIENCE_MS)) return this.#refuseList(routes.length, 0, REFUSED.held)
    const refused = this.#planList(flows, routes, values)
    if (refused < 0) {
      this.#together.begin(flows)
      for (let place = 0; place < flows.length; place++) this.#queue.giveAhead(flows[place]!)
      this.#unlockAll(flows)
      return this.#refuseList(routes.length, this.refused_at, refused)
    }
    for (let i = 0; i < routes.length; i++) {
      const route = routes[i]!
      const value = values[i]!
      const queue_ref = value.length > limits.QUEUE_INLINE_BYTES ? this.#refs[i]! : 0
      if (route.queued) this.#reserve(route.flow, value, queue_ref, 0)
      for (const flow of route.foreign) this.#reserve(flow, value, queue_ref, 0)
      this.#say(ts, 0, 0, 0)
      const record = route.queued ? RECORD.queued : RECORD.inner
      versions[i] = this.#commit(route, 0, value, this.#refs[i]!, route.queued, record)
    }
    versions.length = routes.length
    this.#journal.mark()
    this.#unlockAll(flows)
    this.#tellAll(flows)
    return 0
  }

  /**
   * By a lane, inside a cascade: what one emission publishes when another flow reads several of its messages. Its items lie
   * side by side there, so that flow takes all of them into one cascade. `flows`: of all its messages and their readers,
   * ascending. What holds for `publishInner` holds here; a flow that has no room for all of its items gets none of them.
   */
  publishEmission(
    emission: Emission,
    flows: readonly number[],
    ts: number,
    depth: number,
    parent_seq: number,
    parent_ts: number,
    root_ts = ts,
  ): void {
    const { count, routes, values, versions } = emission
    const together = this.#together
    if (!this.#journal.hasRoom(emissionBytes(emission)))
      throw new RangeError('a lane publishes without room in its journal')
    for (let i = 0; i < count; i++) versions[i] = this.#refs[i] = this.#slab(values[i]!, 1)
    this.#lockAll(flows, Number.POSITIVE_INFINITY)
    together.begin(flows)
    for (let place = 0; place < flows.length; place++) {
      this.#forgetReserved(flows[place]!)
      if (!this.#planGroup(emission, place)) {
        together.items[place] = 0
        this.#queue.giveAhead(flows[place]!)
      }
      together.left[place] = together.items[place]!
    }
    for (let i = 0; i < count; i++) {
      const ref = this.#refs[i]!
      if (ref < 0) continue
      const value = values[i]!
      const queue_ref = value.length > limits.QUEUE_INLINE_BYTES ? ref : 0
      for (const flow of routes[i]!.foreign) {
        const place = together.place(flow)
        const items = together.items[place]!
        if (items === 0) continue
        const left = --together.left[place]!
        this.#reserve(flow, value, queue_ref, (left < items - 1 ? GROUP.joins : 0) | (left > 0 ? GROUP.goes_on : 0))
      }
      this.#say(ts, depth + 1, parent_seq, parent_ts, root_ts)
      versions[i] = this.#commit(routes[i]!, 0, value, ref, false, RECORD.inner)
    }
    this.#unlockAll(flows)
    for (let place = 0; place < flows.length; place++) {
      if (together.items[place]! > 0) this.#tellLater(flows[place]!)
    }
  }

  /**
   * By the front: starts a cascade in one flow with a value that its message had at an earlier version. Nobody else gets it, and the
   * message keeps its newest value. Returns 0, or one of `REFUSED`.
   */
  again(
    { flow, message, version }: { flow: number; message: number; version: number },
    value: EncodedValue,
    ts: number,
    parent_seq: number,
    parent_ts: number,
  ): number {
    if (!this.#journal.hasRoom(ITEM_RECORD_BYTES)) return REFUSED.journal_full
    const by_slab = value.length > limits.QUEUE_INLINE_BYTES
    const ref = by_slab ? this.#slab(value, INGRESS_SHARE) : 0
    if (ref < 0) return ref
    if (!this.#flows.lockPublish(flow, this.#owner, PATIENCE_MS)) return this.#refuse(ref, REFUSED.held)
    let refused = 0
    if (this.#isOver(flow, 1)) refused = REFUSED.backlogged
    else if (!this.#reserve(flow, value, ref, GROUP.again)) refused = REFUSED.queue_full
    if (refused < 0) {
      this.#flows.unlockPublish(flow, this.#owner)
      return this.#refuse(ref, refused)
    }
    this.#say(ts, 0, parent_seq, parent_ts)
    this.#f64[(this.#intent >> 1) + intent.version] = version
    if (by_slab) this.#arena.commit(ref)
    this.#i32[this.#intent + intent.mark] = this.#i32[this.#journal_tail]!
    this.#enqueue(flow, message, version, value, ref)
    this.#journal.mark()
    this.#flows.unlockPublishWithBarrier(flow, this.#owner)
    this.#ready.markReady(flow)
    return 0
  }

  /**
   * A value that wakes nobody: a flow input's default, or, with its `version`, a value that the store brought back. The
   * store has the latter, so only the former is journalled. Returns the version, or one of `REFUSED`.
   */
  seed(route: Route, value: EncodedValue, ts: number, version = 0): number {
    const restored = version !== 0
    if (!restored && !this.#journal.hasRoom(journalBytes(value))) return REFUSED.journal_full
    const ref = this.#slab(value, 1)
    if (ref < 0) return ref
    const silent = { message: route.message, flow: route.flow, queued: false, foreign: NO_FLOWS, downstream: NO_FLOWS }
    if (!this.#lock(silent, PATIENCE_MS)) return this.#refuse(ref, REFUSED.held)
    this.#say(ts, 0, 0, 0)
    const given = this.#commit(silent, version, value, ref, false, restored ? RECORD.none : RECORD.seeded)
    this.#unlock(silent)
    return given
  }

  /**
   * `publishInner` of a short value that nobody else reads, the case that a lane has most: the steps of `#commit` without
   * appends, in one function that V8 inlines whole, so that no double on its way becomes an object.
   */
  #publishSmall(route: Route, value: EncodedValue, ts: number): number {
    const { message, flow } = route
    const i32 = this.#i32
    const row = this.#intent
    const row_f64 = row >> 1
    this.#flows.lockPublish(flow, this.#owner, Number.POSITIVE_INFINITY)
    const version = this.#messages.version(message) + 1
    const displaced = this.#messages.previousRef(message)
    const before = this.#messages.ts(message)
    if (ts < before && before - ts < CLOCKS_DIFFER_US) ts = before
    i32[row + intent.flow] = flow
    i32[row + intent.ref] = 0
    i32[row + intent.mark] = i32[this.#journal_tail]!
    i32[row + intent.record] = RECORD.inner
    i32[row + intent.displaced] = displaced
    if (displaced !== 0) i32[row + intent.displaced_generation] = this.#arena.generation(displaced)
    this.#f64[row_f64 + intent.version] = version
    atomics.release(i32, row + intent.doing, message + 1)
    this.#messages.write(message, version, ts, value, 0)
    this.#messages.flip(message, version)
    this.#journal.value(message, version, ts, RECORD.inner, value, 0)
    if (displaced !== 0) this.#release(displaced)
    else i32[row + intent.doing] = DOING.nothing
    this.#flows.unlockPublish(flow, this.#owner)
    return version
  }

  /** What the value pushed out of the table: the rest of the publish is done. A plain store ends it, see `recover.ts`. */
  #release(displaced: number): void {
    atomics.release(this.#i32, this.#intent + intent.doing, DOING.releasing)
    this.#arena.release(displaced)
    this.#i32[this.#intent + intent.doing] = DOING.nothing
  }

  /** The first half of an intent, in the row at once: a double that crosses a call would become an object. */
  #say(ts: number, depth: number, parent_seq: number, parent_ts: number, root_ts = ts): void {
    const row_f64 = this.#intent >> 1
    this.#f64[row_f64 + intent.ts] = ts
    this.#f64[row_f64 + intent.root_ts] = root_ts
    this.#f64[row_f64 + intent.parent_seq] = parent_seq
    this.#f64[row_f64 + intent.parent_ts] = parent_ts
    this.#i32[this.#intent + intent.depth] = depth
  }

  /** Under the words of `route`, with room for everything, after `#say`. Gives the value the version, or the next one for 0. */
  #commit(route: Route, version: number, value: EncodedValue, ref: number, queued: boolean, record: number): number {
    const { message, flow, foreign } = route
    const i32 = this.#i32
    const row = this.#intent
    let ts = this.#f64[(row >> 1) + intent.ts]!
    const before = this.#messages.ts(message)
    if (ts < before && before - ts < CLOCKS_DIFFER_US) this.#f64[(row >> 1) + intent.ts] = ts = before
    if (version === 0) version = this.#messages.version(message) + 1
    i32[row + intent.flow] = flow
    i32[row + intent.ref] = ref
    i32[row + intent.mark] = i32[this.#journal_tail]!
    i32[row + intent.record] = (record === RECORD.none ? RECORD_BIT.none : record) | (queued ? RECORD_BIT.queued : 0)
    const displaced = this.#messages.previousRef(message)
    i32[row + intent.displaced] = displaced
    if (displaced !== 0) i32[row + intent.displaced_generation] = this.#arena.generation(displaced)
    this.#f64[(row >> 1) + intent.version] = version
    if (ref !== 0) this.#shareSlab(route, value, ref, queued)
    atomics.release(i32, row + intent.doing, message + 1)
    this.#messages.write(message, version, ts, value, ref)
    this.#messages.flip(message, version)
    // From here on the publish stands: recovery would finish it.
    const queue_ref = value.length > limits.QUEUE_INLINE_BYTES ? ref : 0
    if (queued) this.#enqueue(flow, message, version, value, queue_ref)
    for (let i = 0; i < foreign.length; i++) {
      if (this.#isReserved(foreign[i]!)) this.#enqueue(foreign[i]!, message, version, value, queue_ref)
    }
    if (record !== RECORD.none) this.#journal.value(message, version, ts, record, value, ref)
    if (displaced !== 0) this.#release(displaced)
    else i32[row + intent.doing] = DOING.nothing
    return version
  }

  /** The record first: recovery repeats it for an item that it appends, and only for those. */
  #enqueue(flow: number, message: number, version: number, value: EncodedValue, ref: number): void {
    const row = this.#flows.row(flow)
    const depth = this.#i32[this.#intent + intent.depth]!
    const group = this.#i32[row + word.group]!
    this.#journal.queued(flow, message, version, this.#i32[row + word.appended]!, depth, group)
    this.#queue.put(flow, message, value, ref)
  }

  /** By a lane, after its mark: what it published for other flows can be taken. The mark is a full barrier before this. */
  tell(): void {
    const untold = this.#untold
    for (let i = 0; i < untold.length; i++) {
      this.#is_untold[untold[i]!] = 0
      this.#ready.markReady(untold[i]!)
    }
    untold.length = 0
  }

  #tellLater(flow: number): void {
    if (this.#is_untold[flow] !== 0) return
    this.#is_untold[flow] = 1
    this.#untold.push(flow)
  }

  /** One reference for the message slot and one for each item, counted while nobody else knows the slab. The journal counts its own. */
  #shareSlab(route: Route, value: EncodedValue, ref: number, queued: boolean): void {
    if (value.length <= limits.QUEUE_INLINE_BYTES) return
    if (queued) this.#arena.retain(ref)
    for (let i = 0; i < route.foreign.length; i++) if (this.#isReserved(route.foreign[i]!)) this.#arena.retain(ref)
  }

  /** Slab with the payload, 0: it lies in the slot, `REFUSED.arena_full`: none, or the arena is over `share` of its cap. */
  #slab(value: EncodedValue, share: number): number {
    if (value.length <= limits.SLOT_INLINE_BYTES) return 0
    if (share < 1 && this.#arena.used() + value.length > share * this.#memory.sizes.arena_bytes)
      return REFUSED.arena_full
    const ref = this.#arena.allocate(value.length)
    if (ref === 0) return REFUSED.arena_full
    copyBytes(value.bytes, 0, this.#memory.bytes, this.#arena.offset(ref), value.length)
    return ref
  }

  #refuse(ref: number, code: number): number {
    if (ref !== 0) this.#arena.release(ref)
    return code
  }

  #backlogged(route: Route): boolean {
    const { downstream } = route
    for (let i = 0; i < downstream.length; i++) if (this.#isOver(downstream[i]!, 1)) return true
    return false
  }

  #isOver(flow: number, factor: number): boolean {
    return this.#flows.isOver(flow, factor * this.#bounds.items, factor * this.#bounds.bytes)
  }

  /** Of the first `slabs` values. */
  #refuseList(slabs: number, at: number, code: number): number {
    for (let i = 0; i < slabs; i++) this.#refuse(this.#refs[i]!, code)
    this.refused_at = at
    return code
  }

  /**
   * Under the words of `flows`: bounds and room for every value as if those before it stood already. A flow that no value
   * goes to is looked at once.
   */
  #planList(flows: readonly number[], routes: readonly Route[], values: readonly EncodedValue[]): number {
    const together = this.#together
    const looked = new Set<number>()
    const { items, bytes } = this.#bounds
    together.begin(flows)
    for (let place = 0; place < flows.length; place++) this.#forgetReserved(flows[place]!)
    for (let i = 0; i < routes.length; i++) {
      const { flow, queued, foreign, downstream } = routes[i]!
      this.refused_at = i
      for (const reached of downstream) {
        const place = together.place(reached)
        if (place < 0 && looked.has(reached)) continue
        if (place < 0) looked.add(reached)
        const planned_items = place < 0 ? 0 : together.items[place]!
        const planned_bytes = place < 0 ? 0 : together.bytes[place]!
        if (this.#flows.isOver(reached, items - planned_items, bytes - planned_bytes)) return REFUSED.backlogged
      }
      const ref = this.#refs[i]!
      if (queued && !this.#plan(together.place(flow), flow, values[i]!, ref)) return REFUSED.queue_full
      for (const other of foreign) {
        if (!this.#plan(together.place(other), other, values[i]!, ref)) return REFUSED.queue_full
      }
    }
    return 0
  }

  /** Room in one flow for what it reads of the emission, or all of that is dropped and counted. */
  #planGroup({ count, routes, values }: Emission, place: number): boolean {
    const flow = this.#together.flows[place]!
    const over = this.#isOver(flow, this.#bounds.hard_factor)
    let room = !over
    for (let i = 0; room && i < count; i++) {
      if (this.#refs[i]! < 0 || !routes[i]!.foreign.includes(flow)) continue
      room = this.#plan(place, flow, values[i]!, this.#refs[i]!)
    }
    if (room) return true
    for (let i = 0; i < count; i++) {
      if (this.#refs[i]! < 0 || !routes[i]!.foreign.includes(flow)) continue
      this.#flows.countDropped(flow)
      this.#dropped(flow, routes[i]!.message)
    }
    return false
  }

  #plan(place: number, flow: number, value: EncodedValue, ref: number): boolean {
    const together = this.#together
    const queue_ref = value.length > limits.QUEUE_INLINE_BYTES ? ref : 0
    const position = this.#queue.plan(flow, together.position[place]!, value, queue_ref)
    if (position === 0) return false
    together.add(place, position, itemBytes(value, queue_ref))
    return true
  }

  /** Room in every queue that the value goes to, or a refusal. */
  #reserveAll(route: Route, value: EncodedValue, ref: number): number {
    const queue_ref = value.length > limits.QUEUE_INLINE_BYTES ? ref : 0
    if (route.queued && !this.#reserve(route.flow, value, queue_ref, 0)) return REFUSED.queue_full
    for (let i = 0; i < route.foreign.length; i++) {
      if (!this.#reserve(route.foreign[i]!, value, queue_ref, 0)) return REFUSED.queue_full
    }
    return 0
  }

  #reserveOrDrop(route: Route, value: EncodedValue, ref: number): void {
    const queue_ref = value.length > limits.QUEUE_INLINE_BYTES ? ref : 0
    for (let i = 0; i < route.foreign.length; i++) {
      const flow = route.foreign[i]!
      if (!this.#isOver(flow, this.#bounds.hard_factor) && this.#reserve(flow, value, queue_ref, 0)) continue
      this.#forgetReserved(flow)
      this.#flows.countDropped(flow)
      this.#dropped(flow, route.message)
    }
  }

  #reserve(flow: number, value: EncodedValue, ref: number, group: number): boolean {
    const room = this.#queue.room(flow, value, ref)
    if (room === 0) return false
    const row = this.#flows.row(flow)
    this.#i32[row + word.before] = this.#i32[row + word.appended]!
    this.#i32[row + word.room] = room
    this.#i32[row + word.group] = group
    return true
  }

  /** Nothing of the publish at hand goes there, or not yet: a refused one may have left its reservation. */
  #forgetReserved(flow: number): void {
    const row = this.#flows.row(flow)
    this.#i32[row + word.before] = this.#i32[row + word.appended]! - 1
  }

  /** True until the item of the publish at hand is appended; never for a child that is dropped. */
  #isReserved(flow: number): boolean {
    const row = this.#flows.row(flow)
    return this.#i32[row + word.before] === this.#i32[row + word.appended]
  }

  /** In ascending order of flows, so that no two publishers wait for each other. */
  #lock(route: Route, patience_ms: number): boolean {
    const { flow, foreign } = route
    if (foreign.length === 0) return this.#flows.lockPublish(flow, this.#owner, patience_ms)
    let place = 0
    while (place < foreign.length && foreign[place]! < flow) place++
    for (let i = 0; i <= foreign.length; i++) {
      const next = i < place ? foreign[i]! : i === place ? flow : foreign[i - 1]!
      if (this.#flows.lockPublish(next, this.#owner, patience_ms)) continue
      for (let held = 0; held < i; held++) {
        this.#flows.unlockPublish(
          held < place ? foreign[held]! : held === place ? flow : foreign[held - 1]!,
          this.#owner,
        )
      }
      return false
    }
    return true
  }

  /** `flows` ascending. Each word that is not to be had at once halves what is left of the patience. */
  #lockAll(flows: readonly number[], patience_ms: number): boolean {
    for (let place = 0; place < flows.length; place++) {
      if (this.#flows.tryLockPublish(flows[place]!, this.#owner)) continue
      patience_ms /= 2
      if (this.#flows.lockPublish(flows[place]!, this.#owner, patience_ms)) continue
      for (let held = 0; held < place; held++) this.#flows.unlockPublish(flows[held]!, this.#owner)
      return false
    }
    return true
  }

  /** As `#unlockAndTell`; who is told is for the caller to say. */
  #unlockAll(flows: readonly number[]): void {
    const last = flows.length - 1
    for (let place = 0; place < last; place++) this.#flows.unlockPublish(flows[place]!, this.#owner)
    this.#flows.unlockPublishWithBarrier(flows[last]!, this.#owner)
  }

  #tellAll(flows: readonly number[]): void {
    for (let place = 0; place < flows.length; place++) {
      if (this.#together.items[place]! > 0) this.#ready.markReady(flows[place]!)
    }
  }

  #unlock(route: Route): void {
    for (let i = 0; i < route.foreign.length; i++) this.#flows.unlockPublish(route.foreign[i]!, this.#owner)
    this.#flows.unlockPublish(route.flow, this.#owner)
  }

  /** The last unlock is a full barrier: it puts the appends before the looks at who owns, what is marked and who sleeps. */
  #unlockAndTell(route: Route, queued: boolean): void {
    for (let i = 0; i < route.foreign.length; i++) this.#flows.unlockPublish(route.foreign[i]!, this.#owner)
    this.#flows.unlockPublishWithBarrier(route.flow, this.#owner)
    if (queued) this.#ready.markReady(route.flow)
    for (let i = 0; i < route.foreign.length; i++) this.#ready.markReady(route.foreign[i]!)
  }
}

/** Bytes that the records of an emission take in the journal together: what the lane makes sure of before it publishes. */
export function emissionBytes({ count, routes, values }: Emission): number {
  let bytes = 0
  for (let i = 0; i < count; i++) bytes += ((journalBytes(values[i]!) + 7) & ~7) + itemRecordBytes(routes[i]!)
  return bytes
}

/** Bytes of a value's record in the journal, never too few. */
const journalBytes = (value: EncodedValue): number =>
  JOURNAL_RECORD.size + 8 + (travelsByRef(value.length) ? 0 : value.length)

/** Bytes of the records that say which queues the value enters, when it enters all. */
export const itemRecordBytes = ({ foreign }: Route): number => (1 + foreign.length) * ITEM_RECORD_BYTES
