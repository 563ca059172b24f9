import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KIND } from '../../../../protocol/values/encoded.ts'
import { PointBatch } from '../../../../server/store/history/point-batch.ts'
import { Series } from '../../../../server/store/history/series.ts'

const HOUR_US = 3_600_000_000
const NOON_US = Date.UTC(2026, 2, 10, 12) * 1000

/** The version that a series has as its newest after each of the points, which come one commit after the other. */
function newest(points: readonly (readonly [version: number, ts: number])[], series = new Series(1, 'a.x', 'int')) {
  return points.map(([version, ts]) => {
    const batch = new PointBatch()
    batch.push(version, ts, KIND.int, version, null)
    series.fold(batch, 0, 1, () => {})
    return series.last.version
  })
}

test('a record that comes late is not the newest, also when the clock was set back after it was written', () => {
  const points = [
    [99, NOON_US + HOUR_US],
    [101, NOON_US],
    [100, NOON_US + HOUR_US + 1_000],
    [102, NOON_US + 1_000],
  ] as const
  assert.deepEqual(newest(points), [99, 101, 101, 102])
})

test('a message whose flow was deleted and saved anew begins again with lower versions', () => {
  const series = new Series(1, 'a.x', 'int')
  assert.deepEqual(newest([[500, NOON_US]], series), [500])
  series.forget()
  // A record of the deleted flow comes after the deletion.
  const points = [
    [501, NOON_US],
    [1, NOON_US + HOUR_US],
    [2, NOON_US + HOUR_US],
  ] as const
  assert.deepEqual(newest(points, series), [501, 1, 2])
})
