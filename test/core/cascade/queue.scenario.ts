import assert from 'node:assert/strict'
import { auditMemory } from '../../../core/cascade/audit.ts'
import { scenario } from '../../kit/scenario.ts'
import { assertSound, takeAll } from './kit/recovered.ts'
import { emptyItem, Station, text } from './kit/station.ts'

const TIMER = 4
const LANE = 8
const FLOW = 1

/**
 * The segment has room for one more item: a publisher appends two, the second one in the next segment, while the owner of
 * the flow takes, follows and gives the old segment back. Forbidden: an item lost, twice, out of order or torn; a segment lost.
 */
export default scenario({
  prepare(memory) {
    const timer = new Station(memory, TIMER)
    const lane = new Station(memory, LANE)
    lane.ready.enterLane(LANE)
    lane.flows.claim(FLOW, lane.owner)
    for (let i = 0; i < 3; i++) timer.queue.append(FLOW, 1, 0, 0, 100, 0, 0, text(i, 1000), 0)
    const item = emptyItem()
    while (lane.flows.queued(FLOW) > 0) lane.queue.take(FLOW, item)
  },
  threads: [
    memory => {
      const timer = new Station(memory, TIMER)
      return () => {
        for (const version of [1, 2]) {
          timer.flows.lockPublish(FLOW, timer.owner)
          assert.ok(timer.queue.append(FLOW, 1, 0, version, 100, 0, 0, text(version, 700), 0))
          timer.flows.unlockPublish(FLOW, timer.owner)
        }
      }
    },
    memory => {
      const lane = new Station(memory, LANE)
      const item = emptyItem()
      return () => {
        const taken: number[] = []
        for (let looks = 0; looks < 4; looks++) if (lane.queue.take(FLOW, item)) taken.push(item.version)
        return taken
      }
    },
  ],
  check(memory, [, taken]: [null, number[]]) {
    const lane = new Station(memory, LANE)
    lane.flows.release(FLOW, lane.owner)
    if (auditMemory(memory).items > 0) lane.ready.markReady(FLOW)
    assertSound(memory)
    const left = takeAll(lane, FLOW).map(line => Number(/@(\d+)=/.exec(line)![1]))
    assert.deepEqual([...taken, ...left], [1, 2])
    assertSound(memory)
    return taken.length
  },
})
