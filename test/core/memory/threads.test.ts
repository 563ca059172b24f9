import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  epochOf,
  ownerWord,
  SLOT,
  slotOf,
  THREAD_KIND,
  THREAD_ROW,
  THREAD_STATE,
  ThreadTable,
} from '../../../core/memory/threads.ts'
import { smallMemory } from '../../kit/memory.ts'

test('each thread in a slot has an owner word of its own', () => {
  const threads = new ThreadTable(smallMemory())
  const first = threads.enter(SLOT.lane, THREAD_KIND.lane)
  assert.equal(slotOf(first), SLOT.lane)
  assert.ok(threads.isAlive(first))
  assert.throws(() => threads.enter(SLOT.lane, THREAD_KIND.lane), RangeError)
  threads.leave(first)
  assert.equal(threads.state(SLOT.lane), THREAD_STATE.left)
  const second = threads.enter(SLOT.lane, THREAD_KIND.lane)
  assert.notEqual(second, first)
  assert.ok(!threads.isAlive(first))
  assert.equal(threads.ownerOf(SLOT.lane), second)
  assert.equal(threads.kind(SLOT.lane), THREAD_KIND.lane)
})

test('a dead thread is named by the word that it left', () => {
  const threads = new ThreadTable(smallMemory())
  const owner = threads.enter(9, THREAD_KIND.lane)
  assert.equal(threads.markDead(9), owner)
  assert.ok(!threads.isAlive(owner))
  assert.equal(threads.state(9), THREAD_STATE.dead)
  assert.equal(threads.markDead(9), 0)
})

test('owner words are positive for every epoch, and epochs start again after the last', () => {
  assert.ok(ownerWord(2 ** 24 - 1, 63) > 0)
  const memory = smallMemory()
  const threads = new ThreadTable(memory)
  memory.i32[(threads.row(8) >> 2) + THREAD_ROW.word.epoch] = 2 ** 24 - 2
  for (const epoch of [2 ** 24 - 1, 1, 2]) {
    const owner = threads.enter(8, THREAD_KIND.lane)
    assert.ok(owner > 0)
    assert.equal(epochOf(owner), epoch)
    threads.leave(owner)
  }
})

test('slots outside the table are a mistake of the caller', () => {
  const threads = new ThreadTable(smallMemory())
  for (const slot of [0, -1, 24, Number.NaN]) assert.throws(() => threads.enter(slot, THREAD_KIND.lane), RangeError)
  assert.ok(!threads.isAlive(0))
  assert.ok(!threads.isAlive(ownerWord(1, 60)))
})
