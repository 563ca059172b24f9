import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BUCKETS, bucketFloor, quantileOf } from '../../../core/memory/buckets.ts'
import { LATENCIES, NodeCounters } from '../../../core/memory/counters.ts'
import { timesOf } from '../../kit/execution-times.ts'
import { smallMemory } from '../../kit/memory.ts'
import { randomFrom, seed } from '../../kit/random.ts'

const ROUNDS = process.env['LONG'] === undefined ? 30 : 2000
const STEPS = 2000
const NODES = 4
const FIRST_BUCKET_END_NS = bucketFloor(1)
const LAST_BUCKET_NS = bucketFloor(BUCKETS - 1)
const COUNTED = [
  'executions',
  'errors',
  'waiting_for_input',
  'emissions',
  'dropped',
  'replaced',
  'last_error_ms',
] as const

test('against a model: every counter is what was counted, and a quantile is within a bucket of the exact one', () => {
  console.log(`SEED=${seed}`)
  for (let round = 0; round < ROUNDS; round++) play(seed + round)
})

function play(round_seed: number): void {
  const random = randomFrom(round_seed)
  const counters = new NodeCounters(smallMemory())
  const counts = new Uint32Array(BUCKETS)
  const fresh = () => ({
    counted: Object.fromEntries(COUNTED.map(name => [name, 0])) as Record<(typeof COUNTED)[number], number>,
    wait: [] as number[],
    execution: [] as number[],
    total: [] as number[],
  })
  const model = Array.from({ length: NODES }, fresh)
  /** From 1 ns to half an hour, all orders of magnitude alike. */
  const duration = (): number => Math.exp(random() * Math.log(1.8e12))
  const steps: ((node: number) => void)[] = [
    node => {
      const times = timesOf(duration(), duration(), duration())
      const { root_ms, published_ms, ended_ms, took_ms } = times
      counters.execution(node, times)
      model[node]!.counted.executions++
      model[node]!.wait.push((ended_ms - took_ms - published_ms) * 1e6)
      model[node]!.execution.push(took_ms * 1e6)
      model[node]!.total.push((ended_ms - root_ms) * 1e6)
    },
    node => {
      const now_ms = 1.7e12 + Math.floor(random() * 1e9)
      counters.error(node, now_ms)
      model[node]!.counted.errors++
      model[node]!.counted.last_error_ms = now_ms
    },
    node => {
      counters.waitingForInput(node)
      model[node]!.counted.waiting_for_input++
    },
    node => {
      counters.emission(node)
      model[node]!.counted.emissions++
    },
    node => {
      const items = Math.floor(random() * 100)
      counters.dropped(node, items)
      model[node]!.counted.dropped += items
    },
    node => {
      counters.replaced(node)
      model[node]!.counted.replaced++
    },
    node => {
      if (random() > 0.01) return
      counters.reset(node)
      model[node] = fresh()
    },
  ]
  for (let step = 0; step < STEPS; step++) steps[Math.floor(random() * steps.length)]!(Math.floor(random() * NODES))
  counters.flush()
  for (let node = 0; node < NODES; node++) {
    const { counted } = model[node]!
    for (const name of COUNTED) assert.equal(counters.get(node, name), counted[name], name)
    for (const which of LATENCIES) {
      const sorted = model[node]![which].sort((a, b) => a - b)
      const q = random()
      const sum = counters.readNode(node, which, counts)
      const exact_sum = model[node]![which].reduce((all, each) => all + each, 0)
      // Waits below the first bucket's end add nothing.
      assert.ok(Math.abs(sum - exact_sum) <= exact_sum * 1e-9 + 64 * sorted.length, `${which} ${sum} for ${exact_sum}`)
      const found = quantileOf(counts, q)
      if (sorted.length === 0) assert.equal(found, null)
      else {
        const exact = sorted[Math.max(1, Math.ceil(q * sorted.length)) - 1]!
        const place = `${q}: ${found} for ${exact}`
        // the first bucket reaches down to nothing, the last one to the end
        if (exact < FIRST_BUCKET_END_NS) assert.ok(found! < FIRST_BUCKET_END_NS, place)
        else if (exact < LAST_BUCKET_NS) assert.ok(Math.abs(Math.log(found! / exact)) < Math.log(1.13), place)
        else assert.ok(found! >= LAST_BUCKET_NS, place)
      }
    }
  }
}
