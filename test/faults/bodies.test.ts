import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { FlowNode } from '../../protocol/nouns/flow-document.ts'
import { eventually, liveEngine, sharedEngine } from '../kit/live-engine.ts'
import { code, flow, input, output, Story } from '../kit/live-story.ts'

/** Times that a test can wait for. */
const bounds = { blocked_lane_ms: 300, node_silent_ms: 2500, call_grace_ms: 200 }
const live = sharedEngine({ FLOW_LANES: '3', FLOW_MAX_WORKERS: '2' }, bounds)
const int = (message: string) => ({ message, dtype: 'int' as const })
const x = input('x', 'int')
const y = output('y', 'json')
const SLOT: Partial<FlowNode> = { timeout: 60 }
const PLACES = { lane: {}, slot: SLOT }
const single = (source: string, more: Partial<FlowNode> = {}) => flow([code('bad', source, [x], [y], more)], int('x'))

/** A flow beside all the others, fed all the time: it is to know nothing of what they do. */
let fed = 0
let feeding: NodeJS.Timeout

test('a flow runs beside all the others', async () => {
  const story = new Story(live.engine)
  const source = 'export default ({ x }, ctx) => ({ y: (ctx.state.n = (ctx.state.n ?? 0) + 1) })'
  await story.save('steady', single(source))
  feeding = setInterval(() => {
    story.publish('steady.x', fed)
    fed++
  }, 5)
  await goesOn()
})
after(() => clearInterval(feeding))

/** The engine answers, and the flow beside goes on. */
async function goesOn(): Promise<void> {
  const story = new Story(live.engine)
  const from = story.version('steady.y')
  await eventually(() => story.version('steady.y') > from + 2, 'the flow beside goes on')
  assert.equal((await fetch(`${live.url}/utils/health/`)).status, 200)
}

/** What the node says of its newest execution that failed. */
async function said(node: string, least = 1): Promise<{ code: string; message: string; inputs: unknown }> {
  const [newest] = await new Story(live.engine).errors(node, least)
  return newest!
}

const THROWN = {
  error: ['throw new TypeError("mine")', /TypeError: mine/],
  text: ['throw "mine"', /threw mine/],
  nothing: ['throw undefined', /threw undefined/],
  symbol: ['throw Symbol("mine")', /threw Symbol\(mine\)/],
  getters: ['throw { get message() { throw 1 }, get stack() { throw 2 }, toString() { throw 3 } }', /threw \{ message/],
  hidden: ['const e = new Error(); Object.defineProperty(e, "message", { get() { throw 1 } }); throw e', /threw/],
  proxy: ['throw new Proxy({}, { get() { throw 1 }, getPrototypeOf() { throw 2 }, ownKeys() { throw 3 } })', /threw/],
  revoked: ['const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); throw proxy', /threw <Revoked Proxy>/],
  huge: ['throw new Error("mine".repeat(5e6))', /Error: mine/],
  abort: ['process.abort()', /process\.abort\(\) is not supported in workers/],
  chdir: ['process.chdir("/")', /process\.chdir\(\) is not supported in workers/],
} as const

test('whatever a body throws is on its node, in words, with what it failed on', async () => {
  const story = new Story(live.engine)
  const nodes = Object.entries(PLACES).flatMap(([place, more]) =>
    Object.entries(THROWN).map(([name, [statement]]) =>
      code(`${name}_${place}`, `export default () => { ${statement} }`, [x], [], more),
    ),
  )
  await story.save('throws', flow(nodes, int('x')))
  story.publish('throws.x', 1)
  for (const place of Object.keys(PLACES)) {
    for (const [name, [, words]] of Object.entries(THROWN)) {
      const { code, message, inputs } = await said(`throws.${name}_${place}`)
      assert.deepEqual([name, code, inputs], [name, 'node_error', { x: 1 }])
      assert.match(message, words)
      assert.match(message, /Correct the body or what it is given; the inputs of the failed execution are kept\.$/)
      assert.ok(message.length < 3000)
    }
  }
  await goesOn()
})

const UNREADABLE = {
  output: 'export default () => ({ get y() { throw new Error("mine") } })',
  within: 'export default () => ({ y: { get a() { throw new Error("mine") } } })',
  proxy: 'export default () => ({ y: new Proxy({}, { ownKeys() { throw new Error("mine") } }) })',
  emitted: 'export default (_, ctx) => { ctx.emit({ get y() { throw new Error("mine") } }) }',
  later: 'export default async () => { await null; return { get y() { throw new Error("mine") } } }',
  yielded: 'export default function* () { yield { get y() { throw new Error("mine") } } }',
  pulled: 'export default function* () { yield { y: 1 }; throw new Error("mine") }',
}

test('outputs that cannot be read fail their own execution, and the node says what was thrown', async () => {
  const story = new Story(live.engine)
  for (const [place, more] of Object.entries(PLACES)) {
    for (const [name, source] of Object.entries(UNREADABLE)) {
      const bad = `${name}_${place}`
      await story.save(bad, single(source, more))
      story.publish(`${bad}.x`, 1)
      const { code, message } = await said(`${bad}.bad`)
      assert.deepEqual([bad, code], [bad, 'node_error'])
      assert.match(message, /Error: mine/)
    }
  }
  await goesOn()
})

const ESCAPES = {
  rejection: 'export default async ({ x }) => { Promise.reject(new Error("mine")); await null; return { y: x } }',
  timer: 'export default ({ x }) => { setTimeout(() => { throw new Error("mine") }, 1); return { y: x } }',
}

test('what a body leaves behind and nobody catches is on its node, and its lane goes on', async () => {
  const story = new Story(live.engine)
  for (const [name, source] of Object.entries(ESCAPES)) {
    await story.save(name, single(source))
    for (const value of [1, 2]) story.publish(`${name}.x`, value)
    assert.deepEqual(await story.values(`${name}.y`, 2), [1, 2])
    const { code, message } = await said(`${name}.bad`, 2)
    assert.equal(code, 'node_error')
    assert.match(message, /mine/)
  }
  await goesOn()
})

test('a timer that a body left behind keeps its call slot: the next call of a live node runs on another one', async t => {
  const { engine, data_dir } = await liveEngine(t, { FLOW_MAX_WORKERS: '1' }, { ...bounds, slot_begin_ms: 300 })
  const story = new Story(engine)
  const kept = join(data_dir, 'kept')
  const leaves = `import { writeFileSync } from 'node:fs'
    export default ({ x }) => {
      setTimeout(() => { writeFileSync(${JSON.stringify(kept)}, ''); for (;;); }, 1)
      return { y: x }
    }`
  const counts = 'export default ({ x }, ctx) => ({ y: [x, (ctx.state.n = (ctx.state.n ?? 0) + 1)] })'
  await story.save('leaves', single(leaves, SLOT))
  await story.save('next', single(counts, { timeout: 20 }))
  story.publish('leaves.x', 1)
  assert.deepEqual(await story.values('leaves.y', 1), [1])
  await eventually(() => existsSync(kept), 'the timer keeps the thread')
  for (const value of [5, 6]) story.publish('next.x', value)
  assert.deepEqual(await story.values('next.y', 2), [
    [5, 1],
    [6, 2],
  ])
  const { items } = await engine.observe.events({
    ...{ flow: null, type: 'thread_replaced', since_us: null, until_us: null, run: null },
    ...{ limit: 10, offset: 0 },
  })
  assert.deepEqual(
    items.map(event => event['node']),
    ['leaves.bad'],
  )
})

const STATES = {
  getter: ['Object.defineProperty(ctx.state, "a", { enumerable: true, get() { throw 1 } })', 'bad_state'],
  proxy: ['ctx.state = new Proxy({}, { ownKeys() { throw 1 } })', 'bad_state'],
  function: ['ctx.state.f = () => 1', 'bad_state'],
  large: ['ctx.state.f = "x".repeat(70_000)', 'state_too_large'],
} as const

test('a state that cannot be kept is refused: its values are published, and the state stays what it was', async () => {
  const story = new Story(live.engine)
  for (const [place, more] of Object.entries(PLACES)) {
    for (const [name, [statement, refusal]] of Object.entries(STATES)) {
      const bad = `state_${name}_${place}`
      const source = `export default ({ x }, ctx) => {
        const n = ctx.state.n ?? 0
        if (x === 2) ${statement}
        else ctx.state.n = x
        return { y: n }
      }`
      await story.save(bad, single(source, more))
      for (const value of [1, 2, 3]) {
        story.publish(`${bad}.x`, value)
        // In the history: its turn has ended, and with it the state was kept or refused.
        await story.values(`${bad}.y`, value)
      }
      assert.deepEqual(await story.values(`${bad}.y`, 3), [0, 1, 1])
      const { code, message } = await said(`${bad}.bad`)
      assert.deepEqual([bad, code], [bad, refusal])
      assert.match(message, new RegExp(`ctx\\.state of ${bad}\\.bad`))
    }
  }
})

test('a state that goes bad while its body is away is refused, and costs nobody else anything', async () => {
  const story = new Story(live.engine)
  const source = `export default async ({ x }, ctx) => {
    ctx.state.f = () => 1
    await new Promise(resolve => setTimeout(resolve, 30))
    return { y: x }
  }`
  await story.save('away', single(source))
  story.publish('away.x', 1)
  assert.deepEqual(await story.values('away.y', 1), [1])
  assert.equal((await said('away.bad')).code, 'bad_state')
})

test('a body that ends its thread is named with what to do, and what waited runs', async () => {
  const story = new Story(live.engine)
  for (const [place, more] of Object.entries(PLACES)) {
    const bad = `exits_${place}`
    await story.save(bad, single('export default ({ x }) => { if (x === 1) process.exit(7); return { y: x } }', more))
    story.publish(`${bad}.x`, 1)
    const { code, message } = await said(`${bad}.bad`)
    assert.equal(code, 'thread_lost')
    assert.match(message, /ended its thread/)
    story.publish(`${bad}.x`, 2)
    assert.deepEqual(await story.values(`${bad}.y`, 1), [2])
    await goesOn()
  }
})

test('what a body says to its own thread behind our back changes nothing', async () => {
  const story = new Story(live.engine)
  const source = `import { parentPort } from 'node:worker_threads'
export default ({ x }) => {
  for (const message of [null, 5, { type: 'call_started', call: 1, thread: 0 }, { type: 'left' }]) parentPort.postMessage(message)
  process.kill(process.pid, 0)
  return { y: x }
}`
  for (const [place, more] of Object.entries(PLACES)) {
    await story.save(`mutters_${place}`, single(source, more))
    for (const value of [1, 2]) story.publish(`mutters_${place}.x`, value)
    assert.deepEqual(await story.values(`mutters_${place}.y`, 2), [1, 2])
  }
})

const NEVER = {
  call: 'export default ({ x }) => { while (x === 1); return { y: x } }',
  await: 'export default async ({ x }) => { await null; while (x === 1); return { y: x } }',
  microtasks: 'export default async ({ x }) => { while (x === 1) await null; return { y: x } }',
  generator: 'export default function* ({ x }) { yield { y: -x }; while (x === 1); yield { y: x } }',
}

async function neverReturns(where: keyof typeof NEVER): Promise<void> {
  const story = new Story(live.engine)
  const bad = `never_${where}`
  await story.save(bad, single(NEVER[where]))
  story.publish(`${bad}.x`, 1)
  await story.shows(bad, 'blocked_lane')
  assert.match(story.issue(bad, 'blocked_lane')!.message, new RegExp(`${bad}\\.bad .*Let it yield`))
  await goesOn()
  const { code, message } = await said(`${bad}.bad`)
  assert.equal(code, 'node_silent')
  assert.match(message, /Change the body so that it returns/)
  story.publish(`${bad}.x`, 2)
  await story.becomes(`${bad}.y`, 2)
  assert.equal(story.node(bad, 'bad').placement, 'dispatch')
}

test('a body that never returns is named, loses its lane, and runs where it stops nobody', async () => {
  await Promise.all([neverReturns('call'), neverReturns('await')])
})

test('so does one that hangs between its calls', async () => {
  await Promise.all([neverReturns('microtasks'), neverReturns('generator')])
})

for (const [how, ends] of [
  ['deleted', (story: Story, name: string) => story.engine.flows.remove(name, 'tests')],
  ['disabled', (story: Story, name: string) => story.engine.flows.setEnabled(name, false, 'tests')],
] as const) {
  test(`a body that never returns is ended with its flow when that is ${how}, and what waits in others runs`, async t => {
    // Nothing but the end of the flow would end it while this test lasts.
    const bounds = { blocked_lane_ms: 200, node_silent_ms: 3_600_000 }
    const { engine } = await liveEngine(t, { FLOW_LANES: '1' }, bounds)
    const story = new Story(engine)
    await story.save('beside', single('export default ({ x }) => ({ y: x })'))
    for (const where of ['call', 'await'] as const) {
      const name = `never_${where}`
      await story.save(name, single(NEVER[where]))
      story.publish(`${name}.x`, 1)
      await story.shows(name, 'blocked_lane')
      const from = story.version('beside.y')
      for (const value of [from + 1, from + 2]) story.publish('beside.x', value)
      await ends(story, name)
      await story.becomes('beside.y', from + 2)
    }
    assert.deepEqual(await story.values('beside.y', 4), [1, 2, 3, 4])
  })
}

test('a body that never returns in a call slot keeps one slot, which its timeout frees', async () => {
  const story = new Story(live.engine)
  await story.save('stuck', single(NEVER.call, { timeout: 0.1 }))
  await story.save('beside', single('export default ({ x }) => ({ y: x })', SLOT))
  story.publish('stuck.x', 1)
  story.publish('beside.x', 1)
  await story.becomes('beside.y', 1)
  const { code, message } = await said('stuck.bad')
  assert.equal(code, 'timeout')
  assert.match(message, /stuck\.bad: It ran past its timeout of 0\.1 s\. Raise the timeout or shorten the body\./)
  story.publish('stuck.x', 2)
  await story.becomes('stuck.y', 2)
})

test('a body that allocates without end is named and loses its lane before the engine does', async t => {
  const { engine } = await liveEngine(t, { FLOW_LANES: '1' }, { lane_heap_mb: 96 })
  const story = new Story(engine)
  const source =
    'export default ({ x }) => { const a = []; while (x === 1) a.push(new Array(1000).fill(x)); return { y: x } }'
  await story.save('eats', single(source))
  story.publish('eats.x', 1)
  const [error] = await story.errors('eats.bad')
  assert.equal(error!.code, 'out_of_memory')
  assert.match(error!.message, /Keep less in memory/)
  story.publish('eats.x', 2)
  await story.becomes('eats.y', 2)
})

test('a body that emits without end keeps nobody from anything, and ends with its flow', async () => {
  const story = new Story(live.engine)
  const floods = {
    generator: 'export default function* () { for (let i = 1; ; i++) yield { y: i } }',
    awaited: 'export default async (_, ctx) => { for (let i = 1; ; i++) await ctx.emit({ y: i }) }',
  }
  for (const [name, source] of Object.entries(floods)) {
    await story.save(name, single(source))
    story.publish(`${name}.x`, 1)
    await story.reaches(`${name}.y`, 1000)
    await goesOn()
  }
  for (const name of Object.keys(floods)) await story.engine.flows.remove(name, 'tests')
  await goesOn()
  await story.save('overflows', single('export default (_, ctx) => { for (;;) ctx.emit({ y: 1 }) }'))
  story.publish('overflows.x', 1)
  const { code, message } = await said('overflows.bad')
  assert.equal(code, 'emit_overflow')
  assert.match(message, /overflows\.bad emitted more than \d+ values without awaiting/)
})

test('through all of it the flow beside ran in order, nothing twice, and each thread that went is told of', async () => {
  clearInterval(feeding)
  const story = new Story(live.engine)
  await eventually(() => story.engine.flows.get('steady').backlog.waiting === 0, 'nothing waits')
  const ran = story.version('steady.y')
  story.publish('steady.x', fed)
  // Its state counted on, whatever lane it was on. What a lane had taken and not begun when it went is lost with it.
  const values = await story.values('steady.y', ran + 1)
  assert.deepEqual(
    values,
    Array.from({ length: ran + 1 }, (_, n) => n + 1),
  )
  const page = { limit: 1000, offset: 0, flow: null, type: 'thread_replaced', since_us: null, until_us: null }
  const { items } = await story.engine.observe.events(page as never)
  const named = items.map(event => String(event['node']).split('.')[0]!)
  const hanging = Object.keys(NEVER).map(where => `never_${where}`)
  assert.deepEqual(new Set(named), new Set(['exits_lane', 'exits_slot', 'stuck', ...hanging]))
})
