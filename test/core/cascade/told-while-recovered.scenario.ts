import assert from 'node:assert/strict'
import { auditMemory } from '../../../core/cascade/audit.ts'
import { recoverThread } from '../../../core/cascade/recover.ts'
import { ThreadTable } from '../../../core/memory/threads.ts'
import { scenario } from '../../kit/scenario.ts'
import { float, Station } from './kit/station.ts'

const TIMER = 4
const LANE = 8
const FLOW = 1

/** A publisher tells the owner of a flow while the front recovers that owner. Forbidden: work in a free flow without a mark. */
export default scenario({
  sizes: { flows: 2, queue_segments: 1, rings: 9 },
  prepare(memory) {
    new Station(memory, 1)
    new Station(memory, TIMER)
    const lane = new Station(memory, LANE)
    lane.flows.claim(FLOW, lane.owner)
    new ThreadTable(memory).markDead(LANE)
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
      const front = new Station(memory, 1)
      const dead = front.flows.ownerOf(FLOW)
      return () => recoverThread(dead, front).done
    },
  ],
  check(memory, [, done]) {
    assert.ok(done)
    const audit = auditMemory(memory)
    assert.equal(audit.items, 1)
    assert.deepEqual(audit.problems, [])
    const lane = new Station(memory, LANE)
    assert.ok(lane.ready.isMarked(0, FLOW), 'any lane finds it')
  },
})
