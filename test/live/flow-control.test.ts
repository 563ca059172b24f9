import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../protocol/limits.ts'
import { eventually, liveEngine, sharedEngine } from '../kit/live-engine.ts'
import { code, flow, Gate, input, output, Story } from '../kit/live-story.ts'

const live = sharedEngine({ FLOW_LANES: '2' })

const int = (message: string) => ({ message, dtype: 'int' as const })
const yields = (times: number, from: string, to: string, kind = 'function*') =>
  code(
    to,
    `export default ${kind} ({ ${from} }) { for (let i = 1; i <= ${times}; i++) yield { ${to}: i } }`,
    [input(from, 'int')],
    [output(to, 'int')],
  )
const reads = (from: string) => code('read', 'export default () => {}', [input(from, 'int')])

/** As a client that is told to wait does. */
async function publishAll(story: Story, name: string, times: number): Promise<void> {
  for (let value = 1; value <= times; value++) {
    await eventually(() => {
      try {
        story.publish(name, value)
        return true
      } catch (error) {
        if ((error as { code?: string }).code === 'backlogged') return false
        throw error
      }
    }, `${name} takes the ${value}th value`)
  }
}

/** All that was accepted has ended, and nothing waits any more. */
async function isIdle(story: Story, name: string, cascades: number, status = 'succeeded'): Promise<void> {
  const ended = async () => (await story.cascades(name)).map(cascade => cascade.status).filter(one => one !== 'running')
  await eventually(async () => (await ended()).length >= cascades, 'all cascades have ended')
  assert.deepEqual(await ended(), new Array(cascades).fill(status))
  await eventually(() => story.engine.flows.get(name).backlog.waiting === 0, 'nothing waits')
}

test('generators that feed generators go on past the bound of their flow until all has run', async t => {
  const { engine } = await liveEngine(t, {}, { waiting_items: 100 })
  const story = new Story(engine)
  await story.save('chain', flow([yields(50, 'x', 'y'), yields(2, 'y', 'z', 'async function*'), reads('z')], int('x')))
  await publishAll(story, 'chain.x', 40)
  await story.executed('chain', 'read', 40 * 50 * 2)
  assert.equal(story.version('chain.z'), 4_000)
  await isIdle(story, 'chain', 40)
})

test('a body that emits nearly as much as it may without awaiting, into a generator, is held back and not stopped', async () => {
  const story = new Story(live.engine)
  const emits = limits.UNAWAITED_EMITS - 100
  const burst = `export default (_, ctx) => { for (let i = 1; i <= ${emits}; i++) ctx.emit({ y: i }) }`
  await story.save(
    'burst',
    flow([code('y', burst, [input('x', 'int')], [output('y', 'int')]), yields(2, 'y', 'z'), reads('z')], int('x')),
  )
  await publishAll(story, 'burst.x', 2)
  await story.executed('burst', 'read', 2 * emits * 2)
  assert.equal(story.node('burst', 'y').errors, 0)
  await isIdle(story, 'burst', 2)
})

test('two full flows that feed each other with generators wait for neither, and all that they publish runs', async t => {
  const { engine } = await liveEngine(t, { FLOW_LANES: '2' }, { waiting_items: 5 })
  const story = new Story(engine)
  const halves = (from: string, port: string, to: string) =>
    flow([
      code(
        'halves',
        `export default async function* ({ ${port} }) { if (${port} > 0) for (const i of [1, 2]) yield { ${to}: ${port} - 1 } }`,
        [input(port, 'int', { message: from })],
        [output(to, 'int')],
      ),
    ])
  await story.save('ping', halves('pong.n', 'n', 'm'))
  await story.save('pong', halves('ping.m', 'm', 'n'))
  await story.save('ping', halves('pong.n', 'n', 'm'))
  story.publish('pong.n', 7)
  // One value of 7, two of 6, ..., 128 of 0.
  const ran = () => story.node('ping', 'halves').executions + story.node('pong', 'halves').executions
  await eventually(() => ran() === 255, 'each value has run once')
  for (const name of ['ping', 'pong'])
    await eventually(() => engine.flows.get(name).backlog.waiting === 0, `nothing waits in ${name}`)
  assert.equal(await story.dropped('hard_cap'), 0)
})

test('a loop over a generator that yields twice is broken as a cycle, told once with a number, and the flow goes on', async () => {
  const story = new Story(live.engine)
  const twice = 'export default function* ({ n }) { yield { n: n + 1 }; yield { n: n + 1 } }'
  await story.save('twice', flow([code('n', twice, [input('n', 'int')], [output('n', 'int')])]))
  story.publish('twice.n', 0)
  await story.shows('twice', 'cycle')
  assert.match(story.issue('twice', 'cycle')!.message, /n -> n/)
  await isIdle(story, 'twice', 1, 'failed')
  const told = await story.events('twice', 'cycle_broken')
  const broken = told.reduce((sum, event) => sum + (event['count'] as number), 0)
  assert.ok(broken > 1_000 && told.length < 100, `${broken} values in ${told.length} events`)
  story.publish('twice.n', 0)
  await isIdle(story, 'twice', 2, 'failed')
})

test('a loop that doubles by emits is told once for its cascade, with the number of values', async () => {
  const story = new Story(live.engine)
  const split = 'export default ({ n }, ctx) => { ctx.emit({ n: n + 1 }); return { n: n + 1 } }'
  await story.save('doubles', flow([code('n', split, [input('n', 'int')], [output('n', 'int')])]))
  story.publish('doubles.n', 0)
  await isIdle(story, 'doubles', 1, 'failed')
  const told = await story.events('doubles', 'cycle_broken')
  const broken = told.reduce((sum, event) => sum + (event['count'] as number), 0)
  const executions = story.node('doubles', 'n').executions
  assert.equal(broken, 2 * executions - limits.BACK_EDGE_WAVES)
  assert.ok(told.length < 100, `${told.length} events`)
})

const never = code(
  'stuck',
  'export default async ({ x }, ctx) => { ctx.emit({ begun: x }); ctx.signal.addEventListener("abort", () => { globalThis.told_to_end = true }); await new Promise(() => {}) }',
  [input('x', 'int')],
  [output('begun', 'int')],
)
const endless = code(
  'endless',
  'export default function* ({ begun }) { for (let i = 1; ; i++) yield { i } }',
  [input('begun', 'int')],
  [output('i', 'int')],
)
const leads = code('leads', 'export default ({ y }) => ({ x: y })', [input('y', 'int')], [output('x', 'int')])
const follows = (from: string) =>
  code('follows', 'export default ({ x }) => ({ z: x })', [input('x', 'int', { message: from })], [output('z', 'int')])

test('a disabled flow is free: what runs is over, what waits is kept, and flows that lead to it go on', async () => {
  const story = new Story(live.engine)
  await story.save('before', flow([leads], int('y')))
  const own = code('own', 'export default ({ w }) => ({ x: w })', [input('w', 'int')], [output('x', 'int')])
  await story.save('held', flow([own, never, endless, follows('before.x')], int('w')))
  story.publish('held.x', 0)
  await story.reaches('held.i', 100)
  let accepted = 1
  const full = story.refusal(() => {
    for (; accepted < 100_000; accepted++) story.publish('held.x', accepted)
  })
  assert.equal(full.code, 'backlogged')
  assert.equal(story.refusal(() => story.publish('before.y', 1)).code, 'backlogged')
  await live.engine.flows.setEnabled('held', false, 'tests')
  const flying = async () => (await live.engine.observe.summary()).cascades.in_flight
  await eventually(async () => (await flying()) === 0, 'nothing of it is in flight')
  const reached = story.version('held.i')
  story.publish('before.y', 1)
  await story.reaches('before.x', 1)
  assert.equal(story.version('held.i'), reached, 'its generator has ended')
  const statuses = async () => (await story.cascades('held')).map(({ status }) => status)
  await eventually(async () => (await statuses()).every(status => status === 'interrupted'), 'all are interrupted')
  const begun = live.engine.flows.get('held').backlog.waiting
  assert.ok(begun > 0 && begun < accepted, `${begun} of ${accepted} wait`)
  // Enabled again it goes on with what waited.
  await live.engine.flows.setEnabled('held', true, 'tests')
  await story.reaches('held.i', reached + 100)
  await live.engine.flows.setEnabled('held', false, 'tests')
})

test('a purge drops what waits, with its number, and what runs goes on', async () => {
  const story = new Story(live.engine)
  const gate = new Gate(live.data_dir, 'purge')
  const slow = code(
    'slow',
    `${gate.source}export default async ({ x }, ctx) => { ctx.emit({ begun: x }); await opened(); return { y: x } }`,
    [input('x', 'int')],
    [output('begun', 'int'), output('y', 'int')],
  )
  await story.save('purged', flow([slow], int('x')))
  const before = await story.dropped('purged')
  for (let x = 1; x <= 3_000; x++) story.publish('purged.x', x)
  await story.reaches('purged.begun', 1)
  const { dropped } = await live.engine.flows.purge('purged', 'tests')
  assert.equal(dropped, 2_999)
  await eventually(() => live.engine.flows.get('purged').backlog.waiting === 0, 'nothing waits')
  gate.open()
  await story.becomes('purged.y', 1)
  await eventually(async () => (await story.dropped('purged')) === before + dropped, 'they are counted')
  const [event] = await story.events('purged', 'flow_purged')
  assert.deepEqual([event!['dropped'], event!['by']], [2_999, 'tests'])
  // What had begun and waited for its node is recorded as interrupted; the rest had not begun.
  const statuses = async () => (await story.cascades('purged')).map(({ status }) => status).sort()
  await eventually(async () => (await statuses()).at(-1) === 'succeeded', 'the one that ran has ended')
  assert.ok((await statuses()).slice(0, -1).every(status => status === 'interrupted'))
  // The next value runs, and the values that were dropped stand.
  story.publish('purged.x', 4_000)
  await story.becomes('purged.y', 4_000)
  assert.equal(story.version('purged.y'), 2)
})

test('a purge works on a disabled flow and under load', async () => {
  const story = new Story(live.engine)
  const blocks =
    'export default ({ x }) => { const until = Date.now() + 1; while (Date.now() < until); return { y: x } }'
  await story.save('loaded', flow([code('y', blocks, [input('x', 'int')], [output('y', 'int')])], int('x')))
  let accepted = 0
  let dropped = 0
  for (let round = 0; round < 5; round++) {
    for (let x = 0; x < 500; x++) accepted = await story.publishPatiently('loaded.x', x)
    if (round === 3) await live.engine.flows.setEnabled('loaded', false, 'tests')
    dropped += (await live.engine.flows.purge('loaded', 'tests')).dropped
    if (round === 3) {
      assert.equal(live.engine.flows.get('loaded').backlog.waiting, 0)
      await live.engine.flows.setEnabled('loaded', true, 'tests')
    }
  }
  const ran = () => story.node('loaded', 'y').executions
  // A cascade that had begun when the flow was disabled, and whose body had not run.
  const interrupted = async () =>
    (await story.cascades('loaded', 'interrupted')).filter(({ executions }) => executions === 0).length
  await eventually(
    async () => ran() + dropped + (await interrupted()) === accepted,
    'accepted = ran + dropped + interrupted',
  )
  assert.ok(dropped > 0)
})
