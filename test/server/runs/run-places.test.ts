import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type PlaceHolder, RunPlaces } from '../../../server/runs/run-places.ts'

/** Runs by age, and which of them were placed again, in order. */
function places(count: number, bounds: { most_aside?: number; most_bytes?: number } = {}) {
  const placed: number[] = []
  const all = new RunPlaces({ count, most_aside: 100, most_bytes: 100, ...bounds })
  const holder = (age: number): PlaceHolder => ({ age, placed: () => placed.push(age) })
  /** Of a queued run that has begun. */
  const begun = (age: number): PlaceHolder => {
    assert.ok(all.take(), `there is a place for ${age}`)
    const one = holder(age)
    all.begun(one)
    return one
  }
  return { all, placed, begun }
}

test('a run that wants its place back comes before every queued run, the oldest first', () => {
  const { all, placed, begun } = places(1)
  const first = begun(1)
  all.setAside(first, 1)
  const next = begun(2)
  all.setAside(next, 1)
  const third = begun(3)
  all.want(next)
  all.want(first)
  assert.deepEqual([placed, all.take(), all.pass(third), all.aside], [[], false, false, { count: 2, wanting: 2 }])
  all.leave(third)
  assert.deepEqual([placed, all.take(), all.free], [[1], false, 0])
  all.leave(first)
  assert.deepEqual([placed, all.aside], [[1, 2], { count: 0, wanting: 0 }])
  assert.equal(all.pass(next), true, 'nobody wants one: it goes to the next queued run')
  all.giveBack()
  assert.equal(all.free, 1)
})

test('a run that ends without a place, or twice, frees none', () => {
  const { all, begun } = places(2)
  const [first, second] = [begun(1), begun(2)]
  all.setAside(first, 1)
  assert.deepEqual([all.free, all.pass(first)], [1, false])
  all.want(second)
  all.leave(first)
  all.leave(first)
  all.setAside(first, 1)
  assert.deepEqual([all.free, all.aside.count], [1, 0])
})

test('so many that are set aside, or so many bytes, hold queued runs back, never a run that has begun', () => {
  for (const bounds of [{ most_aside: 2 }, { most_bytes: 10 }]) {
    const { all, placed, begun } = places(1, bounds)
    const first = begun(1)
    all.setAside(first, 5)
    const second = begun(2)
    all.setAside(second, 5)
    assert.deepEqual([all.take(), all.free], [false, 1])
    all.want(second)
    assert.deepEqual(placed, [2])
    all.setAside(second, 5)
    all.leave(first)
    assert.equal(all.take(), true)
  }
})
