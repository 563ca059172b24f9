import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../../protocol/limits.ts'
import { addTaken, newTaken, SendWindow } from '../../../threads/calls/send-window.ts'

const most = limits.METRIC_POINTS_AWAY

test('no more points are on their way than the window holds, and room comes with those that are taken', () => {
  const taken = newTaken()
  const window = new SendWindow(taken, 'points', 1)
  assert.ok(window.enter(most))
  assert.equal(window.enter(1), false)
  addTaken(taken, 'points', 10)
  assert.ok(window.enter(10))
  assert.equal(window.enter(1), false)
})

test('a thread that has waited in vain drops without another wait until there is room', () => {
  const taken = newTaken()
  const window = new SendWindow(taken, 'points', 1)
  assert.ok(window.enter(most))
  for (let times = 0; times < 1_000; times++) assert.equal(window.enter(256), false)
  addTaken(taken, 'points', most)
  assert.ok(window.enter(256))
})

test('what was never taken of one call takes no room of the next', () => {
  const taken = newTaken()
  assert.ok(new SendWindow(taken, 'points', 1).enter(most))
  assert.ok(new SendWindow(taken, 'points', 1).enter(most))
})
