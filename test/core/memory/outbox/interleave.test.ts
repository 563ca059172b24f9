import assert from 'node:assert/strict'
import { test } from 'node:test'
import { explore, killAtEachStep } from '../../../kit/interleave.ts'
import { push, readerOf, rest, wakesOf, writerOf } from './kit.ts'
import * as readerKilled from './reader-killed.scenario.ts'
import * as writerKilled from './writer-killed.scenario.ts'

const search = (name: string, preemptions: number) =>
  explore(new URL(`./${name}.scenario.ts`, import.meta.url), { preemptions })

test('no schedule shows the sender padding for a record, a torn one, or lets it sleep through one', async t => {
  const found = await search('outbox', 4)
  t.diagnostic(`${found.schedules} schedules, ${found.steps} steps`)
  assert.ok(found.schedules > 1000)
})

test('no schedule lets a lane overwrite what was not sent, or sleep through the room for its record', async t => {
  const found = await search('outbox-full', 3)
  t.diagnostic(`${found.schedules} schedules, ${found.steps} steps`)
  assert.ok(found.schedules > 1000)
})

test('no schedule lets a record fall out that is not counted', async t => {
  const found = await search('outbox-trim', 3)
  t.diagnostic(`${found.schedules} schedules, ${found.steps} steps, ${[...found.outcomes.keys()]}`)
  assert.ok(found.schedules > 100)
  assert.ok(found.outcomes.size > 1)
})

test('no schedule lets a record into a closed outbox that its writer was told is not there, or the other way round', async t => {
  const found = await search('outbox-closed', 3)
  t.diagnostic(`${found.schedules} schedules, ${found.steps} steps, ${[...found.outcomes.keys()]}`)
  assert.deepEqual([...found.outcomes.keys()].sort(), ['[1,2]', '[1]', '[]'])
})

test('a writer killed at any step leaves whole records, and the next one goes on behind them', async t => {
  const { RING, PUSHED } = writerKilled
  const found = new Set<number>()
  const steps = await killAtEachStep(new URL('./writer-killed.scenario.ts', import.meta.url), memory => {
    const reader = readerOf(memory, RING)
    const before = wakesOf(memory, 'wakes')
    const writer = writerOf(memory, RING)
    assert.ok(wakesOf(memory, 'wakes') > before, 'the sender may sleep on')
    const left = rest(reader)
    assert.deepEqual(left, PUSHED.slice(0, left.length))
    found.add(left.length)
    push(writer, 9)
    assert.deepEqual(rest(reader), [9])
  })
  t.diagnostic(`${steps} steps`)
  assert.deepEqual([...found], [0, 1, 2, 3, 4], 'each record was the last one at some step')
})

test('a sender killed at any step leaves every record that it has not let go of, and a lane finds room', async t => {
  const { RING, PUSHED } = readerKilled
  const found = new Set<number>()
  const steps = await killAtEachStep(new URL('./reader-killed.scenario.ts', import.meta.url), memory => {
    const before = wakesOf(memory, 'room')
    const left = rest(readerOf(memory, RING))
    assert.deepEqual(left, PUSHED.slice(PUSHED.length - left.length))
    found.add(left.length)
    assert.ok(wakesOf(memory, 'room') > before, 'the lane may sleep on')
  })
  t.diagnostic(`${steps} steps`)
  assert.deepEqual([...found], [5, 4, 3, 2, 1, 0], 'each record was the first one at some step')
})
