import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Freshness } from '../../../clients/web/src/panel/freshness.ts'
import { placesOf } from '../../../clients/web/src/panel/places.ts'

test('a value is stale after three of its intervals, and not before two seconds', () => {
  const fast = new Freshness()
  const slow = new Freshness()
  for (let at = 0; at <= 1000; at += 100) fast.came(at)
  for (let at = 0; at <= 50_000; at += 10_000) slow.came(at)
  assert.deepEqual(
    [2900, 3100].map(now => fast.isStale(now)),
    [false, true],
  )
  assert.deepEqual(
    [79_000, 81_000].map(now => slow.isStale(now)),
    [false, true],
  )
})

test('what came once, or never, is not stale: nobody knows how often it comes', () => {
  const fresh = new Freshness()
  assert.equal(fresh.isStale(1e9), false)
  fresh.came(0)
  assert.equal(fresh.isStale(1e9), false)
})

test('a tile keeps its place; the others follow below, in the order of the wider grid, row by row', () => {
  const placed = { position: { wide: { x: 6, y: 1, width: 6, height: 3 } } }
  assert.deepEqual(placesOf([{}, placed, {}, {}, {}, {}], 'wide'), [
    { x: 0, y: 4, width: 3, height: 2 },
    { x: 6, y: 1, width: 6, height: 3 },
    { x: 3, y: 4, width: 3, height: 2 },
    { x: 6, y: 4, width: 3, height: 2 },
    { x: 9, y: 4, width: 3, height: 2 },
    { x: 0, y: 6, width: 3, height: 2 },
  ])
  const at = (x: number, y: number) => ({ position: { wide: { x, y, width: 3, height: 2 } } })
  assert.deepEqual(
    placesOf([at(6, 0), at(0, 0), at(0, 4)], 'phone').map(({ y }) => y),
    [2, 0, 4],
  )
})
