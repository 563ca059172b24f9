import { CASCADE_STATUS } from '../../../core/memory/journal/record.ts'
import type { RecordView } from '../../../core/memory/journal/view.ts'
import type { ResumedFlow } from '../front/requests.ts'
import { WaitingItems } from './items.ts'

/** Stands for any start time of a cascade of this engine: its number is unique. */
const OF_THIS_ENGINE = Number.MAX_SAFE_INTEGER

/**
 * The waiting items of every flow, as of the last cut that was read. Items are added as their records come, from any ring. What a
 * cut tells about their consumption is applied when the whole cut was read, since the publish may be in a later ring.
 */
export class WaitingFlows {
  /** Flow indexes whose items changed since the last commit. */
  readonly changed: number[] = []
  readonly #flows: (WaitingItems | undefined)[] = []
  /** Of the present cut: flow, first item, number of items. */
  readonly #fresh: number[] = []
  /** Flow, root message, root version. */
  readonly #begun: number[] = []
  /** Flows with items that are consumed. */
  readonly #taken: number[] = []

  of(flow: number): WaitingItems {
    return (this.#flows[flow] ??= new WaitingItems())
  }

  *all(): Iterable<WaitingItems> {
    for (const items of this.#flows) if (items !== undefined) yield items
  }

  /** The items that a start has queued again: 0, 1, ... of the flow's queue. They have no records in the journal. */
  resumed({ flow, messages, versions, places, parent_seqs, parent_times }: ResumedFlow): void {
    const items = new WaitingItems()
    for (let item = 0; item < messages.length; item++) {
      const place = places[item]!
      const parent = { seq: parent_seqs[item]!, ts: parent_times[item]! }
      items.queued(item, messages[item]!, versions[item]!, place >> 4, place & 15, parent.seq, parent.ts)
    }
    this.#flows[flow] = items
    this.#change(flow, items)
  }

  queued({ subject: flow, message, version, item, depth, group, parent_seq, parent_epoch }: RecordView): void {
    const items = this.of(flow)
    const parent_ts = parent_seq === 0 || parent_epoch !== 0 ? parent_epoch : OF_THIS_ENGINE
    items.queued(item, message, version, depth, group, parent_seq, parent_ts)
    this.#change(flow, items)
  }

  /** A value that entered the queue of its own flow. */
  value({ flow, subject: message, version, item, group }: RecordView): void {
    const items = this.of(flow)
    items.queued(item, message, version, 0, group)
    this.#change(flow, items)
  }

  fresh({ subject: flow, item, items }: RecordView): void {
    this.of(flow).isFresh = true
    this.#fresh.push(flow, item, items)
  }

  /** A record of a cascade, which tells whether something of it has run. */
  cascade(record: RecordView): void {
    const { subject: flow } = record
    const items = this.#flows[flow]
    if (items === undefined || !(items.isFresh || items.hasFresh)) return
    if (record.status === CASCADE_STATUS.running && record.executions === 0) return
    this.#begun.push(flow, record.message, record.version)
  }

  taken({ subject: flow, item }: RecordView): void {
    const items = this.of(flow)
    if (!items.isTaken) {
      items.isTaken = true
      items.taken_to = item
      this.#taken.push(flow)
    } else if (((item - items.taken_to) | 0) > 0) items.taken_to = item
  }

  /** The whole cut was read. */
  settle(): void {
    for (let at = 0; at < this.#fresh.length; at += 3) {
      const flow = this.#fresh[at]!
      const items = this.of(flow)
      items.isFresh = false
      items.fresh(this.#fresh[at + 1]!, this.#fresh[at + 2]!)
      this.#change(flow, items)
    }
    for (let at = 0; at < this.#begun.length; at += 3) {
      const flow = this.#begun[at]!
      const items = this.of(flow)
      items.begun(this.#begun[at + 1]!, this.#begun[at + 2]!)
      this.#change(flow, items)
    }
    for (const flow of this.#taken) {
      const items = this.of(flow)
      items.isTaken = false
      items.taken(items.taken_to)
      this.#change(flow, items)
    }
    this.#fresh.length = 0
    this.#begun.length = 0
    this.#taken.length = 0
  }

  /** Called when a commit has written the changes. A flow without items has no row. */
  written(): void {
    for (const flow of this.changed) {
      const items = this.of(flow)
      items.isChanged = false
      items.hasRow = items.count > 0
    }
    this.changed.length = 0
  }

  #change(flow: number, items: WaitingItems): void {
    if (items.isChanged) return
    items.isChanged = true
    this.changed.push(flow)
  }
}
