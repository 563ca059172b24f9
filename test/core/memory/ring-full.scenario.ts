import assert from 'node:assert/strict'
import { JOURNAL, JournalReader, type JournalVisitor, JournalWriter } from '../../../core/memory/journal/journal.ts'
import { float, newValue } from '../../kit/memory.ts'
import { scenario } from '../../kit/scenario.ts'

const SLOT = 9
const RECORDS = 2
const BYTES = 40
const none = { store() {}, front() {} }
const value = newValue(8)

const visitor = (seen: number[]): JournalVisitor => ({
  visit: ({ kind, subject: message, version, ts, number }) => {
    assert.equal(kind, JOURNAL.value, 'a record of a kind that nobody wrote')
    assert.deepEqual([message, ts, number], [version, version * 10, version / 2], 'a torn record')
    seen.push(version)
  },
})

const write = (writer: JournalWriter, version: number): void =>
  writer.value(version, version, version * 10, 0, float(value, version / 2), 0)

/** The ring is full of records that the store has not read: the writer marks what it has and waits for room, twice. */
export default scenario({
  prepare(memory) {
    const writer = new JournalWriter(memory, SLOT, none)
    for (let version = 1; writer.hasRoom(BYTES); version++) write(writer, version)
    writer.mark()
  },
  threads: [
    memory => {
      const writer = new JournalWriter(memory, SLOT, none)
      return () => {
        for (let i = 1; i <= RECORDS; i++) {
          assert.ok(writer.waitForRoom(BYTES, () => false))
          write(writer, 1000 + i)
        }
        writer.mark()
      }
    },
    memory => {
      const reader = new JournalReader(memory, SLOT, 'store')
      return () => {
        const seen: number[] = []
        for (let i = 0; i < 3; i++) reader.drain(visitor(seen), 60)
        return seen
      }
    },
  ],
  check(memory, [, seen]: [null, number[]]) {
    const first = seen.length
    new JournalReader(memory, SLOT, 'store').drain(visitor(seen), 1e6)
    const before = seen.length - RECORDS
    assert.deepEqual(
      seen,
      [...Array.from({ length: before }, (_, i) => i + 1), 1001, 1002],
      'a record was lost, came twice, out of order or was overwritten',
    )
    return first
  },
})
