import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Cascade } from '../../../../protocol/nouns/cascade.ts'
import { cascadeId } from '../../../../protocol/nouns/cascade-id.ts'
import { asEarlier } from '../../../../server/store/cascades/earlier.ts'
import type { StoreBounds } from '../../../../server/store/file/bounds.ts'
import type { CascadesRequest } from '../../../../server/store/front/requests.ts'
import { randomFrom, seed } from '../../../kit/random.ts'
import { type Started, saving, startStore, temporaryDirectory } from '../../../kit/stored.ts'

const bounds: Partial<StoreBounds> = { chunk_points: 40, join_chunks: 4, group_commit_ms: 1 }
const NAMES = { 1: 'succeeded', 2: 'failed', 3: 'interrupted', 4: 'running' } as const
const all: CascadesRequest = { flow: null, status: null, since: null, before: null, limit: 1000, offset: 0 }

interface Record {
  seq: number
  flow: string
  started: number
  duration: number
  status: 1 | 2 | 3 | 4
  executions: number
  errors: number
  parent?: { seq: number; started: number }
}

function note(started: Started, record: Record): void {
  const { seq, flow, duration, status, executions, errors, parent } = record
  const message = started.journal.declare(`${flow}.raw`, 'float')
  started.journal.writer.cascade(
    started.journal.flow(flow),
    message,
    seq * 2,
    seq,
    record.started,
    duration,
    status,
    executions,
    errors,
    parent?.seq ?? 0,
    parent?.started ?? 0,
  )
  started.journal.writer.mark()
}

const idOf = (record: { seq: number; started: number }, epoch = 1): string =>
  cascadeId(epoch, record.started, record.seq)

async function engine(t: Parameters<typeof startStore>[0], data_dir = temporaryDirectory(t)): Promise<Started> {
  const started = await startStore(t, data_dir, { bounds })
  for (const name of ['boiler', 'panel']) await started.store.saveFlow(saving(name))
  return started
}

test('a cascade is listed with what its record says, and found by its id', async t => {
  const started = await engine(t)
  const root = {
    seq: 1,
    flow: 'boiler',
    started: 1.7e15,
    duration: 2_500_000,
    status: 1,
    executions: 7,
    errors: 0,
  } as const
  const child = { ...root, seq: 2, flow: 'panel', started: 1.7e15 + 10, status: 2, errors: 1, parent: root } as const
  note(started, root)
  note(started, child)
  await started.store.flush()
  const wanted: Cascade = {
    id: idOf(child),
    flow: 'panel',
    root: 'panel.raw',
    root_version: 4,
    parent: idOf(root),
    rerun_of: null,
    started_at: '2023-11-14T22:13:20.000010+00:00',
    duration: 2.5,
    status: 'failed',
    executions: 7,
    errors: 1,
  }
  const { items, count } = await started.store.cascades(all)
  assert.equal(count, 2)
  assert.deepEqual(items[0], wanted)
  assert.deepEqual(await started.store.cascade(idOf(child)), wanted)
  for (const id of [idOf({ seq: 3, started: 1.7e15 }), idOf(child, 2), idOf({ seq: 2, started: 1.8e15 }), 'nonsense']) {
    await assert.rejects(started.store.cascade(id), { code: 'cascade_not_found' })
  }
})

test('a child that ran after a restart names its parent of the engine before, as long as that is kept', async t => {
  const data_dir = temporaryDirectory(t)
  const ended = { duration: 10, status: 1, executions: 1, errors: 0 } as const
  const first = await engine(t, data_dir)
  const root: Record = { seq: 5, flow: 'boiler', started: 1.7e15, ...ended }
  note(first, root)
  await first.close()
  const second = await startStore(t, data_dir, { bounds })
  const child: Record = { seq: 5, flow: 'panel', started: 1.7e15 + 1e6, ...ended }
  note(second, { ...child, parent: { seq: 5, started: asEarlier(root.started, 1) } })
  note(second, { ...child, seq: 6, parent: { seq: 77, started: asEarlier(root.started, 1) } })
  await second.store.flush()
  assert.equal((await second.store.cascade(idOf(child, 2))).parent, idOf(root, 1))
  assert.equal((await second.store.cascade(idOf({ ...child, seq: 6 }, 2))).parent, null)
})

test('a cascade that still runs is listed as running, then with its end, and only once', async t => {
  const started = await engine(t)
  const record: Record = { seq: 1, flow: 'boiler', started: 1.7e15, duration: 0, status: 4, executions: 3, errors: 0 }
  note(started, record)
  await started.store.flush()
  assert.equal((await started.store.cascade(idOf(record))).status, 'running')
  assert.deepEqual((await started.store.cascades({ ...all, status: 'running' })).count, 1)
  note(started, { ...record, status: 1, duration: 3_000_000, executions: 9 })
  await started.store.flush()
  const { items, count } = await started.store.cascades(all)
  assert.equal(count, 1)
  assert.deepEqual([items[0]!.status, items[0]!.executions, items[0]!.duration], ['succeeded', 9, 3])
  assert.equal((await started.store.cascades({ ...all, status: 'running' })).count, 0)
})

test('of two cascades with one number each is found by its own id', async t => {
  const started = await engine(t)
  const record: Record = { seq: 1, flow: 'boiler', started: 1.7e15, duration: 0, status: 1, executions: 1, errors: 0 }
  const others = [
    { ...record, started: 1.7e15 + 7_000, executions: 2 },
    { ...record, started: 1.7e15 + 9_000, executions: 3, status: 4 },
  ] as const
  for (const one of [record, ...others]) {
    note(started, one)
    await started.store.flush()
    assert.equal((await started.store.cascade(idOf(one))).executions, one.executions)
  }
  assert.equal((await started.store.cascade(idOf(record))).executions, 1)
})

test('what runs when the engine ends is recorded interrupted by the next start', async t => {
  const data_dir = temporaryDirectory(t)
  const first = await engine(t, data_dir)
  const record: Record = { seq: 5, flow: 'boiler', started: 1.7e15, duration: 0, status: 4, executions: 3, errors: 0 }
  note(first, record)
  first.journal.declare('boiler.other', 'float')
  first.journal.publish('boiler.other', 1, 1.7e15 + 4_000_000)
  await first.close()
  const second = await startStore(t, data_dir, { bounds })
  assert.equal(second.loaded.interrupted, 1)
  const cascade = await second.store.cascade(idOf(record))
  assert.deepEqual([cascade.status, cascade.duration, cascade.flow], ['interrupted', 4, 'boiler'])
  await second.close()
  const third = await startStore(t, data_dir, { bounds })
  assert.equal(third.loaded.interrupted, 0)
})

test(`lists agree with the records through joins and restarts, for every filter (seed ${seed})`, async t => {
  const random = randomFrom(seed)
  const below = (end: number): number => Math.floor(random() * end)
  const data_dir = temporaryDirectory(t)
  let started = await engine(t, data_dir)
  let epoch = 1
  const model: (Record & { id: string })[] = []
  let now = 1.7e15
  let seq = 0
  for (let round = 0; round < (process.env['LONG'] ? 400 : 60); round++) {
    for (let i = below(random() < 0.2 ? 100 : 6); i > 0; i--) {
      now += below(1000)
      const record: Record = {
        seq: ++seq,
        flow: random() < 0.9 ? 'boiler' : 'panel',
        started: now - below(5000),
        duration: below(1e6),
        status: random() < 0.1 ? 2 : 1,
        executions: below(5),
        errors: below(2),
      }
      note(started, record)
      model.push({ ...record, id: idOf(record, epoch) })
    }
    await started.store.flush()
    if (random() < 0.05) {
      await started.close()
      started = await startStore(t, data_dir, { bounds })
      epoch++
      seq = 0
    }
    if (random() < 0.8 && round > 3) continue
    const status = [null, 'succeeded', 'failed', 'interrupted'][below(4)]!
    const flow = [null, 'boiler', 'panel', 'gone'][below(4)]!
    const edge = (): number | null => (random() < 0.5 ? null : 1.7e15 + below(now - 1.7e15 + 1))
    const query = {
      flow,
      status,
      since: edge(),
      before: edge(),
      limit: 1 + below(50),
      offset: random() < 0.5 ? 0 : below(60),
    }
    const wanted = model
      .filter(record => flow === null || record.flow === flow)
      .filter(record => status === null || NAMES[record.status] === status)
      .filter(record => record.started >= (query.since ?? 0) && record.started < (query.before ?? Number.MAX_VALUE))
      .sort((a, b) => b.started - a.started || b.seq - a.seq)
    const { items, count } = await started.store.cascades(query)
    assert.equal(count, wanted.length, JSON.stringify(query))
    assert.deepEqual(
      items.map(item => item.id),
      wanted.slice(query.offset, query.offset + query.limit).map(record => record.id),
      JSON.stringify(query),
    )
  }
})
