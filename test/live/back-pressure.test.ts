import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { limits } from '../../protocol/limits.ts'
import { FlowsClient } from '../kit/flows-client.ts'
import { eventually, liveEngine, sharedEngine } from '../kit/live-engine.ts'
import { code, flow, Gate, inject, input, output, Story } from '../kit/live-story.ts'

const live = sharedEngine({ FLOW_LANES: '2' }, { degraded_after_ms: 300 })

const BOUND = limits.FLOW_WAITING_ITEMS
const HARD = BOUND * limits.FLOW_WAITING_HARD_FACTOR
const int = (message: string) => ({ message, dtype: 'int' as const })
const y = output('y', 'int')

/** A body that waits at the gate, asynchronously: what is published meanwhile waits behind it. */
const holding = (gate: Gate, from = 'x') =>
  code(
    'hold',
    `${gate.source}export default async ({ x }, ctx) => { ctx.emit({ begun: x }); await opened(); return { y: x } }`,
    [input('x', 'int', { message: from })],
    [output('begun', 'int'), y],
  )
const passing = (from = 'x') =>
  code(
    'pass',
    'export default ({ x }) => ({ passed: x })',
    [input('x', 'int', { message: from })],
    [output('passed', 'int')],
  )

/** One stands at the gate, and behind it as much is published as is accepted; answers how many those are, and the refusal. */
async function fill(story: Story, name: string) {
  story.publish(`${name}.x`, 0)
  await story.reaches(`${name}.begun`, 1)
  await eventually(() => story.engine.flows.get(name).backlog.waiting === 0, 'only it has begun')
  let accepted = 0
  const refusal = story.refusal(() => {
    for (; accepted < 2 * HARD; accepted++) story.publish(`${name}.x`, accepted)
  })
  return { accepted, refusal }
}

test('at its bound a flow refuses what comes from outside, with a time to wait, and so does every flow that leads to it', async () => {
  const story = new Story(live.engine)
  const gate = new Gate(live.data_dir, 'bound')
  await story.save('first', flow([passing()], int('x')))
  await story.save('middle', flow([passing('first.passed')]))
  await story.save('slow', flow([holding(gate), passing('middle.passed')], int('x')))
  await story.save('aside', flow([passing()], int('x')))
  const { accepted, refusal } = await fill(story, 'slow')
  assert.equal(refusal.code, 'backlogged')
  assert.ok(refusal.retry_after_s! > 0)
  assert.match(refusal.detail, /The queue of flow "slow" is full/)
  assert.equal(accepted, BOUND)
  assert.equal(story.version('slow.x'), BOUND + 1)
  for (const message of ['first.x', 'first.passed', 'middle.passed']) {
    const { code, detail } = story.refusal(() => story.publish(message, 2))
    assert.deepEqual([code, /"slow"/.test(detail)], ['backlogged', true], message)
    assert.equal(story.version(message), 0)
  }
  story.publish('aside.x', 1)
  // Over HTTP and on a socket it is the same.
  const token = readFileSync(`${live.data_dir}/token`, 'utf8').trim()
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const answer = await fetch(`${live.url}/messages/first.x`, { method: 'POST', headers, body: '{"value":1}' })
  assert.deepEqual([answer.status, answer.headers.get('retry-after')], [503, '1'])
  assert.equal(((await answer.json()) as { code: string }).code, 'backlogged')
  const client = await FlowsClient.connect(Number(new URL(live.url).port), token)
  const frame = await client.publish('first.x', 1)
  assert.deepEqual([frame['type'], (frame['problem'] as { code: string }).code], ['error', 'backlogged'])
  client.close()
  // It shows: the fullest flow first.
  const [fullest] = (await live.engine.observe.summary()).backlog
  assert.deepEqual([fullest!.flow, fullest!.share >= 1], ['slow', true])
  assert.equal(story.issue('slow', 'backlog')!.advisory, true)
  gate.open()
  await story.reaches('slow.y', BOUND + 1)
  story.publish('first.x', 3)
  await story.becomes('slow.passed', 3)
  assert.equal(story.issue('slow', 'backlog'), undefined)
  assert.deepEqual((await live.engine.observe.summary()).backlog, [])
  await story.becomes('aside.passed', 1)
})

test('a flow of large values refuses what comes from outside when those that have begun are at its bound, and all that it took runs', async () => {
  const story = new Story(live.engine)
  const gate = new Gate(live.data_dir, 'bytes')
  const tell = code('tell', 'export default () => ({ begun: 1 })', [input('x', 'str')], [output('begun', 'int')])
  const source = `${gate.source}export default async ({ x }) => { await opened(); return { y: x.length } }`
  const hold = code('hold', source, [input('x', 'str')], [y])
  await story.save('large', flow([tell, hold], { message: 'x', dtype: 'str' }))
  const value = 'x'.repeat(limits.MESSAGE_VALUE_BYTES)
  const most = limits.FLOW_WAITING_BYTES / limits.MESSAGE_VALUE_BYTES
  let accepted = 0
  for (; accepted < most; accepted++) {
    story.publish('large.x', value)
    await story.reaches('large.begun', accepted + 1)
  }
  assert.equal(story.refusal(() => story.publish('large.x', value)).code, 'backlogged')
  gate.open()
  await story.reaches('large.y', accepted)
})

test('a flow full of cascades that wait does not keep other flows from running', async () => {
  const story = new Story(live.engine)
  const gate = new Gate(live.data_dir, 'full')
  await story.save('full', flow([holding(gate)], int('x')))
  await story.save('free', flow([passing()], int('x')))
  await fill(story, 'full')
  await eventually(async () => (await live.engine.observe.summary()).cascades.in_flight > 100, 'many are in flight')
  try {
    story.publish('free.x', 1)
    await story.becomes('free.passed', 1)
  } finally {
    gate.open()
  }
  await story.reaches('full.y', BOUND + 1)
})

test('a list is refused whole when a part of it would pass the bound', async () => {
  const story = new Story(live.engine)
  const gate = new Gate(live.data_dir, 'list')
  await story.save('narrow', flow([holding(gate)], int('x')))
  await story.save('wide', flow([passing()], int('x')))
  for (let value = 0; value < BOUND - 50; value++) story.publish('narrow.x', value)
  const before = [story.version('narrow.x'), story.version('wide.x')]
  const list = [{ name: 'wide.x', value: 1 }, ...Array.from({ length: 100 }, () => ({ name: 'narrow.x', value: 1 }))]
  assert.equal(story.refusal(() => live.engine.messages.publish(list)).code, 'backlogged')
  assert.deepEqual([story.version('narrow.x'), story.version('wide.x')], before)
  live.engine.messages.publish(list.slice(0, 20))
  assert.equal(story.version('wide.x'), before[1]! + 1)
  gate.open()
  await story.reaches('narrow.y', story.version('narrow.x'))
})

test('a flow near its bound for a while degrades the engine: the event names it, and another one says that it is over', async () => {
  const story = new Story(live.engine)
  const gate = new Gate(live.data_dir, 'degraded')
  await story.save('heavy', flow([holding(gate)], int('x')))
  const near = Math.ceil(BOUND * limits.FLOW_PRESSURE_DEGRADED) + 10
  for (let value = 0; value < near; value++) story.publish('heavy.x', value)
  const [degraded] = await story.events('heavy', 'engine_degraded')
  assert.ok((degraded!['share'] as number) >= limits.FLOW_PRESSURE_DEGRADED)
  // A save meanwhile neither repeats it nor forgets it.
  await story.save('heavy', flow([holding(gate), passing()], int('x')))
  gate.open()
  await story.reaches('heavy.y', near)
  await story.events('heavy', 'engine_recovered')
  assert.equal((await story.events('heavy', 'engine_degraded')).length, 1)
})

test('what nodes publish inside goes to four times the bound; beyond it is dropped, with a number, an issue and an event', async () => {
  const story = new Story(live.engine)
  const gate = new Gate(live.data_dir, 'hard')
  const burst = 'export default function* ({ n }) { for (let i = 1; i <= n; i++) yield { item: i } }'
  await story.save('source', flow([code('burst', burst, [input('n', 'int')], [output('item', 'int')])], int('n')))
  await story.save('sink', flow([holding(gate, 'source.item')]))
  const before = await story.dropped('hard_cap')
  const published = HARD + 3_000
  story.publish('source.n', published)
  await story.reaches('source.item', published)
  await eventually(async () => (await story.dropped('hard_cap')) > before, 'some are dropped')
  await story.shows('sink', 'child_dropped')
  gate.open()
  const ran = () => story.node('sink', 'hold').executions
  const dropped = async () => (await story.dropped('hard_cap')) - before
  await eventually(async () => ran() + (await dropped()) === published, 'each one has run or is counted')
  assert.ok(ran() >= HARD && ran() <= HARD + 2, `${ran()} ran`)
  const counted = (await story.events('sink', 'values_dropped')).filter(event => event['reason'] === 'hard_cap')
  assert.equal(
    counted.reduce((sum, event) => sum + (event['count'] as number), 0),
    await dropped(),
  )
})

test('an inject into a full flow is counted, with an issue, and goes on when there is room', async () => {
  const story = new Story(live.engine)
  const gate = new Gate(live.data_dir, 'inject')
  await story.save('beat', flow([inject('tick', { every_s: 0.01, value: 1 }, output('x', 'int')), holding(gate)]))
  // Not by `fill`: between the first tick and the second there may be no moment at which nothing waits.
  await story.reaches('beat.begun', 1)
  story.refusal(() => {
    for (let value = 0; value < 2 * HARD; value++) story.publish('beat.x', value)
  })
  await story.shows('beat', 'inject_refused')
  assert.ok((await story.dropped('inject_refused')) > 0)
  gate.open()
  await story.reaches('beat.y', BOUND)
  const reached = story.version('beat.x')
  await story.reaches('beat.x', reached + 2)
})

test('waiting values count by their bytes as well as by their number', async t => {
  const { engine, data_dir } = await liveEngine(t, { FLOW_MAX_CASCADES: '2' })
  const story = new Story(engine)
  const gate = new Gate(data_dir)
  const source = `${gate.source}export default async ({ text }) => { await opened(); return { y: text.length } }`
  await story.save(
    'large',
    flow([code('hold', source, [input('text', 'str')], [y])], { message: 'text', dtype: 'str' }),
  )
  const text = 'x'.repeat(limits.MESSAGE_VALUE_BYTES - 1024)
  let accepted = 0
  const refusal = story.refusal(() => {
    for (; accepted < 1_000; accepted++) story.publish('large.text', text)
  })
  assert.equal(refusal.code, 'backlogged')
  const bound = limits.FLOW_WAITING_BYTES / text.length
  assert.ok(accepted >= bound && accepted <= bound + 4, `${accepted} accepted`)
  gate.open()
  await story.reaches('large.y', accepted)
})

test('no more cascades are in flight than FLOW_MAX_CASCADES; the others wait in their queues and all run', async t => {
  const { engine, data_dir } = await liveEngine(t, { FLOW_MAX_CASCADES: '3', FLOW_LANES: '2' })
  const story = new Story(engine)
  const gate = new Gate(data_dir)
  const names = ['a', 'b', 'c', 'd']
  for (const name of names) await story.save(name, flow([holding(gate)], int('x')))
  for (const value of [1, 2, 3]) for (const name of names) story.publish(`${name}.x`, value)
  const inFlight = async () => (await engine.observe.summary()).cascades
  await eventually(async () => (await inFlight()).in_flight >= 3, 'three are in flight')
  assert.equal((await inFlight()).limit, 3)
  const waiting = () => names.reduce((sum, name) => sum + engine.flows.get(name).backlog.waiting, 0)
  assert.ok(waiting() >= 12 - 2 * 3, `${waiting()} wait`)
  gate.open()
  for (const name of names) assert.deepEqual(await story.values(`${name}.y`, 3), [1, 2, 3], name)
  await eventually(async () => (await inFlight()).in_flight === 0, 'none is in flight')
})
