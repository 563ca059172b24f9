import assert from 'node:assert/strict'
import type { Memory } from '../../../core/memory/region.ts'
import { scenario } from '../../kit/scenario.ts'
import { assertSound, recoverAfterDeath, takeAll } from './kit/recovered.ts'
import { float, noteWord, route, Station, Store, text, told } from './kit/station.ts'

const TIMER = 4
const ACKNOWLEDGED = 0
/** Two flows, one of which reads what the other gets; each needs two segments more for its part of the list. */
const ROUTES = [route(3, 5, [2]), route(4, 2), route(3, 5, [2]), route(3, 5, [2])]
const VALUES = [text(1, 5000), text(2, 1000), text(3, 1000), text(4, 1000)]
/** A list that finds no segment for its last value: what was linked for the others goes back. */
const TOO_LONG = Array.from({ length: 14 }, () => route(6, 1))

export default scenario({
  sizes: { flows: 8, messages: 16, ring_bytes: 1 << 17, queue_segments: 6, arena_bytes: 1 << 18 },
  prepare(memory) {
    const timer = new Station(memory, TIMER)
    // Segments that have room for a reference and a number, no more.
    for (const flow of [2, 5])
      for (const length of [1000, 1000, 1000, 700]) timer.publisher.publish(route(9, flow), text(9, length), 100)
    timer.endUnit()
  },
  threads: [
    memory => {
      const timer = new Station(memory, TIMER)
      return () => {
        const long = TOO_LONG.map((_, at) => text(at, 1000))
        assert.ok(timer.publisher.publishList(TOO_LONG, long, 200, []) < 0)
        if (timer.publisher.publishList(ROUTES, VALUES, 200, []) === 0) memory.i32[noteWord(memory, ACKNOWLEDGED)] = 1
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
  // A thread that dies while it commits the list leaves its first values; each of them whole, in every flow and in the store.
  const stood = [front.messages.version(3), front.messages.version(4)]
  if (memory.i32[noteWord(memory, ACKNOWLEDGED)] === 1) assert.deepEqual(stood, [3, 1])
  assert.ok(['0,0', '1,0', '1,1', '2,1', '3,1'].includes(String(stood)), String(stood))
  assert.equal(front.messages.version(6), 0, 'nothing of a refused list stands')
  const seen = new Map<number, number>()
  const lines = ROUTES.slice(0, stood[0]! + stood[1]!).map(({ message }, at) => {
    const version = (seen.get(message) ?? 0) + 1
    seen.set(message, version)
    return `${message}@${version}=${told(VALUES[at]!)}`
  })
  assert.equal(front.publisher.publish(ROUTES[0]!, float(8), 300), stood[0]! + 1, 'a later publisher goes on')
  front.endUnit()
  lines.push(`3@${stood[0]! + 1}=8`)
  const lane = new Station(memory, 9)
  const rest = (flow: number): string[] => takeAll(lane, flow).filter(line => !line.startsWith('9@'))
  assert.deepEqual(
    rest(5),
    lines.filter(line => line.startsWith('3@')),
  )
  assert.deepEqual(rest(2), lines)
  const store = new Store(memory, [TIMER, front.slot])
  store.drain()
  assert.deepEqual(
    store.lines.filter(line => !line.startsWith('9@')),
    lines,
  )
  assertSound(memory)
}
