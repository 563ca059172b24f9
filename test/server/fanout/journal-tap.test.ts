import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { CASCADE_STATUS } from '../../../core/memory/journal/record.ts'
import { MessageTable } from '../../../core/memory/messages.ts'
import { createCodec } from '../../../protocol/values/codec.ts'
import { CascadeCounts } from '../../../server/fanout/cascade-counts.ts'
import { Fanout } from '../../../server/fanout/fanout.ts'
import { JournalTap, type JournalTapOptions } from '../../../server/fanout/journal-tap.ts'
import { ForgetfulStore, JournalPublisher, smallMemory, smallSizes } from '../../kit/journal-room.ts'
import { FrontDouble, type SocketDouble } from '../../kit/socket-double.ts'
import { newestScratch, ValuesDouble } from '../../kit/values-double.ts'

const [RAW, SMOOTH] = [0, 1]
const LANES = [8, 9]

async function room(t: TestContext, options: Partial<JournalTapOptions> = {}) {
  const memory = smallMemory()
  const defects: unknown[] = []
  const directory = new ValuesDouble()
  directory.declare('boiler.raw', 'boiler.smooth')
  const codec = createCodec()
  const messages = new MessageTable(memory)
  const fanout = new Fanout({
    values: messages,
    directory,
    decoder: codec,
    scratch: newestScratch(),
    onDefect: error => defects.push(error),
    messages: smallSizes.messages,
  })
  const front = new FrontDouble()
  fanout.attach(front)
  const notes: Record<string, unknown>[] = []
  const cascades = new CascadeCounts(smallSizes.flows)
  const tap = new JournalTap({
    memory,
    fanout,
    cascades,
    decoder: codec,
    onNote: note => notes.push(note),
    onDefect: defect => defects.push(defect),
    ...options,
  })
  t.after(() => tap.stop())
  const [first, second] = LANES.map(slot => new JournalPublisher(memory, slot)) as [JournalPublisher, JournalPublisher]
  const store = new ForgetfulStore(memory, LANES)
  const follow = async (...indexes: number[]): Promise<SocketDouble> => {
    const socket = front.connect()
    const follower = fanout.open(socket)
    for (const message of indexes) fanout.followName(follower, message, 'asked')
    await until(() => follower.behind.size === 0)
    return socket
  }
  return { memory, fanout, tap, first, second, store, follow, notes, defects, cascades, messages }
}

const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))
async function until(condition: () => boolean): Promise<void> {
  for (const end = Date.now() + 20_000; !condition(); ) {
    assert.ok(Date.now() < end, 'not reached')
    await turn()
  }
}
const versions = (socket: SocketDouble): number[] => socket.values('boiler.raw').map(({ version }) => version)
const upTo = (count: number): number[] => Array.from({ length: count }, (_, at) => at + 1)

/** Received and missed add up to what was published. */
function addsUp(socket: SocketDouble, published: number): void {
  let has = 0
  for (const { version, missed } of socket.values('boiler.raw')) {
    assert.equal(missed, version - has - 1)
    has = version
  }
  assert.equal(has, published)
}

test('a published value wakes the front and reaches its follower', async t => {
  const { tap, first, follow } = await room(t)
  tap.start()
  const socket = await follow(RAW)
  for (let round = 1; round <= 20; round++) {
    first.say(RAW, round / 2)
    await until(() => versions(socket).length === round)
  }
  assert.deepEqual(versions(socket), upTo(20))
})

test('values that alternate between two rings arrive in order, with none missed', async t => {
  const { tap, first, second, follow } = await room(t)
  const socket = await follow(RAW)
  for (let value = 0; value < 100; value++) (value % 7 < 3 ? first : second).say(RAW, value)
  tap.start()
  await until(() => versions(socket).length === 100)
  assert.deepEqual(versions(socket), upTo(100))
})

test('a value whose predecessors were lost does not wait for them without a limit', async t => {
  const { tap, first, second, store, follow } = await room(t)
  const socket = await follow(RAW)
  // The first ring is lapped; the second holds one value in the middle.
  for (let value = 0; value < 8_000; value++) {
    const lane = value === 4_000 ? second : first
    lane.say(RAW, value)
    if (value % 500 === 0) store.forget()
  }
  tap.start()
  await until(() => versions(socket).at(-1) === 8_000)
  addsUp(socket, 8_000)
  assert.ok(versions(socket).length < 8_000)
  assert.ok(tap.counts().missed > 0)
})

test('a name that went quiet while the front was lapped is brought up to date', async t => {
  const { tap, first, store, follow } = await room(t)
  const socket = await follow(RAW, SMOOTH)
  for (let value = 0; value < 10; value++) first.say(RAW, value)
  for (let value = 0; value < 8_000; value++) {
    first.say(SMOOTH, value)
    if (value % 500 === 0) store.forget()
  }
  tap.start()
  await until(() => versions(socket).length > 0)
  assert.deepEqual(socket.values('boiler.raw'), [{ version: 10, value: 9, missed: 9 }])
})

test('long values are copied from their slabs; one whose slab is gone counts as missed', async t => {
  const { tap, first, store, follow } = await room(t)
  const socket = await follow(RAW)
  const text = (at: number): string => String(at).repeat(10_000)
  for (let at = 1; at <= 6; at++) first.publish(RAW, text(at), 'str')
  first.journal.mark()
  // The store has read them: only the slabs of the newest two are still held, by the message table.
  store.forget()
  for (let at = 7; at <= 8; at++) first.say(RAW, text(at), 'str')
  tap.start()
  await until(() => versions(socket).at(-1) === 8)
  addsUp(socket, 8)
  for (const { version, value } of socket.values('boiler.raw')) assert.equal(value, text(version))
})

test('notes go to their handler and cascades into the counts', async t => {
  const { tap, first, notes, cascades } = await room(t)
  tap.start()
  first.note({ type: 'log', node: 'boiler.smooth', level: 'info', text: 'warm', ts: 1 })
  first.journal.cascade(3, RAW, 1, 1, 0, 250, CASCADE_STATUS.running, 0, 0, 0, 0)
  first.journal.cascade(3, RAW, 1, 1, 0, 250, CASCADE_STATUS.succeeded, 4, 0, 0, 0)
  first.journal.cascade(3, RAW, 2, 2, 0, 50, CASCADE_STATUS.failed, 2, 1, 0, 0)
  first.journal.taken(3, 2)
  first.journal.mark()
  await until(() => cascades.finished(3) === 2)
  assert.deepEqual(notes, [{ type: 'log', node: 'boiler.smooth', level: 'info', text: 'warm', ts: 1 }])
  assert.deepEqual(cascades.totals(), { succeeded: 1, failed: 1, interrupted: 0, executions: 6, errors: 1 })
  assert.equal(cascades.busy_us(3), 300)
})

test('a record that cannot be decoded is reported, and the next one goes on', async t => {
  const { tap, first, notes, defects, follow } = await room(t)
  tap.start()
  const socket = await follow(RAW)
  const broken = Buffer.from([0xc1, 0xff])
  first.journal.blob(5, 0, 0, broken, broken.length)
  first.journal.value(RAW, 1, 0, 0, { kind: 6, number: 0, bytes: broken, length: 2 }, 0)
  first.note({ type: 'event' })
  first.journal.value(RAW, 2, 0, 0, { kind: 2, number: 7, bytes: broken, length: 8 }, 0)
  first.journal.mark()
  await until(() => versions(socket).length === 2)
  assert.deepEqual(
    socket.values('boiler.raw').map(({ value }) => value),
    [null, 7],
  )
  assert.deepEqual(notes.at(-1), { type: 'event' })
  assert.equal(defects.length, 2)
})

test('a backlog is read in slices, and the event loop turns between them', async t => {
  const { tap, first, follow } = await room(t, { slice_ms: 0 })
  const socket = await follow(RAW)
  for (let value = 0; value < 1_200; value++) first.publish(RAW, value)
  first.journal.mark()
  tap.start()
  let turns = 0
  for (; versions(socket).length < 1_200; turns++) await turn()
  assert.deepEqual(versions(socket), upTo(1_200))
  assert.ok(turns > 1 && tap.counts().slices > 1)
})

test('when it stops, all that was published has been sent', async t => {
  const { tap, first, follow } = await room(t)
  tap.start()
  const socket = await follow(RAW)
  await turn()
  for (let value = 0; value < 100; value++) first.publish(RAW, value)
  await tap.stop()
  assert.deepEqual(versions(socket), upTo(100))
})
