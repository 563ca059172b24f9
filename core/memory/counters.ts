/**
 * Counters and histograms of each node. Only the thread that owns the node's flow writes a row (no atomics); anyone reads,
 * and may see a row between two increments.
 *
 * Buckets are log-linear: eight to an octave from 64 ns to 1100 s, cut straight out of the bits of a double (exponent and
 * the first three bits of the mantissa), so a bucket is at most 12 % wide. A bucket that reaches 2^30 halves its whole
 * histogram: the shape stays and the counts never wrap.
 */
import { layout } from './layout.ts'
import type { Memory } from './region.ts'

const SUB_BITS = 3
const FIRST_EXPONENT = 6
const LAST_EXPONENT = 40
export const BUCKETS = (LAST_EXPONENT - FIRST_EXPONENT) << SUB_BITS
const BIAS = (1023 + FIRST_EXPONENT) << SUB_BITS
const HALVE_AT = 2 ** 30

export const PLACEMENT = { inline: 0, dispatch: 1 } as const
export type Histogram = 'wait' | 'execution'

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
    ['wait', `bytes:${(BUCKETS * 4) as 1088}`, 'queue wait, i32 buckets'],
    ['execution', `bytes:${(BUCKETS * 4) as 1088}`, 'execution time, i32 buckets'],
  ],
  64,
)

const bits = new Float64Array(1)
const words = new Int32Array(bits.buffer)

/** Bucket of a duration in ns; what lies outside the range goes to the first or last one. */
export function bucketOf(ns: number): number {
  bits[0] = ns
  const bucket = (words[1]! >> (20 - SUB_BITS)) - BIAS
  return bucket > 0 ? (bucket < BUCKETS ? bucket : BUCKETS - 1) : 0
}

/** Least duration of a bucket in ns. */
export const bucketFloor = (bucket: number): number =>
  2 ** (FIRST_EXPONENT + (bucket >> SUB_BITS)) * (1 + (bucket & ((1 << SUB_BITS) - 1)) / (1 << SUB_BITS))

export class NodeCounters {
  readonly #i32: Int32Array
  readonly #f64: Float64Array
  readonly #base: number
  readonly #rows: number

  constructor(memory: Memory) {
    this.#i32 = memory.i32
    this.#f64 = memory.f64
    this.#base = memory.regions.nodes.offset
    this.#rows = memory.sizes.nodes
  }

  #row(node: number): number {
    if (!(node >= 0 && node < this.#rows)) throw new RangeError(`no node ${node}`)
    return this.#base + node * NODE_ROW.size
  }

  reset(node: number): void {
    const row = this.#row(node)
    this.#i32.fill(0, row >> 2, (row + NODE_ROW.size) >> 2)
  }

  execution(node: number, ns: number): void {
    const row = this.#row(node)
    this.#f64[(row >> 3) + NODE_ROW.word.executions]! += 1
    this.#count(row + NODE_ROW.offset.execution, ns)
  }

  wait(node: number, ns: number): void {
    this.#count(this.#row(node) + NODE_ROW.offset.wait, ns)
  }

  #count(histogram: number, ns: number): void {
    const at = (histogram >> 2) + bucketOf(ns)
    const count = this.#i32[at]! + 1
    this.#i32[at] = count
    if (count >= HALVE_AT) this.#halve(histogram >> 2)
  }

  #halve(first: number): void {
    for (let i = first; i < first + BUCKETS; i++) this.#i32[i]! >>= 1
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
  get(
    node: number,
    counter: 'executions' | 'errors' | 'waiting_for_input' | 'emissions' | 'dropped' | 'replaced' | 'last_error_ms',
  ): number {
    return this.#f64[(this.#row(node) >> 3) + NODE_ROW.word[counter]]!
  }

  /** The duration that a share `q` of the executions (or waits) did not exceed, in ns; the middle of its bucket. Null without any. */
  quantile(node: number, which: Histogram, q: number): number | null {
    const first = (this.#row(node) + NODE_ROW.offset[which]) >> 2
    let total = 0
    for (let i = 0; i < BUCKETS; i++) total += this.#i32[first + i]!
    if (total === 0) return null
    const rank = Math.max(1, Math.ceil(q * total))
    let seen = 0
    let bucket = 0
    for (; bucket < BUCKETS - 1; bucket++) {
      seen += this.#i32[first + bucket]!
      if (seen >= rank) break
    }
    return (bucketFloor(bucket) + bucketFloor(bucket + 1)) / 2
  }
}
