import assert from 'node:assert/strict'
import { endRelease } from '../../../core/cascade/schedule/release.ts'
import type { Timing } from '../../../core/flow/timing.ts'
import type { Memory } from '../../../core/memory/region.ts'
import { SLOT } from '../../../core/memory/threads.ts'
import { limits } from '../../../protocol/limits.ts'
import { scenario } from '../../kit/scenario.ts'
import { assertSound, recoverAfterDeath, takeAll } from './kit/recovered.ts'
import { release, schedulingLane } from './kit/scheduling.ts'
import { route, Station, text, told } from './kit/station.ts'

const LANE = 8
const FLOW = 5
const DELAYED = route(3, FLOW)
/** What somebody else publishes of the same message before the next timer goes on. */
const OTHER = text(9, 40)
const VALUES = [text(1, 40), text(2, limits.JOURNAL_INLINE_BYTES + 100), text(3, 300)]
const delay: Timing = { kind: 'delay', wait_s: 1, passthrough: false, wait_port: null }

/** The timer publishes what is due; it is ended on the way. */
export default scenario({
  sizes: { flows: 8, messages: 16, ring_bytes: 1 << 17, queue_segments: 8, arena_bytes: 1 << 19 },
  prepare(memory) {
    const lane = new Station(memory, LANE)
    new Station(memory, SLOT.timer)
    lane.messages.reset(DELAYED.message, FLOW)
    const schedule = schedulingLane(lane)
    for (const [at, value] of VALUES.entries()) schedule.passes(FLOW, DELAYED.message, delay, {}, value, at)
    lane.endUnit()
  },
  threads: [
    memory => {
      const timer = new Station(memory, SLOT.timer)
      return () => {
        while (release(timer, DELAYED, 5_000) === 'published');
        endRelease(timer)
      }
    },
    () => () => {},
  ],
  check() {},
})

export function afterDeath(memory: Memory): void {
  const front = recoverAfterDeath(memory, SLOT.timer)
  assertSound(memory)
  const before = front.flows.waiting(FLOW)
  assert.ok(front.publisher.publish(DELAYED, OTHER, 6_000) > 0)
  const next = new Station(memory, SLOT.timer)
  while (release(next, DELAYED, 5_000) === 'published');
  endRelease(next)
  // Each was published once, in order, whichever of the two did it.
  const all = [...VALUES.slice(0, before), OTHER, ...VALUES.slice(before)]
  assert.deepEqual(
    takeAll(front, FLOW),
    all.map((value, at) => `${DELAYED.message}@${at + 1}=${told(value)}`),
  )
  assert.equal(front.flows.scheduled(FLOW), 0)
  assertSound(memory)
}
