import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Engine } from '../../server/engine.ts'
import { eventually, type LiveEngine, liveEngine } from '../kit/live-engine.ts'
import { code, flow, Gate, inject, input, output, Story } from '../kit/live-story.ts'

const int = (message: string) => ({ message, dtype: 'int' as const })
const x = input('x', 'int')
const y = output('y', 'int')
const pass = () => code('pass', 'export default ({ x }) => ({ y: x })', [x], [y])

const shown = (story: Story, ...flows: string[]) =>
  flows.flatMap(flow => story.engine.messages.list({ limit: 100, offset: 0, flow }).items)

const ends: (() => Promise<void>)[] = []
const beginnings: (() => Promise<void>)[] = []
let live: LiveEngine

/** One restart divides all of these stories: each has begun before it, and each ends after it. */
function acrossRestart<Kept>(
  what: string,
  begin: (story: Story, engine: Engine) => Promise<Kept>,
  end: (story: Story, kept: Kept, engine: Engine) => Promise<void>,
): void {
  let kept: Kept
  beginnings.push(async () => {
    kept = await begin(new Story(live.engine), live.engine)
  })
  test(what, () => end(new Story(live.engine), kept, live.engine))
}

before(async () => {
  live = await liveEngine({ after: end => ends.push(end) })
  for (const begin of beginnings) await begin()
  live = await live.restart()
})
after(async () => {
  for (const end of ends) await end()
})

acrossRestart(
  'values and versions come back as they were, in every dtype, nobody is woken, and the next publish goes on from there',
  async story => {
    const values = {
      bool: true,
      int: -7,
      float: 0.25,
      str: 'grüße',
      json: { list: [1, { two: null }], text: 'x'.repeat(5_000) },
    }
    const inputs = Object.keys(values).map(dtype => ({ message: `of_${dtype}`, dtype: dtype as keyof typeof values }))
    await story.save('types', flow([], ...inputs))
    await story.save('line', flow([pass()], { ...int('x'), default: 5 }, { ...int('seeded'), default: 9 }))
    for (const [dtype, value] of Object.entries(values)) story.publish(`types.of_${dtype}`, value)
    for (const value of [1, 2, 3]) story.publish('line.x', value)
    await story.values('line.y', 3)
    const messages = shown(story, 'types', 'line')
    const cascades = await story.cascades('line')
    return { messages, cascades }
  },
  async (story, { messages, cascades }) => {
    assert.deepEqual(shown(story, 'types', 'line'), messages)
    assert.deepEqual([story.value('line.seeded'), story.version('line.seeded'), story.version('line.x')], [9, 1, 4])
    // Saving it again seeds nothing: the message has a value.
    await story.save('line', flow([pass()], { ...int('x'), default: 5 }, { ...int('seeded'), default: 10 }))
    assert.deepEqual([story.value('line.seeded'), story.version('line.seeded')], [9, 1])
    assert.equal(story.node('line', 'pass').executions, 0)
    assert.deepEqual(await story.cascades('line'), cascades)
    assert.equal(story.publish('line.x', 4), 5)
    assert.deepEqual(await story.values('line.y', 4), [1, 2, 3, 4])
    const ids = (await story.cascades('line')).map(one => one.id)
    assert.deepEqual([ids.length, new Set(ids).size], [4, 4])
  },
)

acrossRestart(
  'a disabled flow stays disabled; enabled, it runs',
  async (story, engine) => {
    await story.save(
      'rest',
      flow([inject('tick', { once: true, every_s: 0.02, value: 3 }, output('x', 'int')), pass()]),
    )
    await story.reaches('rest.y', 2)
    await engine.flows.setEnabled('rest', false, 'tests')
    const stopped = story.version('rest.x')
    return { stopped }
  },
  async (story, { stopped }, engine) => {
    assert.equal(engine.flows.get('rest').enabled, false)
    assert.equal(story.refusal(() => story.publish('rest.x', 1)).code, 'flow_disabled')
    await story.save('awake', flow([inject('tick', { every_s: 0.02 }, output('x', 'int'))]))
    await story.reaches('awake.x', 3)
    assert.equal(story.version('rest.x'), stopped)
    await engine.flows.setEnabled('rest', true, 'tests')
    await story.reaches('rest.x', stopped + 3)
  },
)

acrossRestart(
  'at a start injects fire once and go on with their intervals',
  async story => {
    const nodes = [
      inject('start', { once: true }, output('a', 'int')),
      inject('beat', { every_s: 0.02 }, output('b', 'int')),
    ]
    await story.save('timers', flow(nodes))
    await story.reaches('timers.b', 2)
    assert.equal(story.version('timers.a'), 1)
  },
  async story => {
    const restored = story.version('timers.b')
    await story.reaches('timers.b', restored + 2)
    assert.equal(story.version('timers.a'), 2)
  },
)

acrossRestart(
  'a value that a rate limit holds back at the end is published after the start, and the limit still holds',
  async story => {
    const burst = 'export default function* ({ n }) { for (let i = 1; i <= n; i++) yield { y: i } }'
    const nodes = [
      code('burst', burst, [input('n', 'int')], [output('y', 'int', { rate_hz: 0.5 })]),
      code('read', 'export default ({ y }) => ({ seen: y })', [input('y', 'int')], [output('seen', 'int')]),
    ]
    await story.save('held', flow(nodes, int('n')))
    story.publish('held.n', 10)
    await story.becomes('held.seen', 1)
    await story.executed('held', 'burst', 1)
  },
  async story => {
    assert.deepEqual(await story.values('held.seen', 2), [1, 10])
    const [held] = await story.cascades('held')
    assert.deepEqual([held!.root, held!.root_version, held!.parent], ['held.y', 2, null])
  },
)

test('what is under way at the end is recorded as interrupted, what waited runs after the start, in order', async t => {
  const first = await liveEngine(t, { FLOW_MAX_CASCADES: '1' })
  const before = new Story(first.engine)
  const gate = new Gate(first.data_dir)
  const source = `${gate.source}export default async ({ x }, ctx) => { ctx.emit({ begun: x }); await opened(); return { y: x } }`
  await before.save('cut', flow([code('hold', source, [x], [output('begun', 'int'), y])], int('x')))
  for (const value of [1, 2, 3, 4]) before.publish('cut.x', value)
  await before.becomes('cut.begun', 1)
  const { engine } = await first.restart()
  const story = new Story(engine)
  const [cascade, ...others] = (await story.cascades('cut')).filter(one => one.root_version === 1)
  assert.deepEqual(
    [cascade!.status, cascade!.root, cascade!.root_version, cascade!.executions, others.length],
    ['interrupted', 'cut.x', 1, 1, 0],
  )
  const { resumed_after_restart, not_run_after_restart } = engine.flows.get('cut')
  assert.deepEqual([resumed_after_restart, not_run_after_restart], [3, 0])
  story.publish('cut.x', 5)
  gate.open()
  assert.deepEqual(await story.values('cut.y', 4), [2, 3, 4, 5])
  assert.deepEqual(await story.values('cut.begun', 5), [1, 2, 3, 4, 5])
  await eventually(async () => (await engine.observe.summary()).cascades.in_flight === 0, 'nothing is in flight')
})

acrossRestart(
  'errors of nodes, acknowledged or not, are there after a start',
  async (story, engine) => {
    const fails = (id: string) => code(id, 'export default () => { throw new Error("no") }', [x])
    await story.save('ill', flow([fails('seen'), fails('unseen')], int('x')))
    story.publish('ill.x', 1)
    for (const node of ['ill.seen', 'ill.unseen']) await story.errors(node)
    await engine.nodes.acknowledge('ill.seen', 'ada')
    const errors = await story.errors('ill.unseen')
    return { errors }
  },
  async (story, { errors }, engine) => {
    assert.deepEqual(await story.errors('ill.unseen'), errors)
    assert.equal((await story.errors('ill.seen'))[0]!.acknowledged, true)
    assert.deepEqual(
      engine.flows.get('ill').issues.map(one => [one.code, one.node]),
      [['node_error', 'unseen']],
    )
    assert.equal((await engine.observe.summary()).node_errors, 1)
  },
)

/** A body that ends its lane when it is given 1, and one beside it, on the same lane, that waits at the gate. */
async function dyingLane(t: Parameters<typeof liveEngine>[0]) {
  const live = await liveEngine(t, { FLOW_LANES: '1' })
  const story = new Story(live.engine)
  const gate = new Gate(live.data_dir)
  const dies = 'export default ({ x }) => { if (x === 1) process.exit(3); return { y: x } }'
  const holds = `${gate.source}export default async ({ x }, ctx) => { ctx.emit({ begun: x }); await opened(); return { y: x } }`
  await story.save('dies', flow([code('exit', dies, [x], [y])], int('x')))
  await story.save('beside', flow([code('hold', holds, [x], [output('begun', 'int'), y])], int('x')))
  story.publish('dies.x', 0)
  await story.becomes('dies.y', 0)
  story.publish('beside.x', 1)
  await story.becomes('beside.begun', 1)
  for (const value of [1, 2, 3]) story.publish('dies.x', value)
  await story.events('dies', 'thread_replaced')
  story.publish('beside.x', 2)
  return { engine: live.engine, story, gate }
}

test('a body that ends its lane costs what had begun there: the lane is replaced, what waited runs, the body in a call slot', async t => {
  const { engine, story, gate } = await dyingLane(t)
  gate.open()
  assert.deepEqual(await story.values('dies.y', 3), [0, 2, 3])
  assert.equal(story.node('dies', 'exit').placement, 'dispatch')
  const [error] = await story.errors('dies.exit')
  assert.equal(error!.code, 'thread_lost')
  const [event] = await story.events('dies', 'thread_replaced')
  assert.deepEqual([event!['thread'], event!['node'], event!['code']], ['lane', 'dies.exit', 'thread_lost'])
  await story.becomes('beside.y', 2)
  // The one that was away on the lane is not repeated.
  assert.deepEqual(await story.values('beside.y'), [2])
  await eventually(async () => (await engine.observe.summary()).cascades.in_flight === 0, 'nothing is in flight')
})

/** Version, status and executions of the flow's cascades, oldest first, once there are so many. */
async function cascades(story: Story, flow: string, count: number): Promise<string[]> {
  await eventually(async () => (await story.cascades(flow)).length === count, `${count} cascades of ${flow}`)
  const told = (await story.cascades(flow)).map(one => `${one.root_version} ${one.status} ${one.executions}`)
  return told.reverse()
}

test('cascades that had begun on a lane that died are recorded as interrupted', async t => {
  const { engine, story, gate } = await dyingLane(t)
  gate.open()
  await story.becomes('dies.y', 3)
  await story.becomes('beside.y', 2)
  assert.deepEqual(await cascades(story, 'dies', 4), [
    '1 succeeded 1',
    '2 interrupted 1',
    '3 succeeded 1',
    '4 succeeded 1',
  ])
  assert.deepEqual(await cascades(story, 'beside', 2), ['1 interrupted 1', '2 succeeded 1'])
  const [event] = await story.events('dies', 'thread_replaced')
  assert.equal(event!['interrupted'], 2)
  for (const one of [...(await story.cascades('dies')), ...(await story.cascades('beside'))])
    assert.deepEqual(await engine.observe.cascade(one.id), one)
})

test('a cascade of synchronous bodies is whole before another flow of its lane goes on, however long it takes', async t => {
  const { engine } = await liveEngine(t, { FLOW_LANES: '1' })
  const story = new Story(engine)
  // Longer than a turn, each of them.
  const slow = 'const until = performance.now() + 3; while (performance.now() < until);'
  const steps = Array.from({ length: 8 }, (_, at) =>
    code(
      `s${at}`,
      `export default ({ x }) => { ${slow} return { y: x } }`,
      [input('x', 'int', { message: `m${at}` })],
      [output('y', 'int', { message: `m${at + 1}` })],
    ),
  )
  await story.save('long', flow(steps, int('m0')))
  const dies = 'export default ({ x }) => { if (x === 1) process.exit(3) }'
  await story.save('dies', flow([code('exit', dies, [input('x', 'int', { message: 'long.m1' })])]))
  story.publish('long.m0', 0)
  await story.reaches('long.m8', 1)
  assert.deepEqual(await cascades(story, 'dies', 1), ['1 succeeded 1'])
  story.publish('long.m0', 1)
  await story.events('dies', 'thread_replaced')
  assert.deepEqual(await cascades(story, 'long', 2), ['1 succeeded 8', '2 succeeded 8'])
  assert.deepEqual(await cascades(story, 'dies', 2), ['1 succeeded 1', '2 interrupted 1'])
  assert.equal((await story.cascades('dies'))[0]!.parent, (await story.cascades('long'))[0]!.id)
  assert.equal(story.version('long.m8'), 2)
  assert.equal((await engine.observe.summary()).cascades.in_flight, 0)
})

test('no two cascades have one number, however often the threads of their lanes are replaced', async t => {
  const { engine } = await liveEngine(t, { FLOW_LANES: '1' })
  const story = new Story(engine)
  await story.save('line', flow([pass()], int('x')))
  const rounds = 4
  for (let round = 1; round <= rounds; round++) {
    story.publish('line.x', round)
    await story.reaches('line.y', round)
    await engine.refreshModules()
  }
  await cascades(story, 'line', rounds)
  // An id ends with the number.
  const numbers = (await story.cascades('line')).map(one => one.id.slice(19))
  assert.deepEqual([numbers.length, new Set(numbers).size], [rounds, rounds])
})
