import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { FlowNode } from '../../protocol/nouns/flow-document.ts'
import type { LiveEngine as Engine } from '../../server/live-engine.ts'
import { BatchStory } from '../kit/batch-story.ts'
import { eventually, liveEngine } from '../kit/live-engine.ts'
import { code, flow, Gate, input, output, refused } from '../kit/live-story.ts'
import { limitFiles } from '../kit/mounted.ts'

/** Waits at the gate, and records a point before and one behind it. */
const waiting = (gate: Gate): FlowNode =>
  code(
    'wait',
    `${gate.source}
    export default async ({ x }, ctx) => {
      ctx.metric('seen', x, 0)
      await opened()
      ctx.metric('seen', x, 1)
      return { y: x }
    }`,
    [input('x', 'int')],
    [output('y', 'int')],
    { cache: false },
  )

/** From here on the disk takes nothing that the engine writes; `mend` gives it back. */
async function fail(t: TestContext, engine: Engine): Promise<{ mend: () => void } | null> {
  if (!limitFiles(null)) return null
  t.after(() => limitFiles(null))
  limitFiles(1)
  await eventually(async () => {
    await engine.store.putSetting('probe', String(Math.random())).catch(() => {})
    return engine.store.health.fault !== null
  }, 'the engine notices')
  return { mend: () => void limitFiles(null) }
}

/** One run executes and stands at the gate, the next one is queued. */
async function oneRunsAndOneWaits(t: TestContext) {
  const live = await liveEngine(t, { FLOW_MAX_RUNS: '1' }, { call_grace_ms: 50 })
  const story = new BatchStory(live.engine)
  const gate = new Gate(live.data_dir)
  await story.save('slow', flow([waiting(gate)], { message: 'x', dtype: 'int' }))
  const run = await story.create('slow', { inputs: { x: 1 } })
  const next = await story.create('slow', { inputs: { x: 2 } })
  await story.until(run.id, one => one.status === 'running', 'runs')
  return { live, story, gate, run, next }
}

test('runs that end, and that wait, while the disk fails are written when it takes writes again', async t => {
  const live = await liveEngine(t, { FLOW_MAX_RUNS: '1' }, { call_grace_ms: 50 })
  const story = new BatchStory(live.engine)
  const gate = new Gate(live.data_dir)
  await story.save('slow', flow([waiting(gate)], { message: 'x', dtype: 'int' }))
  // One after the other: of runs that are asked for at once, any may be the first.
  const [first, second, third] = [
    await story.create('slow', { inputs: { x: 1 } }),
    await story.create('slow', { inputs: { x: 2 } }),
    await story.create('slow', { inputs: { x: 3 } }),
  ]
  await story.until(first.id, run => run.status === 'running', 'runs')
  const disk = await fail(t, live.engine as Engine)
  if (disk === null) return t.skip('needs prlimit')
  assert.equal((await live.engine.observe.summary()).status, 'degraded')
  gate.open()
  await eventually(async () => (await story.node(first.id, 'wait')).status === 'succeeded', 'its body has ended')
  assert.equal(await refused(live.engine.runs.cancel(third.id, 'tests')), 'disk_failed')
  assert.equal(await refused(live.engine.flows.remove('slow', 'tests')), 'flow_has_live_run')
  assert.equal((await live.engine.runs.get(first.id)).status, 'running')

  disk.mend()
  for (const run of [first, second, third]) {
    const ended = await story.ended(run.id)
    assert.deepEqual([ended.status, ended.result], ['succeeded', { y: ended.inputs['x'] }])
    const { items } = await live.engine.runs.series({
      ...{ flow: null, group: null, status: null, since: null, before: null },
      ...{ run: run.id, name: null, stride: 1, offset: 0, limit: 10 },
    })
    assert.deepEqual(
      items.map(({ steps }) => steps),
      [[0, 1]],
      'no point of it is missing, and none is there twice',
    )
  }
  await live.engine.flows.remove('slow', 'tests')
})

test('a run that executes can be cancelled while the disk fails', async t => {
  const { live, story, gate, run, next } = await oneRunsAndOneWaits(t)
  const disk = await fail(t, live.engine as Engine)
  if (disk === null) return t.skip('needs prlimit')
  const cancelled = await live.engine.runs.cancel(run.id, 'tests')
  assert.notEqual(cancelled.cancel_requested_at, null)
  await eventually(async () => (await story.node(run.id, 'wait')).status !== 'running', 'its body has ended')
  disk.mend()
  const ended = await story.ended(run.id)
  assert.deepEqual([ended.status, ended.error?.code], ['cancelled', 'cancelled'])
  gate.open()
  assert.equal((await story.ended(next.id)).status, 'succeeded')
})

test('an engine that ends while the disk fails gives up what it cannot write, and the next one says so of each run', async t => {
  const { live, gate, run, next } = await oneRunsAndOneWaits(t)
  const disk = await fail(t, live.engine as Engine)
  if (disk === null) return t.skip('needs prlimit')
  await (live.engine as Engine).close()
  disk.mend()
  gate.open()
  const again = new BatchStory((await live.restart()).engine)
  const [ended, ran] = [await again.ended(run.id), await again.ended(next.id)]
  assert.deepEqual([ended.status, ended.error?.code, ran.status], ['failed', 'engine_restarted', 'succeeded'])
})
