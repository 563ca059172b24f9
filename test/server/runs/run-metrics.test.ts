import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../../protocol/limits.ts'
import type { NodeRecord } from '../../../server/runs/node-record.ts'
import { RunMetrics } from '../../../server/runs/run-metrics.ts'

const record = { node: { id: 'fit' } } as NodeRecord
const points = (count: number, name = 'loss') =>
  Array.from({ length: count }, (_, at) => ({ name, value: at, step: null }))

test('points over a bound of the run are dropped with their number, and the others are kept', () => {
  const metrics = new RunMetrics({ names: 2, points: 5 })
  const add = (name: string, count = 1): number => metrics.add(record, points(count, name), () => {})
  assert.deepEqual([add('a'), add('b', 2), add('c', 3), add('a', 3), add('b')], [0, 0, 3, 1, 1])
  assert.deepEqual(
    metrics.take(true).map(point => `${point.name} ${point.step}`),
    ['fit.a 0', 'fit.b 0', 'fit.b 1', 'fit.a 1', 'fit.a 2'],
  )
})

test('bodies hear that their points are taken once few enough wait to be written', () => {
  const metrics = new RunMetrics()
  let taken = 0
  const batch = points(limits.METRIC_POINTS_WAITING / 4)
  for (let times = 0; times < 6; times++) metrics.add(record, batch, () => taken++)
  assert.equal(taken, 3)
  const write = metrics.take(false)
  assert.equal(write.length, limits.METRIC_POINTS_WRITE)
  assert.equal(taken, 3, 'what is on its way to the disk waits as well')
  metrics.written(write.length)
  metrics.written(metrics.take(false).length)
  assert.equal(taken, 6)
})

test('a run that ends lets every body go on', () => {
  const metrics = new RunMetrics()
  let taken = 0
  metrics.add(record, points(limits.METRIC_POINTS_WAITING), () => taken++)
  assert.equal(taken, 0)
  metrics.end()
  assert.equal(taken, 1)
})
