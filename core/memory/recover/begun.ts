/** After a lane died: which cascades it had begun and not ended. Its exit is confirmed. */
import { BEGUN_ROW, type Begun, begunOffset } from '../begun.ts'
import {
  CASCADE_PAYLOAD,
  CASCADE_STATUS,
  JOURNAL,
  JOURNAL_HEADER,
  JOURNAL_RECORD,
  journalOffset,
} from '../journal/record.ts'
import type { Memory } from '../region.ts'
import { THREAD_ROW } from '../threads.ts'

export interface Interrupted extends Omit<Begun, 'row'> {
  readonly flow: number
}

const W = BEGUN_ROW.word

/**
 * What stands in the slot's rows, each cascade once, but for those whose end the thread has journalled: it frees the row
 * after that, with no mark in between. So this is asked before `recoverJournal` marks what it left.
 */
export function begunBy(memory: Memory, slot: number): Interrupted[] {
  const { i32, f64 } = memory
  const ended = endsAfterMark(memory, slot)
  const found = new Map<number, Interrupted>()
  const first = begunOffset(memory, slot)
  // Row 0 last: a cascade on its way to a row of its own stands in both, and the other one counts its executions itself.
  for (let row = memory.sizes.begun_rows - 1; row >= 0; row--) {
    const at = first + row * BEGUN_ROW.size
    const word = at >> 2
    const half = at >> 3
    const seq = f64[half + W.seq]!
    if (i32[word + W.flow] === 0 || ended.has(seq) || found.has(seq)) continue
    const parent_seq = f64[half + W.parent_seq]!
    found.set(seq, {
      flow: i32[word + W.flow]! - 1,
      seq,
      started_us: f64[half + W.started_us]!,
      message: i32[word + W.message]!,
      root_version: f64[half + W.root_version]!,
      parent_seq,
      parent_ts: parent_seq === 0 ? 0 : f64[half + W.parent_ts]!,
      executions: row > 0 ? i32[word + W.executions]! : bodiesRun(memory, slot) - f64[half + W.before]!,
      errors: i32[word + W.errors]!,
    })
  }
  return [...found.values()].sort((a, b) => a.seq - b.seq)
}

/** They are recorded: the slot's next thread finds its rows free. The number of the last one stays. */
export function clearBegun(memory: Memory, slot: number): void {
  const first = begunOffset(memory, slot) >> 2
  for (let row = 0; row < memory.sizes.begun_rows; row++) {
    const word = first + row * (BEGUN_ROW.size >> 2)
    if (memory.i32[word + W.flow] === 0) continue
    memory.i32[word + W.errors] = 0
    memory.i32[word + W.flow] = 0
  }
}

/** With the one that it was in. */
function bodiesRun(memory: Memory, slot: number): number {
  const row = memory.regions.threads.offset + slot * THREAD_ROW.size
  const running = memory.i32[(row >> 2) + THREAD_ROW.word.current_node] === 0 ? 0 : 1
  return memory.f64[(row >> 3) + THREAD_ROW.word.executions]! + running
}

/**
 * Numbers of the cascades whose end stands between the slot's last mark, or the newest count record after it, and its tail. What
 * lies further back may have been staged and written over; a row is freed right behind the record of its end.
 */
function endsAfterMark(memory: Memory, slot: number): Set<number> {
  const { i32, f64 } = memory
  const head = journalOffset(memory, slot)
  const tail = i32[(head >> 2) + JOURNAL_HEADER.word.tail]!
  const mask = (memory.sizes.ring_bytes >> 3) - 1
  const ended = new Set<number>()
  const marked = i32[(head >> 2) + JOURNAL_HEADER.word.marked]!
  const counted = i32[(head >> 2) + JOURNAL_HEADER.word.checkpoint]!
  for (let position = ((counted - marked) | 0) > 0 ? counted : marked; position !== tail; ) {
    const at = head + JOURNAL_HEADER.size + ((position & mask) << 3)
    const payload = at + JOURNAL_RECORD.size
    const kind = i32[(at >> 2) + JOURNAL_RECORD.word.kind]! & 0xff
    const isEnd =
      kind === JOURNAL.cascade && i32[(payload >> 2) + CASCADE_PAYLOAD.word.status] !== CASCADE_STATUS.running
    if (isEnd) ended.add(f64[(payload >> 3) + CASCADE_PAYLOAD.word.seq]!)
    position = (position + ((i32[at >> 2]! + 7) >> 3)) | 0
  }
  return ended
}
