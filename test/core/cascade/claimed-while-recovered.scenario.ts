import assert from 'node:assert/strict'
import { auditMemory } from '../../../core/cascade/audit.ts'
import { SHARED_SET, setOf } from '../../../core/cascade/queue/ready.ts'
import { recoverThread } from '../../../core/cascade/recover.ts'
import { ThreadTable } from '../../../core/memory/threads.ts'
import { scenario } from '../../kit/scenario.ts'
import { emptyItem, float, Station } from './kit/station.ts'

const FRONT = 1
const DEAD = 9
const LANE = 8
const FLOW = 1

/** The front recovers a lane that died with a flow of two items, while another lane looks for work. Forbidden: an item twice or lost, work without a mark. */
export default scenario({
  sizes: { flows: 2, queue_segments: 1, rings: 10 },
  prepare(memory) {
    const front = new Station(memory, FRONT)
    const dead = new Station(memory, DEAD)
    new Station(memory, LANE).ready.enterLane(LANE)
    dead.ready.enterLane(DEAD)
    dead.flows.claim(FLOW, dead.owner)
    for (const version of [1, 2]) front.queue.append(FLOW, 1, 0, version, 100, 0, 0, float(version), 0)
    front.ready.mark(setOf(DEAD), FLOW)
    front.ready.mark(SHARED_SET, FLOW)
    new ThreadTable(memory).markDead(DEAD)
  },
  threads: [
    memory => {
      const front = new Station(memory, FRONT)
      const dead = front.flows.ownerOf(FLOW)
      return () => recoverThread(dead, front).done
    },
    memory => {
      const lane = new Station(memory, LANE)
      const item = emptyItem()
      return () => {
        const flow = lane.ready.take(SHARED_SET, 0)
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
    },
  ],
  check(memory, [done, taken]: [boolean, number]) {
    assert.ok(done)
    const audit = auditMemory(memory)
    assert.deepEqual(audit.problems, [])
    assert.equal(audit.items, 2 - taken)
    assert.ok(new Station(memory, LANE).ready.isMarked(SHARED_SET, FLOW), 'any lane finds the rest')
    return taken
  },
})
