import assert from 'node:assert/strict'
import type { Memory } from '../../../core/memory/region.ts'
import { scenario } from '../../kit/scenario.ts'
import { takeAll } from './kit/recovered.ts'
import { float, Station } from './kit/station.ts'

const FLOWS = [0, 1]

/** Takes the words of both flows, appends to both, gives them back: what a publish does, without table and journal. */
const publisher = (slot: number) => (memory: Memory) => {
  const { flows, queue, owner } = new Station(memory, slot)
  return () => {
    for (const flow of FLOWS) flows.lockPublish(flow, owner)
    for (const flow of FLOWS) assert.ok(queue.append(flow, slot, 0, 1, 100, 0, 0, float(slot), 0))
    for (const flow of FLOWS) flows.unlockPublish(flow, owner)
  }
}

/** Two publishers need the words of the same two flows. Forbidden: they wait for each other; the flows get the two in another order. */
export default scenario({
  prepare(memory) {
    for (const slot of [8, 9]) new Station(memory, slot)
  },
  threads: [publisher(8), publisher(9)],
  check(memory) {
    const lane = new Station(memory, 8)
    const [first, second] = FLOWS.map(flow => takeAll(lane, flow))
    assert.deepEqual(first, second)
    assert.deepEqual([...first!].sort(), ['8@1=8', '9@1=9'])
    return first![0]
  },
})
