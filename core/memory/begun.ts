/**
 * Cascades that have begun on a lane and not ended, kept in shared memory so that they outlive its thread: when the lane dies, the front records
 * them as interrupted. A slot has a row for the one that runs at present and others for those in flight.
 *
 * A lane runs one turn at a time, and a turn begins a cascade only when nothing of the previous one is on its stack. So at most
 * one cascade has begun and is not in flight: row 0. It leaves that row when it ends, when it has to wait, and when its turn
 * ends. Between two turns row 0 is free.
 */
import * as atomics from '#atomics'
import { layout } from './layout.ts'
import type { Memory } from './memory.ts'
import { SLOT, THREAD_ROW } from './threads.ts'

export const BEGUN_ROW = layout(
  'BEGUN_ROW',
  [
    ['seq', 'f64', 'number of the cascade; in row 0 it stays, and the next thread in the slot counts on from it'],
    ['started_us', 'f64', 'when it began, microseconds since 1970'],
    ['root_version', 'f64', 'version of the message that started it'],
    ['parent_seq', 'f64', '0 without a parent'],
    ['parent_ts', 'f64', 'with a parent: its start, microseconds since 1970'],
    ['before', 'f64', 'row 0: bodies that the thread had run when it began'],
    ['message', 'i32', 'engine-wide index of the message that started it'],
    ['flow', 'i32', 'index of its flow, plus 1; 0: the row is free'],
    ['executions', 'i32', 'in the other rows: its executions when it last had to wait'],
    ['errors', 'i32', 'failed ones among them'],
  ],
  64,
)

const W = BEGUN_ROW.word

/** What a row holds of a cascade, and which row it is: 0 at present, higher in flight, -1 in flight without a row. */
export interface Begun {
  readonly seq: number
  readonly started_us: number
  readonly message: number
  readonly root_version: number
  readonly parent_seq: number
  readonly parent_ts: number
  readonly executions: number
  readonly errors: number
  row: number
}

/** Byte offset of the first row of a lane's slot. */
export function begunOffset(memory: Memory, slot: number): number {
  const { offset, size } = memory.regions.begun
  const at = offset + (slot - SLOT.lane) * memory.sizes.begun_rows * BEGUN_ROW.size
  if (!(slot >= SLOT.lane && at < offset + size)) throw new RangeError(`no rows of begun cascades for slot ${slot}`)
  return at
}

/** The lane's access to its own rows. No other thread reads them while the lane lives. */
export class BegunCascades {
  readonly #i32: Int32Array
  readonly #f64: Float64Array
  readonly #word: number
  readonly #half: number
  readonly #executions: number
  /** Free rows, the one used last on top: few pages are ever touched. */
  readonly #free: Int32Array
  #free_rows: number

  constructor(memory: Memory, slot: number) {
    const at = begunOffset(memory, slot)
    const { begun_rows } = memory.sizes
    this.#i32 = memory.i32
    this.#f64 = memory.f64
    this.#word = at >> 2
    this.#half = at >> 3
    this.#executions = ((memory.regions.threads.offset + slot * THREAD_ROW.size) >> 3) + THREAD_ROW.word.executions
    this.#free_rows = begun_rows - 1
    this.#free = Int32Array.from({ length: this.#free_rows }, (_, at) => begun_rows - 1 - at)
  }

  /** Number of the last cascade that began in the slot, on this thread or one before it; 0: none has. */
  get last(): number {
    return this.#f64[this.#half + W.seq]!
  }

  /**
   * Runs for every cascade, hence only plain stores: nobody reads before the thread's end is confirmed, and a thread ends only
   * at the entry of a function or at a loop's back edge. `executions` is not counted here: the thread's own count is.
   */
  begin(cascade: Begun, flow: number): void {
    const f64 = this.#f64
    const half = this.#half
    f64[half + W.seq] = cascade.seq
    f64[half + W.started_us] = cascade.started_us
    f64[half + W.root_version] = cascade.root_version
    f64[half + W.parent_seq] = cascade.parent_seq
    if (cascade.parent_seq !== 0) f64[half + W.parent_ts] = cascade.parent_ts
    f64[half + W.before] = f64[this.#executions]!
    this.#i32[this.#word + W.message] = cascade.message
    this.#i32[this.#word + W.flow] = flow + 1
  }

  /** An execution of it has failed. */
  failed(cascade: Begun): void {
    if (cascade.row >= 0) this.#i32[this.#at(cascade.row) + W.errors] = cascade.errors
  }

  /** It is in flight. When every row is taken it gets none, and a death loses it without a record. */
  outlives(cascade: Begun, flow: number): void {
    if (cascade.row === 0) {
      const row = this.#free_rows === 0 ? -1 : this.#free[--this.#free_rows]!
      if (row > 0) this.#fill(row, cascade, flow)
      cascade.row = row
      // Afterwards: between the two steps it is in two rows, which recovery detects by its number; in no row it would be lost.
      this.#leavePresent(cascade)
    } else if (cascade.row > 0) {
      const word = this.#at(cascade.row)
      this.#i32[word + W.executions] = cascade.executions
      this.#i32[word + W.errors] = cascade.errors
    }
  }

  /** Its end is in the journal. Kept small, since it runs for every cascade. */
  end(cascade: Begun): void {
    if (cascade.row === 0 && cascade.errors === 0) this.#i32[this.#word + W.flow] = 0
    else this.#leave(cascade)
  }

  #leave(cascade: Begun): void {
    const { row } = cascade
    if (row < 0) return
    const word = this.#at(row)
    this.#i32[word + W.errors] = 0
    atomics.release(this.#i32, word + W.flow, 0)
    if (row === 0) return
    this.#free[this.#free_rows++] = row
    cascade.row = -1
  }

  #at(row: number): number {
    return this.#word + row * (BEGUN_ROW.size >> 2)
  }

  #fill(row: number, cascade: Begun, flow: number): void {
    const f64 = this.#f64
    const half = this.#half + row * (BEGUN_ROW.size >> 3)
    const word = this.#at(row)
    f64[half + W.seq] = cascade.seq
    f64[half + W.started_us] = cascade.started_us
    f64[half + W.root_version] = cascade.root_version
    f64[half + W.parent_seq] = cascade.parent_seq
    f64[half + W.parent_ts] = cascade.parent_ts
    this.#i32[word + W.message] = cascade.message
    this.#i32[word + W.executions] = cascade.executions
    this.#i32[word + W.errors] = cascade.errors
    atomics.release(this.#i32, word + W.flow, flow + 1)
  }

  #leavePresent(cascade: Begun): void {
    if (this.#f64[this.#half + W.seq] !== cascade.seq) return
    this.#i32[this.#word + W.errors] = 0
    atomics.release(this.#i32, this.#word + W.flow, 0)
  }
}
