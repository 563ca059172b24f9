import assert from 'node:assert/strict'
import { Arena } from '../../../core/memory/arena.ts'
import type { Memory } from '../../../core/memory/region.ts'
import { ownerWord } from '../../../core/memory/threads.ts'
import { scenario } from '../../kit/scenario.ts'

const LANE = ownerWord(1, 8)
const STORE = ownerWord(1, 2)
const SLABS = 3
const BYTES = 30_000
const held = (memory: Memory): number => memory.regions.flows.offset >> 2

/** The store releases three slabs of a lane, one of which both hold, while the lane puts away and allocates. */
export default scenario({
  prepare(memory) {
    const lane = new Arena(memory, LANE)
    for (let i = 0; i < SLABS; i++) {
      const ref = lane.allocate(BYTES)
      lane.commit(ref)
      memory.i32[held(memory) + i] = ref
    }
    lane.retain(memory.i32[held(memory)]!)
  },
  threads: [
    memory => {
      const lane = new Arena(memory, LANE)
      return () => {
        lane.release(memory.i32[held(memory)]!)
        lane.collect()
        const first = lane.allocate(BYTES)
        lane.collect()
        return [first, lane.allocate(BYTES)]
      }
    },
    memory => {
      const store = new Arena(memory, STORE)
      return () => {
        for (let i = 0; i < SLABS; i++) store.release(memory.i32[held(memory) + i]!)
      }
    },
  ],
  check(memory, [had]: [number[], null]) {
    const lane = new Arena(memory, LANE)
    const all = had.filter(ref => ref !== 0)
    for (let ref = lane.allocate(BYTES); ref !== 0; ref = lane.allocate(BYTES)) all.push(ref)
    assert.equal(new Set(all).size, all.length, 'a slab was handed out twice')
    assert.equal(all.length, 4, 'a slab is lost')
    return had.filter(ref => memory.i32.subarray(held(memory), held(memory) + SLABS).includes(ref)).length
  },
})
