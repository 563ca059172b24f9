import assert from 'node:assert/strict'
import { SegmentPool } from '../../../core/cascade/queue/segments.ts'
import type { Memory } from '../../../core/memory/region.ts'
import { scenario } from '../../kit/scenario.ts'

/** Takes a segment for the flow and gives it back, twice. */
const user = (slot: number, flow: number) => (memory: Memory) => {
  const pool = new SegmentPool(memory, slot)
  return () => {
    const taken: number[] = []
    for (let round = 0; round < 2; round++) {
      const segment = pool.take(flow)
      taken.push(segment)
      if (segment < 0) continue
      pool.settle(segment, flow)
      assert.equal(pool.flowOf(segment), flow)
      pool.give(segment)
    }
    return taken
  }
}

/** Two threads in need of the only free segment. Forbidden: both have it, or it is free and hidden at the end. */
export default scenario({
  sizes: { queue_segments: 2 },
  prepare(memory) {
    new SegmentPool(memory, 1).take(0)
  },
  threads: [user(8, 1), user(9, 2)],
  check(memory) {
    const pool = new SegmentPool(memory, 1)
    assert.deepEqual([pool.flowOf(0), pool.flowOf(1)].sort(), [-1, 0])
    const free = pool.flowOf(0) === -1 ? 0 : 1
    assert.ok(pool.isOffered(free))
  },
})
