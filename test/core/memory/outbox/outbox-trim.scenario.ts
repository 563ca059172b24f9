import assert from 'node:assert/strict'
import { scenario } from '../../../kit/scenario.ts'
import { numberOf, push, RECORD, readerOf, rest, writerOf } from './kit.ts'

/** The ring is full, and the sender has read the first record: it lets the oldest fall out, twice, while a lane pushes one more. */
export default scenario({
  prepare(memory) {
    const writer = writerOf(memory)
    for (const number of [1, 2]) push(writer, number)
  },
  threads: [
    memory => {
      const writer = writerOf(memory)
      return () => push(writer, 3)
    },
    memory => {
      const reader = readerOf(memory)
      return () => {
        assert.equal(numberOf(reader.next()!), 1)
        return [reader.trim(RECORD), reader.trim(RECORD)]
      }
    },
  ],
  check(memory, [pushed, fallen]: [boolean, number[]]) {
    assert.ok(pushed)
    const fell = fallen.reduce((sum, count) => sum + count, 0)
    assert.deepEqual(rest(readerOf(memory)), [1, 2, 3].slice(fell), 'one was lost, or not counted')
    return fallen
  },
})
