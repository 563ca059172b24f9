/**
 * The journal: a log of a thread's publishes, for the store and for subscribers. Each producing slot has a ring of records of
 * varying length, 8-aligned, never split over the ring's end. Positions count 8-byte units and wrap with 32 bits.
 *
 * The writer owns `tail` (complete records end here; the front reads to it), `marked` (they may be committed up to here; the
 * store reads to it) and `reserved` (announced before anything up to it is overwritten). The store's `cursor` holds the
 * writer back; the front has none in shared memory: it copies first and then checks whether `reserved` has lapped the copy.
 * What lies between two marks is a unit: it is committed whole or not at all (docs/decisions/0024). A unit that is larger than
 * the ring is copied out before its mark, see `JournalReader.stage`. Periodically a count record says how many records came
 * before it, so a lapped front knows how many it missed.
 */
import { limits } from '../../../protocol/limits.ts'
import { layout } from '../layout.ts'
import type { Memory } from '../memory.ts'

export const JOURNAL = {
  padding: 0,
  value: 1,
  cascade: 2,
  state: 3,
  held: 4,
  note: 5,
  /** The flow's items up to a number are consumed. */
  taken: 6,
  count: 7,
  /** An item entered a flow's queue, other than by the record of its value. */
  queued: 8,
  /** A cascade has begun and run no body yet: a restart queues its items again. */
  fresh: 9,
  /** A value is to be published later, by a node that delays. */
  scheduled: 10,
  /** The scheduled values of a message before a number are published, or cancelled. */
  released: 11,
} as const
/**
 * Flags of a value record. `queued`: it entered the queue of its own flow, and VALUE_ITEM follows the payload. `rooted`: a cascade published
 * it, and VALUE_ROOT follows the payload. Between them are the bits of GROUP of the item.
 */
export const VALUE_FLAG = { queued: 1, seeded: 2, rooted: 32 } as const
export const VALUE_GROUP = { shift: 2, mask: 7 } as const
export const CASCADE_STATUS = { succeeded: 1, failed: 2, interrupted: 3, running: 4 } as const

export const JOURNAL_HEADER = layout(
  'JOURNAL_HEADER',
  [
    ['tail', 'i32', 'complete records end here (the writer)'],
    ['marked', 'i32', 'may be committed up to here (the writer)'],
    ['reserved', 'i32', 'may be overwritten up to here, less one ring (the writer)'],
    ['checkpoint', 'i32', 'position of the newest count record (the writer)'],
    ['spare', 'bytes:112', ''],
    ['cursor', 'i32', 'the store has read to here (the store; two cache lines away)'],
    ['waiting', 'i32', '1 while the writer waits for room'],
  ],
  4096,
)

export const JOURNAL_RECORD = layout('JOURNAL_RECORD', [
  ['size', 'i32', 'bytes of header and payload; the next record begins at the next multiple of 8'],
  ['kind', 'i32', 'JOURNAL, value kind << 8, flags << 16'],
  ['subject', 'i32', 'message, flow or node index'],
  [
    'ref',
    'i32',
    'slab of a long value, then the payload is {length i32, generation i32}; message of a cascade or item; number of taken',
  ],
  ['version', 'f64', ''],
  ['ts', 'f64', 'microseconds since 1970'],
  ['payload', 'bytes:0', 'bytes; numbers as one double'],
])

/** Payload of a cascade record; the record's subject is the flow, ref the message, version the root version, ts the start. */
export const CASCADE_PAYLOAD = layout('CASCADE_PAYLOAD', [
  ['seq', 'f64', 'number of the cascade since the engine start'],
  ['duration_us', 'f64', ''],
  ['parent_seq', 'f64', '0 without a parent'],
  ['parent_ts', 'f64', 'start of the parent, microseconds since 1970'],
  ['status', 'i32', 'CASCADE_STATUS'],
  ['executions', 'i32', ''],
  ['errors', 'i32', ''],
  ['spare', 'i32', ''],
])

/** The end of a value record with the flag `queued`: an item of no parent and of depth 0; its group stands with the flags. */
export const VALUE_ITEM = layout('VALUE_ITEM', [
  ['flow', 'i32', 'its own flow'],
  ['item', 'i32', 'number of the item in the queue of the flow: appended, as its publisher found it'],
])

/** The end of a value record with the flag `rooted`; as long as VALUE_ITEM. */
export const VALUE_ROOT = layout('VALUE_ROOT', [
  ['root_ts', 'f64', 'when the value was published that it all began with'],
])

/** The end of a scheduled record; its subject is the message, version when it is due, milliseconds, ts when it was scheduled. */
export const SCHEDULED_ITEM = layout('SCHEDULED_ITEM', [
  ['number', 'f64', 'number of the value among those that were scheduled for its message'],
  ['first', 'f64', 'values before this number are cancelled; its own number when all are'],
])

/** Payload of a queued record; its subject is the flow, ref the message, version the version that was published. */
export const ITEM_PAYLOAD = layout('ITEM_PAYLOAD', [
  ['item', 'i32', 'number of the item in the queue of its flow: appended, as its publisher found it'],
  ['depth', 'i32', ''],
  ['group', 'i32', 'bits of GROUP'],
  ['parent_epoch', 'i32', 'engine in which the parent ran, 0: this one'],
  ['parent_seq', 'f64', 'cascade that published it, 0: none'],
])

/** Payload of a fresh record; its subject is the flow, ref the root message, version the root version. */
export const FRESH_PAYLOAD = layout('FRESH_PAYLOAD', [
  ['item', 'i32', 'number of its first item'],
  ['items', 'i32', 'how many it has taken'],
])

/** Bytes of a queued record. */
export const ITEM_RECORD_BYTES = JOURNAL_RECORD.size + ITEM_PAYLOAD.size

/** Count records come this many times a lap, and `reserved` moves in such strides. */
export const STRIDES = 16

/** Longest record that a ring of `ring_bytes` takes. */
export const longestRecord = (ring_bytes: number): number => ring_bytes / STRIDES

/** Whether a value of this payload length travels as a reference to its slab. */
export const travelsByRef = (length: number): boolean => length > limits.JOURNAL_INLINE_BYTES

/** Byte offset of a slot's ring header; its data follow. */
export function journalOffset(memory: Memory, slot: number): number {
  if (!(slot >= 0 && slot < memory.sizes.rings)) throw new RangeError(`no journal ring for slot ${slot}`)
  return memory.regions.journals.offset + slot * (JOURNAL_HEADER.size + memory.sizes.ring_bytes)
}
