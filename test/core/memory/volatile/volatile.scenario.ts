import assert from 'node:assert/strict'
import type { Memory } from '../../../../core/memory/region.ts'
import { attachVolatile } from '../../../../core/memory/volatile/region.ts'
import { VolatileStore } from '../../../../core/memory/volatile/store.ts'
import { scenario } from '../../../kit/scenario.ts'
import { frame, named, OTHER, OWNER, tiny } from './kit.ts'

const LENGTH = 60
const store = (memory: Memory, owner: number): VolatileStore =>
  new VolatileStore(attachVolatile(memory.sab, memory.regions.arena.offset), owner)

/** A ring of four: a reader looks for an artifact that a writer pushes out and puts again, all in one bucket. */
export default scenario({
  prepare(memory) {
    tiny(memory)
    const before = store(memory, OTHER)
    for (const number of [4, 8, 12, 16]) before.put(named(number), frame(number, LENGTH))
  },
  threads: [
    memory => {
      const writer = store(memory, OWNER)
      return () => {
        for (const number of [20, 4, 24]) assert.ok(writer.put(named(number), frame(number, LENGTH)))
      }
    },
    memory => {
      const reader = store(memory, OTHER)
      return () => [4, 16].map(number => reader.read(named(number))?.equals(frame(number, LENGTH)) ?? 'gone')
    },
  ],
  check(memory, [, seen]: [null, (boolean | 'gone')[]]) {
    assert.ok(!seen.includes(false), 'a torn artifact')
    assert.notEqual(seen[1], 'gone', 'what was held all along was not found')
    const after = store(memory, OTHER)
    for (const number of [16, 20, 4, 24]) assert.deepEqual(after.read(named(number)), frame(number, LENGTH))
    return seen[0]
  },
})
