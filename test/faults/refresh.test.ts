import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../protocol/limits.ts'
import { eventually, liveEngine } from '../kit/live-engine.ts'
import { code, flow, input, output, Story } from '../kit/live-story.ts'

test('modules are refreshed as often as somebody asks, one round after the other, and no value is lost', async t => {
  const { engine } = await liveEngine(t, { FLOW_LANES: String(limits.LANES) })
  const story = new Story(engine)
  const source = 'export default ({ x }, ctx) => ({ y: (ctx.state.n = (ctx.state.n ?? 0) + 1) })'
  await story.save(
    'f',
    flow([code('n', source, [input('x', 'int')], [output('y', 'int')])], { message: 'x', dtype: 'int' }),
  )
  const rounds = Promise.all([1, 2, 3].map(() => engine.refreshModules()))
  let published = 0
  let done = false
  void rounds.then(() => (done = true))
  while (!done) {
    story.publish('f.x', ++published)
    await new Promise(resolve => setTimeout(resolve, 2))
  }
  await rounds
  assert.deepEqual(
    await story.values('f.y', published),
    Array.from({ length: published }, (_, n) => n + 1),
  )
})

test('a flow that is never at rest goes over to the lane that replaces its own, and nothing that was accepted is dropped', async t => {
  const { engine } = await liveEngine(t, { FLOW_LANES: '1' })
  const story = new Story(engine)
  // Each value is away for longer than the next one takes to come.
  const source = `import { threadId } from 'node:worker_threads'
export default async ({ x }) => { await new Promise(resolve => setTimeout(resolve, 8)); return { y: threadId } }`
  await story.save(
    'f',
    flow([code('n', source, [input('x', 'int')], [output('y', 'int')])], { message: 'x', dtype: 'int' }),
  )
  let published = 0
  const publishing = setInterval(() => story.publish('f.x', published++), 5)
  t.after(() => clearInterval(publishing))
  await story.reaches('f.y', 20)
  const before = story.value('f.y')
  await engine.refreshModules()
  await eventually(() => story.value('f.y') !== before, 'the new lane runs the flow')
  clearInterval(publishing)
  assert.equal((await story.values('f.y', published)).length, published)
  const statuses = (await story.cascades('f')).map(({ status }) => status)
  assert.deepEqual([...new Set(statuses)], ['succeeded'])
})
