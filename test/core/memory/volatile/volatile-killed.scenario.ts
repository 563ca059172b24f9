import { attachVolatile } from '../../../../core/memory/volatile/region.ts'
import { VolatileStore } from '../../../../core/memory/volatile/store.ts'
import { scenario } from '../../../kit/scenario.ts'
import { frame, named, OTHER, OWNER, tiny } from './kit.ts'

/** Bytes of each artifact; all of one bucket. The first three are put by another thread. */
export const LENGTHS = [60, 64, 1, 60, 0, 64, 60]

/** A thread puts artifacts, and pushes older ones out; it is ended on the way. */
export default scenario({
  prepare(memory) {
    const before = new VolatileStore(tiny(memory), OTHER)
    for (let at = 0; at < 3; at++) before.put(named(4 * at), frame(at, LENGTHS[at]!))
  },
  threads: [
    memory => () => {
      const store = new VolatileStore(attachVolatile(memory.sab, memory.regions.arena.offset), OWNER)
      for (let at = 3; at < LENGTHS.length; at++) store.put(named(4 * at), frame(at, LENGTHS[at]!))
    },
    () => () => {},
  ],
  check() {},
})
