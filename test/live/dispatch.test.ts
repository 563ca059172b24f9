import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { limits } from '../../protocol/limits.ts'
import { emitsInOrderAndWaves } from '../kit/body-shapes.ts'
import { eventually, liveEngine, sharedEngine } from '../kit/live-engine.ts'
import { code, flow, Gate, input, output, Story } from '../kit/live-story.ts'

// One lane: what stands still on it stands out. A grace and a heap that tests can wait for.
const live = sharedEngine({ FLOW_LANES: '1', FLOW_MAX_WORKERS: '2' }, { call_grace_ms: 200, call_heap_mb: 96 })

const int = (message: string) => ({ message, dtype: 'int' as const })
const x = input('x', 'int')
const y = output('y', 'int')
const SLOT = { timeout: 60 }
const COUNTING = 'export default ({ x }, ctx) => ({ y: (ctx.state.seen = (ctx.state.seen ?? 0) + 1) })'
const lines = (path: string): string[] => (existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : [])

test('a body that declares resources, a timeout, a device or isolation runs in a call slot and stops nobody', async () => {
  const story = new Story(live.engine)
  const gate = new Gate(live.data_dir, 'declared')
  const blocks = `${gate.blockingSource}import { threadId } from 'node:worker_threads'
export default ({ x }) => { opened(); return { y: threadId } }`
  const here = "import { threadId } from 'node:worker_threads'\nexport default ({ x }) => ({ y: threadId })"
  await story.save('inline', flow([code('here', here, [x], [y])], int('x')))
  const declared = { cpus: { resources: { cpus: 1 } }, timeout: SLOT }
  for (const [name, more] of Object.entries(declared)) {
    await story.save(name, flow([code('blocks', blocks, [x], [y], more)], int('x')))
    assert.equal(story.node(name, 'blocks').placement, 'dispatch')
    story.publish(`${name}.x`, 1)
  }
  for (const value of [1, 2]) story.publish('inline.x', value)
  const [lane] = await story.values('inline.y', 2)
  gate.open()
  const slots = await Promise.all(Object.keys(declared).map(async name => (await story.values(`${name}.y`, 1))[0]))
  assert.ok(!slots.includes(lane), 'no call slot is the lane')
  for (const more of [{ device: 'gpu' }, { isolation: 'process' as const }, { resources: { env: { A: 'b' } } }]) {
    await story.save('timeout', flow([code('blocks', here, [x], [y], more)], int('x')))
    assert.equal(story.node('timeout', 'blocks').placement, 'dispatch')
  }
})

test('in a call slot a body has the same shapes, the same order and the same waves', () =>
  emitsInOrderAndWaves(new Story(live.engine), SLOT))

test('an emit that is awaited goes no faster than what it wakes; one that never waits is an error', async () => {
  const story = new Story(live.engine)
  const many = 12_000
  const awaits = `export default async ({ x }, ctx) => { for (let i = 1; i <= ${many}; i++) await ctx.emit({ y: i }) }`
  const sum = 'export default ({ y }, ctx) => ({ sum: (ctx.state.sum = (ctx.state.sum ?? 0) + y) })'
  const reader = code('sum', sum, [input('y', 'int')], [output('sum', 'int')])
  await story.save('stream', flow([code('slot', awaits, [x], [y], SLOT), reader], int('x')))
  story.publish('stream.x', 1)
  await story.becomes('stream.sum', (many * (many + 1)) / 2)
  assert.equal(story.version('stream.y'), many)
  const floods = `export default ({ x }, ctx) => { for (let i = 1; i <= ${many}; i++) ctx.emit({ y: i }) }`
  await story.save('stream', flow([code('slot', floods, [x], [y], SLOT), reader], int('x')))
  story.publish('stream.x', 2)
  assert.equal((await story.errors('stream.slot'))[0]!.code, 'emit_overflow')
  assert.equal(story.version('stream.y'), many + limits.UNAWAITED_EMITS)
})

test('emits that nobody awaits may have so many bytes together', async () => {
  const story = new Story(live.engine)
  const floods = `export default ({ x }, ctx) => { for (let i = 0; i < 300; i++) ctx.emit({ y: 'x'.repeat(1_000_000) }) }`
  await story.save('heavy', flow([code('slot', floods, [x], [output('y', 'str')], SLOT)], int('x')))
  story.publish('heavy.x', 1)
  const [error] = await story.errors('heavy.slot')
  assert.equal(error!.code, 'emit_overflow')
  assert.match(error!.message, /more than 67108864 bytes/)
  assert.equal(story.version('heavy.y'), Math.floor(limits.UNAWAITED_EMIT_BYTES / 1_000_000))
})

test('state travels to the call slot and back, also when the body throws', async () => {
  const story = new Story(live.engine)
  const source = `export default ({ x }, ctx) => {
  ctx.state.seen = (ctx.state.seen ?? 0) + 1
  if (x === 2) throw new Error('no twos')
  return { y: ctx.state.seen }
}`
  await story.save('there', flow([code('count', source, [x], [y], SLOT)], int('x')))
  for (const value of [1, 2, 3]) story.publish('there.x', value)
  assert.deepEqual(await story.values('there.y', 2), [1, 3])
  assert.deepEqual((await story.errors('there.count'))[0]!.inputs, { x: 2 })
})

test('more calls than slots wait for one, and none is lost', async () => {
  const story = new Story(live.engine)
  const names = Array.from({ length: 8 }, (_, at) => `crowd_${at}`)
  const source =
    "import { setTimeout as sleep } from 'node:timers/promises'\nexport default async ({ x }) => { await sleep(5); return { y: x } }"
  for (const name of names) await story.save(name, flow([code('slot', source, [x], [y], SLOT)], int('x')))
  for (const value of [1, 2, 3]) for (const name of names) story.publish(`${name}.x`, value)
  for (const name of names) assert.deepEqual(await story.values(`${name}.y`, 3), [1, 2, 3], name)
})

/** Each lane counts the executions that it ran itself, and a flow may change its lane between any two of them. */
async function slowUntilPromoted(story: Story, name: string, node = 'slow'): Promise<void> {
  while (story.issue(name, 'slow_body') === undefined) {
    story.publish(`${name}.x`, 1)
    await story.executed(name, node, story.version(`${name}.x`))
  }
}

test('a body whose median is slow moves to a call slot with its state, with advice; changed, it starts on its lane', async () => {
  const story = new Story(live.engine)
  const source = `const word = new Int32Array(new SharedArrayBuffer(4))
export default ({ x }, ctx) => {
  if (x === 1) Atomics.wait(word, 0, 0, ${limits.SLOW_BODY_MS * 2})
  return { y: (ctx.state.seen = (ctx.state.seen ?? 0) + 1) }
}`
  const document = (text: string) => flow([code('slow', text, [x], [y])], int('x'))
  await story.save('median', document(source))
  const half = limits.SLOW_BODY_MEDIAN_OF / 2
  for (let fast = 0; fast < half; fast++) story.publish('median.x', 0)
  for (let slow = 0; slow < half; slow++) story.publish('median.x', 1)
  await story.executed('median', 'slow', 2 * half)
  assert.equal(story.node('median', 'slow').placement, 'inline')
  await slowUntilPromoted(story, 'median')
  assert.equal(story.issue('median', 'slow_body')!.advisory, true)
  assert.equal(story.node('median', 'slow').placement, 'dispatch')
  assert.equal((await story.events('median', 'node_promoted'))[0]!['node'], 'median.slow')
  for (let more = 0; more < 3; more++) story.publish('median.x', 0)
  const all = story.version('median.x')
  assert.deepEqual(
    await story.values('median.y', all),
    Array.from({ length: all }, (_, at) => at + 1),
  )
  await story.save('median', document(COUNTING))
  assert.equal(story.node('median', 'slow').placement, 'inline')
  assert.equal(story.issue('median', 'slow_body'), undefined)
})

test('an asynchronous body that waits holds no lane up, however long it waits', async () => {
  const story = new Story(live.engine)
  const source = `import { setTimeout as sleep } from 'node:timers/promises'
export default async ({ x }) => { await sleep(${limits.SLOW_BODY_MS + 2}); return { y: x } }`
  await story.save('waits', flow([code('nap', source, [x], [y])], int('x')))
  const many = limits.SLOW_BODY_MEDIAN_OF + 8
  for (let value = 1; value <= many; value++) story.publish('waits.x', value)
  await story.executed('waits', 'nap', many)
  assert.equal(story.node('waits', 'nap').placement, 'inline')
  assert.equal(story.issue('waits', 'slow_body'), undefined)
})

test('an asynchronous body that holds its lane after it has waited is slow', async () => {
  const story = new Story(live.engine)
  const source = `import { setImmediate as turn } from 'node:timers/promises'
const word = new Int32Array(new SharedArrayBuffer(4))
export default async ({ x }) => { await turn(); Atomics.wait(word, 0, 0, ${limits.SLOW_BODY_MS * 2}); return { y: x } }`
  await story.save('later', flow([code('hold', source, [x], [y])], int('x')))
  await slowUntilPromoted(story, 'later', 'hold')
})

test('a promoted body that is fast again goes back to its lane with its state, and the advice goes', async () => {
  const story = new Story(live.engine)
  const source = `const word = new Int32Array(new SharedArrayBuffer(4))
export default ({ x }, ctx) => {
  if (x === 1) Atomics.wait(word, 0, 0, ${limits.SLOW_BODY_MS * 2})
  return { y: (ctx.state.seen = (ctx.state.seen ?? 0) + 1) }
}`
  await story.save('back', flow([code('slow', source, [x], [y])], int('x')))
  await slowUntilPromoted(story, 'back')
  await eventually(() => {
    story.publish('back.x', 0)
    return story.node('back', 'slow').placement === 'inline'
  }, 'it is inline again')
  await story.events('back', 'node_demoted')
  assert.equal(story.issue('back', 'slow_body'), undefined)
  story.publish('back.x', 0)
  const all = story.version('back.x')
  assert.equal((await story.values('back.y', all)).at(-1), all, 'every execution saw the state of the one before')
})

test('a body that blocks its lane runs in a call slot from its next execution on', async () => {
  const story = new Story(live.engine)
  const gate = new Gate(live.data_dir, 'blocks')
  const source = `${gate.blockingSource}import { threadId } from 'node:worker_threads'
export default () => { opened(); return { y: threadId } }`
  await story.save('blocks', flow([code('stand', source, [x], [y])], int('x')))
  for (const value of [1, 2]) story.publish('blocks.x', value)
  await story.shows('blocks', 'blocked_lane')
  assert.equal(story.issue('blocks', 'blocked_lane')!.advisory, true)
  gate.open()
  const [first, second] = await story.values('blocks.y', 2)
  assert.notEqual(first, second)
})

test('a body past its timeout is told, fails, and the next execution goes on; one that does not listen loses its thread', async () => {
  const story = new Story(live.engine)
  const log = `${live.data_dir}/timeout.log`
  const source = `import { appendFileSync } from 'node:fs'
const forever = ctx => new Promise(resolve => ctx.signal.addEventListener('abort', () => {
  appendFileSync(ctx.settings.log, 'told\\n')
  resolve()
}))
export default async ({ x }, ctx) => {
  if (x === 1) await forever(ctx)
  if (x === 2) for (;;);
  return { y: x }
}`
  const more = { timeout: 0.3, settings: { log } }
  await story.save('late', flow([code('slot', source, [x], [y], more)], int('x')))
  story.publish('late.x', 1)
  const [error] = await story.errors('late.slot')
  assert.deepEqual([error!.code, error!.inputs], ['timeout', { x: 1 }])
  assert.match(error!.message, /late\.slot: It ran past its timeout of 0\.3 s/)
  await eventually(() => lines(log).length === 1, 'the body was told')
  for (const value of [2, 3]) story.publish('late.x', value)
  assert.deepEqual(await story.values('late.y', 1), [3])
  assert.equal((await story.errors('late.slot', 2))[0]!.code, 'timeout')
  const [event] = await story.events('late', 'thread_replaced')
  assert.deepEqual([event!['node'], event!['code'], event!['thread']], ['late.slot', 'timeout', 'call'])
})

test('a body in a call slot is told when its node is changed, removed or deleted', async () => {
  const story = new Story(live.engine)
  const source = `import { appendFileSync } from 'node:fs'
export default async ({ x }, ctx) => {
  await ctx.emit({ y: x })
  await new Promise(resolve => ctx.signal.addEventListener('abort', resolve))
  appendFileSync(ctx.settings.log, 'told\\n')
}`
  const document = (log: string) => flow([code('slot', source, [x], [y], { ...SLOT, settings: { log } })], int('x'))
  const logs = ['changed', 'removed', 'deleted'].map(name => `${live.data_dir}/${name}.log`)
  await story.save('told', document(logs[0]!))
  story.publish('told.x', 1)
  await story.becomes('told.y', 1)
  await story.save('told', document(logs[1]!))
  await eventually(() => lines(logs[0]!).length === 1, 'told when changed')
  story.publish('told.x', 2)
  await story.becomes('told.y', 2)
  await story.save('told', flow([], int('x')))
  await eventually(() => lines(logs[1]!).length === 1, 'told when removed')
  await story.save('told', document(logs[2]!))
  story.publish('told.x', 3)
  await story.becomes('told.y', 3)
  await live.engine.flows.remove('told', 'tests')
  await eventually(() => lines(logs[2]!).length === 1, 'told when deleted')
})

test('a body that ends its process, or eats its heap, costs its own call and nothing else', async () => {
  const story = new Story(live.engine)
  const source = `export default ({ x }) => {
  if (x === 1) process.exit(3)
  const eaten = []
  if (x === 2) for (;;) eaten.push(new Array(1000).fill(x).map(Math.random))
  return { y: x }
}`
  const gate = new Gate(live.data_dir, 'beside')
  const beside = `${gate.source}export default async ({ x }) => { await opened(); return { y: x } }`
  await story.save('dies', flow([code('slot', source, [x], [y], SLOT)], int('x')))
  await story.save('beside', flow([code('slot', beside, [x], [y], SLOT)], int('x')))
  story.publish('beside.x', 7)
  for (const value of [1, 2, 3]) story.publish('dies.x', value)
  assert.deepEqual(await story.values('dies.y', 1), [3])
  const errors = await story.errors('dies.slot', 2)
  assert.deepEqual(
    errors.map(({ code, inputs }) => [code, inputs]),
    [
      ['out_of_memory', { x: 2 }],
      ['thread_lost', { x: 1 }],
    ],
  )
  gate.open()
  assert.deepEqual(await story.values('beside.y', 1), [7])
  const statuses = async () => (await story.cascades('dies')).map(one => one.status)
  await eventually(async () => (await statuses()).join() === 'succeeded,failed,failed', 'its cascades are recorded')
})

test('after a refresh of the modules calls load theirs again, and those under way finish', async t => {
  const { engine, data_dir } = await liveEngine(t, { FLOW_LANES: '1' })
  const { writeFileSync } = await import('node:fs')
  const story = new Story(engine)
  const gate = new Gate(data_dir)
  const library = (answer: number) => writeFileSync(`${data_dir}/library.mjs`, `export const answer = ${answer}\n`)
  library(1)
  const source = `${gate.source}import { answer } from '${data_dir}/library.mjs'
export default async ({ x }, ctx) => {
  ctx.emit({ begun: x })
  if (x === 1) await opened()
  return { y: answer }
}`
  const outputs = [y, output('begun', 'int')]
  await story.save('library', flow([code('slot', source, [x], outputs, SLOT)], int('x')))
  await story.save('inline', flow([code('here', source, [x], outputs)], int('x')))
  for (const name of ['library', 'inline']) story.publish(`${name}.x`, 1)
  for (const name of ['library', 'inline']) await story.becomes(`${name}.begun`, 1)
  library(2)
  const refreshed = engine.refreshModules()
  gate.open()
  await refreshed
  for (const name of ['library', 'inline']) {
    await story.reaches(`${name}.y`, 1)
    story.publish(`${name}.x`, 2)
    assert.deepEqual(await story.values(`${name}.y`, 2), [1, 2], name)
  }
})

test('a lane that dies takes back the calls of its flows: the one that waits for a slot runs nothing, the one that has it is ended', async t => {
  const environment = { FLOW_LANES: '1', FLOW_MAX_WORKERS: '1' }
  const { engine, data_dir } = await liveEngine(t, environment, { call_grace_ms: 200 })
  const story = new Story(engine)
  const runs = `import { appendFileSync } from 'node:fs'
export default ({ x }) => { appendFileSync(${JSON.stringify(`${data_dir}/ran`)}, x + '\\n'); if (x === 1) for (;;); return { y: x } }`
  await story.save('slots', flow([code('body', runs, [x], [y], { resources: { ram: 1 } })], int('x')))
  await story.save('others', flow([code('body', runs, [x], [y], { resources: { ram: 1 } })], int('x')))
  await story.save('ends', flow([code('body', 'export default () => process.exit(1)', [x])], int('x')))
  story.publish('slots.x', 1)
  await eventually(() => lines(`${data_dir}/ran`).length === 1, 'the first body runs')
  story.publish('others.x', 2)
  await eventually(async () => (await engine.observe.summary()).cascades.in_flight === 2, 'the second call waits')
  story.publish('ends.x', 3)
  await story.errors('ends.body')
  for (const name of ['slots', 'others']) story.publish(`${name}.x`, 4)
  for (const name of ['slots', 'others']) await story.becomes(`${name}.y`, 4)
  assert.deepEqual(lines(`${data_dir}/ran`), ['1', '4', '4'])
})
