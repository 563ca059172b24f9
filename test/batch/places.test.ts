import assert from 'node:assert/strict'
import { test } from 'node:test'
import { v7 } from 'uuid'
import { limits } from '../../protocol/limits.ts'
import type { FlowNode } from '../../protocol/nouns/flow-document.ts'
import type { Run } from '../../protocol/nouns/run.ts'
import type { LiveEngine as Whole } from '../../server/live-engine.ts'
import { BatchStory } from '../kit/batch-story.ts'
import { eventually, type LiveEngine, liveEngine, sharedEngine } from '../kit/live-engine.ts'
import { code, flow, Gate, input, output } from '../kit/live-story.ts'

const x = { message: 'x', dtype: 'int' as const }
const CARD = { resources: { gpus: 1 } }

const node = (id: string, source: string, from: string, to: string, more: object = {}): FlowNode =>
  code(id, source, [input(from, 'int')], [output(to, 'int')], { cache: false, ...more })
const quick = 'export default ({ x }) => ({ y: x })'
const behind = (gate: Gate): string =>
  `${gate.source}export default async ({ x }) => { await opened(); return { y: x } }`
const waiting = ({ engine }: LiveEngine): (string | null)[] =>
  (engine as unknown as Whole).workers.resources().waiting.map(({ run }) => run)
const places = ({ engine }: LiveEngine) => engine.runs.places()

const BOUNDS = { call_grace_ms: 50 }
const settings = (max_runs: number) => ({
  FLOW_MAX_RUNS: String(max_runs),
  FLOW_MAX_WORKERS: '4',
  FLOW_GPUS: '1',
  FLOW_CPUS: '4',
})
const one = sharedEngine(settings(1), BOUNDS)
const two = sharedEngine(settings(2), BOUNDS)
const held = ({ engine }: LiveEngine) => (engine as unknown as Whole).workers.resources().machines[0]!.held

/** An engine with one card, which a run or a live node holds behind a gate. */
async function heldCard(live: LiveEngine, by: 'run' | 'live') {
  const story = new BatchStory(live.engine)
  const gate = new Gate(live.data_dir, v7())
  await story.save('held', flow([node('n', behind(gate), 'x', 'y', CARD)], x))
  await story.save('card', flow([node('n', quick, 'x', 'y', CARD)], x))
  await story.save('free', flow([node('n', quick, 'x', 'y')], x))
  const holder = by === 'run' ? await story.create('held', { inputs: { x: 1 } }) : null
  if (by === 'live') live.engine.messages.publish([{ name: 'held.x', value: 1 }])
  await eventually(() => held(live).length === 1, 'the card is held')
  return { live, story, gate, holder }
}

test('runs that wait for a card leave their places to runs that need none', async () => {
  const { live, story, gate, holder } = await heldCard(two, 'run')
  const waiters: Run[] = []
  for (const given of [2, 3, 4]) waiters.push(await story.create('card', { inputs: { x: given } }))
  const other = await story.runs('free', { inputs: { x: 5 } })
  assert.deepEqual([other.status, other.result], ['succeeded', { y: 5 }])
  await eventually(() => waiting(live).length === 3, 'all three stand in the line')
  assert.deepEqual(
    waiting(live),
    waiters.map(({ id }) => id),
    'in the order in which they were created',
  )
  gate.open()
  for (const { id } of [holder!, ...waiters]) assert.equal((await story.ended(id)).status, 'succeeded')
})

test('a run that waits for a worker with a label holds no place', async () => {
  const story = new BatchStory(one.engine)
  await story.save('far', flow([node('n', quick, 'x', 'y', { device: 'rig' })], x))
  await story.save('near', flow([node('n', quick, 'x', 'y')], x))
  const far = await story.create('far', { inputs: { x: 1 } })
  assert.equal((await story.runs('near', { inputs: { x: 2 } })).status, 'succeeded')
  await one.engine.runs.cancel(far.id, 'tests')
  assert.equal((await story.ended(far.id)).status, 'cancelled')
})

test('a run that has its card and no place waits for one, before every queued run', async () => {
  const { live, story, gate } = await heldCard(one, 'live')
  const other = new Gate(live.data_dir, v7())
  await story.save('executes', flow([node('n', behind(other), 'x', 'y')], x))
  const waiter = await story.create('card', { inputs: { x: 1 } })
  const cancelled = await story.create('card', { inputs: { x: 2 } })
  const executes = await story.create('executes', { inputs: { x: 3 } })
  const queued = await story.create('free', { inputs: { x: 4 } })
  await eventually(() => waiting(live).length === 2 && places(live).free === 0, 'both wait, and the third executes')
  await live.engine.runs.cancel(cancelled.id, 'tests')
  assert.equal((await story.ended(cancelled.id)).status, 'cancelled')
  gate.open()
  await eventually(() => places(live).wanting === 1, 'it has the card and wants a place')
  const { status, granted } = await story.node(waiter.id, 'n')
  assert.deepEqual([status, granted?.gpus], ['queued', 1])
  assert.equal((await live.engine.runs.get(queued.id)).status, 'queued')
  other.open()
  const [first, last] = [await story.ended(waiter.id), await story.ended(queued.id)]
  assert.deepEqual([first.result, last.result], [{ y: 1 }, { y: 4 }])
  assert.ok(first.finished_at! <= last.started_at!, 'the one that had begun came first')
  await story.ended(executes.id)
})

test('a run that wants a place and is cancelled gives back what it was granted', async () => {
  const { live, story, gate } = await heldCard(one, 'live')
  const other = new Gate(live.data_dir, v7())
  await story.save('executes', flow([node('n', behind(other), 'x', 'y')], x))
  const waiter = await story.create('card', { inputs: { x: 1 } })
  const executes = await story.create('executes', { inputs: { x: 2 } })
  await eventually(() => waiting(live).length === 1 && places(live).free === 0, 'it waits, and another one executes')
  gate.open()
  await eventually(() => places(live).wanting === 1, 'it has the card and wants a place')
  await live.engine.runs.cancel(waiter.id, 'tests')
  assert.equal((await story.ended(waiter.id)).status, 'cancelled')
  assert.deepEqual(held(live), [])
  other.open()
  await story.ended(executes.id)
  await eventually(() => places(live).free === 1, 'the place is free')
})

test('a run that waits for another one that computes the same holds no place', async () => {
  const { live, story, gate, holder } = await heldCard(two, 'run')
  await story.save('same', flow([node('n', quick, 'x', 'y', { ...CARD, cache: true })], x))
  const leader = await story.create('same', { inputs: { x: 7 } })
  const follower = await story.create('same', { inputs: { x: 7 } })
  await eventually(() => places(live).set_aside === 2, 'both are set aside')
  assert.equal((await story.runs('free', { inputs: { x: 1 } })).status, 'succeeded')
  gate.open()
  for (const { id } of [holder!, leader, follower]) assert.equal((await story.ended(id)).status, 'succeeded')
  assert.equal((await story.node(follower.id, 'n')).cached_from, leader.id)
})

test('a body that is blocked by readers which wait for a card holds no place', async () => {
  const { live, story, gate } = await heldCard(one, 'live')
  const emits = 'export default async function* ({ x }) { for (let at = 0; at < x; at++) yield { y: at } }'
  const reads = 'export default ({ y }) => ({ z: y })'
  await story.save('floods', flow([node('emits', emits, 'x', 'y'), node('reads', reads, 'y', 'z', CARD)], x))
  // It stands before the readers of the flood in the line for the card, and will want the place that the flood has.
  const before = await story.create('card', { inputs: { x: 1 } })
  await eventually(() => waiting(live).length === 1, 'it waits for the card')
  const flood = await story.create('floods', { inputs: { x: limits.FLOW_WAITING_ITEMS + 200 } })
  await eventually(() => places(live).set_aside === 2, 'the flood stands still')
  gate.open()
  assert.equal((await story.ended(before.id)).status, 'succeeded')
  await live.engine.runs.cancel(flood.id, 'tests')
  await story.ended(flood.id)
})

test('runs that had not begun when the engine ended are queued again, and run once', async t => {
  const { live, story, gate, holder } = await heldCard(await liveEngine(t, settings(2), BOUNDS), 'run')
  const waiters = [await story.create('card', { inputs: { x: 2 } }), await story.create('card', { inputs: { x: 3 } })]
  const last = node('b', 'export default ({ y }) => ({ z: y })', 'y', 'z', CARD)
  await story.save('half', flow([node('a', quick, 'x', 'y'), last], x))
  const half = await story.create('half', { inputs: { x: 4 } })
  await eventually(() => waiting(live).length === 3, 'all wait')
  assert.deepEqual(await story.statuses(half.id), { a: 'succeeded', b: 'queued' })
  const after = new BatchStory((await live.restart()).engine)
  gate.open()
  for (const [at, { id }] of waiters.entries()) {
    const run = await after.ended(id)
    assert.deepEqual([run.status, run.result], ['succeeded', { y: at + 2 }])
  }
  for (const { id } of [holder!, half]) {
    const { status, error } = await after.ended(id)
    assert.deepEqual([status, error?.code], ['failed', 'engine_restarted'])
  }
})
