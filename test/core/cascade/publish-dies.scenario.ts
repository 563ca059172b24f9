import assert from 'node:assert/strict'
import type { Memory } from '../../../core/memory/region.ts'
import { scenario } from '../../kit/scenario.ts'
import { assertSound, recoverAfterDeath, takeAll } from './kit/recovered.ts'
import { float, noteWord, route, Station, Store, text, told } from './kit/station.ts'

const TIMER = 4
const MESSAGE = 3
const FLOW = 5
const READER = 2
/** The message is read in its own flow and in one before it. */
const ROUTE = route(MESSAGE, FLOW, [READER])
/** Values published before the thread that dies begins: both segments are nearly full, both slots hold slabs. */
const BEFORE = [text(1, 900), text(2, 900), text(3, 900), text(4, 5000), text(5, 5000)]
/** What it publishes: a slab of which the journal holds a reference, then an item that needs the next segment. */
const PUBLISHED = [text(6, 6000), text(7, 1000)]
const ACKNOWLEDGED = 0

export default scenario({
  sizes: { flows: 8, ring_bytes: 1 << 17 },
  prepare(memory) {
    const timer = new Station(memory, TIMER)
    const lane = new Station(memory, 8)
    for (const value of BEFORE) timer.publisher.publish(ROUTE, value, 100)
    // An item of another message leaves room in both segments for a reference and a number, no more.
    for (const flow of [READER, FLOW]) {
      lane.flows.lockPublish(flow, lane.owner)
      lane.queue.append(flow, 9, 0, 1, 100, 0, 0, text(9, 850), 0)
      lane.flows.unlockPublish(flow, lane.owner)
    }
    timer.endUnit()
  },
  threads: [
    memory => {
      const timer = new Station(memory, TIMER)
      return () => {
        for (const value of PUBLISHED) {
          memory.i32[noteWord(memory, ACKNOWLEDGED)] = timer.publisher.publish(ROUTE, value, 200)
        }
        timer.endUnit()
      }
    },
    () => () => {},
  ],
  check() {},
})

export function afterDeath(memory: Memory): void {
  const front = recoverAfterDeath(memory, TIMER)
  assertSound(memory)
  const version = front.messages.version(MESSAGE)
  assert.ok(
    version >= Math.max(BEFORE.length, memory.i32[noteWord(memory, ACKNOWLEDGED)]!),
    'what was acknowledged stands',
  )
  assert.equal(front.publisher.publish(ROUTE, float(8), 300), version + 1, 'a later publisher goes on')
  front.endUnit()
  const values = [...BEFORE, ...PUBLISHED].slice(0, version)
  const expected = [...values, float(8)].map((value, i) => `${MESSAGE}@${i + 1}=${told(value)}`)
  const lane = new Station(memory, 9)
  for (const flow of [FLOW, READER]) {
    assert.deepEqual(
      takeAll(lane, flow).filter(item => item.startsWith(`${MESSAGE}@`)),
      expected,
    )
  }
  const store = new Store(memory, [front.slot, TIMER])
  store.drain()
  assert.deepEqual(store.lines.sort(), expected)
  assertSound(memory)
}
