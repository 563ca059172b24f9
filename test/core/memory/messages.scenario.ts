import assert from 'node:assert/strict'
import { MessageTable } from '../../../core/memory/messages.ts'
import { newValue, text } from '../../kit/memory.ts'
import { scenario } from '../../kit/scenario.ts'

/** A publisher writes versions 2 and 3 of a message while a reader reads it twice. Version n is 60 bytes of n. */
export default scenario({
  prepare(memory) {
    const table = new MessageTable(memory)
    table.reset(1, 0)
    table.write(1, 1, 1000, text(newValue(), 60, 1), 0)
    table.flip(1, 1)
  },
  threads: [
    memory => {
      const table = new MessageTable(memory)
      const value = newValue()
      return () => {
        for (const version of [2, 3, 4]) {
          table.write(1, version, version * 1000, text(value, 60, version), 0)
          table.flip(1, version)
        }
      }
    },
    memory => {
      const table = new MessageTable(memory)
      const value = newValue()
      return () => {
        const seen: number[][] = []
        for (let i = 0; i < 2; i++) {
          assert.ok(table.read(1, value), 'a message with a value reads as empty')
          seen.push([value.version, value.ts / 1000, value.length, ...new Set(value.bytes.subarray(0, value.length))])
        }
        return seen
      }
    },
  ],
  check(_memory, [, seen]: [null, number[][]]) {
    for (const [version, ...rest] of seen) assert.deepEqual(rest, [version, 60, version], 'a torn value')
    assert.ok(seen[0]![0]! <= seen[1]![0]!, 'a version went backwards')
    return seen.map(([version]) => version)
  },
})
