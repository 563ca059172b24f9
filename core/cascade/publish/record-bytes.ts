import type { EncodedValue } from '../../memory/encoded.ts'
import { ITEM_RECORD_BYTES, JOURNAL_RECORD, travelsByRef, VALUE_ITEM } from '../../memory/journal/journal.ts'
import type { Emission } from './emission.ts'
import type { Route } from './route.ts'

/** Bytes of a value's record in the journal, never too few. */
export const journalBytes = (value: EncodedValue): number =>
  JOURNAL_RECORD.size + 8 + (travelsByRef(value.length) ? 0 : value.length)

/** Bytes of what says which queues the value enters, when it enters all: the end of its own record, and a record for each other flow. */
export const itemRecordBytes = ({ foreign }: Route): number => VALUE_ITEM.size + foreign.length * ITEM_RECORD_BYTES

/** Bytes that the records of an emission take in the journal together: what the lane makes sure of before it publishes. */
export const emissionBytes = ({ count, routes, values }: Emission): number => listBytes(count, routes, values)

/** Of the first `count` values. */
export function listBytes(count: number, routes: readonly Route[], values: readonly EncodedValue[]): number {
  let bytes = 0
  for (let i = 0; i < count; i++) bytes += ((journalBytes(values[i]!) + 7) & ~7) + itemRecordBytes(routes[i]!)
  return bytes
}
