import { BUCKETS, bucketFloor } from '../../core/memory/buckets.ts'
import type { Distribution } from '../health/latencies.ts'

export type Labels = Readonly<Record<string, string>>
export type Sample = readonly [Labels, number]

/**
 * Upper ends of the histogram buckets, in nanoseconds: powers of four from a microsecond to a minute. They are ends of the
 * counted buckets too, so no count is an estimate.
 */
const ENDS_NS = Array.from({ length: 14 }, (_, at) => 2 ** (10 + 2 * at))
const ENDS = ENDS_NS.map(ns => String(ns / 1e9))
/** By bucket: the first end that it lies below. */
const END_OF = Array.from({ length: BUCKETS }, (_, bucket) => ENDS_NS.findIndex(end => bucketFloor(bucket + 1) <= end))

/** Prometheus text exposition format, version 0.0.4, family by family. A family is named once. */
export class Exposition {
  readonly #named = new Set<string>()

  #head(name: string, type: string, help: string): string {
    if (this.#named.has(name)) throw new RangeError(`two families are called ${name}`)
    this.#named.add(name)
    return `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n# TYPE ${name} ${type}\n`
  }

  /** The lines of a family, a sample at a time. */
  *metric(name: string, type: 'counter' | 'gauge', help: string, samples: Iterable<Sample>): Iterable<string> {
    yield this.#head(name, type, help)
    for (const [labels, value] of samples) yield `${name}${braced(labelText(labels))} ${value}\n`
  }

  /** Durations in seconds. */
  *histogram(name: string, help: string, samples: Iterable<readonly [Labels, Distribution]>): Iterable<string> {
    yield this.#head(name, 'histogram', help)
    for (const [labels, distribution] of samples) yield histogramLines(name, labelText(labels), distribution)
  }
}

function histogramLines(name: string, labels: string, { counts, sum_ns }: Distribution): string {
  const by_end = new Float64Array(ENDS_NS.length)
  let beyond = 0
  for (let bucket = 0; bucket < BUCKETS; bucket++) {
    const end = END_OF[bucket]!
    if (end < 0) beyond += counts[bucket]!
    else by_end[end]! += counts[bucket]!
  }
  const before_le = labels === '' ? '' : `${labels},`
  let below = 0
  let lines = ''
  for (const [at, end] of ENDS.entries()) {
    below += by_end[at]!
    lines += `${name}_bucket{${before_le}le="${end}"} ${below}\n`
  }
  const count = below + beyond
  const sum_s = Math.max(0, sum_ns) / 1e9
  return `${lines}${name}_bucket{${before_le}le="+Inf"} ${count}\n${name}_sum${braced(labels)} ${sum_s}\n${name}_count${braced(labels)} ${count}\n`
}

const labelText = (labels: Labels): string =>
  Object.entries(labels)
    .map(([label, text]) => `${label}="${escaped(text)}"`)
    .join(',')

const braced = (labels: string): string => (labels === '' ? '' : `{${labels}}`)
const escaped = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
