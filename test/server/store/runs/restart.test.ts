import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CreatedRun, NewRun } from '../../../../server/store/front/runs.ts'
import type { EngineStore } from '../../../../server/store/writer/engine-store.ts'
import { opened } from '../../../kit/opened-store.ts'
import { saving, startStore, temporaryDirectory } from '../../../kit/stored.ts'
import { claimOf, curve, everyRun, finishOf, newRun, nodeRow, progressOf, ranRun } from '../../../kit/stored-runs.ts'

test('a start fails what an earlier one had running, with its nodes, and leaves queued and ended runs alone', async t => {
  const data_dir = temporaryDirectory(t)
  const first = await startStore(t, data_dir)
  await first.store.saveFlow(saving('boiler'))
  const { runs } = first.store
  const ended = await ranRun(runs, newRun('boiler'), { nodes: [nodeRow('a')] })
  const [broken, waiting, next] = [newRun('boiler'), newRun('boiler'), newRun('boiler')]
  for (const run of [broken, waiting, next]) await runs.create(run, null)
  await runs.claim(claimOf(broken.id, { started_at: 5_000_000 }))
  await runs.requestCancel(broken.id, 6_000_000)
  await runs.progress(
    progressOf(broken.id, {
      nodes: [
        nodeRow('a', { position: 0, finished_at: 7_000_000 }),
        nodeRow('b', { position: 1, status: 'running', started_at: 7_500_000 }),
        nodeRow('c', { position: 2, status: 'queued', queued_at: 7_100_000 }),
        nodeRow('d', { position: 3, status: 'pending' }),
      ],
      metrics: curve('a.loss', 3),
    }),
  )
  await first.close()

  const second = await startStore(t, data_dir)
  assert.equal(second.loaded.runs.interrupted, 1)
  assert.deepEqual(
    second.loaded.runs.queued.map(({ id }) => id),
    [waiting.id, next.id],
  )
  assert.deepEqual(second.loaded.runs.counts, { boiler: { total: 4, live: 2 } })
  const failed = await second.store.runs.get(broken.id)
  assert.deepEqual([failed!.status, failed!.error!.code], ['failed', 'engine_restarted'])
  assert.equal(failed!.finished_at, 7_500_000, 'it ended at the last sign of life')
  assert.equal(failed!.cancel_requested_at, 6_000_000)
  const nodes = await second.store.runs.nodes(broken.id)
  assert.deepEqual(
    nodes.map(({ node, status, error, finished_at }) => [node, status, error?.code ?? null, finished_at]),
    [
      ['a', 'succeeded', null, 7_000_000],
      ['b', 'failed', 'engine_restarted', 7_500_000],
      ['c', 'skipped', null, null],
      ['d', 'skipped', null, null],
    ],
  )
  assert.deepEqual(await second.store.runs.get(ended.id), ended)
  const { items: series } = await second.store.runs.series({
    ...everyRun,
    run: broken.id,
    name: null,
    stride: 1,
    offset: 0,
    limit: 10,
  })
  assert.deepEqual(series[0]!.values, [0, 0.25, 0.5])
  assert.equal((await second.store.runs.finish(finishOf(broken.id), null, null)).finished, false)
  await second.store.runs.claim(claimOf(waiting.id, { epoch: second.loaded.engine_epoch }))
  await second.close()

  const third = await startStore(t, data_dir)
  assert.deepEqual([third.loaded.runs.interrupted, third.loaded.runs.queued.length], [1, 1])
  assert.equal((await third.store.runs.get(broken.id))!.finished_at, 7_500_000, 'what had failed is not failed again')
})

test('a start queues again what was claimed and had not begun, in its old order, and fails what was about to begin', async t => {
  const data_dir = temporaryDirectory(t)
  const first = await startStore(t, data_dir)
  await first.store.saveFlow(saving('boiler'))
  const { runs } = first.store
  const all = [newRun('boiler'), newRun('boiler'), newRun('boiler'), newRun('boiler')]
  const [waits, begins, cancelled, queued] = all as [NewRun, NewRun, NewRun, NewRun]
  for (const run of all) await runs.create(run, null)
  for (const { id } of [waits, begins, cancelled]) {
    await runs.claim(claimOf(id, { code_digest: 'c1' }))
    await runs.progress(progressOf(id, { nodes: [nodeRow('a', { status: 'queued', queued_at: 5 })] }))
    await runs.setUnbegun({ id, epoch: 1, unbegun: true })
  }
  await runs.setUnbegun({ id: begins.id, epoch: 1, unbegun: false })
  await runs.requestCancel(cancelled.id, 6)
  await runs.setUnbegun({ id: queued.id, epoch: 1, unbegun: true })
  await first.close()

  const second = await startStore(t, data_dir)
  assert.deepEqual(
    second.loaded.runs.queued.map(({ id }) => id),
    [waits.id, queued.id],
  )
  assert.deepEqual([second.loaded.runs.interrupted, second.loaded.runs.counts], [2, { boiler: { total: 4, live: 2 } }])
  const again = (await second.store.runs.get(waits.id))!
  assert.deepEqual([again.status, again.started_at, again.code_digest], ['queued', null, null])
  assert.deepEqual(await second.store.runs.nodes(waits.id), [])
  for (const { id } of [begins, cancelled]) assert.equal((await second.store.runs.get(id))!.status, 'failed')
  await second.store.runs.claim(claimOf(waits.id, { epoch: second.loaded.engine_epoch }))
  await second.close()

  const third = await startStore(t, data_dir)
  assert.equal((await third.store.runs.get(waits.id))!.status, 'failed', 'it had begun the second time')
})

test('created_at goes on increasing when the clock of a later start is behind', t => {
  const data_dir = temporaryDirectory(t)
  const create = (store: EngineStore, at: number): number => {
    const [outcome] = store.commit.run(store.intake, [
      { id: 1, request: { type: 'create_run', run: newRun('boiler'), event: null, at } },
    ]) as { result: CreatedRun }[]
    return outcome!.result.created_at!
  }
  const early = opened(data_dir, {}, () => 2_000_000)
  early.commit.run(early.intake, [{ id: 1, request: { type: 'save_flow', save: saving('boiler') } }])
  assert.deepEqual([create(early, 2_000_000), create(early, 2_000_000)], [2_000_000, 2_000_001])
  early.close()
  const behind = opened(data_dir, {}, () => 1_000_000)
  assert.equal(create(behind, 1_000_000), 2_000_002)
  behind.close()
})
