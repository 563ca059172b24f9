/**
 * Counters and latencies of each node, and latencies of each wire that differ from those of its reader. Only the thread that
 * owns the node's flow writes a row (no atomics); anyone reads, and may see a row between two increments.
 */

import { BUCKETS, bucketOf, SHORTEST_NS } from './buckets.ts'
import { layout } from './layout.ts'
import type { Memory } from './memory.ts'

/** `promoted`: dispatched because it was slow; it goes back inline when it is fast again. */
export const PLACEMENT = { inline: 0, dispatch: 1, promoted: 2 } as const
/** From the publish of the value that woke the node to its start; its body; from the root publish to its end. */
export const LATENCIES = ['wait', 'execution', 'total'] as const
export type Latency = (typeof LATENCIES)[number]

/** By the thread's monotonic clock. */
export interface ExecutionTimes {
  /** The root publish. */
  readonly root_ms: number
  /** The publish of the newest of the values that woke the node. */
  readonly published_ms: number
  readonly ended_ms: number
  /** What the body itself took. */
  readonly took_ms: number
}

const HISTOGRAM = `bytes:${(BUCKETS * 4) as 1088}` as const

export const NODE_ROW = layout(
  'NODE_ROW',
  [
    ['executions', 'f64', 'bodies run, failed ones too'],
    ['errors', 'f64', 'bodies that failed'],
    ['waiting_for_input', 'f64', 'wakes without a body: an input had no value yet'],
    ['emissions', 'f64', 'values published'],
    ['dropped', 'f64', 'items dropped at the hard bound'],
    ['replaced', 'f64', 'values replaced while held by rate_hz'],
    ['placement', 'i32', 'PLACEMENT'],
    ['state_ref', 'i32', 'arena slab with the durable state of the node, 0: none'],
    ['last_error_ms', 'f64', 'when a body last failed'],
    ['wait_ns', 'f64', 'sum of the queue waits'],
    ['execution_ns', 'f64', 'sum of the execution times'],
    ['total_ns', 'f64', 'sum of the times since the root publish'],
    ['wait', HISTOGRAM, 'queue wait, u32 buckets that wrap'],
    ['execution', HISTOGRAM, 'execution time, likewise'],
    ['total', HISTOGRAM, 'time from the root publish to the end of the body, likewise'],
  ],
  64,
)

/** Of a wire to a node that several messages wake; for a node with a single waking message the node's own row is used. */
export const WIRE_ROW = layout(
  'WIRE_ROW',
  [
    ['wait_ns', 'f64', 'sums, as in NODE_ROW'],
    ['execution_ns', 'f64', ''],
    ['total_ns', 'f64', ''],
    ['wait', HISTOGRAM, 'of the executions that a value on this wire woke'],
    ['execution', HISTOGRAM, ''],
    ['total', HISTOGRAM, ''],
  ],
  64,
)

/** Where the latencies stand, in words from `wait_ns`: in both kinds of rows alike. */
const { word: W, offset: O } = WIRE_ROW
const SUM = { wait: 0, execution: W.execution_ns - W.wait_ns, total: W.total_ns - W.wait_ns }
const BUCKET = {
  wait: (O.wait - O.wait_ns) >> 2,
  execution: (O.execution - O.wait_ns) >> 2,
  total: (O.total - O.wait_ns) >> 2,
}
/** Executions noted until they are counted: where they stand, and three durations in ms. */
const NOTED = 256 * 4

export class NodeCounters {
  readonly #i32: Int32Array
  readonly #f64: Float64Array
  readonly #base: number
  readonly #rows: number
  readonly #wires: number
  readonly #wire_rows: number
  readonly #noted = new Float64Array(NOTED)
  #noted_to = 0

  constructor(memory: Memory) {
    this.#i32 = memory.i32
    this.#f64 = memory.f64
    this.#base = memory.regions.nodes.offset
    this.#rows = memory.sizes.nodes
    this.#wires = memory.regions.wires.offset
    this.#wire_rows = memory.sizes.wires
  }

  #row(node: number): number {
    if (!(node >= 0 && node < this.#rows)) throw new RangeError(`no node ${node}`)
    return this.#base + node * NODE_ROW.size
  }

  #wireRow(wire: number): number {
    if (!(wire >= 0 && wire < this.#wire_rows)) throw new RangeError(`no wire ${wire}`)
    return this.#wires + wire * WIRE_ROW.size
  }

  reset(node: number): void {
    this.flush()
    const row = this.#row(node)
    this.#i32.fill(0, row >> 2, (row + NODE_ROW.size) >> 2)
  }

  /**
   * An execution that has ended; a failed one too. Its latencies are counted at the next `flush`: counting them here makes
   * the lane's loop too long for the compiler to inline, and a body a tenth slower. `times` is an object, since a double that
   * crosses a call may become one.
   */
  execution(node: number, times: ExecutionTimes): void {
    const row = this.#row(node)
    this.#f64[(row >> 3) + NODE_ROW.word.executions]! += 1
    this.#note(row + NODE_ROW.offset.wait_ns, times, times.published_ms)
  }

  /** The same for the wire by which a value came, among others, that was published at `published_ms`. */
  wire(wire: number, times: ExecutionTimes, published_ms: number): void {
    this.#note(this.#wireRow(wire) + WIRE_ROW.offset.wait_ns, times, published_ms)
  }

  #note(columns: number, times: ExecutionTimes, published_ms: number): void {
    const noted = this.#noted
    const at = this.#noted_to
    noted[at] = columns
    noted[at + 1] = times.took_ms
    noted[at + 2] = times.ended_ms - times.root_ms
    noted[at + 3] = times.ended_ms - times.took_ms - published_ms
    this.#noted_to = at + 4
    if (this.#noted_to === noted.length) this.flush()
  }

  /** Counts the latencies of what has ended. By the owner of the flows, before it lets one go. */
  flush(): void {
    const i32 = this.#i32
    const f64 = this.#f64
    const noted = this.#noted
    for (let at = 0; at < this.#noted_to; at += 4) {
      const columns = noted[at]!
      const sums = columns >> 3
      const buckets = columns >> 2
      const execution = noted[at + 1]! * 1e6
      const total = noted[at + 2]! * 1e6
      const wait = noted[at + 3]! * 1e6
      f64[sums + SUM.execution]! += execution
      f64[sums + SUM.total]! += total
      i32[buckets + BUCKET.execution + bucketOf(execution)]! += 1
      i32[buckets + BUCKET.total + bucketOf(total)]! += 1
      // Mostly no wait: the value was published by the body that ran just before.
      if (wait < SHORTEST_NS) {
        i32[buckets + BUCKET.wait]! += 1
      } else {
        f64[sums + SUM.wait]! += wait
        i32[buckets + BUCKET.wait + bucketOf(wait)]! += 1
      }
    }
    this.#noted_to = 0
  }

  /** A node without a body has done what it is for: an inject has published. */
  ran(node: number): void {
    const row = this.#row(node)
    this.#f64[(row >> 3) + NODE_ROW.word.executions]! += 1
    this.#i32[(row + NODE_ROW.offset.execution) >> 2]! += 1
  }

  error(node: number, now_ms: number): void {
    const row = this.#row(node) >> 3
    this.#f64[row + NODE_ROW.word.errors]! += 1
    this.#f64[row + NODE_ROW.word.last_error_ms] = now_ms
  }

  waitingForInput(node: number): void {
    this.#f64[(this.#row(node) >> 3) + NODE_ROW.word.waiting_for_input]! += 1
  }

  emission(node: number): void {
    this.#f64[(this.#row(node) >> 3) + NODE_ROW.word.emissions]! += 1
  }

  dropped(node: number, items: number): void {
    this.#f64[(this.#row(node) >> 3) + NODE_ROW.word.dropped]! += items
  }

  replaced(node: number): void {
    this.#f64[(this.#row(node) >> 3) + NODE_ROW.word.replaced]! += 1
  }

  placement(node: number): number {
    return this.#i32[(this.#row(node) >> 2) + NODE_ROW.word.placement]!
  }

  setPlacement(node: number, placement: number): void {
    this.#i32[(this.#row(node) >> 2) + NODE_ROW.word.placement] = placement
  }

  /** One of the counters of the row. */
  /** Executions that did not fail. */
  good(node: number): number {
    return this.get(node, 'executions') - this.get(node, 'errors')
  }

  get(
    node: number,
    counter: 'executions' | 'errors' | 'waiting_for_input' | 'emissions' | 'dropped' | 'replaced' | 'last_error_ms',
  ): number {
    return this.#f64[(this.#row(node) >> 3) + NODE_ROW.word[counter]]!
  }

  /** Copies the buckets of a node's histogram, each as it stands: modulo 2^32. Answers the sum of its durations in ns. */
  readNode(node: number, which: Latency, counts: Uint32Array): number {
    return this.#read(this.#row(node) + NODE_ROW.offset.wait_ns, which, counts)
  }

  readWire(wire: number, which: Latency, counts: Uint32Array): number {
    return this.#read(this.#wireRow(wire) + WIRE_ROW.offset.wait_ns, which, counts)
  }

  #read(columns: number, which: Latency, counts: Uint32Array): number {
    const first = (columns >> 2) + BUCKET[which]
    for (let i = 0; i < BUCKETS; i++) counts[i] = this.#i32[first + i]!
    return this.#f64[(columns >> 3) + SUM[which]]!
  }
}
