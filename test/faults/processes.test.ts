import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { FlowNode } from '../../protocol/nouns/flow-document.ts'
import { BatchStory } from '../kit/batch-story.ts'
import { eventually, liveEngine, sharedEngine } from '../kit/live-engine.ts'
import { code, flow, Gate, input, output, Story } from '../kit/live-story.ts'
import { body, flowOf, RealEngine } from '../kit/real-engine.ts'
import { isAlive } from '../kit/spawned.ts'

/** Times and sizes that a test can wait for. */
const bounds = { node_silent_ms: 4000, call_grace_ms: 200, process_memory_mb: 320 }
const live = sharedEngine({ FLOW_LANES: '1', FLOW_MAX_WORKERS: '6', FLOW_MAX_RUNS: '8' }, bounds)
const x = input('x', 'int')
const y = output('y', 'json')
const PROCESS: Partial<FlowNode> = { isolation: 'process', cache: false }
const one = (source: string, more: Partial<FlowNode> = {}) =>
  flow([code('bad', source, [x], [y], { ...PROCESS, ...more })], { message: 'x', dtype: 'int' })

/** What a body does to its process when x is 1, what its node says then, and in which words. In runs: `hostile-runs.test.ts`. */
const HOSTILE = {
  exits: ['process.exit(7)', 'worker_lost', /ended its process with code 7/],
  killed: ["process.kill(process.pid, 'SIGKILL')", 'worker_lost', /was ended by SIGKILL/],
  stops: ["process.kill(process.pid, 'SIGSTOP')", 'node_silent', /sent nothing for/],
  buffers: ['const a = []; for (;;) a.push(Buffer.alloc(8 * 2 ** 20, 1))', 'out_of_memory', /took more than 320 MiB/],
} as const
const hostile = (statement: string): string =>
  `export default async ({ x }) => { if (x === 1) { ${statement} } return { y: x } }`

async function costsItsOwnCall(name: keyof typeof HOSTILE): Promise<void> {
  const [statement, wanted, words] = HOSTILE[name]
  const story = new Story(live.engine)
  await story.save(name, one(hostile(statement)))
  story.publish(`${name}.x`, 1)
  const [error] = await story.errors(`${name}.bad`)
  assert.deepEqual([name, error!.code, error!.inputs], [name, wanted, { x: 1 }])
  assert.match(error!.message, words)
  story.publish(`${name}.x`, 2)
  await story.becomes(`${name}.y`, 2)
  const [event] = await story.events(name, 'thread_replaced')
  assert.deepEqual([event!['thread'], event!['node'], event!['code']], ['process', `${name}.bad`, wanted])
}

test('whatever a body does to its process costs its own call, and nobody else anything', async () => {
  const story = new Story(live.engine)
  const gate = new Gate(live.data_dir)
  const source = `${gate.source}export default async ({ x }, ctx) => {
    ctx.emit({ y: process.pid })
    await opened()
    return { y: [x, process.pid] }
  }`
  await story.save('beside', one(source))
  story.publish('beside.x', 7)
  await story.reaches('beside.y', 1)
  const pid = story.value('beside.y')
  await Promise.all(Object.keys(HOSTILE).map(name => costsItsOwnCall(name as keyof typeof HOSTILE)))
  gate.open()
  await story.becomes('beside.y', [7, pid])
  assert.equal((await fetch(`${live.url}/utils/health/`)).status, 200)
})

test('a process that cannot start fails the call that waits for it, in its own words', async () => {
  const story = new Story(live.engine)
  const source = 'export default ({ x }) => ({ y: x })'
  await story.save('stillborn', one(source, { resources: { env: { NODE_OPTIONS: '--no-such-flag' } } }))
  story.publish('stillborn.x', 1)
  const [error] = await story.errors('stillborn.bad')
  assert.equal(error!.code, 'worker_lost')
  assert.match(error!.message, /before it had begun \(.*--no-such-flag/)
  await story.save('stillborn', one(source))
  story.publish('stillborn.x', 2)
  await story.becomes('stillborn.y', 2)
})

test('where the system refuses to start a process the call that waits for it fails, and the next one finds one', async () => {
  const story = new Story(live.engine)
  // More than the system passes on to a program; the engine got its own variables in other ways.
  process.env['TEST_TOO_LONG'] = 'x'.repeat(200_000)
  try {
    await story.save('refused', one('export default ({ x }) => ({ y: x })'))
    story.publish('refused.x', 1)
    story.publish('refused.x', 2)
    const errors = await story.errors('refused.bad', 2)
    assert.deepEqual([...new Set(errors.map(({ code }) => code))], ['worker_lost'])
    assert.match(errors[0]!.message, /could not start.*E2BIG/)
  } finally {
    delete process.env['TEST_TOO_LONG']
  }
  story.publish('refused.x', 3)
  await story.becomes('refused.y', 3)
})

test('an engine that ends takes its processes along; their runs were ended by it, and not by what they ran', async t => {
  const { engine, restart, data_dir } = await liveEngine(t, { FLOW_LANES: '1', FLOW_MAX_WORKERS: '3' })
  const gate = new Gate(data_dir)
  const source = `${gate.source}import { writeFileSync } from 'node:fs'
export default async ({ x }, ctx) => {
  writeFileSync('${data_dir}/pid-' + x, String(process.pid))
  if (x === 1) for (;;);
  await opened()
  return { y: x }
}`
  await new Story(engine).save('ends', one(source))
  new Story(engine).publish('ends.x', 1)
  const { id } = await new BatchStory(engine).create('ends', { inputs: { x: 2 } })
  const pidOf = (x: number): number => {
    const file = `${data_dir}/pid-${x}`
    // It is there before it says anything.
    return existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0
  }
  const pids = await Promise.all(
    [1, 2].map(async x => {
      await eventually(() => pidOf(x) > 0, `body ${x} runs`)
      return pidOf(x)
    }),
  )
  const next = await restart()
  for (const pid of pids) assert.ok(!isAlive(pid))
  const { status, error } = await next.engine.runs.get(id)
  assert.deepEqual([status, error?.code], ['failed', 'engine_restarted'])
  gate.open()
  new Story(next.engine).publish('ends.x', 3)
  await new Story(next.engine).becomes('ends.y', 3)
})

test('an engine that is killed leaves no process behind, nor what its bodies have started', async t => {
  const engine = await RealEngine.start(t, { environment: { FLOW_LANES: '1' } })
  const source = `import { spawn } from 'node:child_process'
export default ({ x }, ctx) => {
  const child = spawn('sleep', ['1000'], { stdio: 'ignore' })
  ctx.emit({ y: [process.pid, child.pid] })
  for (;;);
}`
  await engine.save(
    'busy',
    flowOf(body('loop', source, { reads: ['x'], makes: ['y'], dtype: 'json', more: { isolation: 'process' } })),
  )
  await engine.publish('busy.x', 1)
  let pids: number[] = []
  await eventually(
    async () => (pids = ((await engine.message('busy.y')).value ?? []) as number[]).length === 2,
    'it runs',
  )
  for (const pid of pids) assert.ok(isAlive(pid))
  process.kill(engine.pid, 'SIGKILL')
  // Before it starts the next one.
  engine.process.child.kill('SIGKILL')
  for (const pid of pids) await eventually(() => !isAlive(pid), `process ${pid} has gone`)
})
