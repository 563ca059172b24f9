import assert from 'node:assert/strict'
import * as atomics from '#atomics'
import type { Memory } from '../../../core/memory/region.ts'
import { ownerWord } from '../../../core/memory/threads.ts'
import { lockWord, unlockWord } from '../../../core/memory/wait.ts'
import { scenario } from '../../kit/scenario.ts'

const lock = (memory: Memory): number => memory.regions.flows.offset >> 2
const count = (memory: Memory): number => lock(memory) + 1

const counting = (slot: number) => (memory: Memory) => () => {
  for (let i = 0; i < 2; i++) {
    assert.ok(lockWord(memory, lock(memory), ownerWord(1, slot)))
    atomics.store(memory.i32, count(memory), atomics.load(memory.i32, count(memory)) + 1)
    unlockWord(memory, lock(memory), ownerWord(1, slot))
  }
}

/** Two publishers count under the publish word of one flow. */
export default scenario({
  threads: [counting(8), counting(9)],
  check(memory) {
    assert.equal(memory.i32[count(memory)], 4, 'both held the word at once')
    assert.equal(memory.i32[lock(memory)], 0, 'the word stays held')
  },
})
