import { limits } from '../../../protocol/limits.ts'
import type { EncodedValue } from '../../memory/encoded.ts'
import type { JournalWriter } from '../../memory/journal/journal.ts'
import type { FlowTable } from '../flows.ts'
import { itemBytes } from '../queue/item.ts'
import type { IngressQueue } from '../queue/queue.ts'
import type { ReadySet } from '../queue/ready.ts'
import { type Commit, RECORD } from './commit.ts'
import type { Emission } from './emission.ts'
import type { PublishRow } from './publish-row.ts'
import type { PublishWords } from './publish-words.ts'
import { emissionBytes, listBytes } from './record-bytes.ts'
import { REFUSED } from './refused.ts'
import type { Reservations } from './reservations.ts'
import type { Route } from './route.ts'
import { flowsOf, Together } from './together.ts'
import type { UntoldFlows } from './untold-flows.ts'

interface PublishManyParts {
  journal: JournalWriter
  flows: FlowTable
  queue: IngressQueue
  ready: ReadySet
  words: PublishWords
  reservations: Reservations
  commit: Commit
  row: PublishRow
  untold: UntoldFlows
}

/** Publishes several values while the publish words are held once. Room in each of their flows is reserved before the first value is committed. */
export class PublishMany {
  readonly #journal: JournalWriter
  readonly #flows: FlowTable
  readonly #queue: IngressQueue
  readonly #ready: ReadySet
  readonly #words: PublishWords
  readonly #reservations: Reservations
  readonly #commit: Commit
  readonly #row: PublishRow
  readonly #untold: UntoldFlows
  readonly #together = new Together()
  readonly #refs: number[] = []
  /** Flows that no value goes to, and that have been checked. */
  readonly #looked = new Set<number>()
  /** Place in its list of the value for which there was no room, when `list` was refused last. */
  refused_at = 0

  constructor(parts: PublishManyParts) {
    this.#journal = parts.journal
    this.#flows = parts.flows
    this.#queue = parts.queue
    this.#ready = parts.ready
    this.#words = parts.words
    this.#reservations = parts.reservations
    this.#commit = parts.commit
    this.#row = parts.row
    this.#untold = parts.untold
  }

  /**
   * By the front: all values of the list, one cascade each, or none. Everything that the values need is reserved before the
   * first one is committed. Fills in the versions and returns 0, or returns one of `REFUSED`. `values` may be longer.
   */
  list(routes: readonly Route[], values: readonly EncodedValue[], ts: number, versions: number[]): number {
    return this.#all(routes, flowsOf(routes), values, ts, versions, false, true)
  }

  /**
   * The same in one cascade of each flow: a node that reads several of the messages runs once. No message comes twice. `flows` is
   * `flowsOf(routes)`.
   */
  together(
    routes: readonly Route[],
    flows: readonly number[],
    values: readonly EncodedValue[],
    ts: number,
    versions: number[],
    ends_unit: boolean,
  ): number {
    if (this.#row.isRow(routes, flows, values)) {
      this.refused_at = 0
      if (!this.#journal.hasRoom(listBytes(routes.length, routes, values))) return REFUSED.journal_full
      if (!this.#words.lockAll(flows, limits.PUBLISH_PATIENCE_MS)) return REFUSED.held
      this.#together.begin(flows)
      this.#together.items[0] = routes.length
      if (this.#row.put(routes, values, ts, versions)) return this.#publishedAll(flows, ends_unit)
      this.#words.unlockAll(flows)
      // Which of the values is one too many is found below.
    }
    return this.#all(routes, flows, values, ts, versions, true, ends_unit)
  }

  #all(
    routes: readonly Route[],
    flows: readonly number[],
    values: readonly EncodedValue[],
    ts: number,
    versions: number[],
    grouped: boolean,
    ends_unit: boolean,
  ): number {
    const together = this.#together
    this.refused_at = 0
    if (!this.#journal.hasRoom(listBytes(routes.length, routes, values))) return REFUSED.journal_full
    for (let i = 0; i < routes.length; i++) {
      const ref = this.#commit.slab(values[i]!, limits.ARENA_INGRESS_SHARE)
      if (ref < 0) return this.#refuseList(i, i, ref)
      this.#refs[i] = ref
    }
    if (!this.#words.lockAll(flows, limits.PUBLISH_PATIENCE_MS)) return this.#refuseList(routes.length, 0, REFUSED.held)
    const refused = this.#planList(flows, routes, values)
    if (refused < 0) {
      this.#together.begin(flows)
      for (let place = 0; place < flows.length; place++) this.#queue.giveAhead(flows[place]!)
      this.#words.unlockAll(flows)
      return this.#refuseList(routes.length, this.refused_at, refused)
    }
    for (let place = 0; place < flows.length; place++) together.left[place] = together.items[place]!
    for (let i = 0; i < routes.length; i++) {
      const route = routes[i]!
      const value = values[i]!
      const queue_ref = value.length > limits.QUEUE_INLINE_BYTES ? this.#refs[i]! : 0
      if (route.queued)
        this.#reservations.reserve(route.flow, value, queue_ref, grouped ? together.next(route.flow) : 0)
      for (const flow of route.foreign)
        this.#reservations.reserve(flow, value, queue_ref, grouped ? together.next(flow) : 0)
      this.#commit.say(ts, 0, 0, 0)
      const record = route.queued ? RECORD.queued : RECORD.inner
      versions[i] = this.#commit.commit(route, 0, value, this.#refs[i]!, record)
    }
    // V8 makes a call of its runtime of this, also where nothing changes.
    if (versions.length !== routes.length) versions.length = routes.length
    return this.#publishedAll(flows, ends_unit)
  }

  #publishedAll(flows: readonly number[], ends_unit: boolean): number {
    if (!ends_unit) {
      this.#words.unlockAll(flows)
      for (let place = 0; place < flows.length; place++)
        if (this.#together.items[place]! > 0) this.#untold.add(flows[place]!)
      return 0
    }
    this.#journal.close()
    this.#words.unlockAll(flows)
    this.#tellAll(flows)
    this.#journal.tell()
    return 0
  }

  /**
   * By a lane, inside a cascade: what one emission publishes when another flow reads several of its messages. Its items are
   * adjacent there, so that flow takes all of them into one cascade. `flows`: of all its messages and their readers,
   * ascending. The rules of `Publisher.publishInner` apply; a flow that has no room for all of its items gets none of them.
   */
  emission(
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
    for (let i = 0; i < count; i++) versions[i] = this.#refs[i] = this.#commit.slab(values[i]!, 1)
    this.#words.lockAll(flows, Number.POSITIVE_INFINITY)
    together.begin(flows)
    for (let place = 0; place < flows.length; place++) {
      this.#reservations.forget(flows[place]!)
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
        if (together.items[together.place(flow)] === 0) continue
        this.#reservations.reserve(flow, value, queue_ref, together.next(flow))
      }
      this.#commit.say(ts, depth + 1, parent_seq, parent_ts, root_ts)
      versions[i] = this.#commit.commit(routes[i]!, 0, value, ref, RECORD.inner)
    }
    this.#words.unlockAll(flows)
    for (let place = 0; place < flows.length; place++) {
      if (together.items[place]! > 0) this.#untold.add(flows[place]!)
    }
  }

  /** Of the first `slabs` values. */
  #refuseList(slabs: number, at: number, code: number): number {
    for (let i = 0; i < slabs; i++) this.#commit.refuse(this.#refs[i]!, code)
    this.refused_at = at
    return code
  }

  /**
   * Under the words of `flows`: bounds and room for every value as if the earlier ones were queued already. A flow that no
   * value goes to is checked once.
   */
  #planList(flows: readonly number[], routes: readonly Route[], values: readonly EncodedValue[]): number {
    const together = this.#together
    const looked = this.#looked
    if (looked.size > 0) looked.clear()
    const { items, bytes } = this.#reservations.bounds
    together.begin(flows)
    for (let place = 0; place < flows.length; place++) this.#reservations.forget(flows[place]!)
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
    const over = this.#reservations.isOver(flow, this.#reservations.bounds.hard_factor)
    let room = !over
    for (let i = 0; room && i < count; i++) {
      if (this.#refs[i]! < 0 || !routes[i]!.foreign.includes(flow)) continue
      room = this.#plan(place, flow, values[i]!, this.#refs[i]!)
    }
    if (room) return true
    for (let i = 0; i < count; i++) {
      if (this.#refs[i]! < 0 || !routes[i]!.foreign.includes(flow)) continue
      this.#reservations.drop(flow, routes[i]!.message)
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

  #tellAll(flows: readonly number[]): void {
    for (let place = 0; place < flows.length; place++) {
      if (this.#together.items[place]! > 0) this.#ready.markReady(flows[place]!)
    }
  }
}
