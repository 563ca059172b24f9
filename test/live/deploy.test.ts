import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually, liveEngine } from '../kit/live-engine.ts'
import { code, flow, Gate, input, output, refused, Story } from '../kit/live-story.ts'

const COUNTING = 'export default ({ x }, ctx) => ({ seen: (ctx.state.seen = (ctx.state.seen ?? 0) + 1) })'

test('a cascade in flight finishes on the plan that it began with, and the next one takes the new plan', async t => {
  const { engine, data_dir } = await liveEngine(t)
  const story = new Story(engine)
  const gate = new Gate(data_dir)
  const held = `${gate.source}export default async ({ x }, ctx) => { await ctx.emit({ begun: x }); await opened(); return { passed: x } }`
  const document = (times: number) =>
    flow(
      [
        code('hold', held, [input('x', 'int')], [output('begun', 'int'), output('passed', 'int')]),
        code(
          'scale',
          `export default ({ passed }) => ({ y: passed * ${times} })`,
          [input('passed', 'int')],
          [output('y', 'int')],
        ),
      ],
      { message: 'x', dtype: 'int' },
    )
  await story.save('work', document(10))
  story.publish('work.x', 1)
  await story.becomes('work.begun', 1)
  const saved = await story.save('work', document(100))
  assert.deepEqual([saved.restarted, saved.kept], [['scale'], ['hold']])
  gate.open()
  assert.deepEqual(await story.values('work.y', 1), [10])
  story.publish('work.x', 2)
  assert.deepEqual(await story.values('work.y', 2), [10, 200])
})

test('what waits at a changed node runs on its new body, in order', async t => {
  const { engine, data_dir } = await liveEngine(t)
  const story = new Story(engine)
  const gate = new Gate(data_dir)
  const old = `${gate.source}export default async ({ x }, ctx) => { await ctx.emit({ begun: x }); await opened(); return { y: 'old ' + x } }`
  const document = (source: string) =>
    flow([code('work', source, [input('x', 'int')], [output('begun', 'int'), output('y', 'str')])], {
      message: 'x',
      dtype: 'int',
    })
  await story.save('line', document(old))
  for (const x of [1, 2, 3]) story.publish('line.x', x)
  await story.becomes('line.begun', 1)
  await eventually(() => engine.flows.get('line').backlog.waiting >= 2, 'two wait in the mailbox')
  await story.save('line', document("export default ({ x }) => ({ y: 'new ' + x })"))
  gate.open()
  assert.deepEqual(await story.values('line.y', 3), ['old 1', 'new 2', 'new 3'])
  assert.equal(await story.dropped('plan_changed'), 0)
})

test('what comes to a changed node behind others that ran on its new body runs on the new body too', async t => {
  const { engine, data_dir } = await liveEngine(t)
  const story = new Story(engine)
  const before = new Gate(data_dir, 'before')
  const inside = new Gate(data_dir, 'inside')
  const last = 300
  const pass = `${before.source}export default async ({ x }) => { if (x === ${last}) await opened(); return { passed: x } }`
  const old = `${inside.source}export default async ({ passed }, ctx) => { await ctx.emit({ begun: passed }); await opened(); return { y: 'old ' + passed } }`
  const document = (work: string) =>
    flow(
      [
        code('pass', pass, [input('x', 'int')], [output('passed', 'int')]),
        code('work', work, [input('passed', 'int')], [output('begun', 'int'), output('y', 'str')]),
      ],
      { message: 'x', dtype: 'int' },
    )
  await story.save('line', document(old))
  for (let x = 1; x <= last; x++) story.publish('line.x', x)
  await story.reaches('line.passed', last - 1)
  await story.becomes('line.begun', 1)
  await story.save('line', document("export default async ({ passed }) => ({ y: 'new ' + passed })"))
  inside.open()
  await story.reaches('line.y', last - 1)
  before.open()
  const ran = await story.values('line.y', last)
  assert.deepEqual(
    ran,
    Array.from({ length: last }, (_, at) => `${at === 0 ? 'old' : 'new'} ${at + 1}`),
  )
})

test('what waits at a port that is gone is counted, and its cascades fail', async t => {
  const { engine, data_dir } = await liveEngine(t)
  const story = new Story(engine)
  const gate = new Gate(data_dir)
  const old = `${gate.source}export default async ({ x }, ctx) => { await ctx.emit({ begun: x }); await opened() }`
  const inputs = [
    { message: 'x', dtype: 'int' as const },
    { message: 'z', dtype: 'int' as const },
  ]
  await story.save('line', flow([code('work', old, [input('x', 'int')], [output('begun', 'int')])], ...inputs))
  for (const x of [1, 2, 3]) story.publish('line.x', x)
  await story.becomes('line.begun', 1)
  await eventually(() => engine.flows.get('line').backlog.waiting >= 2, 'two wait in the mailbox')
  await story.save(
    'line',
    flow([code('work', 'export default ({ z }) => ({ y: z })', [input('z', 'int')], [output('y', 'int')])], ...inputs),
  )
  gate.open()
  await eventually(async () => (await story.dropped('plan_changed')) === 2, 'both are counted')
  await story.shows('line', 'plan_changed')
  await eventually(
    async () => (await story.cascades('line')).filter(one => one.status === 'failed').length === 2,
    'two failed',
  )
  story.publish('line.z', 7)
  await story.becomes('line.y', 7)
})

test('a changed node starts with fresh state, an unchanged one keeps its own, and no change brings old state back', async t => {
  const { engine } = await liveEngine(t)
  const story = new Story(engine)
  const document = (note: string) =>
    flow(
      [
        code('changed', `// ${note}\n${COUNTING}`, [input('x', 'int')], [output('seen', 'int', { message: 'a' })]),
        code('kept', COUNTING, [input('x', 'int')], [output('seen', 'int', { message: 'b' })]),
      ],
      { message: 'x', dtype: 'int' },
    )
  await story.save('count', document('one'))
  for (let x = 1; x <= 3; x++) story.publish('count.x', x)
  await story.reaches('count.b', 3)
  await story.save('count', document('two'))
  story.publish('count.x', 4)
  await Promise.all([story.reaches('count.a', 4), story.reaches('count.b', 4)])
  assert.deepEqual([story.value('count.a'), story.value('count.b')], [1, 4])
  await story.save('count', document('three'))
  await story.save('count', document('one'))
  story.publish('count.x', 5)
  await Promise.all([story.reaches('count.a', 5), story.reaches('count.b', 5)])
  assert.deepEqual([story.value('count.a'), story.value('count.b')], [1, 5])
})

const TICKING = `import { setTimeout as sleep } from 'node:timers/promises'
import { appendFileSync } from 'node:fs'
export default async function* (_inputs, ctx) {
  const log = text => appendFileSync(ctx.settings.log, text + '\\n')
  ctx.signal.addEventListener('abort', () => log('told'))
  try {
    for (let tick = 1; ; tick++) {
      yield { tick }
      await sleep(ctx.settings.pause_ms, undefined, { signal: ctx.signal }).catch(() => {})
    }
  } finally {
    log('ended')
  }
}`

test('a running generator goes on when another node is saved, and ends when its own is changed, removed or deleted', async t => {
  const { engine, data_dir } = await liveEngine(t)
  const story = new Story(engine)
  const { existsSync, readFileSync } = await import('node:fs')
  const lines = (log: string) => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [])
  const document = (log: string, note: string, pause_ms = 5) =>
    flow(
      [
        code('tick', TICKING, [input('go', 'int')], [output('tick', 'int')], { settings: { log, pause_ms } }),
        code('other', `// ${note}\nexport default () => {}`, [input('go', 'int')]),
      ],
      { message: 'go', dtype: 'int' },
    )
  const first = `${data_dir}/first.log`
  await story.save('clock', document(first, 'one'))
  story.publish('clock.go', 1)
  await story.reaches('clock.tick', 3)
  const { kept } = await story.save('clock', document(first, 'two'))
  assert.deepEqual(kept, ['tick'])
  const before = story.value('clock.tick') as number
  await eventually(() => (story.value('clock.tick') as number) > before + 3, 'it counts on')
  assert.deepEqual(lines(first), [])
  // Changed: the old one ends although it would sleep for an hour, and what is published next starts the new one.
  const second = `${data_dir}/second.log`
  await story.save('clock', document(second, 'two', 3_600_000))
  await eventually(() => lines(first).length === 2, 'the first has ended')
  assert.deepEqual(lines(first), ['told', 'ended'])
  story.publish('clock.go', 2)
  await story.becomes('clock.tick', 1)
  await story.save('clock', flow([], { message: 'go', dtype: 'int' }))
  await eventually(() => lines(second).length === 2, 'the second has ended')
  // Deleted with the whole flow.
  const third = `${data_dir}/third.log`
  await story.save('clock', document(third, 'two', 3_600_000))
  story.publish('clock.go', 3)
  await story.executed('clock', 'tick', 0)
  await story.becomes('clock.tick', 1)
  await engine.flows.remove('clock', 'tests')
  await eventually(() => lines(third).length === 2, 'the third has ended')
})

test('a save from a stale version is refused and changes nothing; of concurrent ones each counts once', async t => {
  const { engine } = await liveEngine(t)
  const story = new Story(engine)
  const document = (y: number) =>
    flow([code('work', `export default () => ({ y: ${y} })`, [input('x', 'int')], [output('y', 'int')])], {
      message: 'x',
      dtype: 'int',
    })
  await story.save('one', document(1))
  await story.save('one', document(2))
  const stale = engine.flows.save('one', { document: document(3), base_version: 1 }, 'tests')
  assert.equal(await refused(stale), 'stale_version')
  assert.equal(engine.flows.get('one').version, 2)
  story.publish('one.x', 1)
  await story.becomes('one.y', 2)
  const saves = [4, 5, 6, 7].map(y => engine.flows.save('one', { document: document(y), base_version: 2 }, 'tests'))
  const outcomes = await Promise.allSettled(saves)
  assert.deepEqual(
    outcomes.map(outcome => outcome.status),
    ['fulfilled', 'rejected', 'rejected', 'rejected'],
  )
  const free = await Promise.all([8, 9].map(y => story.save('one', document(y))))
  assert.deepEqual(
    free.map(saved => saved.version),
    [4, 5],
  )
  const creates = [1, 2].map(y => engine.flows.create({ name: 'two', document: document(y) }, 'tests'))
  assert.deepEqual(
    (await Promise.allSettled(creates)).map(outcome => outcome.status),
    ['fulfilled', 'rejected'],
  )
  story.publish('one.x', 2)
  await story.becomes('one.y', 9)
})

test('a disabled flow keeps what waits and refuses more; enabled again it runs it', async t => {
  // One lane is held up by the body, the other one feeds its flow meanwhile.
  const { engine, data_dir } = await liveEngine(t, { FLOW_LANES: '2' })
  const story = new Story(engine)
  const gate = new Gate(data_dir)
  const held = `${gate.blockingSource}export default ({ x }) => { opened(); return { y: x } }`
  await story.save(
    'slow',
    flow([code('work', held, [input('x', 'int')], [output('y', 'int')])], { message: 'x', dtype: 'int' }),
  )
  await story.save(
    'feed',
    flow([code('pass', 'export default ({ x }) => ({ z: x })', [input('x', 'int')], [output('z', 'int')])], {
      message: 'x',
      dtype: 'int',
    }),
  )
  await story.save(
    'slow',
    flow([code('work', held, [input('x', 'int', { message: 'feed.z' })], [output('y', 'int')])], {
      message: 'x',
      dtype: 'int',
    }),
  )
  for (let x = 1; x <= 600; x++) story.publish('feed.x', x)
  await story.executed('feed', 'pass', 600)
  await engine.flows.setEnabled('slow', false, 'tests')
  gate.open()
  assert.equal(story.refusal(() => story.publish('slow.x', 1)).code, 'flow_disabled')
  const waiting = () => engine.flows.get('slow').backlog.waiting
  await eventually(() => story.version('slow.y') > 0 && story.version('slow.y') + waiting() === 600, 'all are there')
  assert.ok(waiting() > 0, 'it has stopped before the end')
  await engine.flows.setEnabled('slow', true, 'tests')
  await story.becomes('slow.y', 600)
  assert.equal(story.version('slow.y'), 600)
})

test('a deleted flow takes what waited with it, and a new one of its name starts from nothing', async t => {
  const { engine, data_dir } = await liveEngine(t)
  const story = new Story(engine)
  const gate = new Gate(data_dir)
  const held = `${gate.source}export default async ({ x }, ctx) => { await ctx.emit({ begun: x }); await opened(); return { y: x } }`
  const document = (source: string) =>
    flow([code('work', source, [input('x', 'int')], [output('begun', 'int'), output('y', 'int')])], {
      message: 'x',
      dtype: 'int',
    })
  await story.save('gone', document(held))
  for (const x of [1, 2, 3]) story.publish('gone.x', x)
  await story.becomes('gone.begun', 1)
  await engine.flows.remove('gone', 'tests')
  assert.equal(story.refusal(() => story.publish('gone.x', 4)).code, 'message_not_found')
  assert.equal(story.refusal(() => engine.flows.get('gone')).code, 'flow_not_found')
  gate.open()
  await story.save('gone', document('export default ({ x }) => ({ y: x * 10 })'))
  assert.equal(story.value('gone.y'), null)
  story.publish('gone.x', 5)
  await story.becomes('gone.y', 50)
  const { items } = await engine.flows.history('gone', { limit: 10, offset: 0 })
  assert.equal(items.length, 3)
})

test('a message whose dtype changed has no value until the next publish', async t => {
  const { engine } = await liveEngine(t)
  const story = new Story(engine)
  const document = (dtype: 'int' | 'str') =>
    flow([code('work', 'export default ({ x }) => ({ y: x })', [input('x', dtype)], [output('y', dtype)])], {
      message: 'x',
      dtype,
    })
  await story.save('typed', document('int'))
  story.publish('typed.x', 1)
  await story.becomes('typed.y', 1)
  await story.save('typed', document('str'))
  assert.deepEqual([story.value('typed.x'), story.value('typed.y')], [null, null])
  assert.equal(story.refusal(() => story.publish('typed.x', 2)).code, 'wrong_dtype')
  story.publish('typed.x', 'two')
  await story.becomes('typed.y', 'two')
})
