import assert from 'node:assert/strict'
import { test } from 'node:test'
import { auditBooks } from '../../core/books/audit.ts'
import type { FlowNode } from '../../protocol/nouns/flow-document.ts'
import type { LiveEngine } from '../../server/live-engine.ts'
import { BatchStory } from '../kit/batch-story.ts'
import { eventually, sharedEngine } from '../kit/live-engine.ts'
import { code, flow, input, output } from '../kit/live-story.ts'
import { RealEngine } from '../kit/real-engine.ts'
import { type End, hostileFiles, hostileKinds, hostileSource } from './hostile-kinds.ts'

/** Times and sizes that a test can wait for. */
const bounds = { call_grace_ms: 100, call_heap_mb: 96, process_memory_mb: 320 }
const SLOTS = 2
const live = sharedEngine(
  { FLOW_LANES: '1', FLOW_MAX_WORKERS: String(SLOTS), FLOW_MAX_RUNS: '8', FLOW_CPUS: '8' },
  bounds,
)

const single = (source: string, more: Partial<FlowNode> = {}) =>
  flow([code('body', source, [input('x', 'int')], [output('y', 'json')], { cache: false, ...more })], {
    message: 'x',
    dtype: 'int',
  })

/** Well-behaved, and uses what hostile bodies write over. It takes a moment, so that as many of these as there are slots run in all of them. */
const GOOD = `import { EventEmitter, once } from 'node:events'
export default async ({ x }, ctx) => {
  const emitter = new EventEmitter()
  setTimeout(() => emitter.emit('told', x), 5)
  const [told] = await once(emitter, 'told')
  ctx.state.n = (ctx.state.n ?? 0) + 1
  ctx.metric('n', ctx.state.n)
  const list = []
  for (const n of new Set([x, told, x + 1])) list.push(n)
  const keys = []
  for (const key in { own: 1 }) keys.push(key)
  return { y: JSON.parse(JSON.stringify({
    list: list.map(n => n * 2).concat([1]), keys, map: [...new Map([[x, ctx.state.n]])], text: 'a-b'.replace(/-/g, String(x)),
    all: await Promise.all([x, Promise.resolve(1)]), later: await new Promise(resolve => setImmediate(resolve, 'later')),
    forged: process.env.POLLUTED ?? null, polluted: ({}).polluted ?? null, clone: structuredClone({ x }), exit: process.exit.length,
    stack: new Error('mine').stack.startsWith('Error: mine'), time: performance.now() > 0, hex: Buffer.from('a').toString('hex'),
    listeners: process.listenerCount('uncaughtException') <= 1,
  })) }
}`
const good = (x: number) => ({
  list: [2 * x, 2 * x + 2, 1],
  keys: ['own'],
  map: [[x, 1]],
  text: `a${x}b`,
  all: [x, 1],
  later: 'later',
  forged: null,
  polluted: null,
  clone: { x },
  exit: process.exit.length,
  stack: true,
  time: true,
  hex: '61',
  listeners: true,
})

/** Runs of a well-behaved flow, one after the other, beside all the others. */
class Neighbour {
  readonly #story = new BatchStory(live.engine)
  readonly #ended: Promise<void>
  #ends = false
  ran = 0

  static async moveIn(): Promise<Neighbour> {
    await new BatchStory(live.engine).save('beside', single(GOOD))
    return new Neighbour()
  }

  private constructor() {
    this.#ended = this.#run()
    this.#ended.catch(() => {})
  }

  async #run(): Promise<void> {
    while (!this.#ends) {
      const run = await this.#story.runs('beside', { inputs: { x: this.ran } })
      assert.deepEqual([run.status, run.error, run.result], ['succeeded', null, { y: good(this.ran) }])
      this.ran++
    }
  }

  /** Rejects when one of them did not end as it should. */
  async end(): Promise<void> {
    this.#ends = true
    await this.#ended
  }
}

/** What one hostile body costs: its own run. */
async function costsItsOwnRun(name: string, end: End, isolation: 'process' | null): Promise<void> {
  const { words, timeout } = hostileKinds[name]!
  const story = new BatchStory(live.engine)
  const saved = `${name.replaceAll('-', '_')}_${isolation ?? 'slot'}`
  // It holds something of the books while it runs.
  await story.save(saved, single(hostileSource(name), { isolation, timeout: timeout ?? null, resources: { cpus: 1 } }))
  const run = await story.runs(saved, { inputs: { x: 1 } })
  const [row] = await story.nodes(run.id)
  if (end === 'ok') assert.deepEqual([name, run.status, run.error], [name, 'succeeded', null])
  else {
    assert.deepEqual([name, run.status, run.error?.code, run.error?.node], [name, 'failed', end, 'body'])
    if (words !== undefined) assert.match(run.error!.message, words)
  }
  assert.deepEqual([row!.granted?.cpus, row!.machine], [1, 'local'])
  const { machines } = whole().workers.resources()
  assert.deepEqual(
    machines[0]!.held.filter(({ run: holder }) => holder === run.id),
    [],
  )
  assert.equal((await fetch(`${live.url}/utils/health/`)).status, 200)
}

const whole = () => live.engine as LiveEngine

/** In each slot, after a hostile body: a well-behaved one is what it would be anywhere. */
async function wellBehavedRunsAfter(name: string): Promise<void> {
  const story = new BatchStory(live.engine)
  const runs = await Promise.all(Array.from({ length: SLOTS }, (_, x) => story.runs('after', { inputs: { x } })))
  for (const [x, { status, error, result }] of runs.entries())
    assert.deepEqual([name, status, error, result], [name, 'succeeded', null, { y: good(x) }])
}

function booksAddUp(): void {
  assert.deepEqual(auditBooks(whole().front.memory, Date.now() * 1000), [])
  const { machines, waiting } = whole().workers.resources()
  assert.deepEqual([machines[0]!.held, waiting], [[], []])
}

test('every hostile body is told how it ends', () => {
  assert.deepEqual(hostileFiles, Object.keys(hostileKinds).sort())
  assert.ok(hostileFiles.length >= 40)
})

test('a hostile body in a call slot costs its own run, and nobody beside it or after it anything', async () => {
  await new BatchStory(live.engine).save('after', single(GOOD))
  const neighbour = await Neighbour.moveIn()
  for (const [name, { slot }] of Object.entries(hostileKinds)) {
    if (slot === null) continue
    await costsItsOwnRun(name, slot, null)
    await wellBehavedRunsAfter(name)
  }
  await neighbour.end()
  assert.ok(neighbour.ran > 0)
  booksAddUp()
})

test('a hostile body in a process does so too', async () => {
  await new BatchStory(live.engine).save('after', single(GOOD, { isolation: 'process' }))
  // Of slots that hostile bodies have left a thousand timers in.
  await live.engine.refreshModules()
  const neighbour = await Neighbour.moveIn()
  const kinds = Object.entries(hostileKinds).filter(([, { process }]) => process !== null)
  while (kinds.length > 0) {
    const together = kinds.splice(0, SLOTS)
    await Promise.all(together.map(([name, { process }]) => costsItsOwnRun(name, process, 'process')))
  }
  await wellBehavedRunsAfter('all of them')
  await neighbour.end()
  assert.ok(neighbour.ran > 0)
  booksAddUp()
})

test('one that stops the whole engine stops it for a second', async t => {
  const engine = await RealEngine.start(t, { environment: { FLOW_LANES: '1', FLOW_MAX_WORKERS: '1' } })
  await engine.save('stops', single(hostileSource('stops-its-own-pid')))
  const { pid } = engine
  const { id } = (await engine.ask('POST', '/runs/flows/stops', { inputs: { x: 3 } })).json
  await eventually(async () => (await engine.ask('GET', `/runs/${id}`)).json.status === 'succeeded', 'it goes on')
  assert.equal(engine.pid, pid)
})

test('one that takes the whole engine along costs what was running: the engine is started again, and goes on with what waited', async t => {
  const engine = await RealEngine.start(t, {
    environment: { FLOW_LANES: '1', FLOW_MAX_WORKERS: '1', FLOW_MAX_RUNS: '1' },
  })
  await engine.save('after', single(GOOD))
  await engine.save('before', single('export default () => new Promise(resolve => setTimeout(resolve, 500))'))
  const create = async (flow: string, x: number) =>
    (await engine.ask('POST', `/runs/flows/${flow}`, { inputs: { x } })).json
  for (const name of ['kills-its-own-pid', 'aborts-by-signal']) {
    const flow = name.replaceAll('-', '_')
    await engine.save(flow, single(hostileSource(name), { resources: { cpus: 1 } }))
    const { pid } = engine
    // One run at a time: both of the others wait for the first.
    await create('before', 0)
    const bad = await create(flow, 1)
    const waits = await create('after', 3)
    await engine.restartedAfter(pid)
    await eventually(
      async () => (await engine.ask('GET', `/runs/${waits.id}`)).json.status === 'succeeded',
      'what waited runs',
    )
    assert.deepEqual((await engine.ask('GET', `/runs/${waits.id}`)).json.result, { y: good(3) })
    const { status, error } = (await engine.ask('GET', `/runs/${bad.id}`)).json
    assert.deepEqual([name, status, error.code], [name, 'failed', 'engine_restarted'])
    const { machines, waiting } = (await engine.ask('GET', '/workers/resources')).json
    assert.deepEqual([machines[0].held, waiting], [[], []])
  }
})
