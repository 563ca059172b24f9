import assert from 'node:assert/strict'
import { SHARED_SET } from '../../../core/cascade/queue/ready.ts'
import { scenario } from '../../kit/scenario.ts'
import { float, Station } from './kit/station.ts'

const TIMER = 4
const LANE = 8
const FLOW = 1

/** A publisher tells the owner of a flow, which lets go of it and leaves. Forbidden: the mark stays with the lane that left. */
export default scenario({
  prepare(memory) {
    new Station(memory, TIMER)
    const lane = new Station(memory, LANE)
    lane.ready.enterLane(LANE)
    lane.flows.claim(FLOW, lane.owner)
  },
  threads: [
    memory => {
      const timer = new Station(memory, TIMER)
      return () => {
        timer.flows.lockPublish(FLOW, timer.owner)
        timer.queue.append(FLOW, 1, 0, 1, 100, 0, 0, float(1), 0)
        timer.flows.unlockPublishWithBarrier(FLOW, timer.owner)
        timer.ready.markReady(FLOW)
      }
    },
    memory => {
      const lane = new Station(memory, LANE)
      return () => {
        lane.flows.release(FLOW, lane.owner)
        lane.ready.leaveLane(LANE)
      }
    },
  ],
  check(memory) {
    assert.ok(new Station(memory, LANE).ready.isMarked(SHARED_SET, FLOW))
  },
})
