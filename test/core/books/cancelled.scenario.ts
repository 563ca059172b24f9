import assert from 'node:assert/strict'
import { auditBooks } from '../../../core/books/audit.ts'
import { Books, newClaim } from '../../../core/books/books.ts'
import { ownerWord, THREAD_KIND, ThreadTable } from '../../../core/memory/threads.ts'
import { scenario } from '../../kit/scenario.ts'
import { amounts } from './kit/desk.ts'

const HOLDER = ownerWord(1, 8)
const WAITER = ownerWord(1, 9)

/** One thread gives a card back while the one that waits for it has had enough. */
export default scenario({
  prepare(memory) {
    const threads = new ThreadTable(memory)
    for (const slot of [8, 9]) threads.enter(slot, THREAD_KIND.lane)
    const holder = new Books(memory, HOLDER)
    holder.addMachine(1000, 1, 0, 0, 0)
    holder.claim(amounts(1, 1), 0, newClaim())
    new Books(memory, WAITER).claim(amounts(1, 1), 0, newClaim())
  },
  threads: [
    memory => {
      const books = new Books(memory, HOLDER)
      return () => books.release(1, 1)
    },
    memory => {
      const books = new Books(memory, WAITER)
      return () => (books.cancel(2, 1) ? 'cancelled' : books.release(2, 1) ? 'released' : 'lost')
    },
  ],
  check(memory, [released, ended]: [boolean, string]) {
    assert.ok(released)
    assert.notEqual(ended, 'lost')
    assert.deepEqual(auditBooks(memory, 2), [])
    // Nothing is held, so that the card can be had again.
    assert.ok(new Books(memory, HOLDER).claim(amounts(1, 1), 2, newClaim()))
    return ended
  },
})
