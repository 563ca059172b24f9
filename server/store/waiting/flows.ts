import { CASCADE_STATUS } from '../../../core/memory/journal/record.ts'
import type { RecordView } from '../../../core/memory/journal/view.ts'
import type { ResumedFlow } from '../front/requests.ts'
import { WaitingItems } from './items.ts'

/** Any start of a cascade: its number says which it is. */
const OF_THIS_ENGINE = Number.MAX_SAFE_INTEGER

/**
 * What waits in every flow, as of the last cut that was drained. Items enter as their records come, in whatever ring; what a
 * cut says of their consumption is applied when the whole cut was seen, since a ring that comes later may hold the publish.
 */
export class WaitingFlows {
  /** Flow indexes whose items changed since the last commit. */
  readonly changed = new Set<number>()
  readonly #flows = new Map<number, WaitingItems>()
  /** Of the cut at hand: flow, first item, items. */
  readonly #fresh: number[] = []
  /** Flow, root message, root version. */
  readonly #begun: number[] = []
  readonly #taken = new Map<number, number>()
  /** Of the next queued record; 0: none. */
  #parent_seq = 0
  #parent_ts = 0

  of(flow: number): WaitingItems | undefined {
    return this.#flows.get(flow)
  }

  all(): Iterable<WaitingItems> {
    return this.#flows.values()
  }

  /** What a start has queued again: items 0, 1, ... of the flow's queue. Nothing was written into the journal of it. */
  resumed({ flow, messages, versions, places, parent_seqs, parent_times }: ResumedFlow): void {
    const items = new WaitingItems()
    for (let item = 0; item < messages.length; item++) {
      const place = places[item]!
      const parent = { seq: parent_seqs[item]!, ts: parent_times[item]! }
      items.queued(item, messages[item]!, versions[item]!, place >> 4, place & 15, parent.seq, parent.ts)
    }
    this.#flows.set(flow, items)
    this.changed.add(flow)
  }

  queued({ subject: flow, message, version, item, depth, group }: RecordView): void {
    let items = this.#flows.get(flow)
    if (items === undefined) this.#flows.set(flow, (items = new WaitingItems()))
    items.queued(item, message, version, depth, group, this.#parent_seq, this.#parent_ts)
    this.#parent_seq = this.#parent_ts = 0
    this.changed.add(flow)
  }

  fresh({ subject: flow, version, item, items }: RecordView): void {
    if (items === 0) {
      this.#parent_seq = version
      this.#parent_ts = item === 0 ? OF_THIS_ENGINE : item
      return
    }
    this.#fresh.push(flow, item, items)
  }

  /** Of any cascade: its record says whether something of it has run. */
  cascade(record: RecordView): void {
    const { subject: flow } = record
    if (record.status === CASCADE_STATUS.running && record.executions === 0) return
    if (this.#flows.get(flow)?.hasFresh || this.#fresh.includes(flow))
      this.#begun.push(flow, record.message, record.version)
  }

  taken({ subject: flow, item }: RecordView): void {
    const before = this.#taken.get(flow)
    if (before === undefined || ((item - before) | 0) > 0) this.#taken.set(flow, item)
  }

  /** The whole cut was seen. */
  settle(): void {
    for (let at = 0; at < this.#fresh.length; at += 3) {
      const flow = this.#fresh[at]!
      this.#flows.get(flow)?.fresh(this.#fresh[at + 1]!, this.#fresh[at + 2]!)
      this.changed.add(flow)
    }
    for (let at = 0; at < this.#begun.length; at += 3) {
      const flow = this.#begun[at]!
      this.#flows.get(flow)?.begun(this.#begun[at + 1]!, this.#begun[at + 2]!)
      this.changed.add(flow)
    }
    for (const [flow, item] of this.#taken) {
      let items = this.#flows.get(flow)
      if (items === undefined) this.#flows.set(flow, (items = new WaitingItems()))
      items.taken(item)
      this.changed.add(flow)
    }
    this.#fresh.length = 0
    this.#begun.length = 0
    this.#taken.clear()
  }
}
