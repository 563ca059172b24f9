import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually, liveEngine, sharedEngine } from '../kit/live-engine.ts'
import { code, flow, Gate, input, output, refused, Story } from '../kit/live-story.ts'

const live = sharedEngine()

const int = (message: string) => ({ message, dtype: 'int' as const })
const COUNTING = 'export default ({ x }, ctx) => ({ seen: (ctx.state.seen = (ctx.state.seen ?? 0) + 1) })'
const counting = () => flow([code('count', COUNTING, [input('x', 'int')], [output('seen', 'int')])], int('x'))
const reading = (message: string) =>
  flow([
    code('read', 'export default ({ x }) => ({ y: x * 10 })', [input('x', 'int', { message })], [output('y', 'int')]),
  ])
const rename = (from: string, to: string) => live.engine.flows.rename(from, to, 'tests')
const reads = (name: string) => live.engine.flows.get(name).document.nodes[0]!.ports.inputs![0]!.message

test('a renamed flow keeps its values, versions, history, state and errors, and goes on', async () => {
  const story = new Story(live.engine)
  await story.save('boiler', counting())
  for (const x of [1, 2, 3]) story.publish('boiler.x', x)
  await story.reaches('boiler.seen', 3)
  const answered = await rename('boiler', 'kettle')
  assert.deepEqual([answered.name, answered.version, answered.restarted, answered.kept], ['kettle', 2, [], ['count']])
  assert.equal(story.refusal(() => live.engine.flows.get('boiler')).code, 'flow_not_found')
  assert.equal(story.refusal(() => story.publish('boiler.x', 4)).code, 'message_not_found')
  assert.deepEqual([story.value('kettle.seen'), story.version('kettle.seen'), story.version('kettle.x')], [3, 3, 3])
  assert.equal(story.publish('kettle.x', 4), 4)
  assert.deepEqual(await story.values('kettle.seen', 4), [1, 2, 3, 4])
  assert.equal(story.node('kettle', 'count').executions, 4)
  await eventually(async () => (await story.cascades('kettle')).length === 4, 'all its cascades are under the new name')
  assert.deepEqual(await story.cascades('boiler'), [])
  assert.equal((await story.events('kettle', 'flow_renamed'))[0]!['from'], 'boiler')
})

test('references in other flows are rewritten with it, in commits of their own', async () => {
  const story = new Story(live.engine)
  await story.save('press', counting())
  await story.save('near', reading('press.seen'))
  await story.save('far', reading('near.y'))
  await story.save('dangling', reading('press.gone'))
  story.publish('press.x', 1)
  await story.becomes('far.y', 100)
  await rename('press', 'mill')
  assert.deepEqual([reads('near'), reads('far'), reads('dangling')], ['mill.seen', 'near.y', 'mill.gone'])
  story.publish('mill.x', 2)
  await story.becomes('far.y', 200)
  const commits = await Promise.all(
    ['mill', 'near', 'dangling', 'far'].map(
      async name => (await live.engine.flows.history(name, { limit: 1, offset: 0 })).items[0]!,
    ),
  )
  assert.deepEqual(
    commits.map(commit => commit.action),
    ['rename', 'rename', 'rename', 'save'],
  )
  // None of the readers started again: the reader's state and counts are what they were.
  assert.equal(story.node('near', 'read').executions, 2)
  assert.deepEqual(live.engine.flows.get('near').issues, [])
})

test('a name that is taken, or none, changes nothing anywhere', async () => {
  const story = new Story(live.engine)
  await story.save('one', counting())
  await story.save('two', counting())
  await story.save('reader', reading('one.seen'))
  assert.equal(await refused(rename('one', 'two')), 'flow_exists')
  assert.equal(await refused(rename('one', 'not a name')), 'validation')
  assert.equal(await refused(rename('none', 'three')), 'flow_not_found')
  assert.deepEqual(
    [reads('reader'), live.engine.flows.get('reader').version, live.engine.flows.get('one').version],
    ['one.seen', 1, 1],
  )
  story.publish('one.x', 1)
  await story.becomes('reader.y', 10)
})

test('who read the new name before there was such a flow reads it now', async () => {
  const story = new Story(live.engine)
  await story.save('hopeful', reading('coming.seen'))
  await story.save('going', counting())
  assert.equal(live.engine.flows.get('hopeful').issues[0]!.code, 'unknown_flow')
  await rename('going', 'coming')
  assert.deepEqual(live.engine.flows.get('hopeful').issues, [])
  story.publish('coming.x', 1)
  await story.becomes('hopeful.y', 10)
})

test('a flow whose bodies are away is renamed under them: what they publish goes to the new name', async () => {
  const story = new Story(live.engine)
  const gate = new Gate(live.data_dir, 'rename')
  const held = `${gate.source}export default async ({ x }, ctx) => { ctx.state.seen = x; await opened(); return { y: x } }`
  await story.save('away', flow([code('hold', held, [input('x', 'int')], [output('y', 'int')])], int('x')))
  await story.save('waits', reading('away.y'))
  for (const x of [1, 2]) story.publish('away.x', x)
  await eventually(() => live.engine.flows.get('away').backlog.waiting === 1, 'one is away, one waits')
  await rename('away', 'back')
  gate.open()
  assert.deepEqual(await story.values('back.y', 2), [1, 2])
  assert.deepEqual(await story.values('waits.y', 2), [10, 20])
  await eventually(async () => (await story.cascades('back')).length === 2, 'both cascades are under the new name')
})

test('a new flow under the old name starts from nothing, and the two do not meet', async () => {
  const story = new Story(live.engine)
  await story.save('old', counting())
  for (const x of [1, 2]) story.publish('old.x', x)
  await story.reaches('old.seen', 2)
  await rename('old', 'moved')
  await story.save('old', counting())
  assert.deepEqual([story.value('old.seen'), story.version('old.x')], [null, 0])
  story.publish('old.x', 1)
  story.publish('moved.x', 3)
  assert.deepEqual(await story.values('old.seen', 1), [1])
  assert.deepEqual(await story.values('moved.seen', 3), [1, 2, 3])
  // And back over the name of a flow that was deleted.
  await live.engine.flows.remove('old', 'tests')
  await rename('moved', 'old')
  story.publish('old.x', 4)
  assert.deepEqual(await story.values('old.seen', 4), [1, 2, 3, 4])
})

test('errors and reports of its nodes follow a renamed flow', async () => {
  const story = new Story(live.engine)
  const source = 'export default ({ x }, ctx) => { ctx.report("down", "no answer"); throw new Error("no") }'
  await story.save('ill', flow([code('try', source, [input('x', 'int')])], int('x')))
  story.publish('ill.x', 1)
  await story.shows('ill', 'node_error')
  await story.shows('ill', 'node_down')
  await rename('ill', 'sick')
  assert.deepEqual(
    live.engine.flows
      .get('sick')
      .issues.map(one => one.code)
      .sort(),
    ['node_down', 'node_error'],
  )
  const [error] = await story.errors('sick.try')
  assert.deepEqual([error!.node, error!.inputs], ['sick.try', { x: 1 }])
})

test('a message that a save renames is an issue of its readers until they follow', async () => {
  const story = new Story(live.engine)
  const named = (message: string) =>
    flow([code('count', COUNTING, [input('x', 'int')], [output('seen', 'int', { message })])], int('x'))
  await story.save('maker', named('a'))
  await story.save('taker', reading('maker.a'))
  await story.save('maker', named('b'))
  assert.deepEqual(
    live.engine.flows.get('taker').issues.map(one => one.code),
    ['unknown_message'],
  )
  await story.save('taker', reading('maker.b'))
  story.publish('maker.x', 1)
  await story.becomes('taker.y', 10)
  assert.deepEqual(live.engine.flows.get('taker').issues, [])
})

test('after a restart a renamed flow is where it was: name, references, values, state', async t => {
  const first = await liveEngine(t)
  const before = new Story(first.engine)
  await before.save('pump', counting())
  await before.save('gauge', reading('pump.seen'))
  for (const x of [1, 2]) before.publish('pump.x', x)
  await before.becomes('gauge.y', 20)
  await first.engine.flows.rename('pump', 'valve', 'tests')
  before.publish('valve.x', 3)
  await before.becomes('gauge.y', 30)
  const { engine } = await first.restart()
  const story = new Story(engine)
  assert.deepEqual(
    engine.flows.list({ limit: 10, offset: 0 }).items.map(one => one.name),
    ['gauge', 'valve'],
  )
  assert.deepEqual([story.value('valve.seen'), story.version('valve.x'), story.value('gauge.y')], [3, 3, 30])
  story.publish('valve.x', 4)
  await story.becomes('gauge.y', 40)
  assert.deepEqual(await story.values('valve.seen'), [1, 2, 3, 4])
})
