import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newClaim } from '../../../core/books/books.ts'
import { recoverBooks } from '../../../core/books/recover.ts'
import { THREAD_ROW, ThreadTable } from '../../../core/memory/threads.ts'
import { explore, killAtEachStep } from '../../kit/interleave.ts'
import { FRONT, HELD, OTHER, SLOT, WAITING } from './books-killed.scenario.ts'
import { amounts, Clerk } from './kit/desk.ts'

const scenario = (name: string): URL => new URL(`./${name}.scenario.ts`, import.meta.url)
/** The short form of the tests has one preemption less. */
const long = process.env['LONG'] === undefined ? { preemptions: 2 } : { preemptions: 3, most: 1_000_000 }

test('no schedule lets two threads hold one card, or leaves one asleep whose claim was granted', async t => {
  const found = await explore(scenario('claims'), long)
  t.diagnostic(`${found.schedules} schedules, ${found.steps} steps, ${[...found.outcomes.keys()]}`)
  assert.deepEqual([...found.outcomes.keys()].sort(), ['"false,false"', '"false,true"', '"true,false"'])
})

test('in every schedule of a cancel and a grant the claim ends once, and holds nothing afterwards', async t => {
  const found = await explore(scenario('cancelled'))
  t.diagnostic(`${found.schedules} schedules, ${found.steps} steps`)
  assert.deepEqual([...found.outcomes.keys()].sort(), ['"cancelled"', '"released"'])
})

test('a thread killed at any step inside the books leaves them whole: what it had is free, and the others are served in order', async t => {
  const served = new Set<string>()
  const steps = await killAtEachStep(scenario('books-killed'), memory => {
    const dead = new ThreadTable(memory).markDead(SLOT)
    assert.ok(recoverBooks(memory, dead, FRONT, 10))
    assert.ok(recoverBooks(memory, dead, FRONT, 10), 'recovering twice is harmless')
    const other = Clerk.of(memory, OTHER, 20)
    other.assertSound()
    const { claims, waiting, machines } = other.list()
    const tickets = [...claims, ...waiting].map(({ ticket }) => ticket).sort((a, b) => a - b)
    assert.deepEqual(tickets, [HELD, ...WAITING], 'a claim of the dead stays, or one of the others is gone')
    const told = other.told().map(({ ticket }) => ticket)
    assert.deepEqual(
      [HELD, ...told],
      claims.map(({ ticket }) => ticket).sort((a, b) => a - b),
    )
    served.add(`${told} on ${machines.filter(({ attached }) => attached).length}`)
    const sleeps = memory.i32[(new ThreadTable(memory).row(9) >> 2) + THREAD_ROW.word.sleeping]
    assert.equal(sleeps, told.length === 0 ? 1 : 0, 'who was granted was not woken')
    // Life goes on.
    assert.equal(other.books.claim(amounts(64), 30, newClaim()), false)
    other.release(...claims)
    other.assertSound()
  })
  t.diagnostic(`${steps} steps, ${[...served].join('; ')}`)
  assert.ok(steps > 60)
  assert.ok(served.has('3,4 on 1') && served.size >= 2, [...served].join('; '))
})
