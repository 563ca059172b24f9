/** Records as a reader of the journal would show them, without a ring. */
import { isNumeric } from '../../core/memory/encoded.ts'
import {
  CASCADE_PAYLOAD,
  FRESH_PAYLOAD,
  ITEM_PAYLOAD,
  JOURNAL,
  JOURNAL_RECORD,
  VALUE_FLAG,
  VALUE_ITEM,
} from '../../core/memory/journal/record.ts'
import { RecordView } from '../../core/memory/journal/view.ts'

const bytes = new ArrayBuffer(256)
const i32 = new Int32Array(bytes)
const f64 = new Float64Array(bytes)
const view = new RecordView()
const R = JOURNAL_RECORD.word
const WORDS = JOURNAL_RECORD.size >> 2
const HALVES = JOURNAL_RECORD.size >> 3

function show(length: number): void {
  view.over(i32, f64, Buffer.from(bytes))
  view.show(0, length)
}

function head(kind: number, subject: number, ref: number, version: number, ts: number): void {
  i32[R.kind] = kind
  i32[R.subject] = subject
  i32[R.ref] = ref
  f64[R.version] = version
  f64[R.ts] = ts
}

/** Good until the next one is made. `queued`: of a number, the item that it became. */
export function valueRecord(
  message: number,
  version: number,
  ts: number,
  value: { kind: number; number: number; bytes?: Buffer; length?: number },
  queued?: { flow: number; item: number },
): RecordView {
  const flags = queued === undefined ? 0 : VALUE_FLAG.queued
  head(JOURNAL.value | (value.kind << 8) | (flags << 16), message, 0, version, ts)
  if (isNumeric(value.kind)) f64[HALVES] = value.number
  if (queued !== undefined) {
    i32[R.size] = JOURNAL_RECORD.size + 8 + VALUE_ITEM.size
    i32[WORDS + 2 + VALUE_ITEM.word.flow] = queued.flow
    i32[WORDS + 2 + VALUE_ITEM.word.item] = queued.item
  }
  show(8)
  if (!isNumeric(value.kind)) view.payload(value.bytes!, 0, value.length!)
  return view
}

export function cascadeRecord(fields: {
  flow: number
  message: number
  version: number
  seq: number
  ts: number
  duration_us: number
  status: number
  executions: number
}): RecordView {
  head(JOURNAL.cascade, fields.flow, fields.message, fields.version, fields.ts)
  const C = CASCADE_PAYLOAD.word
  f64[HALVES + C.seq] = fields.seq
  f64[HALVES + C.duration_us] = fields.duration_us
  f64[HALVES + C.parent_seq] = 0
  f64[HALVES + C.parent_ts] = 0
  i32[WORDS + C.status] = fields.status
  i32[WORDS + C.executions] = fields.executions
  i32[WORDS + C.errors] = 0
  show(CASCADE_PAYLOAD.size)
  return view
}

export function queuedRecord(fields: {
  flow: number
  message: number
  version: number
  item: number
  depth?: number
  group?: number
}): RecordView {
  f64[HALVES + ITEM_PAYLOAD.word.parent_seq] = i32[WORDS + ITEM_PAYLOAD.word.parent_epoch] = 0
  head(JOURNAL.queued, fields.flow, fields.message, fields.version, 0)
  const I = ITEM_PAYLOAD.word
  i32[WORDS + I.item] = fields.item
  i32[WORDS + I.depth] = fields.depth ?? 0
  i32[WORDS + I.group] = fields.group ?? 0
  show(ITEM_PAYLOAD.size)
  return view
}

export function freshRecord(fields: {
  flow: number
  message: number
  version: number
  item: number
  items: number
}): RecordView {
  head(JOURNAL.fresh, fields.flow, fields.message, fields.version, 0)
  i32[WORDS + FRESH_PAYLOAD.word.item] = fields.item
  i32[WORDS + FRESH_PAYLOAD.word.items] = fields.items
  show(FRESH_PAYLOAD.size)
  return view
}

export function takenRecord(flow: number, item: number): RecordView {
  head(JOURNAL.taken, flow, item, 0, 0)
  show(0)
  return view
}
