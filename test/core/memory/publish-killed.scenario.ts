import assert from 'node:assert/strict'
import { Arena } from '../../../core/memory/arena.ts'
import { JournalWriter } from '../../../core/memory/journal/journal.ts'
import { MessageTable } from '../../../core/memory/messages.ts'
import type { Memory } from '../../../core/memory/region.ts'
import { ownerWord } from '../../../core/memory/threads.ts'
import { lockWord, unlockWord } from '../../../core/memory/wait.ts'
import { newValue, text } from '../../kit/memory.ts'
import { scenario } from '../../kit/scenario.ts'

export const SLOT = 8
export const OWNER = ownerWord(1, SLOT)
export const BYTES = 5000
export const VERSIONS = 4
export const lock = (memory: Memory): number => memory.regions.flows.offset >> 2
const none = { store() {}, front() {} }

/** Publishes version n of message 0: 5000 bytes of n, in a slab, in the table and in the journal. */
export function publish(memory: Memory, owner: number, journal: JournalWriter, version: number): void {
  const arena = new Arena(memory, owner)
  const table = new MessageTable(memory)
  const value = text(newValue(), BYTES, version)
  assert.ok(lockWord(memory, lock(memory), owner))
  const ref = arena.allocate(BYTES)
  assert.ok(ref > 0)
  value.bytes.copy(memory.bytes, arena.offset(ref), 0, BYTES)
  const displaced = table.write(0, version, version, value, ref)
  journal.value(0, version, version, 0, value, ref)
  table.flip(0, version)
  unlockWord(memory, lock(memory), owner)
  if (displaced !== 0) arena.release(displaced)
  journal.mark()
}

/** A lane publishes four versions and is ended on the way. */
export default scenario({
  sizes: { arena_bytes: 4 * 64 * 1024 },
  threads: [
    memory => {
      const journal = new JournalWriter(memory, SLOT, none)
      return () => {
        for (let version = 1; version <= VERSIONS; version++) publish(memory, OWNER, journal, version)
      }
    },
    () => () => {},
  ],
  check() {},
})
