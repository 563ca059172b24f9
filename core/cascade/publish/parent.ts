import type { JournalWriter } from '../../memory/journal/journal.ts'

/** Times in microseconds since 1970 are more; an epoch, which a rerun has in place of a start, is less. */
const EPOCHS = 2 ** 24

/**
 * Before the queued record of an item that a cascade published: whose child it is. Nothing for a value from outside. Its start is
 * not written: whoever reads the record knows in which engine the cascade ran.
 */
export function writeParent(journal: JournalWriter, flow: number, parent_seq: number, parent_ts: number): void {
  if (parent_seq !== 0) journal.fresh(flow, 0, parent_seq, parent_ts < EPOCHS ? parent_ts : 0, 0)
}
