/** After a writer died: its complete records are committed, the one that it was writing is not seen by anybody. */
import * as atomics from '#atomics'
import { JOURNAL_HEADER, journalOffset } from '../journal/record.ts'
import type { Memory } from '../region.ts'

/**
 * Marks what a dead writer completed; true when there was something (then wake the store). The turn was cut short, so its
 * state snapshots may be one turn older than its values.
 */
export function recoverJournal(memory: Memory, slot: number): boolean {
  const head = journalOffset(memory, slot) >> 2
  const tail = atomics.load(memory.i32, head + JOURNAL_HEADER.word.tail)
  const marked = atomics.exchange(memory.i32, head + JOURNAL_HEADER.word.marked, tail)
  atomics.store(memory.i32, head + JOURNAL_HEADER.word.waiting, 0)
  return marked !== tail
}
