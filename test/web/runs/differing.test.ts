import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bucketOf } from '../../../clients/web/src/explorer/bucket.ts'
import { differing } from '../../../clients/web/src/runs/differing.ts'

test('what differs between records is what is not alike in all of them', () => {
  assert.deepEqual(
    differing([
      { a: 1, b: [1], c: 1 },
      { a: 1, b: [2] },
    ]),
    ['b', 'c'],
  )
  assert.deepEqual(differing([{ a: 1 }]), [])
})

test('a chart has every value of a short span, and at most 600 bins of a longer one', () => {
  assert.deepEqual([5, 20, 21, 300, 3_600, 86_400, 2_592_000].map(bucketOf), [null, null, 1, 1, 10, 300, 7_200])
  for (let span_s = 21; span_s < 4e7; span_s *= 1.7) assert.ok(span_s / bucketOf(span_s)! <= 600, String(span_s))
})
