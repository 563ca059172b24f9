import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually, liveEngine } from '../kit/live-engine.ts'
import { code, flow, Gate, input, output, Story } from '../kit/live-story.ts'

const int = (message: string) => ({ message, dtype: 'int' as const })
const READINGS = 300
const numbers = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, at) => from + at)

test('a clean stop loses nothing: of readings into a slow flow each runs, once and in order, before or after it', async t => {
  const first = await liveEngine(t)
  const before = new Story(first.engine)
  const slow = `export default ({ x }, ctx) => {
    const until = performance.now() + 2; while (performance.now() < until);
    ctx.state.sum = (ctx.state.sum ?? 0) + x
    return { y: x, sum: ctx.state.sum }
  }`
  await before.save(
    'slow',
    flow([code('slow', slow, [input('x', 'int')], [output('y', 'int'), output('sum', 'int')])], int('x')),
  )
  // Two steps and two messages of one emission: the stop falls between nodes, and between flows.
  const join = 'export default ({ y, sum }) => ({ both: { y, sum } })'
  const ports = [input('y', 'int', { message: 'slow.y' }), input('sum', 'int', { message: 'slow.sum' })]
  await before.save('join', flow([code('join', join, ports, [output('both')])]))
  for (const x of numbers(1, READINGS)) before.publish('slow.x', x)
  await before.reaches('slow.y', 5)
  const { engine } = await first.restart()
  const story = new Story(engine)
  story.publish('slow.x', READINGS + 1)
  const all = numbers(1, READINGS + 1)
  const sums = all.map(x => (x * (x + 1)) / 2)
  assert.deepEqual(await story.values('slow.y', READINGS + 1), all)
  assert.deepEqual(await story.values('slow.sum', READINGS + 1), sums)
  assert.deepEqual(
    await story.values('join.both', READINGS + 1),
    all.map((y, at) => ({ y, sum: sums[at] })),
  )
  const { resumed_after_restart, not_run_after_restart } = engine.flows.get('slow')
  assert.ok(resumed_after_restart > 0, 'the stop came too late to show anything')
  assert.equal(not_run_after_restart, 0)
  await eventually(
    async () => (await story.cascades('slow')).filter(one => one.status === 'succeeded').length === READINGS + 1,
    'each has one cascade that ended well',
  )
  assert.equal((await story.cascades('slow')).length, READINGS + 1)
})

test('what waits in a disabled flow waits across restarts, and its first join reads what stood before it', async t => {
  const first = await liveEngine(t, { FLOW_MAX_CASCADES: '1' })
  const before = new Story(first.engine)
  const gate = new Gate(first.data_dir)
  const hold = `${gate.source}export default async ({ x }, ctx) => { ctx.emit({ begun: x }); await opened() }`
  const join = 'export default ({ a, b }) => ({ sum: a * 1000 + b })'
  await before.save('hold', flow([code('hold', hold, [input('x', 'int')], [output('begun', 'int')])], int('x')))
  await before.save(
    'late',
    flow([code('join', join, [input('a', 'int'), input('b', 'int')], [output('sum', 'int')])], int('a'), int('b')),
  )
  before.publish('late.a', 1)
  before.publish('late.b', 1)
  await before.becomes('late.sum', 1001)
  // Nothing begins any more.
  before.publish('hold.x', 1)
  await before.becomes('hold.begun', 1)
  for (const n of [2, 3, 4, 5]) {
    before.publish('late.a', n)
    before.publish('late.b', n)
  }
  await first.engine.flows.setEnabled('late', false, 'tests')
  const second = await first.restart()
  const third = await second.restart()
  const story = new Story(third.engine)
  assert.equal(third.engine.flows.get('late').resumed_after_restart, 8)
  await third.engine.flows.setEnabled('late', true, 'tests')
  assert.deepEqual(await story.values('late.sum', 9), [1001, 2001, 2002, 3002, 3003, 4003, 4004, 5004, 5005])
})

test('a flow that starts from the latest drops what waited, with a number and an event', async t => {
  const first = await liveEngine(t, { FLOW_MAX_CASCADES: '1' })
  const before = new Story(first.engine)
  const gate = new Gate(first.data_dir)
  const source = `${gate.source}export default async ({ x }, ctx) => { ctx.emit({ begun: x }); await opened(); return { y: x } }`
  const document = flow(
    [code('hold', source, [input('x', 'int')], [output('begun', 'int'), output('y', 'int')])],
    int('x'),
  )
  await before.save('newest', { ...document, on_restart: 'latest' })
  for (const value of [1, 2, 3, 4]) before.publish('newest.x', value)
  await before.becomes('newest.begun', 1)
  const { engine } = await first.restart()
  const story = new Story(engine)
  const { resumed_after_restart, not_run_after_restart, issues } = engine.flows.get('newest')
  assert.deepEqual([resumed_after_restart, not_run_after_restart], [0, 3])
  assert.ok(issues.some(issue => issue.code === 'values_dropped'))
  const [event] = await story.events('newest', 'values_dropped')
  assert.deepEqual([event!['reason'], event!['count']], ['on_restart', 3])
  gate.open()
  story.publish('newest.x', 5)
  assert.deepEqual(await story.values('newest.y', 1), [5])
})
