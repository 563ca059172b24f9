import type { PlanInputPort, PlanNode } from '../../core/flow/plan.ts'
import { BUCKETS, quantileOf } from '../../core/memory/buckets.ts'
import { LATENCIES, type Latency, type NodeCounters } from '../../core/memory/counters.ts'
import { limits } from '../../protocol/limits.ts'
import type { Latencies as LatenciesNoun, Quantiles } from '../../protocol/nouns/node.ts'
import { fatal } from '../watch/fatal.ts'

/** A row of `NodeCounters` that has latencies. */
export type Measured = { readonly node: number } | { readonly wire: number }

/** The row of a wire; null: a value on it wakes nobody, or no row was left for it. */
export function measuredOf(node: PlanNode, { trigger, message, wire }: PlanInputPort): Measured | null {
  if (!trigger) return null
  if (wire >= 0) return { wire }
  const alone = node.inputs.every(other => !other.trigger || other.message === message)
  return alone ? { node: node.index } : null
}

/** A histogram with all its counts, and the exact sum of its durations. */
export interface Distribution {
  readonly counts: Float64Array
  readonly sum_ns: number
}

/** Buckets that hold something, as pairs of bucket and count: most of the 272 are empty. */
interface Sparse {
  readonly pairs: readonly number[]
  readonly sum_ns: number
}

interface Kept {
  /** All that was counted up to the last boundary between two minutes. */
  readonly before: Sparse
  /** Of the minute that ended there. */
  readonly minute: Sparse
}

type KeptRow = { readonly [latency in Latency]: Kept }

const NOTHING: Sparse = { pairs: [], sum_ns: 0 }
const WRAP = 2 ** 32
/** Rows of a flow that is read between two breaks for others. */
const ROWS_AT_ONCE = 500

/**
 * Latencies of nodes and wires since the engine started, and in the last closed minute. The rows in shared memory only ever
 * count up and wrap at 2^32, so the difference of two readings is what happened between them: a reading each minute serves
 * both. Nothing is asked of the threads that count.
 */
export class Latencies {
  readonly #counters: NodeCounters
  readonly #rows: () => Iterable<Measured>
  readonly #now_us: () => number
  readonly #nodes: (KeptRow | undefined)[] = []
  readonly #wires: (KeptRow | undefined)[] = []
  readonly #scratch = new Uint32Array(BUCKETS)
  #minute: { since_us: number; until_us: number } | null = null
  #since_us: number
  #timer: NodeJS.Timeout | null = null
  #closing = false

  constructor(parts: { counters: NodeCounters; rows: () => Iterable<Measured>; now_us: () => number }) {
    this.#counters = parts.counters
    this.#rows = parts.rows
    this.#now_us = parts.now_us
    this.#since_us = parts.now_us()
  }

  start(): void {
    this.#timer = setInterval(() => this.closeMinute().catch(fatal), limits.LATENCY_MINUTE_MS)
    this.#timer.unref()
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
  }

  /** The last closed minute, microseconds since 1970. */
  get minute(): { readonly since_us: number; readonly until_us: number } | null {
    return this.#minute
  }

  /** The present minute ends here. Reads some hundred rows at a time: each costs about a microsecond. */
  async closeMinute(): Promise<void> {
    if (this.#closing) return
    this.#closing = true
    const until_us = this.#now_us()
    let read = 0
    for (const row of this.#rows()) {
      this.#close(row)
      if (++read % ROWS_AT_ONCE === 0) await new Promise(setImmediate)
    }
    this.#minute = { since_us: this.#since_us, until_us }
    this.#since_us = until_us
    this.#closing = false
  }

  #close(row: Measured): void {
    const kept = {} as Record<Latency, Kept>
    for (const which of LATENCIES) {
      const { counts, sum_ns } = this.distribution(row, which)
      const { before } = this.#kept(row)?.[which] ?? { before: NOTHING }
      const now = sparse(counts, sum_ns)
      for (let at = 0; at < before.pairs.length; at += 2) counts[before.pairs[at]!]! -= before.pairs[at + 1]!
      kept[which] = { before: now, minute: sparse(counts, sum_ns - before.sum_ns) }
    }
    if ('node' in row) this.#nodes[row.node] = kept
    else this.#wires[row.wire] = kept
  }

  /** Everything since the engine started. */
  distribution(row: Measured, which: Latency): Distribution {
    const low = this.#scratch
    const sum_ns =
      'node' in row ? this.#counters.readNode(row.node, which, low) : this.#counters.readWire(row.wire, which, low)
    const counts = new Float64Array(BUCKETS)
    const before = this.#kept(row)?.[which].before.pairs ?? []
    for (let at = 0; at < before.length; at += 2) counts[before[at]!] = before[at + 1]!
    for (let bucket = 0; bucket < BUCKETS; bucket++) counts[bucket]! += (low[bucket]! - (counts[bucket]! % WRAP)) >>> 0
    return { counts, sum_ns }
  }

  sinceStart(row: Measured): LatenciesNoun {
    return latenciesOf(which => this.distribution(row, which))
  }

  /** Null before the first minute has closed. */
  lastMinute(row: Measured): LatenciesNoun | null {
    if (this.#minute === null) return null
    const kept = this.#kept(row)
    return latenciesOf(which => dense(kept?.[which].minute ?? NOTHING))
  }

  /** Of all executions of these nodes in the last closed minute; null when there were none. */
  lastMinuteP99(nodes: Iterable<number>): number | null {
    const counts = new Float64Array(BUCKETS)
    for (const node of nodes) {
      const pairs = this.#nodes[node]?.execution.minute.pairs ?? []
      for (let at = 0; at < pairs.length; at += 2) counts[pairs[at]!]! += pairs[at + 1]!
    }
    const ns = quantileOf(counts, 0.99)
    return ns === null ? null : ns / 1e9
  }

  #kept(row: Measured): KeptRow | undefined {
    return 'node' in row ? this.#nodes[row.node] : this.#wires[row.wire]
  }
}

const latenciesOf = (read: (which: Latency) => Distribution): LatenciesNoun => ({
  wait: quantilesOf(read('wait')),
  execution: quantilesOf(read('execution')),
  total: quantilesOf(read('total')),
})

function quantilesOf({ counts, sum_ns }: Distribution): Quantiles | null {
  const count = counts.reduce((sum, each) => sum + each, 0)
  if (count === 0) return null
  const seconds = (q: number): number => quantileOf(counts, q)! / 1e9
  return {
    count,
    mean_s: Math.max(0, sum_ns) / count / 1e9,
    p50_s: seconds(0.5),
    p90_s: seconds(0.9),
    p99_s: seconds(0.99),
  }
}

function sparse(counts: Float64Array, sum_ns: number): Sparse {
  const pairs: number[] = []
  for (let bucket = 0; bucket < BUCKETS; bucket++) if (counts[bucket]! > 0) pairs.push(bucket, counts[bucket]!)
  return pairs.length === 0 ? NOTHING : { pairs, sum_ns }
}

function dense({ pairs, sum_ns }: Sparse): Distribution {
  const counts = new Float64Array(BUCKETS)
  for (let at = 0; at < pairs.length; at += 2) counts[pairs[at]!] = pairs[at + 1]!
  return { counts, sum_ns }
}
