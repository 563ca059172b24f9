import * as atomics from '#atomics'
import { limits } from '../../../protocol/limits.ts'
import type { Arena } from '../../memory/arena.ts'
import type { EncodedValue } from '../../memory/encoded.ts'
import { ITEM_RECORD_BYTES, JOURNAL_HEADER, type JournalWriter, journalOffset } from '../../memory/journal/journal.ts'
import type { MessageTable } from '../../memory/messages.ts'
import { slotOf } from '../../memory/threads.ts'
import type { FlowTable } from '../flows.ts'
import { GROUP } from '../queue/item.ts'
import type { ReadySet } from '../queue/ready.ts'
import { CLOCKS_DIFFER_US, Commit, RECORD } from './commit.ts'
import type { Emission } from './emission.ts'
import { DOING, INTENT_ROW, intentWord } from './intent.ts'
import { PublishMany } from './publish-many.ts'
import { PublishRow } from './publish-row.ts'
import { PublishWords } from './publish-words.ts'
import { itemRecordBytes, journalBytes } from './record-bytes.ts'
import { REFUSED } from './refused.ts'
import { Reservations, type ReservationsParts } from './reservations.ts'
import type { Route } from './route.ts'
import { UntoldFlows } from './untold-flows.ts'

const NO_FLOWS: readonly number[] = []
const intent = INTENT_ROW.word

export interface PublisherParts extends ReservationsParts {
  owner: number
  arena: Arena
  journal: JournalWriter
  ready: ReadySet
  messages: MessageTable
}

/**
 * Every publish goes through this class. Under the publish words of the flow and of the flows that read the message:
 * write the intent, fill the other slot, flip the version, append the items, journal. The flip commits: a thread that dies
 * before it has published nothing; when a thread dies after it, recovery finishes the publish from its intent (`recover.ts`).
 * So the table has a version before any queue has it, and version order is queue order in every flow. Versions and times of a
 * message have the same order, whichever threads publish it: the history, which is read by time, has them in order.
 *
 * Its parts: `PublishWords` (locks), `Reservations` (room in the queues), `Commit` (writes), `PublishMany` (several values under
 * one taking of the words) with `PublishRow` (short ones of one flow), `UntoldFlows` (who is told after the mark).
 */
export class Publisher {
  readonly #i32: Int32Array
  readonly #f64: Float64Array
  readonly #owner: number
  readonly #intent: number
  readonly #arena: Arena
  readonly #journal: JournalWriter
  readonly #journal_tail: number
  readonly #flows: FlowTable
  readonly #ready: ReadySet
  readonly #messages: MessageTable
  readonly #words: PublishWords
  readonly #reservations: Reservations
  readonly #commit: Commit
  readonly #many: PublishMany
  readonly #untold: UntoldFlows

  constructor(parts: PublisherParts) {
    const { memory, owner, journal, flows, queue, ready } = parts
    this.#i32 = memory.i32
    this.#f64 = memory.f64
    this.#owner = owner
    this.#intent = intentWord(memory, slotOf(owner))
    this.#arena = parts.arena
    this.#journal = journal
    this.#journal_tail = (journalOffset(memory, slotOf(owner)) >> 2) + JOURNAL_HEADER.word.tail
    this.#flows = flows
    this.#ready = ready
    this.#messages = parts.messages
    this.#words = new PublishWords(flows, owner)
    this.#reservations = new Reservations(parts)
    this.#commit = new Commit({ ...parts, reservations: this.#reservations })
    this.#untold = new UntoldFlows(flows, ready)
    this.#many = new PublishMany({
      journal,
      flows,
      queue,
      ready,
      words: this.#words,
      reservations: this.#reservations,
      commit: this.#commit,
      row: new PublishRow({ ...parts, commit: this.#commit, bounds: this.#reservations.bounds }),
      untold: this.#untold,
    })
  }

  /**
   * By the front and the timer: the value starts a cascade. Returns the version, or one of `REFUSED`. `ends_unit`: marks;
   * everything that this thread wrote before belongs to the same unit. A lane passes false, and ends its unit itself.
   * `released`: by the timer, of a value that was scheduled.
   */
  publish(route: Route, value: EncodedValue, ts: number, ends_unit = true, released = false): number {
    if (!this.#journal.hasRoom(journalBytes(value) + itemRecordBytes(route))) return REFUSED.journal_full
    // An early check before a long value is copied; the authoritative one is below.
    if (value.length > limits.SLOT_INLINE_BYTES && this.#reservations.backlogged(route, released))
      return REFUSED.backlogged
    const ref = this.#commit.slab(value, limits.ARENA_INGRESS_SHARE)
    if (ref < 0) return ref
    if (!this.#words.lock(route, limits.PUBLISH_PATIENCE_MS)) return this.#commit.refuse(ref, REFUSED.held)
    // Nobody else can append here now: the flow's own bound is exact, those further down are soft.
    const refused = this.#reservations.backlogged(route, released)
      ? REFUSED.backlogged
      : this.#reservations.reserveAll(route, value, ref)
    if (refused < 0) {
      this.#words.unlock(route)
      return this.#commit.refuse(ref, refused)
    }
    this.#commit.say(ts, 0, 0, 0)
    const version = this.#commit.commit(route, 0, value, ref, route.queued ? RECORD.queued : RECORD.inner)
    if (ends_unit) {
      this.#journal.close()
      this.#words.unlockWithBarrier(route)
      if (route.queued) this.#ready.markReady(route.flow)
      for (let i = 0; i < route.foreign.length; i++) this.#ready.markReady(route.foreign[i]!)
      // After the lanes: a body waits for them.
      this.#journal.tell()
    } else {
      this.#words.unlock(route)
      if (route.queued) this.#untold.add(route.flow)
      for (let i = 0; i < route.foreign.length; i++) this.#untold.add(route.foreign[i]!)
    }
    return version
  }

  /**
   * By a lane, inside a cascade: the table, the journal, and children one level deeper in the flows that read the message.
   * Readers in the flow itself are the lane's own work. Never refused for back pressure; a child that finds its flow at the
   * hard cap is dropped and counted. The lane has made sure of room in the journal (`JournalWriter.waitForRoom`). Other threads
   * take the children when the lane has marked; `tell` notifies them.
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
    if (
      route.foreign.length === 0 &&
      value.length <= limits.SLOT_INLINE_BYTES &&
      !this.#messages.isTraced(route.message)
    )
      return this.#publishSmall(route, value, ts)
    const ref = this.#commit.slab(value, 1)
    if (ref < 0) return ref
    const children = route.foreign.length > 0
    this.#words.lock(route, Number.POSITIVE_INFINITY)
    if (children) this.#reservations.reserveOrDrop(route, value, ref)
    this.#commit.say(ts, depth + 1, parent_seq, parent_ts, root_ts)
    const version = this.#commit.commit(route, 0, value, ref, RECORD.inner)
    this.#words.unlock(route)
    for (let i = 0; i < route.foreign.length; i++) this.#untold.add(route.foreign[i]!)
    return version
  }

  /** By the front: all of the list, one cascade each, or nothing of it; see `PublishMany`. */
  publishList(routes: readonly Route[], values: readonly EncodedValue[], ts: number, versions: number[]): number {
    return this.#many.list(routes, values, ts, versions)
  }

  /** By the connectors thread and the front: all of the list, in one cascade of each flow, or nothing of it; see `PublishMany`. `ends_unit` as in `publish`. */
  publishTogether(
    routes: readonly Route[],
    flows: readonly number[],
    values: readonly EncodedValue[],
    ts: number,
    versions: number[],
    ends_unit = true,
  ): number {
    return this.#many.together(routes, flows, values, ts, versions, ends_unit)
  }

  /** Place in its list of the value for which there was no room, when `publishList` was refused last. */
  get refused_at(): number {
    return this.#many.refused_at
  }

  /** By a lane, inside a cascade: what one emission publishes when another flow reads several of its messages; see `PublishMany`. */
  publishEmission(
    emission: Emission,
    flows: readonly number[],
    ts: number,
    depth: number,
    parent_seq: number,
    parent_ts: number,
    root_ts = ts,
  ): void {
    this.#many.emission(emission, flows, ts, depth, parent_seq, parent_ts, root_ts)
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
    const ref = by_slab ? this.#commit.slab(value, limits.ARENA_INGRESS_SHARE) : 0
    if (ref < 0) return ref
    if (!this.#flows.lockPublish(flow, this.#owner, limits.PUBLISH_PATIENCE_MS))
      return this.#commit.refuse(ref, REFUSED.held)
    let refused = 0
    if (this.#reservations.isOver(flow, 1)) refused = REFUSED.backlogged
    else if (!this.#reservations.reserve(flow, value, ref, GROUP.again)) refused = REFUSED.queue_full
    if (refused < 0) {
      this.#flows.unlockPublish(flow, this.#owner)
      return this.#commit.refuse(ref, refused)
    }
    this.#commit.say(ts, 0, parent_seq, parent_ts)
    this.#commit.item(flow, message, version, value, ref)
    this.#journal.close()
    this.#flows.unlockPublishWithBarrier(flow, this.#owner)
    this.#ready.markReady(flow)
    this.#journal.tell()
    return 0
  }

  /**
   * A value that wakes nobody: a flow input's default, or, with its `version`, a value that the store brought back. The
   * store has the latter, so only the former is journalled. Returns the version, or one of `REFUSED`.
   */
  seed(route: Route, value: EncodedValue, ts: number, version = 0): number {
    const restored = version !== 0
    if (!restored && !this.#journal.hasRoom(journalBytes(value))) return REFUSED.journal_full
    const ref = this.#commit.slab(value, 1)
    if (ref < 0) return ref
    const silent = { message: route.message, flow: route.flow, queued: false, foreign: NO_FLOWS, downstream: NO_FLOWS }
    if (!this.#words.lock(silent, limits.PUBLISH_PATIENCE_MS)) return this.#commit.refuse(ref, REFUSED.held)
    this.#commit.say(ts, 0, 0, 0)
    const given = this.#commit.commit(silent, version, value, ref, restored ? RECORD.none : RECORD.seeded)
    this.#words.unlock(silent)
    return given
  }

  /**
   * `publishInner` of a short value that nobody else reads, the case that a lane has most: the steps of `Commit.commit` without
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
    if (displaced !== 0) this.#commit.release(displaced)
    else i32[row + intent.doing] = DOING.nothing
    this.#flows.unlockPublish(flow, this.#owner)
    return version
  }

  /** By the timer: from here on, a version in this thread's intent is that of the next publish. */
  forgetVersion(): void {
    this.#f64[(this.#intent >> 1) + intent.version] = 0
  }

  /** By a lane, after its mark: other threads may now take what it published for their flows. The mark is a full barrier before this. */
  tell(): void {
    this.#untold.tell()
  }
}
