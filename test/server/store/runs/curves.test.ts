import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../../../protocol/limits.ts'
import type { SeriesRequest } from '../../../../server/store/front/runs.ts'
import { saving, startStore, temporaryDirectory } from '../../../kit/stored.ts'
import { claimOf, curve, everyRun, newRun, nodeRow, progressOf, ranRun } from '../../../kit/stored-runs.ts'

const asked = (more: Partial<SeriesRequest> = {}): SeriesRequest => ({
  ...everyRun,
  run: null,
  name: null,
  stride: 1,
  offset: 0,
  limit: 1_000_000,
  ...more,
})

test('the points of a curve come in the order in which they were recorded, over all writes, thinned curve by curve', async t => {
  const { store } = await startStore(t, temporaryDirectory(t))
  await store.saveFlow(saving('boiler'))
  const run = newRun('boiler')
  await store.runs.create(run, null)
  await store.runs.claim(claimOf(run.id))
  const points = curve('fit.loss', 10_007, step => Math.sin(step))
  for (const [from, to] of [
    [0, 1],
    [1, 5000],
    [5000, 10_007],
  ] as const) {
    await store.runs.progress(
      progressOf(run.id, { metrics: [...points.slice(from, to), { name: 'fit.rate', step: 0.5, value: -from }] }),
    )
  }
  const { items: all } = await store.runs.series(asked({ run: run.id }))
  assert.deepEqual(
    all.map(({ name }) => name),
    ['boiler.fit.loss', 'boiler.fit.rate'],
  )
  assert.deepEqual(
    all[0]!.steps,
    points.map(({ step }) => step),
  )
  assert.deepEqual(
    all[0]!.values,
    points.map(({ value }) => value),
  )
  assert.deepEqual(
    [all[1]!.steps, all[1]!.values],
    [
      [0.5, 0.5, 0.5],
      [-0, -1, -5000],
    ],
  )
  for (const stride of [2, 7, 4096, 9999, 20_000]) {
    const [loss, rate] = (await store.runs.series(asked({ run: run.id, stride }))).items
    assert.deepEqual(
      loss!.steps,
      points.map(({ step }) => step).filter((_, i) => i % stride === 0),
      `stride ${stride}`,
    )
    assert.equal(rate!.steps.length, Math.ceil(3 / stride))
  }
  const { items: some } = await store.runs.series(asked({ limit: 10_008 }))
  assert.deepEqual(
    some.map(({ steps }) => steps.length),
    [10_007, 1],
  )
  assert.equal((await store.runs.series(asked({ limit: 3 }))).items[0]!.steps.length, 3)
})

test('a cached node has the curves of the run that executed it, under the names of the run that reads', async t => {
  const { store } = await startStore(t, temporaryDirectory(t))
  for (const flow of ['boiler', 'kettle']) await store.saveFlow(saving(flow))
  const executed = await ranRun(store.runs, newRun('boiler'), {
    nodes: [
      nodeRow('fit', { cache_key: 'k1', position: 0 }),
      nodeRow('twin', { cache_key: 'k2', position: 1 }),
      nodeRow('fitter', { cache_key: null, position: 2 }),
    ],
    metrics: [...curve('fit.loss', 3), ...curve('fitter.loss', 2), ...curve('twin.a.b', 1), ...curve('fit.rate', 1)],
  })
  const reuse = (node: string, cache_key: string) =>
    nodeRow(node, { status: 'cached', cache_key, cached_from: executed.id })
  const reader = await ranRun(store.runs, newRun('kettle', { groups: ['sweep'] }), {
    // Its own node "train" is what "fit" is there; one without curves, and one that has both names.
    nodes: [reuse('train', 'k1'), reuse('twin', 'k2'), nodeRow('own', { status: 'succeeded' })],
    metrics: curve('own.loss', 2),
  })
  const names = async (more: Partial<SeriesRequest>) =>
    (await store.runs.series(asked(more))).items.map(({ run, name, values }) => [
      run === reader.id ? 'reader' : 'executed',
      name,
      values,
    ])
  const read = [
    ['reader', 'kettle.own.loss', [0, 0.25]],
    ['reader', 'kettle.train.loss', [0, 0.25, 0.5]],
    ['reader', 'kettle.train.rate', [0]],
    ['reader', 'kettle.twin.a.b', [0]],
  ]
  assert.deepEqual(await names({ run: reader.id }), read)
  assert.deepEqual(await names({ group: 'sweep' }), read)
  assert.deepEqual(await names({ name: 'kettle.train.loss' }), [read[1]])
  assert.deepEqual(await names({ run: reader.id, name: 'boiler.fit.loss' }), [])
  assert.deepEqual((await names({})).length, 8)
  assert.deepEqual(
    (await store.runs.metricNames({ ...everyRun, flow: 'kettle' })).names,
    read.map(([, name]) => name),
  )
  assert.deepEqual((await store.runs.metricNames(everyRun)).names, [
    'boiler.fit.loss',
    'boiler.fit.rate',
    'boiler.fitter.loss',
    'boiler.twin.a.b',
    ...read.map(([, name]) => name),
  ])
  assert.deepEqual((await store.runs.metricNames({ ...everyRun, status: 'failed' })).names, [])
  await store.renameFlow({ from: 'kettle', to: 'pot', rewritten: [], author: 'ada' })
  assert.deepEqual((await names({ run: reader.id, name: 'pot.train.loss' })).length, 1)
})

test('metric names are those of the newest runs, and those of older runs come with the next request', async t => {
  const { store } = await startStore(t, temporaryDirectory(t))
  await store.saveFlow(saving('boiler'))
  const made: Promise<unknown>[] = []
  for (let i = 0; i < limits.METRIC_NAME_RUNS + 500; i++) {
    const run = newRun('boiler')
    made.push(store.runs.create(run, null))
    if (i % 2_400 !== 0) continue
    made.push(store.runs.claim(claimOf(run.id)))
    made.push(store.runs.progress(progressOf(run.id, { metrics: curve(`n.m${i}`, 1) })))
  }
  await Promise.all(made)
  const newest = await store.runs.metricNames(everyRun)
  assert.deepEqual(newest.names, ['boiler.n.m2400', 'boiler.n.m4800', 'boiler.n.m7200', 'boiler.n.m9600'])
  assert.notEqual(newest.before, null)
  const older = await store.runs.metricNames({ ...everyRun, before: newest.before })
  assert.deepEqual(older, { names: ['boiler.n.m0'], before: null })
})
