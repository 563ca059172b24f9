import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recoverVolatile } from '../../../../core/memory/volatile/recover.ts'
import { attachVolatile } from '../../../../core/memory/volatile/region.ts'
import { VolatileStore } from '../../../../core/memory/volatile/store.ts'
import { explore, killAtEachStep } from '../../../kit/interleave.ts'
import { FRONT, frame, named, OWNER } from './kit.ts'
import { LENGTHS } from './volatile-killed.scenario.ts'

const scenario = (name: string): URL => new URL(`./${name}.scenario.ts`, import.meta.url)
/** The short form of the tests has one preemption less. */
const long = process.env['LONG'] === undefined ? { preemptions: 2 } : { preemptions: 3, most: 1_000_000 }

test('no schedule gives a reader a torn artifact, or hides one that is held all along', async t => {
  const found = await explore(scenario('volatile'), long)
  t.diagnostic(`${found.schedules} schedules, ${found.steps} steps, ${[...found.outcomes.keys()]}`)
  assert.ok(found.schedules > 300)
  assert.deepEqual([...found.outcomes.keys()].sort(), ['"gone"', 'true'])
})

test('no schedule of two writers loses an artifact, or keeps one twice', async t => {
  const found = await explore(scenario('writers'), long)
  t.diagnostic(`${found.schedules} schedules, ${found.steps} steps`)
  assert.ok(found.schedules > 300)
  assert.deepEqual([...found.outcomes.keys()], ['3'])
})

test('a writer killed at any step leaves whole artifacts only, and the next one goes on', async t => {
  const left = new Set<string>()
  const steps = await killAtEachStep(scenario('volatile-killed'), memory => {
    const volatile = attachVolatile(memory.sab, memory.regions.arena.offset)
    recoverVolatile(volatile, OWNER)
    assert.equal(recoverVolatile(volatile, OWNER), false, 'recovering twice is harmless')
    const store = new VolatileStore(volatile, FRONT)
    const found = LENGTHS.map((length, at) => {
      const bytes = store.read(named(4 * at))
      if (bytes !== null) assert.deepEqual(bytes, frame(at, length), 'a torn artifact')
      return bytes !== null
    })
    assert.equal(found.filter(Boolean).length, store.counts().held, 'one takes room and is not found')
    left.add(found.map(Number).join(''))
    for (let number = 100; number < 103; number++) {
      assert.ok(store.put(named(number), frame(number, 64), 1))
      assert.deepEqual(store.read(named(number)), frame(number, 64))
    }
  })
  t.diagnostic(`${steps} steps, ${[...left].join(' ')}`)
  assert.ok(steps > 40)
  assert.ok(left.size >= 4, [...left].join(' '))
})
