import assert from 'node:assert/strict'
import { scenario } from '../../../kit/scenario.ts'
import { push, readerOf, take, writerOf } from './kit.ts'

/** The ring is full: a lane pushes two more and sleeps without an end until there is room, the sender takes all. */
export default scenario({
  prepare(memory) {
    const writer = writerOf(memory)
    for (const number of [1, 2]) push(writer, number)
  },
  threads: [
    memory => {
      const writer = writerOf(memory)
      return () => [3, 4].map(number => push(writer, number))
    },
    memory => {
      const reader = readerOf(memory)
      return () => take(reader, 4)
    },
  ],
  check(memory, [pushed, taken]: [boolean[], number[]]) {
    assert.deepEqual(
      [pushed, taken],
      [
        [true, true],
        [1, 2, 3, 4],
      ],
    )
    assert.ok(readerOf(memory).isEmpty)
  },
})
