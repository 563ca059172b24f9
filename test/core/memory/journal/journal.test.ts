import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Arena } from '../../../../core/memory/arena.ts'
import { KIND } from '../../../../core/memory/encoded.ts'
import {
  CASCADE_STATUS,
  JOURNAL,
  JournalReader,
  JournalWriter,
  longestRecord,
  recoverJournal,
  VALUE_FLAG,
} from '../../../../core/memory/journal/journal.ts'
import { ownerWord, SLOT } from '../../../../core/memory/threads.ts'
import { Sleeper } from '../../../../core/memory/wait.ts'
import { JournalLog } from '../../../kit/journal-log.ts'
import { float, newValue, smallMemory, text } from '../../../kit/memory.ts'

const LANE = 8
const none = { store() {}, front() {} }

test('the store reads what is marked, the front what is written', () => {
  const memory = smallMemory()
  const writer = new JournalWriter(memory, LANE, none)
  const store = new JournalReader(memory, LANE, 'store')
  const front = new JournalReader(memory, LANE, 'front')
  const stored = new JournalLog()
  const shown = new JournalLog()
  const value = newValue()
  writer.queuedValue(3, 1, 10, 1, 11, float(value, 2.5), 0)
  assert.ok(writer.unmarked() > 0)
  assert.equal(store.drain(stored, 1e6), 0)
  assert.equal(front.drain(shown, 1e6), 1)
  writer.value(4, 2, 11, VALUE_FLAG.seeded, text(value, 3, 7), 0)
  value.kind = KIND.null
  value.length = 0
  writer.value(5, 3, 12, 0, value, 0)
  writer.cascade(1, 3, 1, 77, 10, 250, CASCADE_STATUS.succeeded, 4, 0, 76, 9)
  writer.blob(JOURNAL.state, 6, 13, Buffer.alloc(20, 5), 20)
  writer.blob(JOURNAL.note, 0, 14, Buffer.alloc(1, 6), 1)
  writer.held(3, 99, 15, float(value, 8))
  writer.taken(1, 12)
  writer.queuedValue(3, 4, 16, 1, 12, text(value, 13, 9), 0)
  writer.queued(2, 3, 4, 5, 6, 1, 77, 1.7e15)
  writer.queued(2, 3, 4, 6, 0, 4, 76, 3)
  writer.mark()
  assert.equal(writer.unmarked(), 0)
  assert.equal(store.drain(stored, 1e6), 11)
  assert.equal(front.drain(shown, 1e6), 10)
  assert.deepEqual(stored.lines, [
    'value 3 1 10 1 2 2.5 in 1 as 11',
    'value 4 2 11 2 5 3x7',
    'value 5 3 12 0 1 0x',
    'cascade 1 3 1 77 10 250 1 4 0 76 9',
    `blob ${JOURNAL.state} 6 13 20x5`,
    `blob ${JOURNAL.note} 0 14 1x6`,
    'held 3 99 15 2 8',
    'taken 1 12',
    'value 3 4 16 1 5 13x9 in 1 as 12',
    'queued 2 3 4 5 6 1 77 0',
    'queued 2 3 4 6 0 4 76 3',
  ])
  assert.deepEqual(shown.lines, stored.lines)
  assert.equal(front.missed(), 0)
})

test('a long value travels by its slab, which the store gives back', () => {
  const memory = smallMemory()
  const arena = new Arena(memory, ownerWord(1, LANE))
  const writer = new JournalWriter(memory, LANE, none)
  const value = text(newValue(), 10_000, 4)
  const publish = (fill: number): number => {
    text(value, 10_000, fill)
    const ref = arena.allocate(value.length)
    value.bytes.copy(memory.bytes, arena.offset(ref), 0, value.length)
    arena.commit(ref)
    writer.value(1, fill, 1, 0, value, ref)
    writer.mark()
    return ref
  }
  const ref = publish(4)
  assert.equal(arena.references(ref), 2, 'one for the publisher, one for the store')
  const shown = new JournalLog()
  const front = new JournalReader(memory, LANE, 'front')
  front.drain(shown, 1e6)
  const stored = new JournalLog()
  const store = new JournalReader(memory, LANE, 'store')
  store.drain(stored, 1e6)
  assert.deepEqual(stored.lines, ['value 1 4 1 0 5 10000x4'])
  assert.deepEqual(shown.lines, stored.lines)
  assert.equal(arena.references(ref), 1)

  // the front is late: the slab was stored, released and used again
  const second = publish(5)
  store.drain(stored, 1e6)
  arena.release(second)
  arena.release(ref)
  const other = arena.allocate(10_000)
  assert.ok(other === second || other === ref)
  arena.allocate(10_000)
  assert.equal(front.drain(shown, 1e6), 1)
  assert.deepEqual(shown.lines, ['value 1 4 1 0 5 10000x4'])
  assert.equal(front.missed(), 1)
  assert.throws(() => writer.value(1, 1, 1, 0, value, 0), RangeError)
})

test('the store holds the writer back, the front does not', () => {
  const memory = smallMemory({ ring_bytes: 4096 })
  const writer = new JournalWriter(memory, LANE, none)
  const store = new JournalReader(memory, LANE, 'store')
  const front = new JournalReader(memory, LANE, 'front')
  const value = float(newValue(), 1)
  let written = 0
  for (; writer.hasRoom(40); written++) writer.value(0, written, 1, 0, value, 0)
  assert.ok(written > 80)
  assert.throws(() => {
    for (let i = 0; i < 10; i++) writer.value(0, 1, 1, 0, value, 0)
  }, RangeError)
  writer.mark()
  const stored = new JournalLog()
  store.drain(stored, 1e6)
  assert.ok(writer.hasRoom(40))
  for (let lap = 0; lap < 5; lap++) {
    for (; writer.hasRoom(40); written++) writer.value(0, written, 1, 0, value, 0)
    writer.mark()
    store.drain(stored, 1e6)
  }
  const shown = new JournalLog()
  front.drain(shown, 1e6)
  assert.ok(front.missed() > 300)
  assert.equal(front.missed() + shown.lines.length, stored.lines.length)
  assert.equal(shown.lines.at(-1), stored.lines.at(-1))
})

test('a drain stops near its bound and goes on from there', () => {
  const memory = smallMemory()
  const writer = new JournalWriter(memory, LANE, none)
  for (let i = 0; i < 100; i++) writer.value(0, i, 1, 0, float(newValue(0), 1), 0)
  writer.mark()
  for (const role of ['store', 'front'] as const) {
    const reader = new JournalReader(memory, LANE, role)
    const log = new JournalLog()
    const first = reader.drain(log, 400)
    assert.ok(first > 0 && first <= 12, `${role} took ${first} records`)
    while (reader.drain(log, 400) > 0);
    assert.equal(log.lines.length, 100)
    assert.equal(reader.waiting(), 0)
  }
})

test('a record as long as a stride is taken by both readers, a longer one is refused', () => {
  const memory = smallMemory({ ring_bytes: 2 ** 21 })
  const writer = new JournalWriter(memory, LANE, none)
  const most = longestRecord(2 ** 21)
  const bytes = Buffer.alloc(most, 3)
  assert.throws(() => writer.blob(JOURNAL.state, 1, 1, bytes, most), RangeError)
  writer.blob(JOURNAL.state, 1, 1, bytes, most - 32)
  writer.mark()
  for (const role of ['store', 'front'] as const) {
    const log = new JournalLog()
    assert.equal(new JournalReader(memory, LANE, role).drain(log, 1000), 1)
    assert.deepEqual(log.lines, [`blob ${JOURNAL.state} 1 1 ${most - 32}x3`])
  }
})

test('a mark wakes the store and the front only when they sleep', () => {
  const memory = smallMemory()
  const woken: string[] = []
  const writer = new JournalWriter(memory, LANE, { store: () => woken.push('store'), front: () => woken.push('front') })
  writer.taken(1, 1)
  writer.mark()
  assert.deepEqual(woken, [])
  new Sleeper(memory, SLOT.store).announce()
  writer.mark()
  assert.deepEqual(woken, [], 'a mark without records wakes nobody')
  writer.taken(1, 1)
  writer.mark()
  new Sleeper(memory, SLOT.front).announce()
  writer.taken(1, 1)
  writer.mark()
  assert.deepEqual(woken, ['store', 'store', 'front'])
})

test('a unit of more than half a ring calls the sleeping store before it has to wait for room', () => {
  const memory = smallMemory({ ring_bytes: 4096 })
  let calls = 0
  const writer = new JournalWriter(memory, LANE, { store: () => calls++, front() {} })
  new Sleeper(memory, SLOT.store).announce()
  while (writer.unmarked() < 2048) writer.taken(1, 1)
  assert.equal(calls, 0)
  while (writer.unmarked() < 3000) writer.taken(1, 1)
  assert.ok(calls > 0)
  assert.ok(writer.hasRoom(40))
})

test('after a death the complete records are committed, and the next writer goes on', () => {
  const memory = smallMemory()
  const dead = new JournalWriter(memory, LANE, none)
  const front = new JournalReader(memory, LANE, 'front')
  for (let i = 1; i <= 3; i++) dead.taken(1, i)
  assert.equal(recoverJournal(memory, LANE), true)
  assert.equal(recoverJournal(memory, LANE), false)
  const next = new JournalWriter(memory, LANE, none)
  next.taken(1, 4)
  next.mark()
  const log = new JournalLog()
  new JournalReader(memory, LANE, 'store').drain(log, 1e6)
  assert.deepEqual(log.lines, ['taken 1 1', 'taken 1 2', 'taken 1 3', 'taken 1 4'])
  assert.equal(front.drain(new JournalLog(), 1e6), 4)
})

test('a writer that waits for room gives up when it is told to stop, or when the ring can never hold so much', () => {
  const memory = smallMemory({ ring_bytes: 4096 })
  let wakes = 0
  const writer = new JournalWriter(memory, LANE, { store: () => wakes++, front() {} })
  while (writer.hasRoom(40)) writer.taken(1, 1)
  let asked = 0
  assert.equal(
    writer.waitForRoom(40, () => ++asked > 2),
    false,
  )
  assert.equal(wakes, 2)
  assert.ok(writer.unmarked() > 0, 'what is not whole is not committed')
  assert.equal(
    writer.waitForRoom(5000, () => false),
    false,
  )
  writer.mark()
  new JournalReader(memory, LANE, 'store').drain(new JournalLog(), 1e6)
  assert.equal(
    writer.waitForRoom(40, () => false),
    true,
  )
})

test('a unit that is larger than the ring is staged, and visited whole when its mark comes', () => {
  const memory = smallMemory({ ring_bytes: 4096 })
  const writer = new JournalWriter(memory, LANE, none)
  const store = new JournalReader(memory, LANE, 'store')
  const log = new JournalLog()
  const value = newValue()
  const lines: string[] = []
  for (let unit = 1; unit <= 5; unit++) {
    for (let i = 1; i <= unit * 70; i++) {
      while (!writer.hasRoom(200)) {
        store.drainTo(log, store.marked())
        if (store.isCramped) store.stage()
      }
      const length = (i * 7) % 160
      writer.value(unit, i, i, 0, text(value, length, i & 0xff), 0)
      lines.push(`value ${unit} ${i} ${i} 0 ${KIND.str} ${length}x${length === 0 ? '' : i & 0xff}`)
    }
    store.drainTo(log, store.marked())
    assert.ok(!log.lines.some(line => line.startsWith(`value ${unit} `)), 'nothing of it is seen before its mark')
    writer.mark()
  }
  store.drainTo(log, store.marked())
  assert.deepEqual(log.lines, lines)
  assert.equal(store.staged, 0)
})
