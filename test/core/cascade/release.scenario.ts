import assert from 'node:assert/strict'
import { auditMemory } from '../../../core/cascade/audit.ts'
import { setOf } from '../../../core/cascade/queue/ready.ts'
import { scenario } from '../../kit/scenario.ts'
import { emptyItem, float, Station } from './kit/station.ts'

const TIMER = 4
const LANE = 8
const FLOW = 1

/** A lane finds its flow empty and lets go while a publisher appends to it. Forbidden: an item in a free flow without a mark. */
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
      const item = emptyItem()
      return () => {
        let taken = 0
        while (lane.queue.take(FLOW, item)) taken++
        lane.queue.trim(FLOW)
        lane.flows.release(FLOW, lane.owner)
        return taken
      }
    },
  ],
  check(memory, [, taken]) {
    const audit = auditMemory(memory)
    assert.deepEqual(audit.problems, [])
    assert.equal(audit.items, 1 - taken)
    const lane = new Station(memory, LANE)
    const own = lane.ready.isMarked(setOf(LANE), FLOW)
    return taken === 1 ? 'taken' : own ? 'left to its owner' : 'left to any lane'
  },
})
