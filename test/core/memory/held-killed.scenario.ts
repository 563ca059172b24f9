import assert from 'node:assert/strict'
import { Arena } from '../../../core/memory/arena.ts'
import { HeldTable } from '../../../core/memory/held.ts'
import type { Memory } from '../../../core/memory/region.ts'
import { ownerWord } from '../../../core/memory/threads.ts'
import { newValue, text } from '../../kit/memory.ts'
import { scenario } from '../../kit/scenario.ts'

export const SLOT = 8
export const OWNER = ownerWord(1, SLOT)
const BEFORE = ownerWord(1, 9)
export const MESSAGE = 1
export const DUE_MS = 1000
/** Bytes of each value, whose bytes are its number. The first is held by another lane; after the fourth one is taken. */
export const LENGTHS = [0, 500, 500, 70, 500, 500, 20, 500]
const TAKEN_AFTER = 4

export function hold(memory: Memory, owner: number, number: number): void {
  const arena = new Arena(memory, owner)
  const length = LENGTHS[number]!
  const value = text(newValue(), length, number)
  let ref = 0
  if (length > 80) {
    ref = arena.allocate(length)
    assert.ok(ref > 0)
    value.bytes.copy(memory.bytes, arena.offset(ref), 0, length)
  }
  new HeldTable(memory, arena).hold(MESSAGE, DUE_MS, value, ref)
}

/** A lane holds values back, one after the other, and lets one go in between; it is ended on the way. */
export default scenario({
  sizes: { arena_bytes: 4 * 64 * 1024 },
  prepare(memory) {
    hold(memory, BEFORE, 1)
  },
  threads: [
    memory => () => {
      for (let number = 2; number < LENGTHS.length; number++) {
        hold(memory, OWNER, number)
        if (number === TAKEN_AFTER)
          assert.ok(new HeldTable(memory, new Arena(memory, OWNER)).take(MESSAGE, newValue(), DUE_MS))
      }
    },
    () => () => {},
  ],
  check() {},
})
