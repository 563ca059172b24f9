import assert from 'node:assert/strict'
import { auditMemory } from '../../../core/cascade/audit.ts'
import { SHARED_SET, setOf } from '../../../core/cascade/queue/ready.ts'
import type { Memory } from '../../../core/memory/region.ts'
import { scenario } from '../../kit/scenario.ts'
import { emptyItem, float, Station } from './kit/station.ts'

const FLOW = 1

/** One look of a lane at the sets and one item of what it finds; an owned flow is passed on to its owner. */
const look = (slot: number) => (memory: Memory) => {
  const lane = new Station(memory, slot)
  const item = emptyItem()
  return () => {
    const own = lane.ready.take(setOf(slot), 0)
    const flow = own >= 0 ? own : lane.ready.take(SHARED_SET, 0)
    if (flow < 0) return 0
    if (!lane.flows.claim(flow, lane.owner)) {
      lane.ready.markReady(flow)
      return 0
    }
    const taken = lane.queue.take(flow, item) ? item.version : 0
    lane.flows.release(flow, lane.owner)
    if (lane.flows.queued(flow) > 0) lane.ready.markReady(flow)
    return taken
  }
}

/** Two lanes find the same flow with two items, each takes at most one. Forbidden: the same one twice, work without a mark. */
export default scenario({
  prepare(memory) {
    const front = new Station(memory, 1)
    for (const slot of [8, 9]) new Station(memory, slot).ready.enterLane(slot)
    for (const version of [1, 2]) {
      front.flows.lockPublish(FLOW, front.owner)
      front.queue.append(FLOW, 1, 0, version, 100, 0, 0, float(1), 0)
      front.flows.unlockPublish(FLOW, front.owner)
    }
    front.ready.mark(SHARED_SET, FLOW)
    front.ready.mark(setOf(9), FLOW)
  },
  threads: [look(8), look(9)],
  check(memory, taken) {
    const audit = auditMemory(memory)
    assert.deepEqual(audit.problems, [])
    const versions = taken.filter(version => version > 0).sort()
    assert.deepEqual(versions, [1, 2].slice(0, versions.length))
    assert.equal(audit.items, 2 - versions.length)
    return versions.length
  },
})
