import assert from 'node:assert/strict'
import * as atomics from '#atomics'
import { auditMemory } from '../../../core/cascade/audit.ts'
import { scenario } from '../../kit/scenario.ts'
import { emptyItem, Station, text } from './kit/station.ts'

const TIMER = 4
const LANE = 8
const FLOW = 1
const ITEMS = 3

/**
 * Items of which a segment holds only one more, in a pool of two segments: the publisher goes on in the next segment, the
 * lane follows and gives the old one back, or trims the empty queue, and the publisher gets it again.
 */
export default scenario({
  sizes: { queue_segments: 2 },
  prepare(memory) {
    const timer = new Station(memory, TIMER)
    const lane = new Station(memory, LANE)
    lane.flows.claim(FLOW, lane.owner)
    for (let i = 0; i < 3; i++) timer.queue.append(FLOW, 1, 0, 0, 100, 0, 0, text(i, 1000), 0)
    const item = emptyItem()
    while (lane.flows.queued(FLOW) > 0) lane.queue.take(FLOW, item)
  },
  threads: [
    memory => {
      const timer = new Station(memory, TIMER)
      const value = text(7, 700)
      return () => {
        for (let version = 1; version <= ITEMS; ) {
          timer.flows.lockPublish(FLOW, timer.owner)
          if (timer.queue.append(FLOW, 1, 0, version, 100, 0, 0, value, 0)) version++
          timer.flows.unlockPublish(FLOW, timer.owner)
          atomics.pause()
        }
      }
    },
    memory => {
      const lane = new Station(memory, LANE)
      const item = emptyItem()
      return () => {
        const taken: number[] = []
        while (taken.length < ITEMS) {
          if (lane.queue.take(FLOW, item)) taken.push(item.version)
          else {
            lane.queue.trim(FLOW)
            atomics.pause()
          }
        }
        return taken
      }
    },
  ],
  check(memory, [, taken]) {
    assert.deepEqual(taken, [1, 2, 3])
    assert.deepEqual(auditMemory(memory).problems, [])
  },
})
