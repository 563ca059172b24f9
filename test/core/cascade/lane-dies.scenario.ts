import assert from 'node:assert/strict'
import { SHARED_SET, setOf } from '../../../core/cascade/queue/ready.ts'
import type { Memory } from '../../../core/memory/region.ts'
import { scenario } from '../../kit/scenario.ts'
import { assertSound, recoverAfterDeath, takeAll } from './kit/recovered.ts'
import { emptyItem, float, noteWord, route, Station, Store, text, told } from './kit/station.ts'

const FRONT = 1
const LANE = 8
const OTHER_LANE = 9
const FLOWS = [5, 2]
const CHILD_FLOW = 6
const INGRESS = FLOWS.map((flow, i) => route(i, flow))
const INNER = FLOWS.map((flow, i) => route(10 + i, flow, [CHILD_FLOW]))
/** Items that end a segment and items that lie in a slab. */
const VALUES = [text(1, 1000), text(2, 3000), text(3, 1000), text(4, 1000), text(5, 900)]
/** Number of items that the lane took from each flow and went on with, and of publishes that it got a version for. */
const WENT_ON = 0
const PUBLISHED = 2

/** Takes from a set what is there, or what somebody left for this lane. */
function nextFlow(lane: Station): number {
  const own = lane.ready.take(setOf(lane.slot), 0)
  return own >= 0 ? own : lane.ready.take(SHARED_SET, 0)
}

export default scenario({
  sizes: { flows: 8, messages: 16, ring_bytes: 1 << 17, queue_segments: 8, arena_bytes: 1 << 18 },
  prepare(memory) {
    const front = new Station(memory, FRONT)
    new Station(memory, LANE)
    for (const value of VALUES) for (const ingress of INGRESS) front.publisher.publish(ingress, value, 100)
    front.endUnit()
  },
  threads: [
    memory => {
      const lane = new Station(memory, LANE)
      const item = emptyItem()
      return () => {
        lane.ready.enterLane(LANE)
        for (let flow = nextFlow(lane); flow >= 0; flow = nextFlow(lane)) {
          const index = FLOWS.indexOf(flow)
          if (index < 0 || !lane.flows.claim(flow, lane.owner)) continue
          // A turn of three items, so that a flow is let go with work left.
          let left = 3
          while (left-- > 0 && lane.queue.take(flow, item)) {
            memory.i32[noteWord(memory, WENT_ON + index)]!++
            if (left % 2 === 0) continue
            memory.i32[noteWord(memory, PUBLISHED + index)] = lane.publisher.publishInner(
              INNER[index]!,
              item.value,
              200,
              0,
              1,
              1,
            )
          }
          lane.flows.release(flow, lane.owner)
          if (lane.flows.queued(flow) > 0) lane.ready.markReady(flow)
        }
        lane.endUnit()
      }
    },
    () => () => {},
  ],
  check() {},
})

export function afterDeath(memory: Memory): void {
  const front = recoverAfterDeath(memory, LANE)
  assertSound(memory)
  const other = new Station(memory, OTHER_LANE)
  const store = new Store(memory, [FRONT, LANE])
  // Every flow with work is found by looking at the marks alone.
  const found = new Map<number, string[]>()
  for (let flow = nextFlow(other); flow >= 0; flow = nextFlow(other)) found.set(flow, takeAll(other, flow))
  INGRESS.forEach(({ message, flow }, index) => {
    const all = VALUES.map((value, i) => `${message}@${i + 1}=${told(value)}`)
    const went_on = memory.i32[noteWord(memory, WENT_ON + index)]!
    const rest = found.get(flow) ?? []
    // Taken once, in order; the one that the lane had just taken is not repeated.
    assert.deepEqual(rest, all.slice(all.length - rest.length))
    assert.ok(rest.length === all.length - went_on || rest.length === all.length - went_on - 1, `${went_on} went on`)
    assert.equal(front.publisher.publish(INGRESS[index]!, float(8), 300), VALUES.length + 1)
    assert.deepEqual(takeAll(other, flow), [`${message}@${VALUES.length + 1}=8`])
  })
  store.drain()
  INNER.forEach(({ message }, index) => {
    const version = front.messages.version(message)
    const acknowledged = memory.i32[noteWord(memory, PUBLISHED + index)]!
    assert.ok(version === acknowledged || version === acknowledged + 1)
    const versions = Array.from({ length: version }, (_, i) => `${message}@${i + 1}`)
    const name = (line: string): string => line.slice(0, line.indexOf('='))
    const mine = (line: string): boolean => line.startsWith(`${message}@`)
    assert.deepEqual((found.get(CHILD_FLOW) ?? []).filter(mine).map(name), versions)
    assert.deepEqual(store.lines.filter(mine).map(name), versions)
    assert.equal(other.publisher.publishInner(INNER[index]!, float(9), 300, 0, 1, 1), version + 1)
  })
  other.endUnit()
  assertSound(memory)
}
