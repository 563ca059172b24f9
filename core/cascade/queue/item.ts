import { type EncodedValue, isNumeric } from '../../memory/encoded.ts'
import { layout } from '../../memory/layout.ts'

/** An item of a queue: how it lies in shared memory, and what a taker makes of it. */
export const QUEUE_ITEM = layout('QUEUE_ITEM', [
  ['size', 'i32', 'units of 8 bytes, head and payload'],
  ['message', 'i32', 'index of the message that was published'],
  ['kind', 'i32', 'kind of the value'],
  ['depth', 'i32', 'back edges and child cascades since the root publish'],
  ['version', 'f64', 'version of the message'],
  ['ts', 'f64', 'microseconds since 1970'],
  ['parent_seq', 'f64', 'cascade that published, 0: none'],
  ['parent_ts', 'f64', 'its start'],
  ['length', 'i32', 'payload bytes'],
  ['ref', 'i32', 'arena slab with the payload, 0: it follows here'],
  ['group', 'i32', 'GROUP: which of its neighbours one emission published with it; slot of its publisher << 8'],
  ['root_age_us', 'i32', 'microseconds from the root publish to ts; 2^31 - 1: that or more'],
  ['unit', 'i32', 'position in the journal of its publisher: who marks there or beyond has closed its unit'],
  ['spare', 'i32', ''],
])

/**
 * Bits of an item's `group`. What one emission publishes for a flow lies together in its queue and is taken into one
 * cascade. A group that lost its publisher half way ends where the next item does not say `joins`.
 */
export const GROUP = {
  /** It belongs to the item before it. */
  joins: 1,
  /** Its publisher had more of its group to append. */
  goes_on: 2,
  /** An earlier value that starts a cascade once more: whoever else reads the message goes on with the newest. */
  again: 4,
} as const

export const HEAD_UNITS = QUEUE_ITEM.size >> 3

export interface TakenItem {
  /** Its number in the flow's queue. */
  item: number
  message: number
  depth: number
  version: number
  ts: number
  /** When the value was published that it all began with; `ts` of one from outside. */
  root_ts: number
  parent_seq: number
  parent_ts: number
  /** Bits of GROUP. */
  group: number
  /** `bytes` is replaced by a larger buffer when the payload asks for it. */
  value: EncodedValue
}

/** For an owner to take into, again and again. */
export const newItem = (): TakenItem => ({
  item: 0,
  message: 0,
  depth: 0,
  version: 0,
  ts: 0,
  root_ts: 0,
  parent_seq: 0,
  parent_ts: 0,
  group: 0,
  value: { kind: 0, number: 0, bytes: Buffer.alloc(4096), length: 0 },
})

/** Units that an item with this payload takes in a queue. */
export const unitsOf = (value: EncodedValue, ref: number): number =>
  HEAD_UNITS + (ref !== 0 ? 0 : isNumeric(value.kind) ? 1 : (value.length + 7) >> 3)

/** Bytes that an item with this payload counts for. */
export const itemBytes = (value: EncodedValue, ref: number): number =>
  (unitsOf(value, ref) << 3) + (ref !== 0 ? value.length : 0)
