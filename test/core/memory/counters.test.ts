import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BUCKETS, bucketFloor, bucketOf, NodeCounters, PLACEMENT } from '../../../core/memory/counters.ts'
import { smallMemory } from '../../kit/memory.ts'

test('every duration lands in the bucket that covers it, at most an eighth wide', () => {
  for (let ns = 64; ns < 1e12; ns *= 1.003) {
    const bucket = bucketOf(ns)
    assert.ok(bucketFloor(bucket) <= ns && ns < bucketFloor(bucket + 1), `${ns} ns in bucket ${bucket}`)
    assert.ok(bucketFloor(bucket + 1) <= bucketFloor(bucket) * 1.1251)
  }
  assert.equal(bucketOf(0), 0)
  assert.equal(bucketOf(63), 0)
  assert.equal(bucketOf(-5), 0)
  assert.equal(bucketOf(1e15), BUCKETS - 1)
})

test('a quantile is within a bucket of the exact one', () => {
  const counters = new NodeCounters(smallMemory())
  assert.equal(counters.quantile(1, 'execution', 0.5), null)
  for (let i = 1; i <= 10_000; i++) counters.execution(1, i * 1000)
  for (const q of [0.01, 0.5, 0.9, 0.99, 1]) {
    const exact = q * 10_000 * 1000
    const found = counters.quantile(1, 'execution', q)!
    assert.ok(Math.abs(found - exact) / exact < 0.13, `${q}: ${found} for ${exact}`)
  }
  assert.equal(counters.get(1, 'executions'), 10_000)
  assert.equal(counters.quantile(1, 'wait', 0.5), null)
  assert.equal(counters.quantile(2, 'execution', 0.5), null, 'a node has a row of its own')
})

test('counters count, and a reset clears them', () => {
  const counters = new NodeCounters(smallMemory())
  counters.error(3, 17)
  counters.waitingForInput(3)
  counters.emission(3)
  counters.emission(3)
  counters.dropped(3, 5)
  counters.wait(3, 500)
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
  assert.equal(counters.quantile(3, 'wait', 0.5), null)
})
