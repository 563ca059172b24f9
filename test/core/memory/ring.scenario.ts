import assert from 'node:assert/strict'
import {
  JOURNAL,
  JOURNAL_HEADER,
  JournalReader,
  type JournalVisitor,
  JournalWriter,
  journalOffset,
} from '../../../core/memory/journal/journal.ts'
import type { Memory } from '../../../core/memory/region.ts'
import { float, newValue } from '../../kit/memory.ts'
import { scenario } from '../../kit/scenario.ts'

const SLOT = 9
const RECORDS = 5
/** Chosen so that the writer comes to the end of the ring among these records. */
const FIRST = 96
const none = { store() {}, front() {} }

const visitor = (seen: number[]): JournalVisitor => ({
  visit: ({ kind, subject: message, version, ts, number }) => {
    assert.equal(kind, JOURNAL.value, 'a record of a kind that nobody wrote')
    assert.deepEqual([message, ts, number], [version, version * 10, version / 2], 'a torn record')
    seen.push(version)
  },
})

function write(writer: JournalWriter, version: number): void {
  writer.value(version, version, version * 10, 0, float(value, version / 2), 0)
}
const value = newValue(8)

/** The ring is nearly full of read records, so that the writer wraps, pads and announces a stride while it is read. */
function fill(memory: Memory): void {
  const writer = new JournalWriter(memory, SLOT, none)
  const reader = new JournalReader(memory, SLOT, 'store')
  for (let version = 1; version < FIRST; version++) write(writer, version)
  writer.mark()
  reader.drain(visitor([]), 1e6)
}

/** A lane writes five records and marks them, while the store drains. */
export default scenario({
  prepare: fill,
  threads: [
    memory => {
      const writer = new JournalWriter(memory, SLOT, none)
      return () => {
        for (let i = 0; i < RECORDS; i++) {
          write(writer, FIRST + i)
          if (i % 2 === 0) writer.mark()
        }
      }
    },
    memory => {
      const reader = new JournalReader(memory, SLOT, 'store')
      return () => {
        const seen: number[] = []
        for (let i = 0; i < 3; i++) reader.drain(visitor(seen), 1e6)
        return seen
      }
    },
  ],
  check(memory, [, seen]: [null, number[]]) {
    const all = [...seen]
    new JournalReader(memory, SLOT, 'store').drain(visitor(all), 1e6)
    const expected = Array.from({ length: RECORDS }, (_, i) => FIRST + i)
    const head = journalOffset(memory, SLOT) >> 2
    assert.ok(memory.i32[head + JOURNAL_HEADER.word.tail]! > memory.sizes.ring_bytes / 8, 'the ring did not wrap')
    assert.deepEqual(all, expected, 'a record was lost, came twice or out of order')
    return seen.length
  },
})
