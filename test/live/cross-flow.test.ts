import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually, liveEngine, sharedEngine } from '../kit/live-engine.ts'
import { code, flow, Gate, input, output, refused, Story } from '../kit/live-story.ts'

const live = sharedEngine()

const int = (message: string) => ({ message, dtype: 'int' as const })

const float_in = (message: string) => ({ message, dtype: 'float' as const })

/** A flow of one node that reads `from` and publishes it as `y`, one higher. */
const plusOne = (from: string, ...inputs: ReturnType<typeof int>[]) =>
  flow(
    [
      code(
        'plus',
        'export default ({ x }) => ({ y: x + 1 })',
        [input('x', 'int', { message: from })],
        [output('y', 'int')],
      ),
    ],
    ...inputs,
  )

test('what another flow reads starts a child cascade there, linked to its parent', async () => {
  const story = new Story(live.engine)
  await story.save('first', plusOne('x', int('x')))
  await story.save('second', plusOne('first.y'))
  await story.save('third', plusOne('second.y'))
  for (const x of [1, 10]) story.publish('first.x', x)
  assert.deepEqual(await story.values('third.y', 2), [4, 13])
  const names = ['first', 'second', 'third']
  await eventually(async () => {
    const recorded = await Promise.all(names.map(name => story.cascades(name)))
    return recorded.every(cascades => cascades.length === 2)
  }, 'each flow has two cascades on record')
  const [first, second, third] = await Promise.all(names.map(name => story.cascades(name)))
  assert.deepEqual(
    first!.map(one => one.parent),
    [null, null],
  )
  assert.deepEqual(
    second!.map(one => [one.parent, one.root, one.root_version]),
    first!.map((parent, at) => [parent.id, 'first.y', 2 - at]),
  )
  assert.deepEqual(
    third!.map(one => one.parent),
    second!.map(one => one.id),
  )
  assert.deepEqual(await live.engine.observe.cascade(third![0]!.id), third![0])
})

test('messages that one emission publishes wake a node of another flow once, with both values', async () => {
  const story = new Story(live.engine)
  const halves = `export default function* ({ x }) { yield { a: x, b: -x }; yield { a: x + 0.5, b: -x - 0.5 } }`
  const float = (name: string) => output(name, 'float')
  await story.save(
    'split',
    flow([code('split', halves, [input('x', 'float')], [float('a'), float('b')])], float_in('x')),
  )
  await story.save(
    'joined',
    flow([
      code(
        'join',
        'export default ({ a, b }) => ({ sum: a + b })',
        [input('a', 'float', { message: 'split.a' }), input('b', 'float', { message: 'split.b' })],
        [float('sum')],
      ),
    ]),
  )
  for (let x = 1; x <= 50; x++) story.publish('split.x', x)
  assert.deepEqual(await story.values('joined.sum', 100), new Array(100).fill(0))
  const cascades = await story.cascades('joined')
  assert.deepEqual([cascades.length, new Set(cascades.map(one => one.executions))], [100, new Set([1])])
})

test('a value that a rate limit holds back leaves the emission: the other flow gets the rest of it', async () => {
  const story = new Story(live.engine)
  const float = (name: string, more = {}) => output(name, 'float', more)
  const both = 'export default ({ x }) => ({ a: x, b: -x })'
  const outputs = [float('a'), float('b', { rate_hz: 0.001 })]
  await story.save('limited', flow([code('both', both, [input('x', 'float')], outputs)], float_in('x')))
  await story.save(
    'unlimited',
    flow([
      code(
        'join',
        'export default ({ a, b }) => ({ pair: [a, b] })',
        [input('a', 'float', { message: 'limited.a' }), input('b', 'float', { message: 'limited.b' })],
        [output('pair')],
      ),
    ]),
  )
  for (const x of [1, 2, 3]) story.publish('limited.x', x)
  assert.deepEqual(await story.values('unlimited.pair', 3), [
    [1, -1],
    [2, -1],
    [3, -1],
  ])
})

test('a parent does not wait for its children', async () => {
  const story = new Story(live.engine)
  const gate = new Gate(live.data_dir, 'child')
  const held = `${gate.source}export default async ({ x }) => { await opened(); return { y: x } }`
  await story.save('parent', plusOne('x', int('x')))
  await story.save(
    'child',
    flow([code('hold', held, [input('x', 'int', { message: 'parent.y' })], [output('y', 'int')])]),
  )
  story.publish('parent.x', 1)
  await eventually(async () => (await story.cascades('parent')).length === 1, 'the parent is over')
  assert.equal((await story.cascades('parent'))[0]!.status, 'succeeded')
  assert.equal(story.version('child.y'), 0)
  gate.open()
  assert.deepEqual(await story.values('child.y', 1), [2])
  await eventually(async () => (await story.cascades('child')).length === 1, 'the child is over')
  assert.equal((await story.cascades('child'))[0]!.parent, (await story.cascades('parent'))[0]!.id)
})

test('every flow that reads a message gets every emission, in order', async () => {
  const story = new Story(live.engine)
  const burst = 'export default function* ({ n }) { for (let i = 1; i <= n; i++) yield { item: i } }'
  await story.save('source', flow([code('burst', burst, [input('n', 'int')], [output('item', 'int')])], int('n')))
  const readers = ['reader_a', 'reader_b', 'reader_c']
  for (const name of readers) await story.save(name, plusOne('source.item'))
  story.publish('source.n', 1000)
  const expected = Array.from({ length: 1000 }, (_, i) => i + 2)
  for (const name of readers) assert.deepEqual(await story.values(`${name}.y`, 1000), expected, name)
})

test('a foreign message read without trigger wakes nobody and is as new as it can be', async () => {
  const story = new Story(live.engine)
  await story.save('limits', flow([], { ...int('high'), default: 10 }))
  const compare = 'export default ({ x, high }) => ({ above: x > high })'
  await story.save(
    'alarm',
    flow(
      [
        code(
          'compare',
          compare,
          [input('x', 'int'), input('high', 'int', { message: 'limits.high', trigger: false })],
          [output('above', 'bool')],
        ),
      ],
      int('x'),
    ),
  )
  story.publish('alarm.x', 15)
  await story.reaches('alarm.above', 1)
  story.publish('limits.high', 20)
  story.publish('alarm.x', 15)
  // History keeps a bool as 0 or 1.
  assert.deepEqual(await story.values('alarm.above', 2), [1, 0])
  assert.equal(story.node('alarm', 'compare').executions, 2)
})

test('a message that does not exist yet is an issue, not a refusal, and is read as soon as it does', async () => {
  const story = new Story(live.engine)
  const issues = () => live.engine.flows.get('early').issues.map(one => one.code)
  assert.deepEqual(
    (await story.save('early', plusOne('late.y'))).issues.map(one => one.code),
    ['unknown_flow'],
  )
  await story.save('late', flow([]))
  assert.deepEqual(issues(), ['unknown_message'])
  await story.save('late', plusOne('x', int('x')))
  assert.deepEqual(issues(), [])
  story.publish('late.x', 1)
  assert.deepEqual(await story.values('early.y', 1), [3])
  // And as soon as it goes again, nobody is woken and the issue is back.
  await live.engine.flows.remove('late', 'tests')
  assert.deepEqual(issues(), ['unknown_flow'])
})

test('a message of another dtype is refused at the save of its reader, and an issue once its producer changes', async () => {
  const story = new Story(live.engine)
  await story.save('words', flow([], { message: 'text', dtype: 'str' }))
  assert.equal(await refused(story.save('numbers', plusOne('words.text'))), 'dtype_mismatch')
  await story.save('words', flow([], int('text')))
  assert.deepEqual((await story.save('numbers', plusOne('words.text'))).issues, [])
  await story.save('words', flow([], { message: 'text', dtype: 'str' }))
  const [issue] = live.engine.flows.get('numbers').issues
  assert.equal(issue!.code, 'dtype_mismatch')
  assert.match(issue!.message, /as int, but it carries str/)
})

test('a disabled reader is not woken, and what was published meanwhile does not wake it later', async () => {
  const story = new Story(live.engine)
  await story.save('talker', plusOne('x', int('x')))
  await story.save('listener', plusOne('talker.y'))
  await live.engine.flows.setEnabled('listener', false, 'tests')
  story.publish('talker.x', 1)
  await story.becomes('talker.y', 2)
  await live.engine.flows.setEnabled('listener', true, 'tests')
  story.publish('talker.x', 10)
  assert.deepEqual(await story.values('listener.y', 1), [12])
})

test('a flow that is enabled again reads the newest value of another flow, published while it was disabled', async () => {
  const story = new Story(live.engine)
  await story.save('source', flow([], int('m')))
  const woken = code('woken', 'export default () => {}', [input('m', 'int', { message: 'source.m' })])
  const looks = code(
    'looks',
    'export default ({ m }) => ({ seen: m })',
    [input('go', 'int'), input('m', 'int', { message: 'source.m', trigger: false })],
    [output('seen', 'int')],
  )
  await story.save('sleeper', flow([woken, looks], int('go')))
  story.publish('source.m', 1)
  story.publish('sleeper.go', 1)
  await story.becomes('sleeper.seen', 1)
  await live.engine.flows.setEnabled('sleeper', false, 'tests')
  for (const m of [2, 3]) story.publish('source.m', m)
  await live.engine.flows.setEnabled('sleeper', true, 'tests')
  story.publish('sleeper.go', 2)
  assert.deepEqual(await story.values('sleeper.seen', 2), [1, 3])
})

test('what waited in a flow while it was disabled runs as it was, and then the flow reads the newest value', async t => {
  const { engine, data_dir } = await liveEngine(t, { FLOW_LANES: '1' })
  const story = new Story(engine)
  const gate = new Gate(data_dir)
  const held = `${gate.blockingSource}export default async ({ x }, ctx) => { await ctx.emit({ begun: x }); opened() }`
  await story.save('blocker', flow([code('hold', held, [input('x', 'int')], [output('begun', 'int')])], int('x')))
  await story.save('source', flow([], int('m')))
  const woken = code(
    'woken',
    'export default ({ m }) => ({ took: m })',
    [input('m', 'int', { message: 'source.m' })],
    [output('took', 'int')],
  )
  const looks = code(
    'looks',
    'export default ({ go, m }) => ({ seen: m })',
    [input('go', 'int'), input('m', 'int', { message: 'source.m', trigger: false })],
    [output('seen', 'int')],
  )
  await story.save('sleeper', flow([woken, looks], int('go')))
  // The only lane is held: what is published waits in the queue of its flow.
  story.publish('blocker.x', 1)
  await story.becomes('blocker.begun', 1)
  for (const m of [1, 2]) story.publish('source.m', m)
  story.publish('sleeper.go', 1)
  await engine.flows.setEnabled('sleeper', false, 'tests')
  for (const m of [3, 4]) story.publish('source.m', m)
  await engine.flows.setEnabled('sleeper', true, 'tests')
  gate.open()
  assert.deepEqual(await story.values('sleeper.took', 2), [1, 2])
  await story.reaches('sleeper.seen', 1)
  story.publish('sleeper.go', 2)
  assert.deepEqual(await story.values('sleeper.seen', 2), [2, 4])
})

test('flows may feed each other; what never ends is broken at its depth and the issue prints the way round', async () => {
  const story = new Story(live.engine)
  await story.save('ping', plusOne('pong.y', int('x')))
  await story.save('pong', plusOne('ping.y'))
  assert.deepEqual(live.engine.flows.get('ping').issues, [])
  story.publish('ping.y', 0)
  const broken = () => [story.issue('ping', 'cycle'), story.issue('pong', 'cycle')].find(issue => issue !== undefined)
  await eventually(() => broken() !== undefined, 'the loop is broken')
  assert.match(broken()!.message, /(ping -> pong -> ping)|(pong -> ping -> pong)/)
  // The publish itself, the cascade that it starts, and a thousand children, one deeper each.
  assert.equal(story.version('ping.y') + story.version('pong.y'), 1002)
  const events = [
    ...(await story.events('ping', 'cycle_broken', 0)),
    ...(await story.events('pong', 'cycle_broken', 0)),
  ]
  assert.equal(events.length, 1)
  assert.match(String(events[0]!['cycle']), /ping -> pong|pong -> ping/)
})

test('a loop across flows that ends by itself is left alone', async () => {
  const story = new Story(live.engine)
  const down = (from: string) =>
    flow([
      code(
        'down',
        'export default ({ x }) => x > 0 ? { y: x - 1 } : {}',
        [input('x', 'int', { message: from })],
        [output('y', 'int')],
      ),
    ])
  await story.save('left', down('right.y'))
  await story.save('right', down('left.y'))
  story.publish('left.y', 500)
  await eventually(() => story.version('left.y') + story.version('right.y') === 501, 'it has gone round')
  assert.deepEqual([...live.engine.flows.get('left').issues, ...live.engine.flows.get('right').issues], [])
})
