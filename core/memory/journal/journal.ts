/** The journal as the other parts see it: the words of its records, its two ends, and what is done after a writer died. */

export { recoverJournal } from '../recover/journal.ts'
export { JournalReader, type JournalVisitor } from './reader.ts'
export {
  CASCADE_STATUS,
  JOURNAL,
  JOURNAL_HEADER,
  JOURNAL_RECORD,
  journalOffset,
  longestRecord,
  travelsByRef,
  VALUE_FLAG,
} from './record.ts'
export { type JournalWakes, JournalWriter } from './writer.ts'
