/** The public face of the journal: the words of its records, writer and readers, and the recovery after a writer died. */

export { recoverJournal } from '../recover/journal.ts'
export { JournalReader } from './reader.ts'
export {
  CASCADE_STATUS,
  ITEM_RECORD_BYTES,
  JOURNAL,
  JOURNAL_HEADER,
  JOURNAL_RECORD,
  journalOffset,
  longestRecord,
  SCHEDULED_ITEM,
  travelsByRef,
  VALUE_FLAG,
  VALUE_GROUP,
  VALUE_ITEM,
} from './record.ts'
export { type JournalVisitor, RecordView } from './view.ts'
export { type JournalWakes, JournalWriter } from './writer.ts'
