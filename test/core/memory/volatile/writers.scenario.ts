import assert from 'node:assert/strict'
import type { Memory } from '../../../../core/memory/region.ts'
import { attachVolatile } from '../../../../core/memory/volatile/region.ts'
import { VolatileStore } from '../../../../core/memory/volatile/store.ts'
import { scenario } from '../../../kit/scenario.ts'
import { frame, named, OTHER, OWNER, tiny } from './kit.ts'

const putting = (owner: number, numbers: readonly number[]) => (memory: Memory) => {
  const store = new VolatileStore(attachVolatile(memory.sab, memory.regions.arena.offset), owner)
  return () => {
    for (const number of numbers) assert.ok(store.put(named(number), frame(number, 60), Number.POSITIVE_INFINITY))
  }
}

/** Two writers, one bucket, and a ring that holds all that they put; they put one artifact both. */
export default scenario({
  prepare: memory => void tiny(memory),
  threads: [putting(OWNER, [4, 8]), putting(OTHER, [4, 12])],
  check(memory) {
    const store = new VolatileStore(attachVolatile(memory.sab, memory.regions.arena.offset), OTHER)
    for (const number of [4, 8, 12]) assert.deepEqual(store.read(named(number)), frame(number, 60), 'one was lost')
    return store.counts().put
  },
})
