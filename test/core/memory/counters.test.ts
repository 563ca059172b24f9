import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BUCKETS, bucketOf } from '../../../core/memory/buckets.ts'
import { LATENCIES, NodeCounters, PLACEMENT } from '../../../core/memory/counters.ts'
import { countExecution, countWire, timesOf } from '../../kit/execution-times.ts'
import { smallMemory } from '../../kit/memory.ts'

test('an execution counts in each of its three latencies', () => {
  const counters = new NodeCounters(smallMemory())
  const counts = new Uint32Array(BUCKETS)
  countExecution(counters, 1, timesOf(1_000, 20_000, 300_000))
  for (const [which, ns] of [
    ['wait', 1_000],
    ['execution', 20_000],
    ['total', 300_000],
  ] as const) {
    assert.ok(Math.abs(counters.readNode(1, which, counts) - ns) < 1e-3, `the sum of ${which}`)
    assert.deepEqual([counts[bucketOf(ns)], counts.reduce((sum, each) => sum + each)], [1, 1], which)
    assert.equal(counters.readNode(2, which, counts), 0, 'a node has a row of its own')
    assert.equal(counters.readWire(1, which, counts), 0, 'a wire has one, too')
  }
  assert.equal(counters.get(1, 'executions'), 1)
  countWire(counters, 1, timesOf(64, 64, 64))
  for (const which of LATENCIES) assert.ok(Math.abs(counters.readWire(1, which, counts) - 64) < 1e-3)
})

test('latencies of a node and of its wires count together, however many have ended since the last flush', () => {
  const counters = new NodeCounters(smallMemory())
  const counts = new Uint32Array(BUCKETS)
  const times = timesOf(100, 100, 100)
  for (let i = 0; i < 1000; i++) {
    counters.execution(1, times)
    counters.wire(1, times, times.published_ms)
  }
  assert.ok(counters.readNode(1, 'total', counts) > 0, 'more than are noted are counted without a flush')
  counters.flush()
  for (const read of ['readNode', 'readWire'] as const)
    for (const which of LATENCIES) {
      assert.ok(Math.abs(counters[read](1, which, counts) - 100_000) < 1e-3, `${read} ${which}`)
      assert.equal(counts[bucketOf(100)], 1000)
    }
})

test('counters count, and a reset clears them', () => {
  const counters = new NodeCounters(smallMemory())
  const counts = new Uint32Array(BUCKETS)
  counters.error(3, 17)
  counters.waitingForInput(3)
  counters.emission(3)
  counters.emission(3)
  counters.dropped(3, 5)
  countExecution(counters, 3, timesOf(500, 500, 500))
  counters.setPlacement(3, PLACEMENT.dispatch)
  assert.deepEqual(
    (['errors', 'last_error_ms', 'waiting_for_input', 'emissions', 'dropped'] as const).map(name =>
      counters.get(3, name),
    ),
    [1, 17, 1, 2, 5],
  )
  assert.equal(counters.placement(3), PLACEMENT.dispatch)
  counters.reset(3)
  assert.equal(counters.get(3, 'errors'), 0)
  assert.equal(counters.placement(3), PLACEMENT.inline)
  assert.equal(counters.readNode(3, 'wait', counts), 0)
  assert.ok(counts.every(count => count === 0))
})
