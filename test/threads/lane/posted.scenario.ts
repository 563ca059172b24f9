import * as atomics from '#atomics'
import { THREAD_ROW, ThreadTable } from '../../../core/memory/threads.ts'
import { LaneMemory } from '../../../threads/lane/memory.ts'
import { Station } from '../../core/cascade/kit/station.ts'
import { scenario } from '../../kit/scenario.ts'

const FRONT = 1
const LANE = 8

/** The front posts to a lane and wakes it; the lane looks, finds nothing, and goes to sleep for good unless it is told. */
export default scenario({
  prepare(memory) {
    new Station(memory, FRONT).ready.enterLane(LANE)
  },
  threads: [
    memory => {
      const front = new Station(memory, FRONT)
      const posted = (new ThreadTable(memory).row(LANE) >> 2) + THREAD_ROW.word.posted
      return () => {
        atomics.add(memory.i32, posted, 1)
        front.ready.wakeAll()
      }
    },
    memory => {
      const lane = new LaneMemory(memory.sab, LANE, () => {})
      const posted = (new ThreadTable(memory).row(LANE) >> 2) + THREAD_ROW.word.posted
      return () => {
        for (;;) {
          if (lane.wasPosted() && atomics.load(memory.i32, posted) === 1) return true
          const ticket = lane.sleeper.announce()
          if (lane.isPosted) lane.sleeper.cancel()
          else lane.sleeper.sleep(ticket, Number.POSITIVE_INFINITY)
        }
      }
    },
  ],
  check() {},
})
