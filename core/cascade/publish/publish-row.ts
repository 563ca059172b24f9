import * as atomics from '#atomics'
import { limits } from '../../../protocol/limits.ts'
import type { Arena } from '../../memory/arena.ts'
import type { EncodedValue } from '../../memory/encoded.ts'
import { JOURNAL_HEADER, type JournalWriter, journalOffset } from '../../memory/journal/journal.ts'
import type { MessageTable } from '../../memory/messages.ts'
import type { Memory } from '../../memory/region.ts'
import { slotOf } from '../../memory/threads.ts'
import { FLOW_ROW, type FlowTable } from '../flows.ts'
import type { Bounds } from '../queue/bounds.ts'
import { GROUP, itemBytes } from '../queue/item.ts'
import type { IngressQueue } from '../queue/queue.ts'
import { CLOCKS_DIFFER_US, type Commit, RECORD } from './commit.ts'
import { DOING, INTENT_ROW, intentWord } from './intent.ts'
import type { Route } from './route.ts'

const { word } = FLOW_ROW
const intent = INTENT_ROW.word

interface PublishRowParts {
  memory: Memory
  owner: number
  arena: Arena
  journal: JournalWriter
  flows: FlowTable
  queue: IngressQueue
  messages: MessageTable
  commit: Commit
  bounds: Bounds
}

/**
 * A row: short values that go to the queue of their own flow and to nobody else, in one cascade, as a sensor sends them. The case
 * that connectors have most: the steps of `PublishMany` and `Commit` in one function that V8 inlines whole (a third less for each value).
 */
export class PublishRow {
  readonly #i32: Int32Array
  readonly #f64: Float64Array
  readonly #intent: number
  readonly #journal: JournalWriter
  readonly #journal_tail: number
  readonly #arena: Arena
  readonly #flows: FlowTable
  readonly #queue: IngressQueue
  readonly #messages: MessageTable
  readonly #commit: Commit
  readonly #bounds: Bounds

  constructor(parts: PublishRowParts) {
    const { memory, owner } = parts
    this.#i32 = memory.i32
    this.#f64 = memory.f64
    this.#intent = intentWord(memory, slotOf(owner))
    this.#journal = parts.journal
    this.#journal_tail = (journalOffset(memory, slotOf(owner)) >> 2) + JOURNAL_HEADER.word.tail
    this.#arena = parts.arena
    this.#flows = parts.flows
    this.#queue = parts.queue
    this.#messages = parts.messages
    this.#commit = parts.commit
    this.#bounds = parts.bounds
  }

  /** `flows`: of the routes. */
  isRow(routes: readonly Route[], flows: readonly number[], values: readonly EncodedValue[]): boolean {
    if (flows.length !== 1) return false
    for (let at = 0; at < routes.length; at++)
      if (!routes[at]!.queued || values[at]!.length > limits.SLOT_INLINE_BYTES) return false
    return true
  }

  /** Under the word of the flow, with room in the journal. False: a bound is passed or no segment is free, and nothing was published. */
  put(routes: readonly Route[], values: readonly EncodedValue[], ts: number, versions: number[]): boolean {
    const i32 = this.#i32
    const f64 = this.#f64
    const count = routes.length
    const { flow, downstream } = routes[0]!
    if (!this.#hasRoom(flow, downstream, values, count)) return false
    const at = this.#flows.row(flow)
    const row = this.#intent
    const row_f64 = row >> 1
    this.#commit.say(ts, 0, 0, 0)
    i32[row + intent.flow] = flow
    i32[row + intent.ref] = 0
    i32[row + intent.record] = RECORD.queued
    for (let place = 0; place < count; place++) {
      const { message } = routes[place]!
      const value = values[place]!
      const group = (place > 0 ? GROUP.joins : 0) | (place < count - 1 ? GROUP.goes_on : 0)
      const item = i32[at + word.appended]!
      i32[at + word.room] = this.#queue.room(flow, value, 0)
      i32[at + word.group] = group
      i32[at + word.before] = item
      const before = this.#messages.ts(message)
      const now = ts < before && before - ts < CLOCKS_DIFFER_US ? before : ts
      const version = this.#messages.version(message) + 1
      const displaced = this.#messages.previousRef(message)
      f64[row_f64 + intent.ts] = now
      f64[row_f64 + intent.version] = version
      i32[row + intent.mark] = i32[this.#journal_tail]!
      i32[row + intent.displaced] = displaced
      if (displaced !== 0) i32[row + intent.displaced_generation] = this.#arena.generation(displaced)
      atomics.release(i32, row + intent.doing, message + 1)
      this.#messages.write(message, version, now, value, 0)
      this.#messages.flip(message, version)
      this.#queue.put(flow, message, value, 0)
      this.#journal.queuedValue(message, version, now, flow, item, value, 0, group)
      if (displaced !== 0) this.#commit.release(displaced)
      else i32[row + intent.doing] = DOING.nothing
      versions[place] = version
    }
    return true
  }

  /** For all of the values; segments for them are linked. */
  #hasRoom(flow: number, downstream: readonly number[], values: readonly EncodedValue[], count: number): boolean {
    const { items, bytes } = this.#bounds
    // The last value finds those before it in the queue.
    let before = 0
    for (let place = 0; place < count - 1; place++) before += itemBytes(values[place]!, 0)
    for (let place = 0; place < downstream.length; place++) {
      const own = downstream[place] === flow
      if (this.#flows.isOver(downstream[place]!, own ? items - count + 1 : items, own ? bytes - before : bytes))
        return false
    }
    let position = 0
    for (let place = 0; place < count; place++) {
      position = this.#queue.plan(flow, position, values[place]!, 0)
      if (position !== 0) continue
      this.#queue.giveAhead(flow)
      return false
    }
    return true
  }
}
