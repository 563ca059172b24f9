import assert from 'node:assert/strict'
import { auditMemory } from '../../../core/cascade/audit.ts'
import { SHARED_SET, setOf } from '../../../core/cascade/queue/ready.ts'
import { Sleeper } from '../../../core/memory/wait.ts'
import { scenario } from '../../kit/scenario.ts'
import { emptyItem, float, Station } from './kit/station.ts'

const TIMER = 4
const LANE = 8
const FLOW = 1

/** A publisher appends and tells; a lane looks, finds nothing, and goes to sleep for good unless it is told. */
export default scenario({
  prepare(memory) {
    new Station(memory, TIMER)
    new Station(memory, LANE).ready.enterLane(LANE)
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
      const sleeper = new Sleeper(memory, LANE)
      const item = emptyItem()
      const next = (): number => {
        const own = lane.ready.take(setOf(LANE), 0)
        return own >= 0 ? own : lane.ready.take(SHARED_SET, 0)
      }
      return () => {
        for (;;) {
          const flow = next()
          if (flow >= 0 && lane.flows.claim(flow, lane.owner)) {
            const taken = lane.queue.take(flow, item)
            lane.flows.release(flow, lane.owner)
            if (taken) return item.version
          }
          const ticket = sleeper.announce()
          if (lane.ready.mayHold(setOf(LANE)) || lane.ready.mayHold(SHARED_SET)) sleeper.cancel()
          else sleeper.sleep(ticket, Number.POSITIVE_INFINITY)
        }
      }
    },
  ],
  check(memory, [, version]) {
    assert.equal(version, 1)
    assert.deepEqual(auditMemory(memory).problems, [])
  },
})
