import assert from 'node:assert/strict'
import * as atomics from '#atomics'
import { MESSAGE_ROW, VALUE_SLOT } from '../../../core/memory/messages.ts'
import { scenario } from '../../kit/scenario.ts'
import whole from './messages.scenario.ts'

/** The same publisher and a reader that does not look at the word a second time: the search must find the torn value. */
export default scenario({
  prepare: whole.prepare!,
  threads: [
    whole.threads[0],
    memory => {
      const row = memory.regions.messages.offset + MESSAGE_ROW.size
      return () => {
        const word = atomics.acquire(memory.i32, row >> 2)
        const slot = row + MESSAGE_ROW.offset.first + (word & 1) * VALUE_SLOT.size
        const version = memory.f64[(slot >> 3) + VALUE_SLOT.word.version]!
        atomics.pause()
        const at = slot + VALUE_SLOT.offset.inline
        return [version, ...new Set(memory.u8.subarray(at, at + 60))]
      }
    },
  ],
  check(_memory, [, seen]: [null, number[]]) {
    assert.equal(seen[0], seen[1], 'a torn value')
  },
})
