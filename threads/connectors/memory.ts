import { FlowTable } from '../../core/cascade/flows.ts'
import { Publisher } from '../../core/cascade/publish/publish.ts'
import type { Route } from '../../core/cascade/publish/route.ts'
import { IngressQueue } from '../../core/cascade/queue/queue.ts'
import { ReadySet } from '../../core/cascade/queue/ready.ts'
import { Masks } from '../../core/masks/table.ts'
import { Arena } from '../../core/memory/arena.ts'
import { Clock } from '../../core/memory/clock.ts'
import { NodeCounters } from '../../core/memory/counters.ts'
import { JournalWriter } from '../../core/memory/journal/journal.ts'
import { MessageTable } from '../../core/memory/messages.ts'
import { attachMemory } from '../../core/memory/region.ts'
import { SLOT, THREAD_KIND, ThreadTable } from '../../core/memory/threads.ts'
import type { VolatileStore } from '../../core/memory/volatile/store.ts'
import { createCodec } from '../../protocol/values/codec.ts'
import type { EncodedValue } from '../../protocol/values/encoded.ts'
import { volatileStore } from '../calls/volatile-hands.ts'
import { journalWakes } from '../journal-wakes.ts'
import { LaneNotes } from '../lane/notes.ts'
import { threadClock } from '../thread-clock.ts'
import type { ConnectorsTask } from './messages.ts'
import { Room } from './room.ts'

/** Where values that are published together go; `flows` is `flowsOf(routes)`. */
export interface Together {
  readonly routes: readonly Route[]
  readonly flows: readonly number[]
}

/** The connectors thread's share of the engine's memory. Entering the thread table is its first step, leaving it the last. */
export class ConnectorsMemory {
  readonly codec = createCodec()
  readonly owner: number
  readonly clock: Clock
  readonly counters: NodeCounters
  readonly publisher: Publisher
  readonly notes: LaneNotes
  readonly room: Room
  readonly volatile: VolatileStore
  /** Where relative paths in settings begin. */
  readonly folder: string
  readonly #arena: Arena
  readonly #journal: JournalWriter
  readonly #threads: ThreadTable
  readonly #versions: number[] = []
  #batching = false

  constructor({ sab, artifacts, masks, folder }: ConnectorsTask) {
    const memory = attachMemory(sab)
    this.clock = new Clock(memory, threadClock)
    this.#threads = new ThreadTable(memory)
    const owner = this.#threads.enter(SLOT.connectors, THREAD_KIND.connectors)
    const arena = new Arena(memory, owner)
    const flows = new FlowTable(memory)
    const journal = new JournalWriter(memory, SLOT.connectors, journalWakes(memory))
    if (artifacts.volatile === undefined) throw new RangeError('the connectors thread needs the volatile store')
    this.volatile = volatileStore(artifacts.volatile)
    this.folder = folder
    this.owner = owner
    this.#arena = arena
    this.#journal = journal
    this.counters = new NodeCounters(memory)
    this.notes = new LaneNotes(journal, this.codec, new Masks(masks))
    this.room = new Room(flows)
    this.publisher = new Publisher({
      memory,
      owner,
      arena,
      journal,
      flows,
      queue: new IngressQueue({ memory, owner, arena, flows }),
      ready: new ReadySet(memory, flows),
      messages: new MessageTable(memory),
    })
  }

  mark(): void {
    this.#journal.mark()
  }

  /** The values in one cascade of each flow. Returns something below 0 when they are refused. */
  publish({ routes, flows }: Together, values: readonly EncodedValue[]): number {
    const ts = this.clock.now_us()
    const ends_unit = !this.#batching
    if (routes.length === 1) return this.publisher.publish(routes[0]!, values[0]!, ts, ends_unit)
    return this.publisher.publishTogether(routes, flows, values, ts, this.#versions, ends_unit)
  }

  /** What is published meanwhile is handed on when it is over, all at once: readers are woken once. */
  batch<Result>(publishes: () => Result): Result {
    this.#batching = true
    try {
      return publishes()
    } finally {
      this.#batching = false
      this.#journal.close()
      this.publisher.tell()
      this.#journal.tell()
    }
  }

  /** Called a few times a second. */
  look(): void {
    this.counters.flush()
    this.notes.flush(this.clock.now_us())
    this.#journal.mark()
    this.#arena.collect()
  }

  leave(): void {
    this.look()
    this.#threads.leave(this.owner)
  }
}
