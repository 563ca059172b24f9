import assert from 'node:assert/strict'
import { auditMemory } from '../../../core/cascade/audit.ts'
import type { Memory } from '../../../core/memory/region.ts'
import { scenario } from '../../kit/scenario.ts'
import { takeAll } from './kit/recovered.ts'
import { float, route, Station } from './kit/station.ts'

/** Each publishes into its own flow a message that the other flow reads. */
const publisher = (slot: number, message: number, flow: number, reader: number) => (memory: Memory) => {
  const station = new Station(memory, slot)
  return () => {
    const version = station.publisher.publishInner(route(message, flow, [reader]), float(slot), 100, 0, 1, 1)
    station.endUnit()
    return version
  }
}

/** Two flows that read each other. Forbidden: both threads wait for the other's word, an item lost. */
export default scenario({
  prepare(memory) {
    new Station(memory, 8)
    new Station(memory, 9)
  },
  threads: [publisher(8, 0, 0, 1), publisher(9, 1, 1, 0)],
  check(memory, versions) {
    assert.deepEqual(versions, [1, 1])
    assert.deepEqual(auditMemory(memory).problems, [])
    const lane = new Station(memory, 8)
    assert.deepEqual([takeAll(lane, 0), takeAll(lane, 1)], [['1@1=9'], ['0@1=8']])
  },
})
