import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SLOT } from '../../../core/memory/threads.ts'
import { limits } from '../../../protocol/limits.ts'
import { formatTime } from '../../../protocol/time.ts'
import { createCodec } from '../../../protocol/values/codec.ts'
import { Journal, saving, startStore, temporaryDirectory } from '../../kit/stored.ts'

const nobody = { flow: null, type: null, since: null, until: null, limit: 100, offset: 0 }
const error = (ts: number, more: object = {}): object => ({
  type: 'error',
  node: 'boiler.smooth',
  code: 'node_error',
  message: 'x is undefined',
  stack: 'at smooth',
  ts,
  inputs: { x: [1, null] },
  cascade_seq: 0,
  cascade_ts: 0,
  ...more,
})

test('audit events are listed for those who may have them, and left out for others', async t => {
  const { store } = await startStore(t, temporaryDirectory(t))
  store.event({ type: 'flow_saved', ts: formatTime(1.7e15), flow: 'boiler', run: null })
  store.event({ type: 'audit', ts: formatTime(1.7e15 + 1), flow: null, run: null, action: 'sign_in' })
  await store.flush()
  const types = async (query: object): Promise<string[]> =>
    (await store.events({ ...nobody, ...query })).items.map(item => item.type)
  assert.deepEqual(await types({}), ['flow_saved'])
  assert.deepEqual(await types({ type: 'audit' }), [])
  assert.deepEqual(await types({ audit: true }), ['audit', 'flow_saved'])
  assert.deepEqual(await types({ audit: true, type: 'audit' }), ['audit'])
})

test('events are listed newest first, by flow, type and time, from the front and from a lane', async t => {
  const { store, journal } = await startStore(t, temporaryDirectory(t))
  store.event({ type: 'flow_saved', ts: formatTime(1.7e15), flow: 'boiler', run: null, version: 3 })
  store.event({ type: 'disk_full', ts: formatTime(1.7e15 + 1), flow: null, run: null })
  journal.note({
    type: 'event',
    event: { type: 'node_down', ts: formatTime(1.7e15 + 2), flow: 'boiler', run: null, node: 'boiler.smooth' },
  })
  journal.note({ type: 'log', node: 'boiler.smooth', level: 'info', text: 'hello', ts: 1.7e15 + 3 })
  journal.writer.mark()
  await store.flush()
  const types = async (query: object): Promise<string[]> =>
    (await store.events({ ...nobody, ...query })).items.map(item => item.type)
  assert.deepEqual(await types({}), ['node_log', 'node_down', 'disk_full', 'flow_saved'])
  assert.deepEqual(await types({ flow: 'boiler', type: 'flow_saved' }), ['flow_saved'])
  assert.deepEqual(await types({ since: 1.7e15 + 1, until: 1.7e15 + 3 }), ['node_down', 'disk_full'])
  assert.deepEqual(await types({ limit: 1, offset: 1 }), ['node_down'])
  const { items, count } = await store.events({ ...nobody, flow: 'boiler', limit: 1 })
  assert.equal(count, 3)
  assert.deepEqual(items[0], {
    type: 'node_log',
    ts: formatTime(1.7e15 + 3),
    flow: 'boiler',
    run: null,
    node: 'boiler.smooth',
    level: 'info',
    text: 'hello',
  })
})

test('a node keeps its last errors with their inputs until they are acknowledged or a day old', async t => {
  const data_dir = temporaryDirectory(t)
  const first = await startStore(t, data_dir)
  const { store, journal } = first
  await store.saveFlow(saving('boiler'))
  const now = Date.now() * 1000
  journal.note(error(now - 25 * 3_600_000_000, { node: 'boiler.old' }))
  for (let i = 0; i < limits.FAILED_INPUTS_KEPT + 5; i++) journal.note(error(now + i, { message: `number ${i}` }))
  journal.writer.mark()
  await store.flush()
  const errors = await store.nodeErrors('boiler.smooth')
  assert.equal(errors.length, limits.FAILED_INPUTS_KEPT)
  assert.equal(errors[0]!.message, `number ${limits.FAILED_INPUTS_KEPT + 4}`)
  assert.deepEqual(errors[0]!.inputs, { x: [1, null] })
  assert.deepEqual(await store.nodeErrors('boiler.old'), [])
  assert.equal(await store.acknowledge('boiler.smooth'), limits.FAILED_INPUTS_KEPT)
  assert.equal(await store.acknowledge('boiler.smooth'), 0)
  await first.close()
  const { loaded } = await startStore(t, data_dir)
  assert.deepEqual(
    loaded.node_errors.map(({ node, acknowledged }) => [node, acknowledged]),
    [['boiler.smooth', true]],
  )
})

test('errors of a node that went from lane to lane are told by their time, whichever lane is read first', async t => {
  const { store, journal, memory } = await startStore(t, temporaryDirectory(t))
  await store.saveFlow(saving('boiler'))
  const other = new Journal(memory, store, SLOT.lane + 1)
  const now = Date.now() * 1000
  for (const [at, lane] of [other, journal, other, journal].entries())
    lane.note(error(now + at, { message: `number ${at}` }))
  other.writer.mark()
  journal.writer.mark()
  await store.flush()
  const errors = await store.nodeErrors('boiler.smooth')
  assert.deepEqual(
    errors.map(({ message }) => message),
    ['number 3', 'number 2', 'number 1', 'number 0'],
  )
})

test('a note that is not what it should be costs itself only', async t => {
  const lines: string[] = []
  const { store, journal } = await startStore(t, temporaryDirectory(t), { log: text => lines.push(text) })
  journal.declare('f.raw', 'float')
  journal.publish('f.raw', 1, 1.7e15)
  journal.note({ type: 'nonsense' })
  journal.note(null)
  journal.note({ type: 'gauge', node: 'boiler.smooth', name: 'x', value: 1, step: null, ts: 1 })
  journal.note(error(Date.now() * 1000, { message: undefined, stack: undefined }))
  journal.writer.mark()
  await store.flush()
  assert.equal(lines.length, 2)
  assert.equal(store.health.failure, null)
  const { items } = await store.history({ name: 'f.raw', since: null, until: null, limit: 1, bucket_s: null })
  assert.equal(items.length, 1)
  assert.equal((await store.nodeErrors('boiler.smooth')).length, 1)
})

test('a flow that went from lane to lane within one commit leaves the state and the cascades of its last lane', async t => {
  const data_dir = temporaryDirectory(t)
  const first = await startStore(t, data_dir)
  const { store, memory } = first
  await store.saveFlow(saving('boiler'))
  // Rings are drained by slot: what the second lane wrote is read before what the first one wrote.
  const [last, before] = [new Journal(memory, store, SLOT.lane), new Journal(memory, store, SLOT.lane + 1)]
  for (const journal of [before, last]) {
    journal.declare('boiler.raw', 'float')
    journal.flow('boiler')
  }
  before.state('boiler.smooth', { n: 1 }, 1)
  last.state('boiler.smooth', { n: 2 }, 2)
  before.writer.cascade(0, 0, 1, 77, 1.7e15, 0, 4, 1, 0, 0, 0)
  last.writer.cascade(0, 0, 1, 77, 1.7e15, 2e6, 1, 9, 0, 0, 0)
  before.writer.mark()
  last.writer.mark()
  await first.close()
  const second = await startStore(t, data_dir)
  assert.deepEqual(
    second.loaded.states.map(({ bytes }) => createCodec().decodePlain(bytes)),
    [{ n: 2 }],
  )
  assert.equal(second.loaded.interrupted, 0)
})

test('of two states of one version, the first by a lane that died before its row named it, the later one is kept', async t => {
  const data_dir = temporaryDirectory(t)
  const first = await startStore(t, data_dir)
  const { store, memory } = first
  await store.saveFlow(saving('boiler'))
  // Rings are drained by slot: what the next lane wrote is read before what the dead one wrote.
  const [next, died] = [new Journal(memory, store, SLOT.lane), new Journal(memory, store, SLOT.lane + 1)]
  died.state('boiler.smooth', { by: 'the dead lane' }, 5, 1.7e15)
  next.state('boiler.smooth', { by: 'the next lane' }, 5, 1.7e15 + 900)
  next.state('boiler.other', { by: 'the next lane' }, 5, 1.7e15 + 900)
  died.state('boiler.other', { by: 'the dead lane' }, 4, 1.7e15 + 1000)
  died.writer.mark()
  next.writer.mark()
  await first.close()
  const second = await startStore(t, data_dir)
  assert.deepEqual(
    second.loaded.states.map(({ node, bytes }) => [node, createCodec().decodePlain(bytes)]),
    ['boiler.other', 'boiler.smooth'].map(node => [node, { by: 'the next lane' }]),
  )
})

test('a flow that went from lane to lane within one commit leaves its newest value, whatever ring is read first', async t => {
  const data_dir = temporaryDirectory(t)
  const first = await startStore(t, data_dir)
  const { store, memory } = first
  await store.saveFlow(saving('boiler'))
  const [later, earlier] = [new Journal(memory, store, SLOT.lane), new Journal(memory, store, SLOT.lane + 1)]
  later.declare('boiler.raw', 'float', 5)
  earlier.declare('boiler.raw', 'float')
  for (let value = 1; value <= 5; value++) earlier.put('boiler.raw', value, 1.7e15 + value)
  for (let value = 6; value <= 8; value++) later.put('boiler.raw', value, 1.7e15 + value)
  earlier.writer.mark()
  later.writer.mark()
  await first.close()
  const second = await startStore(t, data_dir)
  assert.deepEqual(
    second.loaded.values.map(({ name, version, number }) => [name, version, number]),
    [['boiler.raw', 8, 8]],
  )
})

test('a held value that was let go stays gone, and one that was held after that stays held, whatever ring is read first', async t => {
  const data_dir = temporaryDirectory(t)
  const first = await startStore(t, data_dir)
  const { store, memory } = first
  await store.saveFlow(saving('boiler'))
  const [timer, lane] = [new Journal(memory, store, SLOT.timer), new Journal(memory, store, SLOT.lane)]
  for (const journal of [timer, lane]) for (const name of ['boiler.gone', 'boiler.kept']) journal.declare(name, 'float')
  const due_ms = 1.7e12
  const ts = due_ms * 1000
  lane.hold('boiler.gone', due_ms, ts - 5000, 1)
  lane.hold('boiler.kept', due_ms, ts - 5000, 1)
  timer.hold('boiler.gone', 0, ts + 300, 1)
  timer.hold('boiler.kept', 0, ts + 300, 1)
  // By the clock of its lane it was held before the other was let go.
  lane.hold('boiler.kept', due_ms + 100, ts + 200, 2)
  for (const journal of [timer, lane]) journal.writer.mark()
  await first.close()
  const second = await startStore(t, data_dir)
  assert.deepEqual(
    second.loaded.held.map(({ name, number }) => [name, number]),
    [['boiler.kept', 2]],
  )
})

test('what a flow had not consumed is found after a restart, in its order and with its values', async t => {
  const data_dir = temporaryDirectory(t)
  const first = await startStore(t, data_dir)
  await first.store.saveFlow(saving('boiler'))
  const raw = first.journal.declare('boiler.raw', 'float')
  const flow = first.journal.flow('boiler')
  for (let item = 0; item < 6; item++) first.journal.put('boiler.raw', item / 2, 1.7e15 + item, { flow, item })
  // By a cascade of another flow: a record of its own says so.
  const last = first.journal.put('boiler.raw', 3, 1.7e15 + 6)
  first.journal.writer.queued(flow, raw, last, 6, 1, 0, 77, 1.6e15)
  first.journal.writer.taken(flow, 4)
  first.journal.writer.mark()
  await first.close()
  const found = async () => {
    const store = await startStore(t, data_dir)
    const { waiting } = store.loaded
    await store.close()
    return waiting.map(({ flow, items, standing, lost }) => ({
      flow,
      items: items.map(({ message, version, number }) => [message, version, number]),
      standing: standing.map(({ message, version, number }) => [message, version, number]),
      lost,
    }))
  }
  const wanted = [
    {
      flow: 'boiler',
      items: [5, 6, 7].map(version => ['boiler.raw', version, (version - 1) / 2]),
      standing: [['boiler.raw', 4, 1.5]],
      lost: 0,
    },
  ]
  assert.deepEqual(await found(), wanted)
  // A start that ends before it says what it queued again has changed nothing.
  assert.deepEqual(await found(), wanted)
})

test('the values of a deleted flow do not come back with a flow of its name', async t => {
  const data_dir = temporaryDirectory(t)
  const first = await startStore(t, data_dir)
  await first.store.saveFlow(saving('boiler'))
  first.journal.declare('boiler.raw', 'float')
  first.journal.publish('boiler.raw', 1, 1.7e15)
  first.journal.state('boiler.smooth', { sum: 1 })
  first.journal.writer.mark()
  await first.store.flush()
  await first.store.deleteFlow({ name: 'boiler', author: 'ada' })
  await first.store.saveFlow(saving('boiler'))
  await first.close()
  const second = await startStore(t, data_dir)
  assert.deepEqual(second.loaded.values, [])
  assert.deepEqual(second.loaded.states, [])
  const kept = await second.store.history({ name: 'boiler.raw', since: null, until: null, limit: 10, bucket_s: null })
  assert.equal(kept.items.length, 1)
})

test('large values come back after a restart, and from history', async t => {
  const data_dir = temporaryDirectory(t)
  const first = await startStore(t, data_dir)
  await first.store.saveFlow(saving('camera'))
  first.journal.declare('camera.note', 'str')
  const text = 'x'.repeat(4000)
  for (let i = 0; i < 30; i++) {
    first.journal.publish('camera.note', `${i}${text}`, 1.7e15 + i)
    if (i % 8 === 0) await first.store.flush()
  }
  await first.store.flush()
  first.journal.publish('camera.note', 'short', 1.7e15 + 31)
  first.journal.publish('camera.note', `${text}last`, 1.7e15 + 32)
  await first.close()
  const second = await startStore(t, data_dir)
  assert.equal(Buffer.from(second.loaded.values[0]!.bytes).toString(), `${text}last`)
  assert.equal(second.loaded.values[0]!.version, 32)
  const { items } = await second.store.history({
    name: 'camera.note',
    since: null,
    until: null,
    limit: 2,
    bucket_s: null,
  })
  assert.deepEqual(
    items.map(item => 'value' in item && item.value),
    ['short', `${text}last`],
  )
})

test('the newest bin, still being written, is held back', async t => {
  const { store, journal } = await startStore(t, temporaryDirectory(t))
  journal.declare('f.raw', 'float')
  const now = Date.now() * 1000
  journal.publish('f.raw', 1, now - 7_200_000_000)
  journal.publish('f.raw', 2, now)
  await store.flush()
  for (const bucket_s of [3600, 1800]) {
    const { items } = await store.history({ name: 'f.raw', since: null, until: null, limit: 10, bucket_s })
    assert.deepEqual(
      items.map(item => 'count' in item && item.last),
      [1],
    )
  }
})

test('samples become closed bins; hours=0 means one hour', async t => {
  const { store } = await startStore(t, temporaryDirectory(t))
  const now = Math.floor(Date.now() / 600_000) * 600_000_000
  const sample = { published: 5, executions: 4, errors: 1, cascades: 3, waiting: 2, sockets: 1 }
  for (let minute = 1; minute <= 180; minute++)
    store.sample({ ts: now - minute * 60_000_000, ...sample, waiting: minute })
  store.sample({ ts: Date.now() * 1000, ...sample })
  await store.flush()
  const hour = await store.timeseries({ hours: 0, bucket_s: 600, since: null, until: null })
  assert.deepEqual(hour, await store.timeseries({ hours: 1, bucket_s: 600, since: null, until: null }))
  assert.ok(hour.length >= 6 && hour.length <= 7, `${hour.length} bins`)
  const newest = hour.at(-1)!
  assert.deepEqual([newest.ts, newest.published, newest.waiting], [formatTime(now - 600_000_000), 50, 10])
  const window = await store.timeseries({
    hours: 1,
    bucket_s: 1800,
    since: now - 7_200_000_000,
    until: now - 3_600_000_000,
  })
  assert.equal(window.reduce((sum, point) => sum + point.published, 0) % 5, 0)
  assert.ok(window.every(point => point.ts < formatTime(now - 3_600_000_000)))
})

test('disk use is told by class', async t => {
  const { store, journal } = await startStore(t, temporaryDirectory(t))
  journal.declare('f.raw', 'float')
  for (let i = 0; i < 500; i++) journal.put('f.raw', Math.random(), 1.7e15 + i)
  journal.writer.mark()
  await store.flush()
  const disk = await store.disk()
  assert.deepEqual(
    disk.map(row => row.class),
    ['history', 'cascades', 'events', 'runs', 'run_logs', 'run_metrics', 'flows', 'wal', 'log'],
  )
  assert.ok(disk[0]!.bytes > 4000 && disk[0]!.bytes < 8000, `${disk[0]!.bytes} bytes`)
  assert.equal(disk[0]!.budget_bytes, limits.HISTORY_BYTES)
})
