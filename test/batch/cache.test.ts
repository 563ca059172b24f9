import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FlowNode } from '../../protocol/nouns/flow-document.ts'
import { BatchStory } from '../kit/batch-story.ts'
import { eventually, liveEngine, sharedEngine } from '../kit/live-engine.ts'
import { code, flow, Gate, input, output } from '../kit/live-story.ts'

const live = sharedEngine({ FLOW_MAX_WORKERS: '3' })

const int = (message: string) => ({ message, dtype: 'int' as const })
/** Two stages: the second reads a setting of its own. */
const staged = (factor: number, more: Partial<FlowNode> = {}) =>
  flow(
    [
      code(
        'load',
        'export default ({ x }) => ({ loaded: x + 1 })',
        [input('x', 'int')],
        [output('loaded', 'int')],
        more,
      ),
      code(
        'scale',
        'export default ({ loaded }, { settings }) => ({ scaled: loaded * settings.factor })',
        [input('loaded', 'int')],
        [output('scaled', 'int')],
        { settings: { factor } },
      ),
    ],
    int('x'),
  )

test('a repeat costs nothing, and a change of one setting runs what reads it', async () => {
  const story = new BatchStory(live.engine)
  await story.save('stages', staged(2))
  const first = await story.runs('stages', { inputs: { x: 1 } })
  assert.deepEqual(await story.statuses(first.id), { load: 'succeeded', scale: 'succeeded' })
  const repeat = await story.runs('stages', { inputs: { x: 1 } })
  assert.deepEqual(await story.statuses(repeat.id), { load: 'cached', scale: 'cached' })
  assert.deepEqual(repeat.result, first.result)
  assert.equal((await story.node(repeat.id, 'scale')).cached_from, first.id)
  await story.save('stages', staged(3))
  const changed = await story.runs('stages', { inputs: { x: 1 } })
  assert.deepEqual(
    [await story.statuses(changed.id), changed.result],
    [
      { load: 'cached', scale: 'succeeded' },
      { loaded: 2, scaled: 6 },
    ],
  )
  const why = await live.engine.runs.why(changed.id, 'scale')
  assert.deepEqual([why.cache, why.changed], ['miss', ['settings']])
  const hit = await live.engine.runs.why(changed.id, 'load')
  assert.deepEqual([hit.cache, hit.cached_from], ['hit', first.id])
  const other = await story.runs('stages', { inputs: { x: 2 } })
  assert.deepEqual((await live.engine.runs.why(other.id, 'load')).changed, ['values.x'])
})

test('cached_from names the run that executed, also through several hits', async () => {
  const story = new BatchStory(live.engine)
  await story.save('chain', staged(5))
  const runs = []
  for (let repeat = 0; repeat < 3; repeat++) runs.push(await story.runs('chain', { inputs: { x: 40 } }))
  assert.equal((await story.node(runs[2]!.id, 'load')).cached_from, runs[0]!.id)
})

test('a run and a node may opt out', async () => {
  const story = new BatchStory(live.engine)
  await story.save('out', staged(7, { cache: false }))
  await story.runs('out', { inputs: { x: 1 } })
  const again = await story.runs('out', { inputs: { x: 1 } })
  assert.deepEqual(await story.statuses(again.id), { load: 'succeeded', scale: 'cached' })
  const all = await story.runs('out', { inputs: { x: 1 }, no_cache: true })
  assert.deepEqual(await story.statuses(all.id), { load: 'succeeded', scale: 'succeeded' })
  assert.equal((await live.engine.runs.why(all.id, 'scale')).cache, 'off')
  assert.equal((await live.engine.runs.why(again.id, 'load')).cache, 'not_cacheable')
})

test('a hit on a node of another flow has the names of this one', async () => {
  const story = new BatchStory(live.engine)
  await story.save('owner', staged(11))
  const owner = await story.runs('owner', { inputs: { x: 6 } })
  await story.save('borrower', staged(11))
  const borrowed = await story.runs('borrower', { inputs: { x: 6 } })
  const row = await story.node(borrowed.id, 'scale')
  assert.deepEqual([row.status, row.cached_from, row.outputs], ['cached', owner.id, { 'borrower.scaled': 77 }])
})

test('two runs that reach the same node at once compute it once', async () => {
  const story = new BatchStory(live.engine)
  const gate = new Gate(live.data_dir, 'flight')
  const body = `${gate.source}export default async ({ x }) => { await opened(); return { y: x } }`
  await story.save('flight', flow([code('slow', body, [input('x', 'int')], [output('y', 'int')])], int('x')))
  const [one, two] = await Promise.all([1, 1].map(x => story.create('flight', { inputs: { x } })))
  await eventually(async () => {
    const statuses = [await story.statuses(one!.id), await story.statuses(two!.id)]
    return statuses.filter(({ slow }) => slow === 'running').length === 1
  }, 'one of them runs')
  gate.open()
  await Promise.all([story.ended(one!.id), story.ended(two!.id)])
  const found = [(await story.node(one!.id, 'slow')).status, (await story.node(two!.id, 'slow')).status]
  assert.deepEqual(found.sort(), ['cached', 'succeeded'])
})

test('when the one that computes is cancelled, the next one computes', async () => {
  const story = new BatchStory(live.engine)
  const gate = new Gate(live.data_dir, 'leader')
  const body = `${gate.source}export default async ({ x }, ctx) => {
    await Promise.race([opened(), new Promise(go => ctx.signal.addEventListener('abort', go))]); return { y: x } }`
  await story.save('leader', flow([code('slow', body, [input('x', 'int')], [output('y', 'int')])], int('x')))
  const one = await story.create('leader', { inputs: { x: 1 } })
  await eventually(async () => (await story.statuses(one.id))['slow'] === 'running', 'the first runs')
  const two = await story.create('leader', { inputs: { x: 1 } })
  await story.until(two.id, run => run.status === 'running', 'was claimed')
  await live.engine.runs.cancel(one.id, 'tests')
  gate.open()
  assert.equal((await story.ended(one.id)).status, 'cancelled')
  assert.deepEqual((await story.ended(two.id)).result, { y: 1 })
  assert.deepEqual(await story.statuses(two.id), { slow: 'succeeded' })
})

/** A generator, a reader that makes one of each item, and one that sums up. */
const streamed = (last: number) =>
  flow(
    [
      code(
        'count',
        'export default function* ({ n }) { for (let at = 1; at <= n; at++) yield { item: at } }',
        [input('n', 'int')],
        [output('item', 'int')],
      ),
      code(
        'square',
        'export default ({ item }) => ({ squared: item * item })',
        [input('item', 'int')],
        [output('squared', 'int')],
      ),
      code(
        'sum',
        `export default ({ squared, n }, ctx) => {
          ctx.state.sum = (ctx.state.sum ?? 0) + squared
          ctx.state.seen = (ctx.state.seen ?? 0) + 1
          if (ctx.state.seen === n) return { total: ctx.state.sum * ctx.settings.times }
        }`,
        [input('squared', 'int'), input('n', 'int', { trigger: false })],
        [output('total', 'int')],
        { settings: { times: last } },
      ),
      code('after', 'export default ({ total }) => ({ end: -total })', [input('total', 'int')], [output('end', 'int')]),
    ],
    int('n'),
  )

test('nodes that emitted several items are hits together with all that read them, and not otherwise', async () => {
  const story = new BatchStory(live.engine)
  await story.save('stream', streamed(1))
  const first = await story.runs('stream', { inputs: { n: 4 } })
  assert.deepEqual(first.result, { item: 4, squared: 16, total: 30, end: -30 })
  const again = await story.runs('stream', { inputs: { n: 4 } })
  assert.deepEqual(
    [await story.statuses(again.id), again.result],
    [{ count: 'cached', square: 'cached', sum: 'cached', after: 'cached' }, first.result],
  )
  await story.save('stream', streamed(2))
  const changed = await story.runs('stream', { inputs: { n: 4 } })
  assert.deepEqual(
    [await story.statuses(changed.id), changed.result],
    [
      { count: 'succeeded', square: 'succeeded', sum: 'succeeded', after: 'succeeded' },
      { item: 4, squared: 16, total: 60, end: -60 },
    ],
  )
})

test('what was computed before a restart is there after it', async t => {
  const own = await liveEngine(t)
  const before = new BatchStory(own.engine)
  await before.save('stages', staged(2))
  const first = await before.runs('stages', { inputs: { x: 1 } })
  const after = new BatchStory((await own.restart()).engine)
  const again = await after.runs('stages', { inputs: { x: 1 } })
  assert.deepEqual([await after.statuses(again.id), again.error], [{ load: 'cached', scale: 'cached' }, null])
  assert.equal((await after.node(again.id, 'load')).cached_from, first.id)
})
