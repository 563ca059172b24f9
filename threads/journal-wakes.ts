import type { JournalWakes } from '../core/memory/journal/journal.ts'
import type { Memory } from '../core/memory/region.ts'
import { SLOT } from '../core/memory/threads.ts'
import { wakeThread } from '../core/memory/wait.ts'

/** Who reads the journals: the store, which commits them, and the front, which fans them out. */
export const journalWakes = (memory: Memory): JournalWakes => ({
  store: () => wakeThread(memory, SLOT.store),
  front: () => wakeThread(memory, SLOT.front),
})
