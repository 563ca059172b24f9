import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually, liveEngine, sharedEngine } from '../kit/live-engine.ts'
import { code, flow, input, output, refused, Story } from '../kit/live-story.ts'

const live = sharedEngine({ FLOW_LANES: '2' })

const int = (message: string) => ({ message, dtype: 'int' as const })
const COUNTING = 'export default ({ x }, ctx) => ({ y: (ctx.state.seen = (ctx.state.seen ?? 0) + 1) })'
const counting = (note = '') => code('count', `${note}${COUNTING}`, [input('x', 'int')], [output('y', 'int')])

/** Three values through the node, which counts them in its state. */
async function counted(story: Story, name: string): Promise<void> {
  await story.save(name, flow([counting()], int('x')))
  for (const value of [1, 2, 3]) story.publish(`${name}.x`, value)
  // In the history when its turn is over, and the state of that turn kept.
  assert.deepEqual(await story.values(`${name}.y`, 3), [1, 2, 3])
}

/** What ends the node and brings the very same one back. */
const RETURNS: Record<string, (story: Story, name: string) => Promise<unknown>> = {
  'its flow was deleted': (story, name) => story.engine.flows.remove(name, 'tests'),
  'a save had removed it': (story, name) => story.save(name, flow([], int('x'))),
  'a save had changed it': (story, name) => story.save(name, flow([counting('// another\n')], int('x'))),
}

for (const [how, end] of Object.entries(RETURNS)) {
  const name = how.replaceAll(' ', '_')

  test(`a node that comes back after ${how} begins with fresh state, and its messages without values`, async () => {
    const story = new Story(live.engine)
    await counted(story, name)
    await end(story, name)
    await story.save(name, flow([counting()], int('x')))
    if (how !== 'a save had changed it') assert.equal(story.value(`${name}.y`), null)
    const version = story.publish(`${name}.x`, 4)
    assert.equal(version, 4, 'versions go on where they were')
    await story.reaches(`${name}.y`, 4)
    assert.deepEqual([story.version(`${name}.y`), story.value(`${name}.y`)], [4, 1])
  })

  test(`what ended because ${how} does not come back with a restart either`, async t => {
    const first = await liveEngine(t)
    const before = new Story(first.engine)
    await counted(before, name)
    await end(before, name)
    await before.save(name, flow([counting()], int('x')))
    const { engine } = await first.restart()
    const story = new Story(engine)
    if (how !== 'a save had changed it') assert.equal(story.value(`${name}.y`), null)
    const before_version = story.version(`${name}.y`)
    story.publish(`${name}.x`, 4)
    await eventually(() => story.version(`${name}.y`) > before_version, 'it runs')
    assert.equal(story.value(`${name}.y`), 1)
  })
}

test('a node that started again keeps its state over a restart, and over saves that leave it alone', async t => {
  const first = await liveEngine(t)
  const before = new Story(first.engine)
  const name = 'again'
  await counted(before, name)
  await first.engine.flows.remove(name, 'tests')
  await counted_anew(before, name)
  const { engine } = await first.restart()
  const story = new Story(engine)
  const other = code('other', 'export default () => {}', [input('x', 'int')])
  await story.save(name, flow([counting(), other], int('x')))
  const version = story.version(`${name}.y`)
  story.publish(`${name}.x`, 9)
  await eventually(() => story.version(`${name}.y`) > version, 'it runs')
  assert.equal(story.value(`${name}.y`), 3)
})

async function counted_anew(story: Story, name: string): Promise<void> {
  await story.save(name, flow([counting()], int('x')))
  for (const value of [4, 5]) story.publish(`${name}.x`, value)
  await story.becomes(`${name}.y`, 2)
}

test('a save that is identical answers with the version that is there, and makes no commit', async () => {
  const story = new Story(live.engine)
  const document = () => flow([counting()], int('x'))
  const first = await story.save('twice', document())
  const second = await story.save('twice', { ...document(), nodes: [{ ...counting(), settings: {}, cache: true }] })
  assert.deepEqual([second.version, second.commit], [first.version, first.commit])
  assert.deepEqual([second.restarted, second.kept], [[], ['count']])
  const restored = await live.engine.flows.restore('twice', first.commit, 'tests')
  assert.deepEqual([restored.version, restored.commit], [first.version, first.commit])
  assert.equal((await live.engine.flows.history('twice', { limit: 10, offset: 0 })).count, 1)
  const stale = { document: document(), base_version: first.version + 1 }
  assert.equal(await refused(live.engine.flows.save('twice', stale, 'tests')), 'stale_version')
  const from = { repository: 'r', commit: 'c', digests: {} } as never
  const marked = await live.engine.flows.save('twice', { document: document(), origin: from }, 'tests')
  assert.equal(marked.version, first.version + 1, 'where it comes from is part of it')
})

// Ten seconds between two values: what comes second is held for as long as the test needs.
const slowly = (rate_hz: number | null) =>
  flow(
    [code('pass', 'export default ({ x }) => ({ y: x })', [input('x', 'int')], [output('y', 'int', { rate_hz })])],
    int('x'),
  )

async function held(story: Story, name: string): Promise<void> {
  await story.save(name, slowly(0.1))
  for (const value of [1, 2, 3]) story.publish(`${name}.x`, value)
  await eventually(
    () => story.node(name, 'pass').executions === 3 && story.node(name, 'pass').replaced === 1,
    '3 is held',
  )
  assert.equal(story.value(`${name}.y`), 1)
}

test('a save that takes the limit off a port publishes what the port holds, before anything newer', async () => {
  const story = new Story(live.engine)
  await held(story, 'freed')
  await story.save('freed', slowly(null))
  for (const value of [4, 5]) story.publish('freed.x', value)
  assert.deepEqual(await story.values('freed.y', 4), [1, 3, 4, 5])
})

test('a value that is held when its port or its flow goes is counted, and does not come back', async () => {
  const story = new Story(live.engine)
  await held(story, 'port_gone')
  await story.save('port_gone', flow([], int('x')))
  await eventually(async () => (await story.dropped('port_removed')) === 1, 'it is counted')
  assert.equal((await story.events('port_gone', 'values_dropped'))[0]!['reason'], 'port_removed')
  await held(story, 'flow_gone')
  const before = await story.dropped('flow_deleted')
  await live.engine.flows.remove('flow_gone', 'tests')
  await eventually(async () => (await story.dropped('flow_deleted')) === before + 1, 'it is counted')
  for (const name of ['port_gone', 'flow_gone']) {
    await story.save(name, slowly(null))
    story.publish(`${name}.x`, 7)
    await story.becomes(`${name}.y`, 7)
    assert.equal(story.version(`${name}.y`), 2, 'nothing else was published')
  }
})
