import assert from 'node:assert/strict'
import { setOf } from '../../../core/cascade/queue/ready.ts'
import { Sleeper } from '../../../core/memory/wait.ts'
import { scenario } from '../../kit/scenario.ts'
import { emptyItem, float, Station } from './kit/station.ts'

const TIMER = 4
const LANE = 8
const FLOW = 1

/** A lane keeps its flow, since a body is away, and sleeps while a publisher appends. Forbidden: it sleeps on. */
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
      const sleeper = new Sleeper(memory, LANE)
      const item = emptyItem()
      return () => {
        for (;;) {
          const ticket = sleeper.announce()
          if (lane.ready.mayHold(setOf(LANE))) sleeper.cancel()
          else sleeper.sleep(ticket, Number.POSITIVE_INFINITY)
          if (lane.ready.take(setOf(LANE), 0) === FLOW && lane.queue.take(FLOW, item)) return item.version
        }
      }
    },
  ],
  check(_memory, [, version]) {
    assert.equal(version, 1)
  },
})
