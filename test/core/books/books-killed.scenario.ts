import assert from 'node:assert/strict'
import { Books, newClaim } from '../../../core/books/books.ts'
import { ownerWord, THREAD_KIND, ThreadTable } from '../../../core/memory/threads.ts'
import { Sleeper } from '../../../core/memory/wait.ts'
import { scenario } from '../../kit/scenario.ts'
import { amounts } from './kit/desk.ts'

export const SLOT = 8
const OWNER = ownerWord(1, SLOT)
export const FRONT = ownerWord(1, 1)
/** Another lane. It sleeps. */
export const OTHER = ownerWord(1, 9)
/** Tickets of the other's: one held all along, and those that wait. The lane's own are 2, and 6 and on. */
export const HELD = 1
export const WAITING = [3, 4, 5]

/**
 * A lane holds most of a machine while others wait. It waits itself, gives up, releases, claims again, and adds and removes
 * another machine; it is ended on the way.
 */
export default scenario({
  prepare(memory) {
    const threads = new ThreadTable(memory)
    threads.enter(1, THREAD_KIND.front)
    threads.enter(SLOT, THREAD_KIND.lane)
    threads.enter(9, THREAD_KIND.lane)
    new Sleeper(memory, 9).announce()
    const other = new Books(memory, OTHER)
    const lane = new Books(memory, OWNER)
    other.addMachine(6000, 0b1111, 0, 4096, 0)
    const out = newClaim()
    assert.ok(other.claim(amounts(1, 1), 0, out))
    assert.ok(lane.claim(amounts(5, 3), 0, out))
    for (const cpus of [2, 1, 4]) assert.ok(!other.claim(amounts(cpus, 1), 0, out))
    assert.equal(out.ticket, WAITING.at(-1))
  },
  threads: [
    memory => {
      const lane = new Books(memory, OWNER)
      return () => {
        const out = newClaim()
        assert.ok(!lane.claim(amounts(3), 1, out))
        assert.ok(!lane.claim(amounts(4), 1, out))
        assert.ok(lane.cancel(7, 2))
        assert.ok(lane.release(2, 3))
        assert.ok(lane.claim(amounts(1), 4, out))
        assert.equal(lane.addMachine(2000, 1, 0, 1024, 5), 1)
        lane.removeMachine(1, 6)
        assert.ok(lane.cancel(6, 7))
        assert.ok(lane.release(8, 8))
      }
    },
    () => () => {},
  ],
  check() {},
})
