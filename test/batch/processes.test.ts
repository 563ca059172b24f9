import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { FlowNode } from '../../protocol/nouns/flow-document.ts'
import type { ArtifactReference } from '../../protocol/values/dtype.ts'
import type { LiveEngine } from '../../server/live-engine.ts'
import { BatchStory } from '../kit/batch-story.ts'
import { eventually, sharedEngine } from '../kit/live-engine.ts'
import { code, flow, Gate, input, output } from '../kit/live-story.ts'
import { isAlive } from '../kit/spawned.ts'

const live = sharedEngine({ FLOW_MAX_WORKERS: '2', FLOW_CPUS: '4' }, { call_grace_ms: 200 })
const PROCESS: Partial<FlowNode> = { isolation: 'process', cache: false }
const whole = () => live.engine as LiveEngine
const books = () => whole().workers.resources()
const x = input('x', 'int')
const y = output('y', 'json')
const one = (source: string, more: Partial<FlowNode> = {}) =>
  flow([code('body', source, [x], [y], { ...PROCESS, ...more })], { message: 'x', dtype: 'int' })

test('a node of a run that asks for it runs in a process: emissions in order, metrics, artifacts, state from call to call', async () => {
  const story = new BatchStory(live.engine)
  const source = `export default async function* ({ x }, ctx) {
  for (let n = 0; n < 300; n++) ctx.metric('loss', n / 4)
  const kept = await ctx.artifact('made in a process', 'text/plain')
  for (let n = 1; n <= x; n++) yield { item: n, kept }
  return { item: x + 1, pid: process.pid, run: ctx.run.id }
}`
  const sum = `export default ({ item }, ctx) => ({ sum: [process.pid, (ctx.state.sum = (ctx.state.sum ?? 0) + item)] })`
  const outputs = [output('item', 'int'), output('kept', 'artifact'), output('pid', 'int'), output('run', 'str')]
  await story.save(
    'streams',
    flow(
      [
        code('makes', source, [x], outputs, PROCESS),
        code('sums', sum, [input('item', 'int')], [output('sum', 'json')], PROCESS),
      ],
      { message: 'x', dtype: 'int' },
    ),
  )
  const run = await story.runs('streams', { inputs: { x: 200 } })
  assert.equal(run.error, null)
  const { kept, ...rest } = run.result as { kept: ArtifactReference; pid: number; run: string; sum: [number, number] }
  const [sum_pid, total] = rest.sum
  assert.deepEqual(
    [rest.run, total, rest.pid === process.pid, sum_pid === process.pid],
    [run.id, (201 * 202) / 2, false, false],
  )
  assert.ok(whole().artifacts.has(kept.digest))
  const rows = await story.nodes(run.id)
  assert.deepEqual(
    rows.map(row => [row.node, row.status, row.executions, row.emissions]),
    [
      ['makes', 'succeeded', 1, 201],
      ['sums', 'succeeded', 201, 201],
    ],
  )
  const all = { run: run.id, name: 'streams.makes.loss', stride: 100, offset: 0, limit: 1000 }
  const none = { flow: null, group: null, status: null, since: null, before: null }
  const [curve] = (await live.engine.runs.series({ ...none, ...all })).items
  assert.deepEqual(
    [curve?.steps, curve?.values],
    [
      [0, 100, 200],
      [0, 25, 50],
    ],
  )
})

test('what a node is granted caps the threads of its process, and is given back', async () => {
  const story = new BatchStory(live.engine)
  const source = 'export default ({ x }) => ({ y: [process.env.OMP_NUM_THREADS, process.env.A ?? null] })'
  const asks = { resources: { cpus: 2.5, ram: 64, env: { A: 'b' } } }
  await story.save('granted', one(source, asks))
  const run = await story.runs('granted', { inputs: { x: 1 } })
  assert.deepEqual(run.result, { y: ['3', 'b'] })
  assert.deepEqual(books().machines[0]!.held, [])
  await story.save('shares', one(source))
  assert.deepEqual((await story.runs('shares', { inputs: { x: 1 } })).result, { y: ['2', null] })
})

const forever = (data_dir: string) => `import { appendFileSync, writeFileSync } from 'node:fs'
export default async ({ x }, ctx) => {
  writeFileSync(${JSON.stringify(`${data_dir}/pid-`)} + x, String(process.pid))
  if (x === 2) for (;;);
  await new Promise(resolve => ctx.signal.addEventListener('abort', resolve))
  ctx.log('told: ' + ctx.signal.reason.message)
  return { y: x }
}`

test('a run that is cancelled tells its bodies; one that does not listen loses its process, and nothing of it stays held', async () => {
  const story = new BatchStory(live.engine)
  await story.save('forever', one(forever(live.data_dir), { resources: { cpus: 1 } }))
  const pids: number[] = []
  for (const x of [1, 2]) {
    const run = await story.create('forever', { inputs: { x } })
    const file = `${live.data_dir}/pid-${x}`
    await eventually(() => existsSync(file) && readFileSync(file, 'utf8') !== '', 'its body runs')
    pids.push(Number(readFileSync(file, 'utf8')))
    await live.engine.runs.cancel(run.id, 'ada')
    const ended = await story.ended(run.id)
    assert.deepEqual([ended.status, ended.error?.code], ['cancelled', 'cancelled'])
  }
  assert.equal(pids[0], pids[1])
  await eventually(() => !isAlive(pids[1]!), 'the process of the one that does not listen has gone')
  assert.deepEqual(books().machines[0]!.held, [])
})

test('a node past its timeout fails its run, whether it listens or not', async () => {
  const story = new BatchStory(live.engine)
  await story.save('late', one(forever(live.data_dir), { timeout: 0.2 }))
  for (const x of [1, 2]) {
    const { status, error } = await story.runs('late', { inputs: { x } })
    assert.deepEqual([status, error?.code, error?.node], ['failed', 'timeout', 'body'])
    assert.match(error!.message, /late\.body: It ran past its timeout of 0\.2 s/)
  }
})

test('two flows never meet in a process, and one finds its own again', async () => {
  const story = new BatchStory(live.engine)
  const source = (text: string) => `export default () => {
    const polluted = globalThis.polluted ?? null
    globalThis.polluted = '${text}'
    return { y: [process.pid, polluted] }
  }`
  const pids: Record<string, unknown> = {}
  for (const name of ['left', 'right']) {
    await story.save(name, one(source(name)))
    const [first, again] = [await story.runs(name, { inputs: { x: 1 } }), await story.runs(name, { inputs: { x: 2 } })]
    const [pid, polluted] = first.result!['y'] as [number, string | null]
    assert.equal(polluted, null)
    assert.deepEqual(again.result, { y: [pid, name] })
    pids[name] = pid
  }
  assert.notEqual(pids['left'], pids['right'])
})

test('a run that waits for a process is cancelled at once, and takes none', async () => {
  const story = new BatchStory(live.engine)
  const gate = new Gate(live.data_dir, 'waits')
  await story.save('holds', one(`${gate.source}export default async ({ x }) => { await opened(); return { y: x } }`))
  const holding = await Promise.all([1, 2].map(x => story.create('holds', { inputs: { x } })))
  for (const { id } of holding) await story.until(id, run => run.status === 'running', 'runs')
  const waiting = await story.create('holds', { inputs: { x: 3 } })
  await story.until(waiting.id, run => run.status === 'running', 'runs')
  await live.engine.runs.cancel(waiting.id, 'ada')
  assert.equal((await story.ended(waiting.id)).status, 'cancelled')
  gate.open()
  for (const { id } of holding) assert.equal((await story.ended(id)).status, 'succeeded')
})
