import assert from 'node:assert/strict'
import { scenario } from '../../../kit/scenario.ts'
import { push, readerOf, take, writerOf } from './kit.ts'

/** The ring is empty, and the next record needs padding: a lane pushes two, the sender takes two and sleeps without an end in between. */
export default scenario({
  prepare(memory) {
    const writer = writerOf(memory)
    for (const number of [1, 2]) push(writer, number)
    take(readerOf(memory), 2)
  },
  threads: [
    memory => {
      const writer = writerOf(memory)
      return () => [3, 4].map(number => push(writer, number))
    },
    memory => {
      const reader = readerOf(memory)
      return () => take(reader, 2)
    },
  ],
  check(memory, [pushed, taken]: [boolean[], number[]]) {
    assert.deepEqual(
      [pushed, taken],
      [
        [true, true],
        [3, 4],
      ],
    )
    assert.ok(readerOf(memory).isEmpty)
  },
})
