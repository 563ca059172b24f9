import assert from 'node:assert/strict'
import { SHARED_SET, setOf } from '../../../core/cascade/queue/ready.ts'
import type { Memory } from '../../../core/memory/region.ts'
import { scenario } from '../../kit/scenario.ts'
import { assertSound, recoverAfterDeath } from './kit/recovered.ts'
import { float, route, Station } from './kit/station.ts'

const TIMER = 4
const LANE = 8
/** A lane is parked on the first flow, the second one is free, the third is marked without having work. */
const PARKED = 1
const FREE = 2
const IDLE = 40

export default scenario({
  sizes: { flows: 64 },
  prepare(memory) {
    const lane = new Station(memory, LANE)
    lane.ready.enterLane(LANE)
    lane.flows.claim(PARKED, lane.owner)
    new Station(memory, TIMER)
  },
  threads: [
    memory => {
      const timer = new Station(memory, TIMER)
      return () => {
        timer.publisher.publish(route(1, FREE, [PARKED]), float(1), 100)
        timer.ready.mark(SHARED_SET, IDLE)
        timer.publisher.publish(route(1, FREE, [PARKED]), float(2), 100)
      }
    },
    () => () => {},
  ],
  check() {},
})

export function afterDeath(memory: Memory): void {
  const front = recoverAfterDeath(memory, TIMER)
  assertSound(memory)
  const lane = new Station(memory, LANE)
  const version = front.messages.version(1)
  assert.deepEqual([lane.flows.queued(PARKED), lane.flows.queued(FREE)], [version, version])
  assert.equal(lane.ready.take(setOf(LANE), 0), version > 0 ? PARKED : -1, 'the parked lane is told')
  assert.equal(lane.ready.take(SHARED_SET, 0) === FREE, version > 0, 'any lane finds the free flow')
}
