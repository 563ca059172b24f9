import * as atomics from '#atomics'
import { scenario } from '../../kit/scenario.ts'

const WORD = 512

/** A thread sleeps without another look at the word; the search must find the wake that came before the sleep. */
export default scenario({
  threads: [
    memory => () => {
      if (atomics.load(memory.i32, WORD) === 0) atomics.wait(memory.i32, WORD + 1, 0)
    },
    memory => () => {
      atomics.store(memory.i32, WORD, 1)
      atomics.notify(memory.i32, WORD + 1)
    },
  ],
  check() {},
})
