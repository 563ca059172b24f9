import * as atomics from '#atomics'
import type { Memory } from '../../../core/memory/region.ts'
import { scenario } from '../../kit/scenario.ts'

export const STEPS = 4
const WORD = 512

/** Takes numbers from a counter: which ones says where its steps stand among those of both threads. */
const counting = (memory: Memory) => () => Array.from({ length: STEPS }, () => atomics.add(memory.i32, WORD, 1))

/** Two threads of four steps each; the outcome is the order of all eight, as in `ABBAABAB`. */
export default scenario({
  prepare(memory) {
    memory.i32[WORD] = 0
  },
  threads: [counting, counting],
  check(_memory, [first]: [number[], number[]]) {
    return Array.from({ length: 2 * STEPS }, (_, at) => (first.includes(at) ? 'A' : 'B')).join('')
  },
})
