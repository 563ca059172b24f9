import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../../../protocol/limits.ts'
import { isLive, RUN_STATUSES, type RunStatus } from '../../../../protocol/words/run-status.ts'
import { queuedRun } from '../../../../server/runs/run-view.ts'
import { randomFrom, seed } from '../../../kit/random.ts'
import { saving, startStore, temporaryDirectory } from '../../../kit/stored.ts'
import { claimOf, created, everyRun, finishOf, newRun, nodeRow, progressOf, ranRun } from '../../../kit/stored-runs.ts'

const refusedWith = (code: string) => (error: { code: string }) => {
  assert.equal(error.code, code)
  return true
}

test('a run goes from queued over running to its end, and a move that comes twice or from an older start finds nothing', async t => {
  const { store } = await startStore(t, temporaryDirectory(t))
  await store.saveFlow(saving('boiler'))
  const run = newRun('boiler', {
    seed: 7,
    timeout: 1.5,
    no_cache: true,
    groups: ['sweep'],
    tags: ['first', 'second'],
    note: 'a note',
    origin: { repository: 'r' },
    origin_commit: 'abc',
    inputs: { x: '@run:1.y' },
    resolved: { x: [1, { deep: null }] },
  })
  const { run: queued } = await created(store.runs, run)
  assert.deepEqual(queued, queuedRun(run, queued.created_at))
  const claimed = await store.runs.claim(claimOf(run.id, { code_digest: 'code', code_commit: 'abc-dirty' }))
  assert.deepEqual(claimed!.run, {
    ...queued,
    status: 'running',
    code_digest: 'code',
    code_commit: 'abc-dirty',
    started_at: 1_000_000,
  })
  assert.equal(await store.runs.claim(claimOf(run.id)), null)
  assert.deepEqual(await store.runs.finish(finishOf(run.id, { epoch: 2 }), null, null), {
    finished: false,
    claimed: null,
  })
  const next = newRun('boiler', { origin_commit: 'abc' })
  await store.runs.create(next, null)
  const error = { code: 'node_error', message: 'no', node: 'smooth', stack: null }
  const ended = await store.runs.finish(
    finishOf(run.id, { status: 'failed', result: { y: 2 }, terminal: ['y'], error }),
    progressOf(run.id, { nodes: [nodeRow('smooth', { status: 'failed', error })] }),
    claimOf(next.id),
  )
  assert.equal(ended.finished, true)
  assert.deepEqual(await store.runs.get(run.id), {
    ...claimed!.run,
    status: 'failed',
    result: { y: 2 },
    terminal: ['y'],
    error,
    finished_at: 3_500_000,
  })
  assert.equal(ended.claimed!.run!.status, 'running')
  assert.equal(ended.claimed!.run!.origin_commit, 'abc', 'a claim that read none leaves the one that was given')
  assert.deepEqual(await store.runs.nodes(run.id), [nodeRow('smooth', { status: 'failed', error })])

  await store.runs.finish(finishOf(run.id), progressOf(run.id, { nodes: [nodeRow('late')] }), null)
  await store.runs.progress(progressOf(run.id, { nodes: [nodeRow('late')] }))
  assert.equal((await store.runs.nodes(run.id)).length, 1, 'what comes after the end is dropped')
  assert.equal(await store.runs.get('none'), null)
})

test('a queued run is cancelled at once, a running one is marked once, an ended one is left alone', async t => {
  const { store } = await startStore(t, temporaryDirectory(t))
  await store.saveFlow(saving('boiler'))
  const [queued, running] = [newRun('boiler'), newRun('boiler')]
  for (const run of [queued, running]) await store.runs.create(run, null)
  await store.runs.claim(claimOf(running.id))
  const cancelled = await store.runs.requestCancel(queued.id, 5)
  assert.equal(cancelled!.status, 'cancelled')
  assert.equal(cancelled!.error!.code, 'cancelled')
  assert.deepEqual([cancelled!.cancel_requested_at, cancelled!.finished_at, cancelled!.started_at], [5, 5, null])
  assert.equal(await store.runs.requestCancel(queued.id, 6), null)
  assert.equal(await store.runs.claim(claimOf(queued.id)), null)
  assert.equal((await store.runs.requestCancel(running.id, 7))!.cancel_requested_at, 7)
  const again = await store.runs.requestCancel(running.id, 8)
  assert.deepEqual([again!.status, again!.cancel_requested_at], ['running', 7])
  assert.equal(await store.runs.requestCancel('none', 9), null)
})

test('of many that create a run under one key at once, one does; the others get the same run', async t => {
  const { store } = await startStore(t, temporaryDirectory(t))
  for (const flow of ['boiler', 'other']) await store.saveFlow(saving(flow))
  const under = (flow: string, created_by: string, idempotency_key: string | null) =>
    created(store.runs, newRun(flow, { created_by, idempotency_key }))
  const same = await Promise.all(Array.from({ length: 20 }, () => under('boiler', 'ada', 'k')))
  assert.equal(same.filter(({ replayed }) => !replayed).length, 1)
  assert.equal(same[0]!.replayed, false, 'the first call wins')
  assert.equal(new Set(same.map(({ run }) => run.id)).size, 1)
  const others = await Promise.all([
    under('other', 'ada', 'k'),
    under('boiler', 'bob', 'k'),
    under('boiler', 'ada', 'l'),
    under('boiler', 'ada', null),
    under('boiler', 'ada', null),
  ])
  assert.ok(others.every(({ replayed }) => !replayed))
  const { run } = same[0]!
  await store.runs.claim(claimOf(run.id))
  const replay = await under('boiler', 'ada', 'k')
  assert.deepEqual([replay.replayed, replay.run.status], [true, 'running'], 'as it is now')
  assert.equal((await store.runs.list({ ...everyRun, limit: 100, offset: 0 })).count, 6)
})

test('a run has so many tags and no more, whether they come with a change or with a repeat', async t => {
  const { store } = await startStore(t, temporaryDirectory(t))
  await store.saveFlow(saving('boiler'))
  const most = Array.from({ length: limits.RUN_TAGS }, (_, at) => `t${at}`)
  const run = newRun('boiler', { idempotency_key: 'k', tags: most })
  await store.runs.create(run, null)
  const event = { type: 'run_changed', ts: '2026-01-01T00:00:00+00:00', flow: 'boiler', run: run.id }
  await assert.rejects(store.runs.change({ id: run.id, add_tags: ['more'] }, event), refusedWith('too_many_tags'))
  const repeat = newRun('boiler', { idempotency_key: 'k', tags: ['more'] })
  await assert.rejects(store.runs.create(repeat, null), refusedWith('too_many_tags'))
  assert.deepEqual((await store.runs.get(run.id))!.tags, most)
  const changed = await store.runs.change({ id: run.id, add_tags: ['more'], remove_tags: ['t0'] }, event)
  assert.deepEqual(changed!.tags, [...most.slice(1), 'more'])
  assert.equal(await store.runs.change({ id: 'none', note: 'x' }, event), null)
})

test('at the bound of queued runs a new one is refused, a repeat under its key is answered', async t => {
  const { store } = await startStore(t, temporaryDirectory(t), { bounds: { runs_queued: 2 } })
  await store.saveFlow(saving('boiler'))
  const first = newRun('boiler', { idempotency_key: 'k' })
  await store.runs.create(first, null)
  await store.runs.create(newRun('boiler'), null)
  await assert.rejects(store.runs.create(newRun('boiler'), null), refusedWith('too_many_runs'))
  assert.equal((await created(store.runs, newRun('boiler', { idempotency_key: 'k' }))).run.id, first.id)
  await store.runs.claim(claimOf(first.id))
  assert.equal((await created(store.runs, newRun('boiler'))).replayed, false, 'running ones do not count')
  await assert.rejects(store.runs.create(newRun('nowhere'), null), refusedWith('flow_not_found'))
})

test('runs go with their flow when it is renamed, and stay its own when it is deleted and saved again', async t => {
  const { store } = await startStore(t, temporaryDirectory(t))
  await store.saveFlow(saving('boiler'))
  const run = await ranRun(store.runs, newRun('boiler', { idempotency_key: 'k' }), {
    metrics: [{ name: 'smooth.loss', step: 0, value: 1 }],
  })
  const waiting = newRun('boiler')
  await store.runs.create(waiting, null)
  await assert.rejects(store.deleteFlow({ name: 'boiler', author: 'ada' }), refusedWith('flow_has_live_run'))
  await store.renameFlow({ from: 'boiler', to: 'kettle', rewritten: [], author: 'ada' })
  await assert.rejects(store.deleteFlow({ name: 'kettle', author: 'ada' }), refusedWith('flow_has_live_run'))
  const of = (flow: string) => store.runs.list({ ...everyRun, flow, limit: 10, offset: 0 })
  assert.equal((await store.runs.get(run.id))!.flow, 'kettle')
  assert.equal((await of('kettle')).count, 2)
  assert.deepEqual((await of('boiler')).counts, { kettle: { total: 2, live: 1 } })
  assert.deepEqual((await of('boiler')).items, [])
  assert.deepEqual((await store.runs.metricNames(everyRun)).names, ['kettle.smooth.loss'])
  await store.runs.claim(claimOf(waiting.id))
  await assert.rejects(store.deleteFlow({ name: 'kettle', author: 'ada' }), refusedWith('flow_has_live_run'))
  await store.runs.finish(finishOf(waiting.id), null, null)

  await store.deleteFlow({ name: 'kettle', author: 'ada' })
  assert.equal((await store.runs.get(run.id))!.flow, 'kettle')
  await assert.rejects(store.runs.create(newRun('kettle'), null), refusedWith('flow_not_found'))
  await store.saveFlow(saving('kettle'))
  assert.equal((await created(store.runs, newRun('kettle', { idempotency_key: 'k' }))).run.id, run.id)
  assert.equal((await of('kettle')).count, 2)

  await store.deleteFlow({ name: 'kettle', author: 'ada' })
  await store.saveFlow(saving('pot'))
  await store.renameFlow({ from: 'pot', to: 'kettle', rewritten: [], author: 'ada' })
  const all = await of('kettle')
  assert.deepEqual([all.count, all.counts], [0, {}], 'a flow that took the name has its own runs only')
  assert.equal((await store.runs.get(run.id))!.flow, 'kettle', 'and the others show the name that they had')
})

test(`counts and statuses follow every move, whatever the order and across starts (seed ${seed})`, async t => {
  const random = randomFrom(seed)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
  const data_dir = temporaryDirectory(t)
  const flows = ['boiler', 'kettle', 'pot']
  const model = new Map<string, { flow: string; status: RunStatus; epoch: number }>()
  const ids: string[] = []
  const countOf = (statuses: readonly RunStatus[], flow: string | null): number =>
    [...model.values()].filter(run => statuses.includes(run.status) && (flow === null || run.flow === flow)).length

  for (let start = 1; start <= 3; start++) {
    const { store, loaded, close } = await startStore(t, data_dir)
    const epoch = loaded.engine_epoch
    if (start === 1) for (const flow of flows) await store.saveFlow(saving(flow))
    let interrupted = 0
    for (const run of model.values()) {
      if (run.status !== 'running') continue
      run.status = 'failed'
      interrupted++
    }
    assert.equal(loaded.runs.interrupted, interrupted)
    assert.deepEqual(
      loaded.runs.queued.map(({ id }) => id),
      ids.filter(id => model.get(id)!.status === 'queued'),
    )
    const moves = Array.from({ length: 200 }, async (): Promise<void> => {
      const id = ids.length > 0 ? pick(ids) : ''
      const run = model.get(id)
      const claim = (): boolean => run?.status === 'queued'
      switch (run ? pick(['create', 'create', 'claim', 'claim', 'finish', 'late', 'cancel']) : 'create') {
        case 'create': {
          const flow = pick(flows)
          const made = newRun(flow)
          model.set(made.id, { flow, status: 'queued', epoch: 0 })
          ids.push(made.id)
          assert.equal((await store.runs.create(made, null)).there, null)
          return
        }
        case 'claim': {
          const goes = claim()
          if (goes) Object.assign(run!, { status: 'running', epoch })
          assert.equal((await store.runs.claim(claimOf(id, { epoch })))?.run?.status ?? null, goes ? 'running' : null)
          return
        }
        case 'finish': {
          const goes = run!.status === 'running' && run!.epoch === epoch
          const status = pick(['succeeded', 'failed', 'cancelled'] as const)
          if (goes) run!.status = status
          const then = model.get(pick(ids))!
          const thenId = ids.find(one => model.get(one) === then)!
          const claims = then.status === 'queued'
          if (claims) Object.assign(then, { status: 'running', epoch })
          const end = await store.runs.finish(finishOf(id, { epoch, status }), null, claimOf(thenId, { epoch }))
          assert.equal(end.finished, goes)
          assert.equal(end.claimed?.run?.id ?? null, claims ? thenId : null)
          return
        }
        case 'late':
          assert.equal((await store.runs.finish(finishOf(id, { epoch: epoch - 1 }), null, null)).finished, false)
          return
        case 'cancel': {
          const was = run!.status
          if (was === 'queued') run!.status = 'cancelled'
          const answer = await store.runs.requestCancel(id, 9)
          assert.equal(answer?.status ?? null, isLive(was) ? (was === 'queued' ? 'cancelled' : 'running') : null)
          return
        }
      }
    })
    await Promise.all(moves)
    for (const flow of [null, ...flows]) {
      const { items, count, counts } = await store.runs.list({ ...everyRun, flow, limit: 1000, offset: 0 })
      assert.equal(count, countOf(RUN_STATUSES, flow))
      assert.deepEqual(
        items.map(({ id, status }) => [id, status]),
        ids
          .filter(id => flow === null || model.get(id)!.flow === flow)
          .map(id => [id, model.get(id)!.status])
          .reverse(),
      )
      assert.ok(items.every(({ created_at }, i) => i === 0 || created_at < items[i - 1]!.created_at))
      for (const status of RUN_STATUSES) {
        const page = await store.runs.list({ ...everyRun, flow, status, limit: 1000, offset: 0 })
        assert.deepEqual([page.count, page.items.length], [countOf([status], flow), countOf([status], flow)])
      }
      if (flow === null) continue
      assert.deepEqual(counts[flow], {
        total: countOf(RUN_STATUSES, flow),
        live: countOf(['queued', 'running'], flow),
      })
    }
    await close()
  }
})
