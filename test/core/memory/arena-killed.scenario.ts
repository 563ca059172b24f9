import assert from 'node:assert/strict'
import { Arena } from '../../../core/memory/arena.ts'
import { ownerWord } from '../../../core/memory/threads.ts'
import { scenario } from '../../kit/scenario.ts'

export const OWNER = ownerWord(1, 8)
export const FOREIGN = ownerWord(1, 9)
/** Where the lane writes down what it handed over: i32 pairs {ref, 1 while it is held}. */
export const LEDGER = 64
export const ENTRIES = 12

/** A lane allocates slabs and a run, hands over, releases its own and foreign ones, and puts returned ones away. */
export default scenario({
  sizes: { arena_bytes: 12 * 64 * 1024, flows: 16 },
  prepare(memory) {
    // three slabs of another thread, and three of the lane's that the other thread has given back
    const lane = new Arena(memory, OWNER)
    const other = new Arena(memory, FOREIGN)
    for (let i = 0; i < 3; i++) {
      const ref = other.allocate(1000)
      other.commit(ref)
      memory.i32[(memory.regions.flows.offset >> 2) + LEDGER + 2 * i] = ref
      memory.i32[(memory.regions.flows.offset >> 2) + LEDGER + 2 * i + 1] = 1
    }
    const refs = [lane.allocate(20_000), lane.allocate(20_000), lane.allocate(20_000), lane.allocate(20_000)]
    for (const ref of refs) lane.commit(ref)
    for (const ref of refs.slice(0, 3)) other.release(ref)
    memory.i32[(memory.regions.flows.offset >> 2) + LEDGER + 6] = refs[3]!
    memory.i32[(memory.regions.flows.offset >> 2) + LEDGER + 7] = 1
  },
  threads: [
    memory => {
      const arena = new Arena(memory, OWNER)
      const ledger = (memory.regions.flows.offset >> 2) + LEDGER
      const { i32 } = memory
      let entry = 4
      const keep = (bytes: number): void => {
        const ref = arena.allocate(bytes)
        assert.ok(ref > 0)
        memory.u8.fill(entry, arena.offset(ref), arena.offset(ref) + bytes)
        arena.commit(ref)
        i32[ledger + 2 * entry] = ref
        i32[ledger + 2 * entry + 1] = 1
        entry++
      }
      const drop = (which: number): void => {
        i32[ledger + 2 * which + 1] = 0
        arena.release(i32[ledger + 2 * which]!)
      }
      return () => {
        keep(20_000)
        keep(20_000)
        keep(100_000)
        drop(0)
        keep(300)
        drop(6)
        arena.release(arena.allocate(300))
        drop(3)
        drop(4)
        keep(300)
        drop(1)
        arena.collect()
        drop(5)
      }
    },
    () => () => {},
  ],
  check() {},
})
