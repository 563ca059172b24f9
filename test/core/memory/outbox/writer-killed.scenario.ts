import { scenario } from '../../../kit/scenario.ts'
import { push, readerOf, take, writerOf } from './kit.ts'

export const RING = 128
export const PUSHED = [3, 4, 5, 6]

/** A lane pushes four records, the third with padding before it, and is ended on the way; the sender sleeps. */
export default scenario({
  prepare(memory) {
    const writer = writerOf(memory, RING)
    for (const number of [1, 2]) push(writer, number)
    take(readerOf(memory, RING), 2)
  },
  threads: [
    memory => {
      const writer = writerOf(memory, RING)
      // Its sleep is in the words of the outbox; the promise is of no use here.
      void readerOf(memory, RING).waitForMore()
      return () => {
        for (const number of PUSHED) push(writer, number)
      }
    },
    () => () => {},
  ],
  check() {},
})
