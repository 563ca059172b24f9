import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import type { FlowNode } from '../../protocol/nouns/flow-document.ts'
import { emitsInOrderAndWaves } from '../kit/body-shapes.ts'
import { eventually, liveEngine, sharedEngine } from '../kit/live-engine.ts'
import { code, flow, Gate, input, output, Story } from '../kit/live-story.ts'
import { isAlive } from '../kit/spawned.ts'

const live = sharedEngine({ FLOW_LANES: '1', FLOW_MAX_WORKERS: '2' }, { call_grace_ms: 200, processes_idle: 1 })

const int = (message: string) => ({ message, dtype: 'int' as const })
const x = input('x', 'int')
const y = output('y', 'json')
const PROCESS = { isolation: 'process' as const }
const one = (source: string, more: Partial<FlowNode> = {}) =>
  flow([code('body', source, [x], [y], { ...PROCESS, ...more })], int('x'))
const PID = 'export default ({ x }) => ({ y: process.pid })'
const lines = (path: string): string[] => (existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : [])

test('a body with isolation runs in another process, which serves the next body of its flow too, and its state travels', async () => {
  const story = new Story(live.engine)
  const count = 'export default ({ x }, ctx) => ({ y: [process.pid, ctx.state.seen = (ctx.state.seen ?? 0) + x] })'
  const beside = code(
    'beside',
    'export default () => ({ z: process.pid })',
    [input('w', 'int')],
    [output('z', 'json')],
    PROCESS,
  )
  await story.save('counts', flow([code('body', count, [x], [y], PROCESS), beside], int('x'), int('w')))
  await story.save('apart', one(PID))
  for (const value of [1, 2]) story.publish('counts.x', value)
  const [first, second] = (await story.values('counts.y', 2)) as [number, number][]
  assert.deepEqual([first![1], second![1]], [1, 3])
  assert.equal(first![0], second![0])
  assert.notEqual(first![0], process.pid)
  story.publish('counts.w', 1)
  assert.deepEqual(await story.values('counts.z', 1), [first![0]])
  story.publish('apart.x', 1)
  assert.notDeepEqual(await story.values('apart.y', 1), [first![0]])
})

test('in a process a body has the same shapes, the same order and the same waves', () =>
  emitsInOrderAndWaves(new Story(live.engine), PROCESS))

test('values of every kind cross whole', async () => {
  const story = new Story(live.engine)
  await story.save(
    'mirror',
    flow([code('body', 'export default ({ v }) => ({ w: v })', [input('v')], [output('w')], PROCESS)], {
      message: 'v',
      dtype: 'json',
    }),
  )
  const values = [
    null,
    true,
    -0.5,
    2 ** 53 - 1,
    -(2 ** 53 - 1),
    4294967296,
    'grün ☃ 😀',
    '',
    [],
    {},
    { a: [{ b: null }, [[]]] },
    'x'.repeat(900_000),
  ]
  for (const value of values) story.publish('mirror.v', value)
  assert.deepEqual(await story.values('mirror.w', values.length), values)
})

test('an emit that is awaited goes no faster than what it wakes; one that never waits is an error', async () => {
  const story = new Story(live.engine)
  const many = 1_000
  const sum = 'export default ({ y }, ctx) => ({ sum: (ctx.state.sum = (ctx.state.sum ?? 0) + y) })'
  const reader = code('sum', sum, [input('y', 'int')], [output('sum', 'int')])
  const document = (source: string) =>
    flow([code('body', source, [x], [output('y', 'int')], PROCESS), reader], int('x'))
  await story.save(
    'stream',
    document(`export default async ({ x }, ctx) => { for (let i = 1; i <= ${many}; i++) await ctx.emit({ y: i }) }`),
  )
  story.publish('stream.x', 1)
  await story.becomes('stream.sum', (many * (many + 1)) / 2)
  assert.equal(story.version('stream.y'), many)
  await story.save('stream', document('export default ({ x }, ctx) => { for (;;) ctx.emit({ y: 1 }) }'))
  story.publish('stream.x', 2)
  assert.equal((await story.errors('stream.body'))[0]!.code, 'emit_overflow')
})

test('what a body throws, prints, logs, measures and reports is on its node', async () => {
  const story = new Story(live.engine)
  const source = `import { execFileSync } from 'node:child_process'
export default ({ x }, ctx) => {
  console.log('printed', x)
  console.error('complained')
  execFileSync('echo', ['by a child'], { stdio: 'inherit' })
  ctx.log('logged', 'debug')
  ctx.metric('speed', 2.5)
  ctx.report('down', 'it rests')
  if (x === 2) throw new TypeError('no twos')
  return { y: [ctx.flow, ctx.node, ctx.run, ctx.settings.a] }
}`
  await story.save('says', one(source, { settings: { a: 1 } }))
  story.publish('says.x', 1)
  assert.deepEqual(await story.values('says.y', 1), [['says', 'body', null, 1]])
  const said = (await story.events('says', 'node_log', 4)).map(event => `${event['level']} ${event['text']}`)
  assert.deepEqual(said.sort(), ['debug logged', 'error complained', 'info by a child', 'info printed 1'])
  await story.shows('says', 'node_down')
  assert.match([...live.engine.observe.prometheus()].join(''), /svc_node_gauge\{[^}]*says\.body[^}]*speed[^}]*\} 2\.5/)
  story.publish('says.x', 2)
  const [error] = await story.errors('says.body')
  assert.deepEqual([error!.code, error!.inputs], ['node_error', { x: 2 }])
  assert.match(error!.message, /TypeError: no twos\. At line \d+, column \d+ of the body: .*\. Correct the body/)
  assert.match(error!.stack!, /\.mjs:9:/)
})

test('a process is started for an environment, and is used again for that one only', async () => {
  const story = new Story(live.engine)
  const node = (name: string, more: Partial<FlowNode> = {}) => {
    const answers = `export default () => ({ ${name}: [process.pid, process.env.MODE ?? null, process.env.OMP_NUM_THREADS] })`
    return code(name, answers, [input(`${name}_x`, 'int')], [output(name, 'json')], { ...PROCESS, ...more })
  }
  const fast = { resources: { env: { MODE: 'fast' } } }
  const nodes = [
    node('plain'),
    node('fast', fast),
    // Variables of its own a body can have in a process alone, so they are enough to ask for one.
    node('quick', { ...fast, isolation: null }),
    node('wide', { resources: { cpus: 1, env: { MODE: 'wide' } } }),
    node('last', { resources: { env: { MODE: 'last' } } }),
  ]
  await story.save('modes', flow(nodes, ...nodes.map(({ id }) => int(`${id}_x`))))
  const answer = async (name: string): Promise<[number, string | null, string]> => {
    const version = story.version(`modes.${name}`) + 1
    story.publish(`modes.${name}_x`, 1)
    return (await story.values(`modes.${name}`, version)).at(-1) as never
  }
  const plain = await answer('plain')
  const first = await answer('fast')
  assert.deepEqual([plain[1], first[1]], [null, 'fast'])
  assert.notEqual(first[0], plain[0])
  assert.deepEqual(await answer('quick'), first)
  const wide = await answer('wide')
  assert.deepEqual(wide.slice(1), ['wide', '1'])
  // Two may run and one more stand idle: of those that do the one that has longest makes room.
  assert.equal((await answer('last'))[1], 'last')
  await eventually(() => !isAlive(plain[0]), 'the process of the first environment has gone')
  assert.deepEqual(await answer('fast'), first)
})

test('more calls than processes wait for one, and none is lost, whether they are of one flow or of many', async () => {
  const story = new Story(live.engine)
  const numbers = Array.from({ length: 6 }, (_, at) => at)
  const waits = (id: number) =>
    code(
      `body_${id}`,
      `export default async ({ x }) => { await new Promise(go => setTimeout(go, 5)); return { y_${id}: [x, process.pid] } }`,
      [x],
      [output(`y_${id}`, 'json')],
      PROCESS,
    )
  await story.save('crowd', flow(numbers.map(waits), int('x')))
  for (const other of [0, 1, 2]) await story.save(`crowd_${other}`, flow([waits(0)], int('x')))
  for (const value of [1, 2, 3])
    for (const name of ['crowd', 'crowd_0', 'crowd_1', 'crowd_2']) story.publish(`${name}.x`, value)
  const pidsOf = async (message: string): Promise<number[]> => {
    const values = (await story.values(message, 3)) as [number, number][]
    assert.deepEqual(
      values.map(([value]) => value),
      [1, 2, 3],
      message,
    )
    return values.map(([, pid]) => pid)
  }
  const crowd = new Set((await Promise.all(numbers.map(id => pidsOf(`crowd.y_${id}`)))).flat())
  for (const other of [0, 1, 2])
    for (const pid of await pidsOf(`crowd_${other}.y_0`)) assert.ok(!crowd.has(pid), 'two flows have met in a process')
})

test('a body past its timeout is told, fails, and the next execution goes on; one that does not listen loses its process', async () => {
  const story = new Story(live.engine)
  const log = `${live.data_dir}/process-timeout.log`
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
  // Long enough for a process that has just been started to load the body in, however busy the machine is.
  await story.save('late', one(source, { timeout: 2, settings: { log } }))
  story.publish('late.x', 1)
  const [error] = await story.errors('late.body')
  assert.deepEqual([error!.code, error!.inputs], ['timeout', { x: 1 }])
  assert.match(error!.message, /late\.body: It ran past its timeout of 2 s/)
  await eventually(() => lines(log).length === 1, 'the body was told')
  for (const value of [2, 3]) story.publish('late.x', value)
  assert.deepEqual(await story.values('late.y', 1), [3])
  assert.equal((await story.errors('late.body', 2))[0]!.code, 'timeout')
  const [event] = await story.events('late', 'thread_replaced')
  assert.deepEqual([event!['node'], event!['code'], event!['thread']], ['late.body', 'timeout', 'process'])
})

test('a body in a process is told when its node is changed; when it does not listen its process ends', async () => {
  const story = new Story(live.engine)
  const source = `export default async ({ x }, ctx) => {
  await ctx.emit({ y: process.pid })
  if (ctx.settings.deaf) for (;;);
  await new Promise(resolve => ctx.signal.addEventListener('abort', resolve))
}`
  for (const deaf of [false, true]) {
    const name = deaf ? 'deaf' : 'hears'
    await story.save(name, one(source, { settings: { deaf } }))
    story.publish(`${name}.x`, 1)
    await story.reaches(`${name}.y`, 1)
    const pid = story.value(`${name}.y`) as number
    await story.save(name, one(PID))
    story.publish(`${name}.x`, 2)
    await story.reaches(`${name}.y`, 2)
    if (deaf) await eventually(() => !isAlive(pid), 'its process has gone')
  }
})

test('after a refresh of the modules calls load theirs again, and those under way finish; idle processes go', async t => {
  const { engine, data_dir } = await liveEngine(t, { FLOW_LANES: '1', FLOW_MAX_WORKERS: '2' }, { process_idle_ms: 100 })
  const story = new Story(engine)
  const gate = new Gate(data_dir)
  const library = (answer: number) => writeFileSync(`${data_dir}/library.mjs`, `export const answer = ${answer}\n`)
  library(1)
  const source = `${gate.source}import { answer } from '${data_dir}/library.mjs'
export default async ({ x }, ctx) => {
  ctx.emit({ begun: x })
  if (x === 1) await opened()
  return { y: [answer, process.pid] }
}`
  await story.save('library', flow([code('body', source, [x], [y, output('begun', 'int')], PROCESS)], int('x')))
  story.publish('library.x', 1)
  await story.becomes('library.begun', 1)
  library(2)
  await engine.refreshModules()
  gate.open()
  await story.reaches('library.y', 1)
  story.publish('library.x', 2)
  const [old, fresh] = (await story.values('library.y', 2)) as [number, number][]
  assert.deepEqual([old![0], fresh![0]], [1, 2])
  assert.notEqual(old![1], fresh![1])
  await eventually(() => !isAlive(old![1]), 'the process of before the refresh has gone')
  await eventually(() => !isAlive(fresh![1]), 'a process without calls ends after a while')
})

test('an installation may want every body in a process, live and in runs; nodes without a body stay where they are', async t => {
  const own = await liveEngine(t, { FLOW_ISOLATION: 'process', FLOW_LANES: '1', FLOW_MAX_WORKERS: '2' })
  const story = new Story(own.engine)
  const inject = {
    id: 'ones',
    type: 'inject',
    settings: { value: 1, once: true },
    ports: { inputs: [], outputs: [output('x', 'int')] },
  }
  await story.save('says', flow([code('body', PID, [x], [y])], int('x')))
  await story.save('injects', flow([inject, code('body', PID, [x], [y], { cache: false })]))
  story.publish('says.x', 1)
  const [pid] = await story.values('says.y', 1)
  assert.equal(typeof pid, 'number')
  assert.notEqual(pid, process.pid)
  const { run } = await own.engine.runs.create('injects', {}, 'ada')
  await eventually(async () => (await own.engine.runs.get(run.id)).status === 'succeeded', 'the run has ended')
  assert.notEqual((await own.engine.runs.get(run.id)).result!['y'], process.pid)
})
