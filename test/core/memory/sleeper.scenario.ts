import assert from 'node:assert/strict'
import * as atomics from '#atomics'
import { Sleeper, wakeThread } from '../../../core/memory/wait.ts'
import { scenario } from '../../kit/scenario.ts'

const SLOT = 8
const work = (memory: { regions: { flows: { offset: number } } }): number => memory.regions.flows.offset >> 2

/** A lane takes two pieces of work and sleeps without an end in between; a publisher makes each visible and wakes it. */
export default scenario({
  threads: [
    memory => {
      const sleeper = new Sleeper(memory, SLOT)
      return () => {
        let slept = 0
        for (let taken = 0; taken < 2; ) {
          const ticket = sleeper.announce()
          const there = atomics.exchange(memory.i32, work(memory), 0)
          if (there > 0) {
            sleeper.cancel()
            taken += there
            continue
          }
          slept++
          sleeper.sleep(ticket, Number.POSITIVE_INFINITY)
        }
        return slept
      }
    },
    memory => () => {
      for (let i = 0; i < 2; i++) {
        atomics.add(memory.i32, work(memory), 1)
        wakeThread(memory, SLOT)
      }
    },
  ],
  check(memory, [slept]: [number, null]) {
    assert.equal(memory.i32[work(memory)], 0)
    return slept
  },
})
