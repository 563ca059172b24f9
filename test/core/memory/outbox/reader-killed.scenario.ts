import { scenario } from '../../../kit/scenario.ts'
import { push, readerOf, rest, writerOf } from './kit.ts'

export const RING = 128
export const PUSHED = [1, 2, 3, 4, 5]

/** The sender takes five records, sleeps and lets none fall out; it is ended on the way. A lane waits for room. */
export default scenario({
  prepare(memory) {
    const writer = writerOf(memory, RING)
    for (const number of PUSHED) push(writer, number)
  },
  threads: [
    memory => {
      const reader = readerOf(memory, RING)
      // Its sleep is in the words of the outbox; the promise is of no use here.
      void writerOf(memory, RING).waitForRoom('t', '6666666')
      return () => {
        reader.trim(RING)
        rest(reader)
      }
    },
    () => () => {},
  ],
  check() {},
})
