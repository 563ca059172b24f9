import assert from 'node:assert/strict'
import { scenario } from '../../../kit/scenario.ts'
import { close, push, readerOf, rest, writerOf } from './kit.ts'

/** A lane pushes two records while the outbox is closed: exactly those that it was told are pushed are in it. */
export default scenario({
  threads: [
    memory => {
      const writer = writerOf(memory)
      return () => [1, 2].filter(number => push(writer, number))
    },
    memory => () => {
      close(memory)
      return rest(readerOf(memory))
    },
  ],
  check(memory, [pushed, taken]: [number[], number[]]) {
    assert.deepEqual(taken, pushed)
    assert.ok(readerOf(memory).isClosed)
    return pushed
  },
})
