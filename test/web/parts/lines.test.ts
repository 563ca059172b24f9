import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Line, summaryOf, tableOf } from '../../../clients/web/src/parts/chart/lines.ts'

const line = (name: string, xs: number[], ys: (number | null)[], more: Partial<Line> = {}): Line => ({
  ...{ name, color: 1, xs, ys },
  ...more,
})

test('lines with their own times become columns over all times; where a line has no point there is none', () => {
  assert.deepEqual(tableOf([line('a', [1, 3], [10, null]), line('b', [2, 3], [20, 30])]), [
    [1, 2, 3],
    [10, undefined, null],
    [undefined, 20, 30],
  ])
})

test('a band is two more columns', () => {
  const band = { least: [0, 1], most: [2, 3] }
  assert.deepEqual(tableOf([line('a', [1, 2], [1, 2], { band })]), [
    [1, 2],
    [1, 2],
    [0, 1],
    [2, 3],
  ])
})

test('a chart can be read as a sentence', () => {
  assert.equal(
    summaryOf([line('p', [1, 2, 3], [5, null, 4], { unit: 'bar' }), line('q', [], [])]),
    'p: 2 points from 4 bar to 5 bar, last 4 bar; q: no values',
  )
})
