import { limits } from '../../../protocol/limits.ts'
import { type EncodedValue, isNumeric, KIND, type Kind } from '../../memory/encoded.ts'
import { layout } from '../../memory/layout.ts'

/**
 * An item of a queue: how it lies in shared memory, and what a taker makes of it. With a number it takes one cache line, which
 * a publisher and a taker on another core hand over once. How long it is follows from `what`, `length` and `ref`: `unitsAt`.
 */
export const QUEUE_ITEM = layout('QUEUE_ITEM', [
  ['message', 'i32', 'index of the message that was published'],
  ['what', 'i32', 'ITEM_BITS: kind of the value, GROUP, slot of its publisher, depth'],
  ['version', 'f64', 'version of the message'],
  ['ts', 'f64', 'microseconds since 1970'],
  ['parent_seq', 'f64', 'cascade that published, 0: none'],
  ['parent_ts', 'f64', 'its start'],
  ['length', 'i32', 'payload bytes'],
  ['ref', 'i32', 'arena slab with the payload, 0: it follows here'],
  ['root_age_us', 'i32', 'microseconds from the root publish to ts; 2^31 - 1: that or more'],
  ['unit', 'i32', 'position in the journal of its publisher: who marks there or beyond has closed its unit'],
])

/** The word `what`, from its lowest bit on. */
export const ITEM_BITS = {
  /** KIND. */
  kind: 4,
  group: 4,
  /** Below limits.THREADS. */
  slot: 8,
  /** Back edges and child cascades since the root publish, one more than limits.WAVE_DEPTH at most. */
  depth: 16,
} as const

/**
 * Bits of an item's group. What one emission publishes for a flow lies together in its queue and is taken into one
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

const GROUP_SHIFT = ITEM_BITS.kind
const SLOT_SHIFT = GROUP_SHIFT + ITEM_BITS.group
const DEPTH_SHIFT = SLOT_SHIFT + ITEM_BITS.slot
const KIND_MASK = (1 << ITEM_BITS.kind) - 1
const GROUP_MASK = (1 << ITEM_BITS.group) - 1
const SLOT_MASK = (1 << ITEM_BITS.slot) - 1
/** A stored item that says more, of whatever origin, is as much too deep as this. */
const MOST_DEPTH = (1 << ITEM_BITS.depth) - 1

if (Math.max(...Object.values(KIND)) > KIND_MASK) throw new RangeError('the kinds do not fit into an item')
if (Math.max(...Object.values(GROUP)) > GROUP_MASK) throw new RangeError('GROUP does not fit into an item')
if (limits.THREADS - 1 > SLOT_MASK) throw new RangeError('the thread slots do not fit into an item')
if (limits.WAVE_DEPTH + 1 > MOST_DEPTH) throw new RangeError('the depth of a wave does not fit into an item')

export const packWhat = (kind: number, group: number, slot: number, depth: number): number =>
  kind | ((group & GROUP_MASK) << GROUP_SHIFT) | (slot << SLOT_SHIFT) | (Math.min(depth, MOST_DEPTH) << DEPTH_SHIFT)
export const kindOf = (what: number): Kind => (what & KIND_MASK) as Kind
export const groupOf = (what: number): number => (what >>> GROUP_SHIFT) & GROUP_MASK
export const publisherOf = (what: number): number => (what >>> SLOT_SHIFT) & SLOT_MASK
export const depthOf = (what: number): number => what >>> DEPTH_SHIFT

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

/** Units of 8 bytes that an item with this payload takes in a queue. */
export const unitsOf = (value: EncodedValue, ref: number): number => units(value.kind, value.length, ref)

const units = (kind: number, length: number, ref: number): number =>
  HEAD_UNITS + (ref !== 0 ? 0 : isNumeric(kind) ? 1 : (length + 7) >> 3)

/** The same of an item whose first i32 word is `at`. */
export const unitsAt = (i32: Int32Array, at: number): number =>
  units(kindOf(i32[at + QUEUE_ITEM.word.what]!), i32[at + QUEUE_ITEM.word.length]!, i32[at + QUEUE_ITEM.word.ref]!)

/** Bytes that an item with this payload counts for. */
export const itemBytes = (value: EncodedValue, ref: number): number =>
  (unitsOf(value, ref) << 3) + (ref !== 0 ? value.length : 0)
