import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BUCKETS, bucketFloor, bucketOf, quantileOf } from '../../../core/memory/buckets.ts'

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
  const counts = new Float64Array(BUCKETS)
  assert.equal(quantileOf(counts, 0.5), null)
  for (let i = 1; i <= 10_000; i++) counts[bucketOf(i * 1000)]! += 1
  for (const q of [0.01, 0.5, 0.9, 0.99, 1]) {
    const exact = q * 10_000 * 1000
    const found = quantileOf(counts, q)!
    assert.ok(Math.abs(found - exact) / exact < 0.13, `${q}: ${found} for ${exact}`)
  }
})
