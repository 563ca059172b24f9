import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ownerWord } from '../../../core/memory/threads.ts'
import { holderOf, lockWord, recoverWord, Sleeper, unlockWord, wakeThread } from '../../../core/memory/wait.ts'
import { smallMemory } from '../../kit/memory.ts'

const first = ownerWord(1, 8)
const second = ownerWord(1, 9)

test('a held word is refused after the patience of the caller, and says who holds it', () => {
  const memory = smallMemory()
  const word = memory.regions.flows.offset >> 2
  assert.ok(lockWord(memory, word, first))
  assert.equal(lockWord(memory, word, second, 3), false)
  assert.equal(holderOf(memory.i32[word]!), first)
  assert.throws(() => unlockWord(memory, word, second), RangeError)
  unlockWord(memory, word, first)
  assert.ok(lockWord(memory, word, second, 0))
  unlockWord(memory, word, second)
  assert.equal(memory.i32[word], 0)
})

test('only the word of the dead thread is freed', () => {
  const memory = smallMemory()
  const word = memory.regions.flows.offset >> 2
  assert.equal(recoverWord(memory, word, first), false)
  lockWord(memory, word, first)
  assert.equal(recoverWord(memory, word, second), false)
  lockWord(memory, word, second, 3)
  assert.equal(recoverWord(memory, word, first), true)
  assert.equal(memory.i32[word], 0)
})

test('a thread that does not sleep is not woken, one that announced is woken once', async () => {
  const memory = smallMemory()
  const sleeper = new Sleeper(memory, 8)
  assert.equal(wakeThread(memory, 8), false)
  const ticket = sleeper.announce()
  assert.equal(wakeThread(memory, 8), true)
  assert.equal(wakeThread(memory, 8), false)
  // the wake came between the announcement and the sleep: it must not be slept through
  sleeper.sleep(ticket, 60_000)
  await sleeper.sleepAsync(ticket, 60_000)
})

test('an asynchronous sleep ends with a wake, and with a cancel', async () => {
  const memory = smallMemory()
  const sleeper = new Sleeper(memory, 8)
  const keep = setInterval(() => {}, 1000)
  const woken = sleeper.sleepAsync(sleeper.announce(), 60_000)
  assert.ok(wakeThread(memory, 8))
  await woken
  const cancelled = sleeper.sleepAsync(sleeper.announce(), 60_000)
  sleeper.cancel()
  await cancelled
  assert.equal(wakeThread(memory, 8), false)
  clearInterval(keep)
})
