import assert from 'node:assert/strict'
import { test } from 'node:test'
import { explore } from '../../kit/interleave.ts'
import { STEPS } from './orders.scenario.ts'

const search = (name: string) => explore(new URL(`./${name}.scenario.ts`, import.meta.url))

test('the search finds the count that two threads without a lock lose', async () => {
  await assert.rejects(search('counter'), /a count was lost/)
})

test('the search finds the torn value of a reader that looks only once', async () => {
  await assert.rejects(search('messages-broken'), /a torn value/)
})

test('the search finds two threads that wait for each other', async () => {
  await assert.rejects(search('deadlock'), /both threads wait/)
})

test('the search tells of a thread that cannot be set up', async () => {
  await assert.rejects(search('no-setup'), /no such slot/)
})

/** Preemptions that the order needs: the running thread changes and is not through. */
function preemptionsOf(order: string): number {
  let count = 0
  for (let at = 1; at < order.length; at++)
    if (order[at] !== order[at - 1] && order.slice(at).includes(order[at - 1]!)) count++
  return count
}

for (const preemptions of [0, 1, 2, 3]) {
  test(`the search meets every order that needs at most ${preemptions} preemptions, and no other`, async () => {
    const orders = Array.from({ length: 2 ** (2 * STEPS) }, (_, bits) =>
      bits
        .toString(2)
        .padStart(2 * STEPS, '0')
        .replaceAll('0', 'A')
        .replaceAll('1', 'B'),
    ).filter(order => order.replaceAll('B', '').length === STEPS && preemptionsOf(order) <= preemptions)
    const { outcomes } = await explore(new URL('./orders.scenario.ts', import.meta.url), { preemptions })
    assert.deepEqual([...outcomes.keys()].map(key => JSON.parse(key)).sort(), orders.sort())
  })
}

test('no schedule shows a reader a torn value or an older version', async t => {
  const found = await search('messages')
  t.diagnostic(`${found.schedules} schedules, ${found.steps} steps, ${found.outcomes.size} outcomes`)
  assert.ok(found.schedules > 300)
  assert.ok(found.outcomes.size >= 8, 'the reader saw too few of the versions')
})

test('no schedule loses a journal record for the store, or shows it twice', async t => {
  const found = await search('ring')
  t.diagnostic(`${found.schedules} schedules, ${found.steps} steps, ${found.outcomes.size} outcomes`)
  assert.ok(found.schedules > 1000)
  assert.ok(found.outcomes.size >= 4)
})

test('no schedule loses a record of a writer that waits for room, or lets it overwrite one', async t => {
  const found = await search('ring-full')
  t.diagnostic(`${found.schedules} schedules, ${found.steps} steps, ${found.outcomes.size} outcomes`)
  assert.ok(found.schedules > 1000)
})

test('no schedule laps the front without its notice', async t => {
  const found = await search('lapped')
  t.diagnostic(`${found.schedules} schedules, ${found.steps} steps, ${[...found.outcomes.keys()]}`)
  assert.ok(found.schedules > 1000)
  assert.deepEqual([...found.outcomes.keys()].sort(), ['"lapped"', '"whole"'])
})

test('no schedule lets two threads hold one lock word, or leaves one asleep for good', async t => {
  const found = await search('lock')
  t.diagnostic(`${found.schedules} schedules, ${found.steps} steps`)
  assert.ok(found.schedules > 1000)
})

test('no schedule hands a slab out twice, or loses one, while it goes back to its owner', async t => {
  const found = await search('arena')
  t.diagnostic(`${found.schedules} schedules, ${found.steps} steps, ${[...found.outcomes.keys()]}`)
  assert.ok(found.schedules > 1000)
  assert.ok(found.outcomes.size > 1)
})

test('no schedule sleeps through work that was made visible before the wake', async t => {
  const found = await search('sleeper')
  t.diagnostic(`${found.schedules} schedules, ${found.steps} steps, ${[...found.outcomes.keys()]}`)
  assert.ok(found.schedules > 50)
})
