import assert from 'node:assert/strict'
import type { Memory } from '../../../core/memory/region.ts'
import { scenario } from '../../kit/scenario.ts'
import { assertSound, recoverAfterDeath, takeCascades } from './kit/recovered.ts'
import { emission, float, route, Station, Store, text, told } from './kit/station.ts'

const LANE = 8
const READER = 2
const FLOWS = [READER, 5]
/** An emission of three values that one other flow reads; in its queue they lie in two segments. */
const PARTS = [
  [route(3, 5, [READER]), text(1, 900)],
  [route(4, 5, [READER]), text(2, 5000)],
  [route(6, 5, [READER]), text(3, 900)],
] as const

export default scenario({
  sizes: { flows: 8, messages: 16, ring_bytes: 1 << 17, queue_segments: 6, arena_bytes: 1 << 18 },
  prepare(memory) {
    const lane = new Station(memory, LANE)
    for (let n = 0; n < 3; n++) lane.publisher.publishInner(route(9, 5, [READER]), text(9, 900), 100, 0, 1, 1)
    lane.endUnit()
  },
  threads: [
    memory => {
      const lane = new Station(memory, LANE)
      const given = emission(PARTS)
      return () => {
        lane.publisher.publishEmission(given, FLOWS, 200, 0, 1, 1)
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
  const stood = PARTS.filter(([where]) => front.messages.version(where.message) === 1)
  assert.deepEqual(stood, PARTS.slice(0, stood.length))
  const lines = stood.map(([where, value]) => `${where.message}@1=${told(value)}`)
  // What comes behind a group that lost its publisher is no part of it.
  assert.equal(front.publisher.publish(PARTS[0]![0], float(8), 300), lines.length > 0 ? 2 : 1)
  front.endUnit()
  const lane = new Station(memory, 9)
  const cascades = takeCascades(lane, READER).slice(3)
  assert.deepEqual(cascades.pop(), [`3@${lines.length > 0 ? 2 : 1}=8`])
  assert.deepEqual(cascades, lines.length > 0 ? [lines] : [], 'a short group runs as one cascade')
  const store = new Store(memory, [LANE, front.slot])
  store.drain()
  assert.deepEqual(store.lines.filter(line => !line.startsWith('9@')).slice(0, -1), lines)
  assertSound(memory)
}
