import assert from 'node:assert/strict'
import { JOURNAL, JournalReader, type JournalVisitor, JournalWriter } from '../../../core/memory/journal/journal.ts'
import { float, newValue } from '../../kit/memory.ts'
import { scenario } from '../../kit/scenario.ts'

const SLOT = 9
/** One ring less a little: with the records below the writer comes round and overwrites what the front has not read. */
const BEFORE = 92
const RECORDS = 5
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

/** The front drains a ring from its start while the writer laps it. */
export default scenario({
  prepare(memory) {
    const writer = new JournalWriter(memory, SLOT, none)
    for (let version = 1; version <= BEFORE; version++) write(writer, version)
    writer.mark()
    new JournalReader(memory, SLOT, 'store').drain(visitor([]), 1e6)
  },
  threads: [
    memory => {
      const writer = new JournalWriter(memory, SLOT, none)
      return () => {
        for (let i = 1; i <= RECORDS; i++) write(writer, BEFORE + i)
      }
    },
    memory => {
      const reader = new JournalReader(memory, SLOT, 'front')
      return () => {
        const seen: number[] = []
        reader.drain(visitor(seen), 400)
        reader.drain(visitor(seen), 1e6)
        return { seen, missed: reader.missed() }
      }
    },
  ],
  check(_memory, [, { seen, missed }]: [null, { seen: number[]; missed: number }]) {
    for (let i = 1; i < seen.length; i++) assert.ok(seen[i]! > seen[i - 1]!, 'a record came twice or out of order')
    assert.equal(seen.length + missed, seen.at(-1) ?? missed, 'the front was lapped and does not know by how much')
    return missed > 0 ? 'lapped' : 'whole'
  },
})
