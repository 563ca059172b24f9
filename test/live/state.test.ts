import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../protocol/limits.ts'
import { eventually, liveEngine, sharedEngine } from '../kit/live-engine.ts'
import { code, flow, Gate, input, output, Story } from '../kit/live-story.ts'

const live = sharedEngine({ FLOW_LANES: '2' })

const int = (message: string) => ({ message, dtype: 'int' as const })
const x = input('x', 'int')
const y = output('y', 'int')
const COUNTING = 'export default ({ x }, ctx) => ({ y: (ctx.state.seen = (ctx.state.seen ?? 0) + 1) })'
const counting = (id = 'count', more: Parameters<typeof code>[4] = {}) => code(id, COUNTING, [x], [y], more)
const upTo = (last: number) => Array.from({ length: last }, (_, at) => at + 1)
const PLACES = { inline: {}, dispatched: { timeout: 60 } }

test('state goes with its flow from lane to lane, also to lanes that were not there when it was written', async () => {
  const story = new Story(live.engine)
  const source = `import { threadId } from 'node:worker_threads'
export default ({ x }, ctx) => {
  ctx.state.seen = (ctx.state.seen ?? 0) + 1
  return { y: ctx.state.seen, thread: threadId }
}`
  const names = upTo(6).map(number => `moves_${number}`)
  for (const name of names)
    await story.save(name, flow([code('count', source, [x], [y, output('thread', 'int')])], int('x')))
  for (let round = 0; round < 100; round++) for (const name of names) story.publish(`${name}.x`, round)
  for (const name of names) await story.reaches(`${name}.y`, 100)
  await live.engine.refreshModules()
  for (let round = 0; round < 100; round++) for (const name of names) story.publish(`${name}.x`, round)
  for (const name of names) {
    assert.deepEqual(await story.values(`${name}.y`, 200), upTo(200), name)
    const threads = await story.values(`${name}.thread`)
    assert.ok(new Set(threads).size >= 2, `${name} ran on ${[...new Set(threads)]}`)
  }
})

test('state survives a restart, and what was forgotten with a node or flow stays forgotten', async t => {
  const first = await liveEngine(t)
  const before = new Story(first.engine)
  await before.save(
    'kept',
    flow(
      [counting(), code('other', COUNTING, [x], [output('y', 'int', { message: 'z' })], PLACES.dispatched)],
      int('x'),
    ),
  )
  await before.save('changed', flow([counting()], int('x')))
  await before.save('gone', flow([counting()], int('x')))
  for (const name of ['kept', 'changed', 'gone']) for (const value of [1, 2, 3]) before.publish(`${name}.x`, value)
  for (const message of ['kept.y', 'kept.z', 'changed.y', 'gone.y']) await before.reaches(message, 3)
  await before.save('changed', flow([counting('count', { settings: { note: 'another node' } })], int('x')))
  await first.engine.flows.remove('gone', 'tests')
  const { engine } = await first.restart()
  const story = new Story(engine)
  await story.save('gone', flow([counting()], int('x')))
  for (const name of ['kept', 'changed', 'gone']) story.publish(`${name}.x`, 4)
  assert.deepEqual(await story.values('kept.y', 4), [1, 2, 3, 4])
  assert.deepEqual(await story.values('kept.z', 4), [1, 2, 3, 4])
  await story.becomes('changed.y', 1)
  await story.becomes('gone.y', 1)
  // The state that a changed node left behind does not come back with its old source.
  await story.save('changed', flow([counting()], int('x')))
  story.publish('changed.x', 5)
  await story.reaches('changed.y', 5)
  assert.equal(story.value('changed.y'), 1)
})

test('a save that changes nothing, and a pause, leave the state alone; each node has its own', async () => {
  const story = new Story(live.engine)
  const two = () =>
    flow(
      [
        counting(),
        code('twice', COUNTING, [input('x', 'int'), input('y', 'int')], [output('y', 'int', { message: 'z' })]),
      ],
      int('x'),
    )
  await story.save('same', two())
  story.publish('same.x', 1)
  await story.becomes('same.z', 1)
  const saved = await story.save('same', two())
  assert.deepEqual(saved.kept, ['count', 'twice'])
  await live.engine.flows.setEnabled('same', false, 'tests')
  await live.engine.flows.setEnabled('same', true, 'tests')
  story.publish('same.x', 2)
  await story.becomes('same.z', 2)
  assert.equal(story.value('same.y'), 2)
})

test('an asynchronous body keeps what it writes before and after it waits', async () => {
  const story = new Story(live.engine)
  const gate = new Gate(live.data_dir, 'state')
  const source = `${gate.source}export default async ({ x }, ctx) => {
  ctx.state.begun = (ctx.state.begun ?? 0) + 1
  await opened()
  ctx.state.ended = (ctx.state.ended ?? 0) + 1
  return { z: [ctx.state.begun, ctx.state.ended] }
}`
  await story.save('waits', flow([code('wait', source, [x], [output('z', 'json')])], int('x')))
  for (const value of [1, 2]) story.publish('waits.x', value)
  await eventually(() => live.engine.flows.get('waits').backlog.waiting === 1, 'one is away, one waits')
  gate.open()
  assert.deepEqual(await story.values('waits.z', 2), [
    [1, 1],
    [2, 2],
  ])
})

for (const [place, more] of Object.entries(PLACES)) {
  test(`a throw keeps what a body that runs ${place} wrote`, async () => {
    const story = new Story(live.engine)
    const name = `throws_${place}`
    const source = `export default ({ x }, ctx) => {
  ctx.state.seen = (ctx.state.seen ?? 0) + 1
  if (x === 2) throw new Error('no twos')
  return { y: ctx.state.seen }
}`
    await story.save(name, flow([code('count', source, [x], [y], more)], int('x')))
    for (const value of [1, 2, 3]) story.publish(`${name}.x`, value)
    assert.deepEqual(await story.values(`${name}.y`, 2), [1, 3])
  })

  test(`state over its bound, or that is no plain data, is refused and falls back; the body runs ${place}`, async () => {
    const story = new Story(live.engine)
    const name = `bounds_${place}`
    const source = `const wrong = {
  1: ctx => { ctx.state.text = 'x'.repeat(${limits.STATE_BYTES}) },
  2: ctx => { ctx.state.f = () => 1 },
  3: ctx => { ctx.state.at = new Date() },
  4: ctx => { ctx.state.many = new Map() },
  5: ctx => { ctx.state.n = NaN },
  6: ctx => { ctx.state.n = 10n },
  7: ctx => { ctx.state.self = ctx.state },
  8: ctx => { ctx.state = 'text' },
  9: ctx => { ctx.state = [] },
  10: ctx => { ctx.state.text = 'x'.repeat(2 ** 21) },
}
export default ({ x }, ctx) => {
  const before = ctx.state.seen ?? 0
  wrong[x]?.(ctx)
  if (x === 0) ctx.state = { seen: before + 1, text: 'x'.repeat(${limits.STATE_BYTES - 64}) }
  return { y: before }
}`
    await story.save(name, flow([code('write', source, [x], [y], more)], int('x')))
    story.publish(`${name}.x`, 0)
    // It is in the history when its turn is over, and the state of that turn kept.
    await story.values(`${name}.y`, 1)
    const codes: string[] = []
    for (let wrong = 1; wrong <= 10; wrong++) {
      story.publish(`${name}.x`, wrong)
      codes.push((await story.errors(`${name}.write`, wrong))[0]!.code)
    }
    const bad = Array(8).fill('bad_state')
    assert.deepEqual(codes, ['state_too_large', ...bad, 'state_too_large'])
    // What was kept last is what the next execution finds.
    story.publish(`${name}.x`, 11)
    await story.becomes(`${name}.y`, 1)
    const { message } = (await story.errors(`${name}.write`))[0]!
    assert.ok(message.includes(`${name}.write`), message)
  })
}
