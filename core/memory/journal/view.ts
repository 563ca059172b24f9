/** The one record that a reader is at: a window over its bytes, the same object for each record. Nothing is copied to look at it. */
import { isNumeric } from '../encoded.ts'
import {
  CASCADE_PAYLOAD,
  FRESH_PAYLOAD,
  ITEM_PAYLOAD,
  JOURNAL,
  JOURNAL_RECORD,
  SCHEDULED_ITEM,
  VALUE_FLAG,
  VALUE_GROUP,
  VALUE_ITEM,
} from './record.ts'

const R = JOURNAL_RECORD.word
const C = CASCADE_PAYLOAD.word
const I = ITEM_PAYLOAD.word
const V = VALUE_ITEM.word
const F = FRESH_PAYLOAD.word
const S = SCHEDULED_ITEM.word
const WORDS = JOURNAL_RECORD.size >> 2
const HALVES = JOURNAL_RECORD.size >> 3

/** What a reader calls for each record, oldest first. The record and its bytes are only good during the call. */
export interface JournalVisitor {
  visit(record: RecordView): void
}

/** Which fields a record has depends on its `kind`. Times in microseconds since 1970. */
export class RecordView {
  #i32: Int32Array
  #f64: Float64Array
  #word = 0
  #half = 0
  /** Of a value, a state or a note: its bytes lie in `bytes[start .. start + length)`. */
  bytes: Buffer
  start = 0
  length = 0

  constructor() {
    this.#i32 = new Int32Array(0)
    this.#f64 = new Float64Array(0)
    this.bytes = Buffer.alloc(0)
  }

  /** Sets the arrays of the next records. Not set for each record: storing a reference costs more than storing a number. */
  over(i32: Int32Array, f64: Float64Array, bytes: Buffer): void {
    this.#i32 = i32
    this.#f64 = f64
    this.bytes = bytes
  }

  /** The record at byte `at`, with its payload in place. */
  show(at: number, length: number): void {
    this.#word = at >> 2
    this.#half = at >> 3
    this.start = at + JOURNAL_RECORD.size
    this.length = length
  }

  /** A payload that lies elsewhere; before the next record `over` is due. */
  payload(bytes: Buffer, start: number, length: number): void {
    this.bytes = bytes
    this.start = start
    this.length = length
  }

  /** JOURNAL. */
  get kind(): number {
    return this.#i32[this.#word + R.kind]! & 0xff
  }

  /** Index of the message (value, held), the flow (cascade, taken, queued, fresh) or the node (state). */
  get subject(): number {
    return this.#i32[this.#word + R.subject]!
  }

  /** Of a value: its message's; of a state: counts its writes, a higher one is newer in whatever ring it stands; else the root version. */
  get version(): number {
    return this.#f64[this.#half + R.version]!
  }

  /** Of a cascade: when it began. */
  get ts(): number {
    return this.#f64[this.#half + R.ts]!
  }

  // ---- value, held, scheduled

  /** KIND of the value. */
  get value_kind(): number {
    return (this.#i32[this.#word + R.kind]! >> 8) & 0xff
  }

  /** VALUE_FLAG. */
  get flags(): number {
    return (this.#i32[this.#word + R.kind]! >> 16) & 0xff
  }

  /** A number's; 0 of any other value. */
  get number(): number {
    return isNumeric(this.value_kind) ? this.#f64[this.#half + HALVES]! : 0
  }

  /** Of a held or scheduled value: when it is to be published, milliseconds since 1970; 0: it is held no more. */
  get due_ms(): number {
    return this.#f64[this.#half + R.version]!
  }

  /** When the value was published that the cascade of this one began with; 0: no cascade published it, or nobody asks for it. */
  get root_ts(): number {
    return (this.flags & VALUE_FLAG.rooted) === 0 ? 0 : this.#f64[this.#valueItem() >> 1]!
  }

  // ---- scheduled, released

  /** Of a scheduled value. */
  get entry(): number {
    return this.#f64[this.#scheduledItem() + S.number]!
  }

  /** The scheduled values before this number are gone. */
  get first(): number {
    return this.kind === JOURNAL.released ? this.version : this.#f64[this.#scheduledItem() + S.first]!
  }

  // ---- cascade, queued, fresh

  /** Index of the message that started the cascade, or that was queued. */
  get message(): number {
    return this.#i32[this.#word + R.ref]!
  }

  /** Index of the flow whose queue a queued value entered. */
  get flow(): number {
    return this.#i32[this.#valueItem() + V.flow]!
  }

  // ---- cascade

  get seq(): number {
    return this.#f64[this.#half + HALVES + C.seq]!
  }

  get duration_us(): number {
    return this.#f64[this.#half + HALVES + C.duration_us]!
  }

  /** 0 without a parent. */
  get parent_seq(): number {
    return this.#f64[this.#half + HALVES + (this.kind === JOURNAL.queued ? I.parent_seq : C.parent_seq)]!
  }

  get parent_ts(): number {
    return this.#f64[this.#half + HALVES + C.parent_ts]!
  }

  /** CASCADE_STATUS. */
  get status(): number {
    return this.#i32[this.#word + WORDS + C.status]!
  }

  get executions(): number {
    return this.#i32[this.#word + WORDS + C.executions]!
  }

  get errors(): number {
    return this.#i32[this.#word + WORDS + C.errors]!
  }

  // ---- queued, fresh, taken, and values with the flag `queued`

  /** Number of the item in its flow's queue. Fresh: of the first item of the cascade. Taken: of the first one not taken. */
  get item(): number {
    switch (this.kind) {
      case JOURNAL.taken:
        return this.#i32[this.#word + R.ref]!
      case JOURNAL.value:
        return this.#i32[this.#valueItem() + V.item]!
      default:
        return this.#i32[this.#word + WORDS + I.item]!
    }
  }

  /** Queued: the engine in which the parent ran, 0: this one. */
  get parent_epoch(): number {
    return this.#i32[this.#word + WORDS + I.parent_epoch]!
  }

  get depth(): number {
    return this.#i32[this.#word + WORDS + I.depth]!
  }

  /** Bits of GROUP, see core/cascade/queue/queue.ts. */
  get group(): number {
    if (this.kind === JOURNAL.value) return (this.flags >> VALUE_GROUP.shift) & VALUE_GROUP.mask
    return this.#i32[this.#word + WORDS + I.group]!
  }

  /** Fresh: items of the cascade. */
  get items(): number {
    return this.#i32[this.#word + WORDS + F.items]!
  }

  /** Double of the last 16 bytes, at the next multiple of 8 after the payload. */
  #scheduledItem(): number {
    return (this.#word >> 1) + (((this.#i32[this.#word + R.size]! - SCHEDULED_ITEM.size + 7) & ~7) >> 3)
  }

  /** Word of the last 8 bytes, at the next multiple of 8 after the payload. */
  #valueItem(): number {
    return this.#word + (((this.#i32[this.#word + R.size]! - VALUE_ITEM.size + 7) & ~7) >> 2)
  }
}
