import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { REFUSED } from '../../../core/cascade/publish/refused.ts'
import type { Timing } from '../../../core/flow/timing.ts'
import { SLOT } from '../../../core/memory/threads.ts'
import { limits } from '../../../protocol/limits.ts'
import { smallMemory } from '../../kit/memory.ts'
import { release, releaseAll, schedulingLane } from './kit/scheduling.ts'
import { float, route, Station } from './kit/station.ts'

const FLOW = 5
const INGRESS = route(1, FLOW)
const DELAYED = route(3, FLOW)
const delay: Timing = { kind: 'delay', wait_s: 1, passthrough: false, wait_port: null }

/** A lane that has scheduled one value, due at 1 s, in a flow that holds as many as are given. */
function scheduled(values: number) {
  const memory = smallMemory()
  const lane = new Station(memory, 8)
  lane.messages.reset(DELAYED.message, FLOW)
  const dropped: string[] = []
  const schedule = schedulingLane(lane, reason => dropped.push(reason))
  schedule.passes(FLOW, DELAYED.message, delay, {}, float(1), 0)
  lane.flows.setScheduled(FLOW, values, 100)
  return { memory, lane, schedule, dropped }
}

describe('a flow whose scheduled values fill its bound', () => {
  test('takes nothing in, and still publishes what is due', () => {
    const { memory, lane } = scheduled(limits.SCHEDULED_VALUES)
    lane.endUnit()
    const front = new Station(memory, SLOT.front)
    assert.equal(front.publisher.publish(INGRESS, float(1), 1), REFUSED.backlogged)
    assert.equal(front.flows.share(FLOW), 1)
    assert.deepEqual(releaseAll(new Station(memory, SLOT.timer), DELAYED), ['1'])
    assert.ok(front.publisher.publish(INGRESS, float(1), 1) > 0)
  })

  test('schedules what its own work brings up to four times that, and drops the rest by name', () => {
    const { schedule, dropped, lane } = scheduled(limits.SCHEDULED_VALUES * limits.FLOW_WAITING_HARD_FACTOR - 1)
    for (let number = 2; number <= 4; number++) schedule.passes(FLOW, DELAYED.message, delay, {}, float(number), 0)
    assert.deepEqual(dropped, ['schedule_full', 'schedule_full'])
    lane.endUnit()
    assert.deepEqual(releaseAll(lane, DELAYED), ['1', '2'])
  })
})

test('a value is published when the unit that scheduled it is marked, and not before', () => {
  const { memory, lane } = scheduled(1)
  const timer = new Station(memory, SLOT.timer)
  assert.equal(release(timer, DELAYED, 5_000), 'later')
  lane.endUnit()
  assert.equal(release(timer, DELAYED, 500), 'nothing')
  assert.equal(release(timer, DELAYED, 5_000), 'published')
})
