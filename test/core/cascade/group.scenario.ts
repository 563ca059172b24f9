import assert from 'node:assert/strict'
import { scenario } from '../../kit/scenario.ts'
import { takeCascades } from './kit/recovered.ts'
import { emission, float, route, Station } from './kit/station.ts'

const LANE = 8
const OTHER = 9
const READER = 1
const GIVEN = [
  [route(0, 0, [READER]), float(1)],
  [route(1, 0, [READER]), float(2)],
] as const
const WHOLE = ['0@1=1', '1@1=2']

/**
 * A lane publishes an emission of two values that another flow reads, while that flow's owner takes. Forbidden: the owner gets
 * one value without the other.
 */
export default scenario({
  prepare(memory) {
    new Station(memory, LANE)
    new Station(memory, OTHER).ready.enterLane(OTHER)
  },
  threads: [
    memory => {
      const lane = new Station(memory, LANE)
      const given = emission(GIVEN)
      return () => {
        lane.publisher.publishEmission(given, [0, READER], 100, 0, 1, 1)
        lane.endUnit()
      }
    },
    memory => {
      const other = new Station(memory, OTHER)
      return () => takeCascades(other, READER)
    },
  ],
  check(memory, [, taken]) {
    const rest = takeCascades(new Station(memory, OTHER), READER)
    assert.deepEqual([...taken, ...rest], [WHOLE])
    return taken.length
  },
})
