import assert from 'node:assert/strict'
import * as atomics from '#atomics'
import { auditBooks } from '../../../core/books/audit.ts'
import { Books, newClaim } from '../../../core/books/books.ts'
import type { Memory } from '../../../core/memory/region.ts'
import { ownerWord, THREAD_KIND, ThreadTable } from '../../../core/memory/threads.ts'
import { Sleeper } from '../../../core/memory/wait.ts'
import { scenario } from '../../kit/scenario.ts'
import { amounts } from './kit/desk.ts'

const SLOTS = [8, 9] as const
const FRONT = 1
/** Counts who holds the card at once. */
const inside = (memory: Memory): number => memory.regions.flows.offset >> 2

/** Claims the one card, sleeps until it is its turn, and gives it back. The sleep has no end: a wake that is lost is found. */
const claiming = (slot: number) => (memory: Memory) => {
  const books = new Books(memory, ownerWord(1, slot))
  const sleeper = new Sleeper(memory, slot)
  const ask = amounts(1, 1)
  return () => {
    const out = newClaim()
    let waited = false
    if (!books.claim(ask, 1, out)) {
      waited = true
      const { ticket } = out
      for (let had = books.granted(out); !had; had = books.granted(out)) {
        const wake = sleeper.announce()
        if (books.granted(out)) {
          sleeper.cancel()
          break
        }
        sleeper.sleep(wake, Number.POSITIVE_INFINITY)
      }
      assert.equal(out.ticket, ticket)
    }
    assert.equal(atomics.add(memory.i32, inside(memory), 1), 0, 'both hold the card')
    atomics.sub(memory.i32, inside(memory), 1)
    assert.ok(books.release(out.ticket, 2))
    return waited
  }
}

/** Two threads want the same card. */
export default scenario({
  prepare(memory) {
    const threads = new ThreadTable(memory)
    for (const slot of SLOTS) threads.enter(slot, THREAD_KIND.lane)
    new Books(memory, threads.enter(FRONT, THREAD_KIND.front)).addMachine(1000, 1, 0, 0, 0)
  },
  threads: [claiming(SLOTS[0]), claiming(SLOTS[1])],
  check(memory, waited: boolean[]) {
    assert.deepEqual(auditBooks(memory, 3), [])
    return waited.join()
  },
})
