import { limits } from '../../../protocol/limits.ts'
import { layout } from '../../memory/layout.ts'
import { type Memory, ROOM } from '../../memory/region.ts'

/**
 * The publish or take that a thread is executing: one row for each thread slot, written by the thread and read by the front
 * after its death. The fields are written before the step that they describe, so a reader that sees the step sees its row. Has
 * its own cache lines.
 */
export const INTENT_ROW = layout(
  'INTENT_ROW',
  [
    ['doing', 'i32', 'index + 1 of the message being published, or DOING'],
    ['flow', 'i32', 'flow of the message, or of the item'],
    ['ref', 'i32', 'slab with the value, 0: none'],
    ['mark', 'i32', 'publishing: position of the journal before the record; taking: taken once it is done'],
    ['version', 'f64', 'publishing: the version, which the table has from the flip on; taking: generation of the slab'],
    ['ts', 'f64', 'microseconds since 1970'],
    ['root_ts', 'f64', 'root of the items: when the value was published that it all began with'],
    ['parent_seq', 'f64', 'cascade that publishes, 0: none'],
    ['parent_ts', 'f64', 'its start'],
    ['depth', 'i32', 'depth of the items'],
    ['record', 'i32', 'flags of the journal record, or RECORD_BIT'],
    ['displaced', 'i32', 'slab that the value pushes out of the table, 0: none'],
    ['displaced_generation', 'i32', 'its generation'],
  ],
  64,
)

if (limits.THREADS * INTENT_ROW.size > ROOM.QUEUE_HEADER_BYTES) throw new RangeError('the intent rows have no room')

/** Values of `doing` that name no message: taking an item that lies in a slab; releasing `displaced`, the last step of a publish. */
export const DOING = { nothing: 0, taking: -1, releasing: -2 } as const
/** In place of the flags of the journal record: there is none. */
export const RECORD_BIT = { none: 1 << 8 } as const

/** Index of the first i32 word of a thread's row. The rows stand at the start of the queue region. */
export const intentWord = (memory: Memory, slot: number): number =>
  (memory.regions.queue.offset + slot * INTENT_ROW.size) >> 2
