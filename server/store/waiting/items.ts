/** The stored part of an item until it is consumed; its value is in the history. */
export interface WaitingItem {
  /** Index or row of its message, as the holder needs it. */
  message: number
  version: number
  depth: number
  /** Bits of GROUP, see core/cascade/queue/queue.ts. */
  group: number
  /** The cascade that published it, 0 for none, and its start; for an earlier engine `EARLIER` and that engine's epoch. */
  parent_seq: number
  parent_ts: number
}

/** Items of one message with consecutive versions and otherwise equal members. */
export interface WaitingRun extends WaitingItem {
  length: number
}

/** Items of a cascade that has begun and has run no body yet. */
interface FreshItems {
  /** Number of the first one. */
  readonly item: number
  readonly items: readonly WaitingItem[]
}

const FIRST_CAPACITY = 16
/** A flow without items keeps at most this much memory of an earlier backlog. */
const KEPT_CAPACITY = 1024
/** Doubles of an item, stored together, so that a record touches one cache line. */
const WIDE = 4
const AT = { key: 0, version: 1, parent_seq: 2, parent_ts: 3 } as const
const NOTHING = -1
/** The key of an item is `(depth << 4 | group) * PLACE + message`. */
const PLACE = 2 ** 32

const emptyItems = (capacity: number): Float64Array => new Float64Array(capacity * WIDE).fill(NOTHING)

/**
 * The items of one flow that were accepted and are not consumed, by their number in the flow's queue. The records
 * of several rings bring them in any order. Numbers wrap with 32 bits.
 *
 *   fresh: taken, nothing of it has run | taken, consumed: gone | [first .. end): waiting, with holes where a record is not marked yet
 */
export class WaitingItems {
  /** Changed since the last commit. */
  isChanged = false
  /** Whether the flow may have a stored row; unknown, so true, at a start. */
  hasRow = true
  /** From the present cut: items before this number are consumed, if `isTaken`. */
  taken_to = 0
  isTaken = false
  isFresh = false
  #first = 0
  #end = 0
  #mask = FIRST_CAPACITY - 1
  #items = emptyItems(FIRST_CAPACITY)
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
    // A recovery repeats the record of the publish that it finishes; the item may have run already.
    if (ahead < 0) return
    if (ahead > this.#mask) this.#resize(2 ** (32 - Math.clz32(ahead)))
    const at = (item & this.#mask) * WIDE
    const items = this.#items
    if (items[at] === NOTHING) this.#count++
    items[at] = ((depth << 4) | group) * PLACE + message
    items[at + AT.version] = version
    items[at + AT.parent_seq] = parent_seq
    items[at + AT.parent_ts] = parent_ts
    if (((item - this.#end) | 0) >= 0) this.#end = (item + 1) | 0
  }

  /** A cascade has begun with these items and has run nothing. Call it before `taken`, which would drop them. */
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
      const at = (number & this.#mask) * WIDE
      if (this.#items[at] === NOTHING) continue
      this.#items[at] = NOTHING
      this.#count--
    }
    this.#first = item
    if (((item - this.#end) | 0) > 0) this.#end = item
    if (this.#count === 0 && this.#mask >= KEPT_CAPACITY) this.#resize(FIRST_CAPACITY)
  }

  /** In the order in which a restart queues them: items of cascades that had begun come first. */
  *[Symbol.iterator](): Iterable<WaitingItem> & Iterator<WaitingItem> {
    const fresh = [...this.#fresh].sort((a, b) => (a.item - b.item) | 0)
    for (const { items } of fresh) yield* items
    for (let number = this.#first; number !== this.#end; number = (number + 1) | 0) {
      const waiting = this.#at(number)
      if (waiting !== null) yield waiting
    }
  }

  /** The same as runs of items. A run is valid only during the call. Nothing is allocated per item, since a backlog is written with every commit. */
  eachRun(visit: (run: WaitingRun) => void): void {
    const fresh = [...this.#fresh].sort((a, b) => (a.item - b.item) | 0)
    for (const { items } of fresh) for (const item of items) visit({ ...item, length: 1 })
    const items = this.#items
    let run = -1
    let length = 0
    for (let number = this.#first; number !== this.#end; number = (number + 1) | 0) {
      const at = (number & this.#mask) * WIDE
      if (items[at] === NOTHING) continue
      if (run >= 0 && goesOn(items, run, length, at)) {
        length++
        continue
      }
      if (run >= 0) visit({ ...this.#read(run), length })
      run = at
      length = 1
    }
    if (run >= 0) visit({ ...this.#read(run), length })
  }

  #at(number: number): WaitingItem | null {
    const ahead = (number - this.#first) | 0
    if (ahead < 0 || ahead > this.#mask) return null
    const at = (number & this.#mask) * WIDE
    return this.#items[at] === NOTHING ? null : this.#read(at)
  }

  #read(at: number): WaitingItem {
    const key = this.#items[at]!
    const place = Math.floor(key / PLACE)
    return {
      message: key % PLACE,
      version: this.#items[at + AT.version]!,
      depth: place >> 4,
      group: place & 15,
      parent_seq: this.#items[at + AT.parent_seq]!,
      parent_ts: this.#items[at + AT.parent_ts]!,
    }
  }

  #resize(capacity: number): void {
    const items = emptyItems(capacity)
    for (let number = this.#first; number !== this.#end; number = (number + 1) | 0) {
      const from = (number & this.#mask) * WIDE
      const to = (number & (capacity - 1)) * WIDE
      for (let field = 0; field < WIDE; field++) items[to + field] = this.#items[from + field]!
    }
    this.#mask = capacity - 1
    this.#items = items
  }
}

/** Whether the item at `at` continues the run that begins at `run` and has `length` items. */
const goesOn = (items: Float64Array, run: number, length: number, at: number): boolean =>
  items[at + AT.version] === items[run + AT.version]! + length &&
  items[at] === items[run] &&
  items[at + AT.parent_seq] === items[run + AT.parent_seq] &&
  items[at + AT.parent_ts] === items[run + AT.parent_ts]
