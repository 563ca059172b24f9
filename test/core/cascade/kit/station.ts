import { FlowTable } from '../../../../core/cascade/flows.ts'
import type { Emission } from '../../../../core/cascade/publish/emission.ts'
import { Publisher } from '../../../../core/cascade/publish/publish.ts'
import { REFUSED } from '../../../../core/cascade/publish/refused.ts'
import type { Route } from '../../../../core/cascade/publish/route.ts'
import type { Bounds } from '../../../../core/cascade/queue/bounds.ts'
import type { TakenItem } from '../../../../core/cascade/queue/item.ts'
import { IngressQueue } from '../../../../core/cascade/queue/queue.ts'
import { ReadySet } from '../../../../core/cascade/queue/ready.ts'
import { Arena } from '../../../../core/memory/arena.ts'
import { type EncodedValue, KIND } from '../../../../core/memory/encoded.ts'
import { JOURNAL, JournalReader, type JournalVisitor, JournalWriter } from '../../../../core/memory/journal/journal.ts'
import { MessageTable } from '../../../../core/memory/messages.ts'
import { CONTROL, type Memory } from '../../../../core/memory/region.ts'
import { ThreadTable } from '../../../../core/memory/threads.ts'

/** Everything that one thread needs to publish and to take, as the engine's threads put it together. Enters the slot unless it is held. */
export class Station {
  readonly memory: Memory
  readonly slot: number
  readonly owner: number
  readonly arena: Arena
  readonly journal: JournalWriter
  readonly flows: FlowTable
  readonly queue: IngressQueue
  readonly ready: ReadySet
  readonly messages: MessageTable
  readonly publisher: Publisher
  readonly dropped: { flow: number; message: number }[] = []
  readonly wakes = { store: () => {}, front: () => {} }

  constructor(memory: Memory, slot: number, bounds?: Bounds) {
    this.memory = memory
    this.slot = slot
    const threads = new ThreadTable(memory)
    this.owner = threads.ownerOf(slot) || threads.enter(slot, 0)
    this.arena = new Arena(memory, this.owner)
    this.journal = new JournalWriter(memory, slot, this.wakes)
    this.flows = new FlowTable(memory)
    this.queue = new IngressQueue(this)
    this.ready = new ReadySet(memory, this.flows)
    this.messages = new MessageTable(memory)
    this.publisher = new Publisher({
      memory: this.memory,
      owner: this.owner,
      arena: this.arena,
      journal: this.journal,
      flows: this.flows,
      queue: this.queue,
      ready: this.ready,
      messages: this.messages,
      dropped: (flow, message) => this.dropped.push({ flow, message }),
      bounds,
    })
  }

  /** As a thread ends a unit: what it wrote may be committed, and other threads take what it published for them. */
  endUnit(): void {
    this.journal.mark()
    this.publisher.tell()
  }
}

/** Message `m` of flow `f`, read there and in `foreign`. */
export const route = (message: number, flow: number, foreign: number[] = [], queued = true): Route => ({
  message,
  flow,
  queued,
  foreign,
  downstream: [flow, ...foreign],
})

/** What one emission publishes: values by route. */
export const emission = (parts: readonly (readonly [Route, EncodedValue])[]): Emission => ({
  count: parts.length,
  routes: parts.map(([where]) => where),
  values: parts.map(([, value]) => value),
  versions: [],
})

export const float = (number: number): EncodedValue => ({ kind: KIND.float, number, bytes: Buffer.alloc(0), length: 8 })

/** A text of so many bytes whose every byte tells its seed. */
export const text = (seed: number, length: number): EncodedValue => {
  const bytes = Buffer.alloc(length)
  for (let i = 0; i < length; i++) bytes[i] = (seed * 31 + i * 7) & 0xff
  return { kind: KIND.str, number: 0, bytes, length }
}

/** What a value says of itself, to be compared. */
export const told = (value: EncodedValue): string =>
  value.kind === KIND.float ? `${value.number}` : value.bytes.toString('base64', 0, value.length)

export const emptyItem = (): TakenItem => ({
  item: -1,
  message: -1,
  depth: 0,
  version: 0,
  ts: 0,
  root_ts: 0,
  parent_seq: 0,
  parent_ts: 0,
  group: 0,
  value: { kind: KIND.none, number: 0, bytes: Buffer.alloc(256), length: 0 },
})

/** What the store would have read: one line for each value record, and versions by message. */
export class Store {
  readonly lines: string[] = []
  readonly versions = new Map<number, number[]>()
  /** By message; kept with the lines. */
  readonly times = new Map<number, { version: number; ts: number }[]>()
  readonly #readers: JournalReader[]
  readonly #keeps_lines: boolean

  constructor(memory: Memory, slots: readonly number[], keeps_lines = true) {
    this.#keeps_lines = keeps_lines
    this.#readers = slots.map(slot => new JournalReader(memory, slot, 'store'))
  }

  /** Reads up to the marks and lets go of the slabs. */
  drain(): void {
    const visitor: JournalVisitor = {
      visit: record => {
        if (record.kind !== JOURNAL.value) return
        const { subject: message, version, ts, value_kind, number, bytes, start, length } = record
        const versions = this.versions.get(message)
        if (versions === undefined) this.versions.set(message, [version])
        else versions.push(version)
        if (!this.#keeps_lines) return
        this.times.set(message, [...(this.times.get(message) ?? []), { version, ts }])
        const value = value_kind === KIND.float ? `${number}` : bytes.toString('base64', start, start + length)
        this.lines.push(`${message}@${version}=${value}`)
      },
    }
    for (const reader of this.#readers) {
      while (reader.drain(visitor, 1 << 20) > 0);
      if (reader.isCramped) reader.stage()
    }
  }
}

export const refusal = (code: number): string | undefined =>
  (Object.keys(REFUSED) as (keyof typeof REFUSED)[]).find(name => REFUSED[name] === code)

/** Words that a test's threads may write what they did into; they outlive the thread. */
export const noteWord = (memory: Memory, index: number): number =>
  ((memory.regions.control.offset + CONTROL.offset.spare) >> 2) + index
