import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import type { FlowNode } from '../../protocol/nouns/flow-document.ts'
import type { LiveEngine } from '../../server/live-engine.ts'
import { BatchStory } from '../kit/batch-story.ts'
import { eventually, liveEngine, sharedEngine } from '../kit/live-engine.ts'
import { code, flow, Gate, inject, input, output, refused } from '../kit/live-story.ts'

const live = sharedEngine({ FLOW_MAX_WORKERS: '3', FLOW_MAX_RUNS: '2' }, { call_grace_ms: 100 })

const add = (): FlowNode =>
  code(
    'add',
    'export default ({ a, b }) => ({ total: a + b })',
    [input('a', 'int'), input('b', 'int')],
    [output('total', 'int')],
  )
const twice = (): FlowNode =>
  code(
    'double',
    'export default ({ total }) => ({ twice: 2 * total })',
    [input('total', 'int')],
    [output('twice', 'int')],
  )
const source = (text: string): FlowNode =>
  code('body', text, [input('x', 'int')], [output('y', 'json')], { cache: false })

test('a run executes a flow once on its inputs and records what came of it', async () => {
  const story = new BatchStory(live.engine)
  const saved = await story.save(
    'sum',
    flow([add(), twice()], { message: 'a', dtype: 'int' }, { message: 'b', dtype: 'int', default: 5 }),
  )
  const run = await story.runs('sum', { inputs: { a: 2 }, cause: 'sdk', group: 'g', timeout: 60 })
  assert.deepEqual([run.status, run.result, run.terminal], ['succeeded', { total: 7, twice: 14 }, ['twice']])
  assert.deepEqual([run.inputs, run.inputs_resolved], [{ a: 2 }, { a: 2, b: 5 }])
  assert.deepEqual([run.commit, run.version, run.cause, run.group, run.timeout], [saved.commit, 1, 'sdk', 'g', 60])
  assert.ok(run.created_at <= run.started_at! && run.started_at! <= run.finished_at!)
  const rows = await story.nodes(run.id)
  assert.deepEqual(
    rows.map(row => [row.node, row.status, row.executions, row.emissions, row.outputs]),
    [
      ['add', 'succeeded', 1, 1, { 'sum.total': 7 }],
      ['double', 'succeeded', 1, 1, { 'sum.twice': 14 }],
    ],
  )
  const events = await live.engine.observe.events({
    limit: 10,
    offset: 0,
    run: run.id,
    flow: null,
    type: null,
    since_us: null,
    until_us: null,
  })
  assert.deepEqual(
    events.items.map(event => [event.type, event.run]),
    [
      ['run_finished', run.id],
      ['run_started', run.id],
      ['run_created', run.id],
    ],
  )
})

test('a run touches no live value, and no live value touches it', async () => {
  const story = new BatchStory(live.engine)
  await story.save('apart', flow([add()], { message: 'a', dtype: 'int' }, { message: 'b', dtype: 'int', default: 1 }))
  live.engine.messages.publish([{ name: 'apart.a', value: 100 }])
  await eventually(() => live.engine.messages.get('apart.total').value === 101, 'the live flow has run')
  const run = await story.runs('apart', { inputs: { a: 1 } })
  assert.deepEqual(run.result, { total: 2 })
  assert.deepEqual(
    [live.engine.messages.get('apart.total').value, live.engine.messages.get('apart.total').version],
    [101, 1],
  )
})

test('inputs are checked before a run is accepted, each named', async () => {
  const story = new BatchStory(live.engine)
  await story.save('checks', flow([add()], { message: 'a', dtype: 'int' }))
  const refusal = await story.create('checks', { inputs: { a: 'one', c: 1 } }).then(
    () => null,
    error => error,
  )
  assert.deepEqual(
    [refusal.code, refusal.errors.map((place: { loc: string }) => place.loc).sort()],
    ['bad_input', ['body.inputs.a', 'body.inputs.b', 'body.inputs.c']],
  )
  assert.equal(await refused(story.create('nothing')), 'flow_not_found')
})

test('an input may be what another run made', async () => {
  const story = new BatchStory(live.engine)
  await story.save('makes', flow([add()], { message: 'a', dtype: 'int' }, { message: 'b', dtype: 'int' }))
  const first = await story.runs('makes', { inputs: { a: 3, b: 4 } })
  const second = await story.runs('makes', { inputs: { a: `@run:${first.id}.total`, b: 1 } })
  assert.deepEqual([second.result, second.inputs['a']], [{ total: 8 }, `@run:${first.id}.total`])
  assert.equal(await refused(story.create('makes', { inputs: { a: `@run:${first.id}.nothing`, b: 1 } })), 'bad_input')
  const short = first.id.slice(first.id.lastIndexOf('-') + 1)
  const third = await story.runs('makes', { inputs: { a: `@run:${short}.total`, b: 2 } })
  assert.deepEqual(
    [third.result, third.inputs['a']],
    [{ total: 9 }, `@run:${first.id}.total`],
    'its inputs name it whole',
  )
  for (const text of [first.id.slice(0, 3), 'ffffffff'])
    assert.equal(await refused(story.create('makes', { inputs: { a: `@run:${text}.total`, b: 1 } })), 'bad_input')
  const ambiguous = story.create('makes', { inputs: { a: `@run:${first.id.slice(0, 6)}.total`, b: 1 } })
  const refusal = await ambiguous.then(
    () => assert.fail('it was taken'),
    error => JSON.stringify(error.errors),
  )
  for (const { id } of [first, second, third]) assert.match(refusal, new RegExp(id))
  const unknown = first.id.replace(/.$/, digit => (digit === '0' ? '1' : '0'))
  assert.equal(await refused(story.create('makes', { inputs: { a: `@run:${unknown}.total`, b: 1 } })), 'bad_input')
})

test('a seed reaches an input of that name, and is recorded in any case', async () => {
  const story = new BatchStory(live.engine)
  const node = code(
    'n',
    'export default ({ seed }) => ({ out: seed * 2 })',
    [input('seed', 'int')],
    [output('out', 'int')],
  )
  await story.save('seeded', flow([node], { message: 'seed', dtype: 'int', default: 1 }))
  const run = await story.runs('seeded', { seed: 21 })
  assert.deepEqual([run.seed, run.result, run.inputs_resolved], [21, { out: 42 }, { seed: 21 }])
  await story.save('unseeded', flow([source('export default ({ x }) => ({ y: x })')], { message: 'x', dtype: 'int' }))
  const other = await story.runs('unseeded', { seed: 3, inputs: { x: 1 } })
  assert.deepEqual([other.seed, other.result], [3, { y: 1 }])
})

test('every emission of a generator goes on, in order, and the result holds the last', async () => {
  const story = new BatchStory(live.engine)
  await story.save(
    'many',
    flow(
      [
        code(
          'count',
          'export default async function* ({ n }) { for (let at = 1; at <= n; at++) yield { item: at } }',
          [input('n', 'int')],
          [output('item', 'int')],
        ),
        code(
          'gather',
          'export default ({ item }, ctx) => { (ctx.state.all ??= []).push(item); return { all: ctx.state.all } }',
          [input('item', 'int')],
          [output('all')],
        ),
      ],
      { message: 'n', dtype: 'int' },
    ),
  )
  const run = await story.runs('many', { inputs: { n: 200 } })
  assert.deepEqual(run.result, { item: 200, all: Array.from({ length: 200 }, (_, at) => at + 1) })
  const [count, gather] = await story.nodes(run.id)
  assert.deepEqual([count!.executions, count!.emissions, gather!.executions, gather!.emissions], [1, 200, 200, 200])
})

test('nodes that read nothing, and injects, begin by themselves', async () => {
  const story = new BatchStory(live.engine)
  await story.save(
    'sources',
    flow([
      code('make', 'export default () => ({ a: 4 })', [], [output('a', 'int')]),
      inject('tell', { once: true, value: 6 }, output('b', 'int')),
      add(),
    ]),
  )
  const run = await story.runs('sources')
  assert.deepEqual(run.result, { a: 4, b: 6, total: 10 })
  assert.deepEqual(await story.statuses(run.id), { make: 'succeeded', tell: 'succeeded', add: 'succeeded' })
})

test('a body that throws fails the run, names itself, and other branches go on', async () => {
  const story = new BatchStory(live.engine)
  await story.save(
    'fails',
    flow(
      [
        code(
          'bad',
          'export default () => { throw new TypeError("no way") }',
          [input('x', 'int')],
          [output('lost', 'int')],
        ),
        code(
          'after',
          'export default ({ lost }) => ({ never: lost })',
          [input('lost', 'int')],
          [output('never', 'int')],
        ),
        code('good', 'export default ({ x }) => ({ kept: x })', [input('x', 'int')], [output('kept', 'int')]),
      ],
      { message: 'x', dtype: 'int' },
    ),
  )
  const run = await story.runs('fails', { inputs: { x: 1 } })
  assert.deepEqual(
    [run.status, run.error!.code, run.error!.node, run.result],
    ['failed', 'node_error', 'bad', { kept: 1 }],
  )
  assert.match(run.error!.message, /no way/)
  assert.deepEqual(await story.statuses(run.id), { bad: 'failed', after: 'skipped', good: 'succeeded' })
})

test('a queued run that is cancelled never starts; a running one ends when its body has', async () => {
  const story = new BatchStory(live.engine)
  const gate = new Gate(live.data_dir, 'cancel')
  const held = `${gate.source}export default async ({ x }, ctx) => { await Promise.race([opened(), new Promise(go => ctx.signal.addEventListener('abort', go))]); return { y: x } }`
  await story.save('held', flow([source(held)], { message: 'x', dtype: 'int' }))
  const runs = []
  for (const x of [1, 2, 3]) runs.push(await story.create('held', { inputs: { x } }))
  const [first, second, third] = runs as [(typeof runs)[0], (typeof runs)[0], (typeof runs)[0]]
  await story.until(second!.id, run => run.status === 'running', 'runs')
  assert.equal((await live.engine.runs.get(third!.id)).status, 'queued')
  assert.equal(await refused(live.engine.flows.remove('held', 'tests')), 'flow_has_live_run')
  const cancelled = await live.engine.runs.cancel(third!.id, 'tests')
  assert.deepEqual([cancelled.status, cancelled.started_at], ['cancelled', null])
  assert.equal((await live.engine.runs.cancel(second!.id, 'tests')).status, 'running')
  const ended = await story.ended(second!.id)
  assert.deepEqual([ended.status, ended.error!.code], ['cancelled', 'cancelled'])
  assert.deepEqual(await story.statuses(second!.id), { body: 'cancelled' })
  gate.open()
  assert.equal((await story.ended(first!.id)).status, 'succeeded')
  assert.equal(await refused(live.engine.runs.cancel(first!.id, 'tests')), 'run_ended')
  await live.engine.flows.remove('held', 'tests')
})

test('a body that hears nothing is ended after the grace, and so is its run', async () => {
  const story = new BatchStory(live.engine)
  await story.save('deaf', flow([source('export default () => { for (;;); }')], { message: 'x', dtype: 'int' }))
  const run = await story.create('deaf', { inputs: { x: 1 } })
  await eventually(async () => (await story.statuses(run.id))['body'] === 'running', 'the body runs')
  await live.engine.runs.cancel(run.id, 'tests')
  assert.equal((await story.ended(run.id)).status, 'cancelled')
  const slow = await story.runs('deaf', { inputs: { x: 2 }, timeout: 0.05 })
  assert.deepEqual([slow.status, slow.error!.code], ['failed', 'timeout'])
})

test('the timeout of a node limits its body alone', async () => {
  const story = new BatchStory(live.engine)
  const node = {
    ...source('export default async () => { await new Promise(() => setInterval(() => {}, 1000)) }'),
    timeout: 0.05,
  }
  await story.save('limited', flow([node], { message: 'x', dtype: 'int' }))
  const run = await story.runs('limited', { inputs: { x: 1 } })
  assert.deepEqual([run.status, run.error!.code, run.error!.node], ['failed', 'timeout', 'body'])
})

test('a retry runs the flow as it stands now on the inputs as they were', async () => {
  const story = new BatchStory(live.engine)
  const failing = flow([source('export default () => { throw new Error("still broken") }')], {
    message: 'x',
    dtype: 'int',
  })
  await story.save('mended', failing)
  const run = await story.runs('mended', { inputs: { x: 9 }, group: 'night', tags: ['a'], note: 'n', seed: 4 })
  assert.equal(run.status, 'failed')
  await story.save('mended', flow([source('export default ({ x }) => ({ y: x })')], { message: 'x', dtype: 'int' }))
  const retried = await live.engine.runs.retry(run.id, 'tests')
  assert.deepEqual([retried.retry_of, retried.attempt, retried.group, retried.seed], [run.id, 2, 'night', 4])
  assert.deepEqual([retried.tags, retried.note], [['a'], ''], 'tags go on, the note was about the run')
  assert.deepEqual((await story.ended(retried.id)).result, { y: 9 })
})

test('one key, one run: a repeat answers the first, and says so when its inputs differ', async () => {
  const story = new BatchStory(live.engine)
  await story.save('keyed', flow([source('export default ({ x }) => ({ y: x })')], { message: 'x', dtype: 'int' }))
  const { runs } = live.engine
  const given = [1, 1, 2]
  const made = await Promise.all(given.map(x => runs.create('keyed', { inputs: { x }, idempotency_key: 'k' }, 'tests')))
  assert.equal(new Set(made.map(({ run }) => run.id)).size, 1)
  // Whichever of them came first.
  assert.equal(made.filter(({ replayed }) => !replayed).length, 1)
  const { x: first } = (await runs.get(made[0]!.run.id)).inputs
  assert.deepEqual(
    made.map(({ mismatch }) => mismatch),
    given.map(x => x !== first),
  )
  const other = await runs.create('keyed', { inputs: { x: 1 }, idempotency_key: 'k' }, 'somebody else')
  assert.equal(other.replayed, false)
})

test('a repeat of a key answers its run whatever has become of the inputs since', async () => {
  const story = new BatchStory(live.engine)
  const body = source('export default ({ x }) => ({ y: x })')
  await story.save('repeated', flow([body], { message: 'x', dtype: 'int' }))
  const { runs } = live.engine
  const repeat = (inputs: Record<string, unknown>) =>
    runs.create('repeated', { inputs, idempotency_key: 'k', group: 'later' }, 'tests')
  const { run } = await repeat({ x: 1 })
  await story.ended(run.id)
  const moved = { ...body, ports: { ...body.ports, inputs: [input('z', 'int')] } }
  await story.save('repeated', flow([moved], { message: 'z', dtype: 'int' }))
  const again = await repeat({ x: 1 })
  assert.deepEqual([again.run.id, again.replayed, again.mismatch], [run.id, true, false])
  const other = await repeat({ x: 2 })
  assert.deepEqual([other.run.id, other.mismatch], [run.id, true])
  const fresh = runs.create('repeated', { inputs: { x: 1 }, idempotency_key: 'new' }, 'tests')
  assert.equal(await refused(fresh), 'bad_input')
})

test('what a run would execute is told by its content and the code around it, not by where nodes are drawn', async () => {
  const story = new BatchStory(live.engine)
  const body = source('export default ({ x }) => ({ y: x })')
  const { runs } = live.engine
  const saved = async (node: FlowNode) => {
    const { commit, version } = await story.save('told', flow([node], { message: 'x', dtype: 'int' }))
    const told = await runs.runnable('told')
    assert.deepEqual([told.flow, told.commit, told.version, told.code_digest], ['told', commit, version, null])
    return told.content_digest
  }
  const first = await saved(body)
  assert.equal(await saved({ ...body, position: { x: 5, y: 6 } }), first)
  assert.notEqual(await saved({ ...body, settings: { window: 12 } }), first)
  assert.equal(await refused(runs.runnable('nothing')), 'flow_not_found')
})

test('a queued run executes the flow as it was when it was created', async () => {
  const story = new BatchStory(live.engine)
  const gate = new Gate(live.data_dir, 'pinned')
  const held = `${gate.source}export default async ({ x }) => { await opened(); return { y: x } }`
  await story.save('blocks', flow([source(held)], { message: 'x', dtype: 'int' }))
  for (const x of [1, 2]) await story.create('blocks', { inputs: { x } })
  await story.save('pinned', flow([source('export default ({ x }) => ({ y: x })')], { message: 'x', dtype: 'int' }))
  const run = await story.create('pinned', { inputs: { x: 5 } })
  await story.save('pinned', flow([source('export default ({ x }) => ({ y: -x })')], { message: 'x', dtype: 'int' }))
  gate.open()
  assert.deepEqual([(await story.ended(run.id)).result, run.version], [{ y: 5 }, 1])
})

test('metrics are kept by flow, node, name and step', async () => {
  const story = new BatchStory(live.engine)
  const text = `export default (_, ctx) => {
    for (let step = 0; step < 700; step++) ctx.metric('loss', 1 / (step + 1))
    ctx.metric('best', 3, 10)
    return { y: 1 }
  }`
  await story.save('curves', flow([source(text)], { message: 'x', dtype: 'int' }))
  const run = await story.runs('curves', { inputs: { x: 1 } })
  assert.equal(run.status, 'succeeded')
  const all = { flow: 'curves', group: null, status: null, since: null, before: null }
  assert.deepEqual((await live.engine.runs.metricNames(all)).names, ['curves.body.best', 'curves.body.loss'])
  const none = { ...all, flow: null }
  const { items } = await live.engine.runs.series({
    ...none,
    run: run.id,
    name: null,
    stride: 100,
    offset: 0,
    limit: 1000,
  })
  assert.deepEqual(
    items.map(({ name, steps }) => [name, steps]),
    [
      ['curves.body.best', [10]],
      ['curves.body.loss', [0, 100, 200, 300, 400, 500, 600]],
    ],
  )
  assert.equal(items[1]!.values[1], 1 / 101)
})

test('a body that gives points faster than they are written loses none of them, in a slot and in a process', async () => {
  const story = new BatchStory(live.engine)
  const count = 50_000
  const text = `export default (_, ctx) => {
    for (let step = 0; step < ${count}; step++) ctx.metric('loss', step)
    return { y: 1 }
  }`
  for (const isolation of [null, 'process'] as const) {
    await story.save('floods', flow([{ ...source(text), isolation }], { message: 'x', dtype: 'int' }))
    const run = await story.runs('floods', { inputs: { x: 1 } })
    assert.deepEqual([run.status, run.error], ['succeeded', null])
    const none = { flow: null, group: null, status: null, since: null, before: null }
    const asked = { ...none, run: run.id, name: 'floods.body.loss', stride: 100, offset: 0, limit: 1000 }
    const [curve] = (await live.engine.runs.series(asked)).items
    assert.deepEqual([curve!.steps.length, curve!.values.at(-1)], [count / 100, count - 100])
    assert.deepEqual(
      (await story.nodes(run.id)).map(node => node.metrics_dropped),
      [0],
    )
  }
})

test('runs that were running when the engine ended have failed, and queued ones run at the next start', async t => {
  const own = await liveEngine(t, { FLOW_MAX_RUNS: '1' }, { call_grace_ms: 50 })
  const story = new BatchStory(own.engine)
  const gate = new Gate(own.data_dir, 'restart')
  const held = `${gate.source}export default async ({ x }) => { await opened(); return { y: x } }`
  await story.save('held', flow([source(held)], { message: 'x', dtype: 'int' }))
  const running = await story.create('held', { inputs: { x: 1 } })
  const queued = await story.create('held', { inputs: { x: 2 } })
  await story.until(running.id, run => run.status === 'running', 'runs')
  const next = await own.restart()
  const after = new BatchStory(next.engine)
  const lost = await after.ended(running.id)
  assert.deepEqual([lost.status, lost.error!.code], ['failed', 'engine_restarted'])
  gate.open()
  assert.deepEqual((await after.ended(queued.id)).result, { y: 2 })
})

test('an engine that ends waits for no body: runs that hear nothing and runs that wait for a slot have failed alike', async t => {
  // A grace that nobody would sit out.
  const own = await liveEngine(t, { FLOW_MAX_RUNS: '4', FLOW_MAX_WORKERS: '2' }, { call_grace_ms: 600_000 })
  const story = new BatchStory(own.engine)
  const began = (id: number): string => `${own.data_dir}/began-${id}`
  const endless = `import { writeFileSync } from 'node:fs'
export default ({ x }) => { writeFileSync(${JSON.stringify(`${own.data_dir}/began-`)} + x, ''); for (;;); }`
  await story.save('endless', flow([source(endless)], { message: 'x', dtype: 'int' }))
  const runs = await Promise.all([1, 2, 3, 4].map(x => story.create('endless', { inputs: { x } })))
  for (const { id } of runs) await story.until(id, run => run.status === 'running', 'runs')
  await eventually(() => [1, 2, 3, 4].filter(x => existsSync(began(x))).length === 2, 'both slots are taken')
  const after = new BatchStory((await own.restart()).engine)
  for (const { id } of runs) {
    const { status, error } = await after.ended(id)
    assert.deepEqual([status, error!.code], ['failed', 'engine_restarted'])
  }
  assert.equal([1, 2, 3, 4].filter(x => existsSync(began(x))).length, 2)
})

test('a node holds what it declares while its body runs; who finds no room waits, is told of and listed', async t => {
  const own = await liveEngine(t, { FLOW_CPUS: '2', FLOW_MAX_WORKERS: '3' })
  const story = new BatchStory(own.engine)
  const gate = new Gate(own.data_dir, 'books')
  const held = `${gate.source}export default async ({ x }) => { await opened(); return { y: x } }`
  const node = { ...source(held), resources: { cpus: 2 } }
  await story.save('claims', flow([node], { message: 'x', dtype: 'int' }))
  const first = await story.create('claims', { inputs: { x: 1 } })
  await eventually(async () => (await story.statuses(first.id))['body'] === 'running', 'the first runs')
  const second = await story.create('claims', { inputs: { x: 2 } })
  await eventually(() => (own.engine as LiveEngine).workers.resources().waiting.length === 1, 'the second waits')
  const { machines, waiting } = (own.engine as LiveEngine).workers.resources()
  assert.deepEqual(
    machines[0]!.held.map(({ node, run, cpus }) => [node, run, cpus]),
    [['claims.body', first.id, 2]],
  )
  assert.deepEqual([waiting[0]!.run, waiting[0]!.needs.cpus, waiting[0]!.position], [second.id, 2, 1])
  assert.deepEqual(await story.statuses(second.id), { body: 'queued' })
  gate.open()
  await Promise.all([story.ended(first.id), story.ended(second.id)])
  assert.deepEqual((own.engine as LiveEngine).workers.resources().machines[0]!.held, [])
  const row = await story.node(second.id, 'body')
  assert.deepEqual([row.asked!.cpus, row.granted!.cpus, row.machine], [2, 2, 'local'])
  const events = { limit: 10, offset: 0, flow: null, type: 'node_queued', since_us: null, until_us: null }
  const { items } = await own.engine.observe.events(events)
  assert.deepEqual(
    items.map(event => [event['node'], event.run]),
    [['claims.body', second.id]],
  )
  const greedy = { ...source('export default ({ x }) => ({ y: x })'), resources: { cpus: 64, ram: '1K' } }
  await story.save('greedy', flow([greedy], { message: 'x', dtype: 'int' }))
  const cut = await story.node((await story.runs('greedy', { inputs: { x: 1 } })).id, 'body')
  assert.deepEqual([cut.asked!.cpus, cut.granted!.cpus, cut.status], [64, 2, 'succeeded'])
})
