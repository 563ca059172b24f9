import assert from 'node:assert/strict'
import { FlowTable } from '../../../core/cascade/flows.ts'
import { ReadySet, SHARED_SET } from '../../../core/cascade/queue/ready.ts'
import { scenario } from '../../kit/scenario.ts'

/** One thread marks while the other takes until the set looks empty. Forbidden: a mark that is neither taken nor visible. */
export default scenario({
  sizes: { flows: 70 },
  prepare(memory) {
    new ReadySet(memory, new FlowTable(memory)).mark(SHARED_SET, 1)
  },
  threads: [
    memory => {
      const ready = new ReadySet(memory, new FlowTable(memory))
      return () => {
        ready.mark(SHARED_SET, 2)
        ready.mark(SHARED_SET, 40)
        ready.mark(SHARED_SET, 1)
      }
    },
    memory => {
      const ready = new ReadySet(memory, new FlowTable(memory))
      return () => {
        const taken: number[] = []
        for (let flow = ready.take(SHARED_SET, 0); flow >= 0; flow = ready.take(SHARED_SET, flow + 1)) taken.push(flow)
        return taken
      }
    },
  ],
  check(memory, [, taken]) {
    const ready = new ReadySet(memory, new FlowTable(memory))
    assert.deepEqual(ready.audit(), [])
    const left: number[] = []
    for (let flow = ready.take(SHARED_SET, 0); flow >= 0; flow = ready.take(SHARED_SET, flow + 1)) left.push(flow)
    assert.deepEqual([...new Set([...taken, ...left])].sort(), [1, 2, 40])
  },
})
