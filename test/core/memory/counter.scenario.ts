import assert from 'node:assert/strict'
import * as atomics from '#atomics'
import { scenario } from '../../kit/scenario.ts'

const WORD = 512

/** Two threads count with a load and a store: the search must find the lost count. */
export default scenario({
  threads: [
    memory => () => atomics.store(memory.i32, WORD, atomics.load(memory.i32, WORD) + 1),
    memory => () => atomics.store(memory.i32, WORD, atomics.load(memory.i32, WORD) + 1),
  ],
  check(memory) {
    assert.equal(memory.i32[WORD], 2, 'a count was lost')
  },
})
