/** What of an item is kept until it is consumed; its value is in the history. */
export interface WaitingItem {
  /** Index or row of its message, whichever the holder counts by. */
  message: number
  version: number
  depth: number
  /** Bits of GROUP, see core/cascade/queue/queue.ts. */
  group: number
  /** The cascade that published it, 0: none; and its start, or, of an earlier engine, `EARLIER` and that engine's epoch. */
  parent_seq: number
  parent_ts: number
}

/** Items of a cascade that has begun and run no body yet. */
interface FreshItems {
  /** Number of the first one. */
  readonly item: number
  readonly items: readonly WaitingItem[]
}

const FIRST_CAPACITY = 16
/** Memory of a flow that had a backlog once is given back when it is empty. */
const KEPT_CAPACITY = 1024
const NOTHING = -1

/**
 * The items of one flow that were accepted and are not consumed, as columns by their number in the flow's queue. The records
 * of several rings bring them in any order. Numbers wrap with 32 bits.
 *
 *   fresh: taken, nothing of it has run | taken, consumed: gone | [first .. end): waiting, with holes where a record is not marked yet
 */
export class WaitingItems {
  #first = 0
  #end = 0
  #mask = FIRST_CAPACITY - 1
  #message = new Int32Array(FIRST_CAPACITY).fill(NOTHING)
  #version = new Float64Array(FIRST_CAPACITY)
  /** depth << 4 | group */
  #place = new Int32Array(FIRST_CAPACITY)
  #parent_seq = new Float64Array(FIRST_CAPACITY)
  #parent_ts = new Float64Array(FIRST_CAPACITY)
  #fresh: FreshItems[] = []
  #count = 0

  /** Items that a restart would queue again. */
  get count(): number {
    let fresh = 0
    for (const { items } of this.#fresh) fresh += items.length
    return this.#count + fresh
  }

  get hasFresh(): boolean {
    return this.#fresh.length > 0
  }

  queued(
    item: number,
    message: number,
    version: number,
    depth: number,
    group: number,
    parent_seq = 0,
    parent_ts = 0,
  ): void {
    const ahead = (item - this.#first) | 0
    // A recovery repeats the record of a publish that it finishes; its item may have run since.
    if (ahead < 0) return
    if (ahead > this.#mask) this.#resize(2 ** (32 - Math.clz32(ahead)))
    const at = item & this.#mask
    if (this.#message[at] === NOTHING) this.#count++
    this.#message[at] = message
    this.#version[at] = version
    this.#place[at] = (depth << 4) | group
    this.#parent_seq[at] = parent_seq
    this.#parent_ts[at] = parent_ts
    if (((item - this.#end) | 0) >= 0) this.#end = (item + 1) | 0
  }

  /** A cascade was begun with these items and has run nothing. Before `taken`, which would drop them. */
  fresh(item: number, items: number): void {
    if (this.#fresh.some(one => one.item === item)) return
    const kept: WaitingItem[] = []
    for (let number = item; number !== ((item + items) | 0); number = (number + 1) | 0) {
      const waiting = this.#at(number)
      if (waiting !== null) kept.push(waiting)
    }
    if (kept.length > 0) this.#fresh.push({ item, items: kept })
  }

  /** The cascade of this root has run something, or ended. */
  begun(message: number, version: number): void {
    const at = this.#fresh.findIndex(({ items }) => items[0]!.message === message && items[0]!.version === version)
    if (at >= 0) this.#fresh.splice(at, 1)
  }

  /** All items before this number are consumed. */
  taken(item: number): void {
    if (((item - this.#first) | 0) <= 0) return
    const last = ((item - this.#end) | 0) > 0 ? this.#end : item
    for (let number = this.#first; ((last - number) | 0) > 0; number = (number + 1) | 0) {
      const at = number & this.#mask
      if (this.#message[at] === NOTHING) continue
      this.#message[at] = NOTHING
      this.#count--
    }
    this.#first = item
    if (((item - this.#end) | 0) > 0) this.#end = item
    if (this.#count === 0 && this.#mask >= KEPT_CAPACITY) this.#resize(FIRST_CAPACITY)
  }

  /** In the order in which a restart queues them: those that had begun come first. */
  *[Symbol.iterator](): Iterable<WaitingItem> & Iterator<WaitingItem> {
    const fresh = [...this.#fresh].sort((a, b) => (a.item - b.item) | 0)
    for (const { items } of fresh) yield* items
    for (let number = this.#first; number !== this.#end; number = (number + 1) | 0) {
      const waiting = this.#at(number)
      if (waiting !== null) yield waiting
    }
  }

  #at(number: number): WaitingItem | null {
    const ahead = (number - this.#first) | 0
    if (ahead < 0 || ahead > this.#mask) return null
    const at = number & this.#mask
    if (this.#message[at] === NOTHING) return null
    const place = this.#place[at]!
    return {
      message: this.#message[at]!,
      version: this.#version[at]!,
      depth: place >> 4,
      group: place & 15,
      parent_seq: this.#parent_seq[at]!,
      parent_ts: this.#parent_ts[at]!,
    }
  }

  #resize(capacity: number): void {
    const message = new Int32Array(capacity).fill(NOTHING)
    const version = new Float64Array(capacity)
    const place = new Int32Array(capacity)
    const parent_seq = new Float64Array(capacity)
    const parent_ts = new Float64Array(capacity)
    for (let number = this.#first; number !== this.#end; number = (number + 1) | 0) {
      const from = number & this.#mask
      const to = number & (capacity - 1)
      message[to] = this.#message[from]!
      version[to] = this.#version[from]!
      place[to] = this.#place[from]!
      parent_seq[to] = this.#parent_seq[from]!
      parent_ts[to] = this.#parent_ts[from]!
    }
    this.#mask = capacity - 1
    this.#message = message
    this.#version = version
    this.#place = place
    this.#parent_seq = parent_seq
    this.#parent_ts = parent_ts
  }
}
