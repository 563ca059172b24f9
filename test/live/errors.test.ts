import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../protocol/limits.ts'
import { eventually, sharedEngine } from '../kit/live-engine.ts'
import { code, flow, Gate, input, output, Story } from '../kit/live-story.ts'

const live = sharedEngine()

const int = (message: string) => ({ message, dtype: 'int' as const })
const x = input('x', 'int')
const DECLARED = { timeout: 60 }

test('a body that throws ends its execution: what it published stays, other branches of the wave go on', async () => {
  const story = new Story(live.engine)
  const fails = `export default ({ x }, ctx) => {
  ctx.emit({ before: x })
  if (x === 2) throw new RangeError('no twos')
  return { after: x }
}`
  await story.save(
    'branches',
    flow(
      [
        code('fails', fails, [x], [output('before', 'int'), output('after', 'int')]),
        code('works', 'export default ({ x }) => ({ y: x })', [x], [output('y', 'int')]),
        code(
          'follows',
          'export default ({ before }) => ({ z: before })',
          [input('before', 'int')],
          [output('z', 'int')],
        ),
      ],
      int('x'),
    ),
  )
  for (const value of [1, 2, 3]) story.publish('branches.x', value)
  assert.deepEqual(await story.values('branches.y', 3), [1, 2, 3])
  assert.deepEqual(await story.values('branches.z', 3), [1, 2, 3])
  assert.deepEqual(await story.values('branches.after', 2), [1, 3])
  const [error] = await story.errors('branches.fails')
  assert.deepEqual([error!.code, error!.inputs, error!.acknowledged], ['node_error', { x: 2 }, false])
  assert.match(
    error!.message,
    /^RangeError: no twos\. At line 3, column 22 of the body: if \(x === 2\) throw new RangeError\('no twos'\)\. Correct/,
  )
  assert.match(error!.stack!, /no twos/)
  const { executions, errors } = story.node('branches', 'fails')
  assert.deepEqual([executions, errors], [3, 1])
  await eventually(async () => (await story.cascades('branches')).length === 3, 'three cascades are recorded')
  const cascades = (await story.cascades('branches')).reverse()
  assert.deepEqual(
    cascades.map(one => [one.status, one.errors]),
    [
      ['succeeded', 0],
      ['failed', 1],
      ['succeeded', 0],
    ],
  )
  assert.equal(error!.cascade, cascades[1]!.id)
})

test('an error is an issue of its flow and counted until it is acknowledged; the next one shows again', async () => {
  const story = new Story(live.engine)
  await story.save('marked', flow([code('fails', 'export default () => { throw new Error("no") }', [x])], int('x')))
  const unacknowledged = async () => (await live.engine.observe.summary()).node_errors
  const before = await unacknowledged()
  story.publish('marked.x', 1)
  await story.shows('marked', 'node_error')
  assert.equal(await unacknowledged(), before + 1)
  const [event] = await story.events('marked', 'node_error')
  assert.deepEqual([event!['node'], event!['code']], ['marked.fails', 'node_error'])
  await story.errors('marked.fails')
  await live.engine.nodes.acknowledge('marked.fails', 'ada')
  assert.equal(story.issue('marked', 'node_error'), undefined)
  assert.equal(await unacknowledged(), before)
  const [acknowledged] = await story.events('marked', 'node_acknowledged')
  assert.deepEqual([acknowledged!['node'], acknowledged!['by']], ['marked.fails', 'ada'])
  assert.equal((await story.errors('marked.fails'))[0]!.acknowledged, true)
  story.publish('marked.x', 2)
  await story.shows('marked', 'node_error')
  assert.deepEqual(
    (await story.errors('marked.fails', 2)).map(error => error.acknowledged),
    [false, true],
  )
})

test('an error is no issue any more when the node runs well again; its record stays', async () => {
  const story = new Story(live.engine)
  const body = 'export default ({ x }) => { if (x < 0) throw new Error("no"); return { y: x } }'
  await story.save('recovers', flow([code('may', body, [x], [output('y', 'int')])], int('x')))
  for (const place of ['inline', 'dispatched']) {
    if (place === 'dispatched')
      await story.save('recovers', flow([code('may', body, [x], [output('y', 'int')], DECLARED)], int('x')))
    for (const value of [1, -1]) story.publish('recovers.x', value)
    await story.shows('recovers', 'node_error')
    const good = story.node('recovers', 'may').executions
    story.publish('recovers.x', 2)
    await eventually(() => story.node('recovers', 'may').executions > good, 'it runs well')
    await eventually(() => story.issue('recovers', 'node_error') === undefined, `nothing is shown, ${place}`)
  }
  assert.deepEqual(
    (await story.errors('recovers.may', 2)).map(error => error.acknowledged),
    [false, false],
  )
})

test('of many errors the last failed inputs are kept, and all are counted', async () => {
  const story = new Story(live.engine)
  await story.save('many', flow([code('fails', 'export default () => { throw new Error("no") }', [x])], int('x')))
  const times = 5 * limits.FAILED_INPUTS_KEPT
  for (let value = 1; value <= times; value++) story.publish('many.x', value)
  await eventually(() => story.node('many', 'fails').errors === times, 'all failed')
  const last = Array.from({ length: limits.FAILED_INPUTS_KEPT }, (_, at) => times - at)
  const kept = async () => (await story.errors('many.fails')).map(error => (error.inputs as { x: number }).x)
  await eventually(async () => (await kept())[0] === times, 'the last one is kept')
  assert.deepEqual(await kept(), last)
})

/** What a body that answers so is told, and what reached its reader. */
const wrong: Record<string, [answer: string, code: string, message: RegExp]> = {
  'an undeclared key': ['{ y: x, z: 1 }', 'undeclared_key', /the key "z"/],
  'a number': ['x', 'bad_output', /returned number/],
  'a text': ['"y"', 'bad_output', /returned string/],
  'another dtype': ['{ y: "one" }', 'wrong_dtype', /Output "y" of .*int/],
  'a fraction for an int': ['{ y: 1.5 }', 'wrong_dtype', /Output "y"/],
  'not a number': ['{ f: NaN }', 'not_finite', /Output "f"/],
  infinity: ['{ f: -Infinity }', 'not_finite', /Output "f"/],
  'not a number, deep inside': ['{ j: { a: [1, { b: NaN }] } }', 'not_finite', /Output "j"/],
  'one wrong value beside a right one': ['{ y: x, f: NaN }', 'not_finite', /Output "f"/],
  'a value over its bound': ['{ j: "x".repeat(2 ** 20) }', 'value_too_large', /Output "j"/],
  'nesting without end': ['(() => { const j = {}; j.j = j; return { j } })()', 'too_deep', /Output "j"/],
  'what no JSON can carry': ['{ j: { f() {} } }', 'wrong_dtype', /Output "j"/],
}

for (const [place, more] of Object.entries({ inline: {}, dispatched: DECLARED })) {
  test(`each wrong answer of a body that runs ${place} is refused at the port, whole, and says what is wrong`, async () => {
    const story = new Story(live.engine)
    const name = `wrong_${place}`
    const cases = Object.entries(wrong)
    const nodes = cases.map(([, [answer]], at) =>
      code(
        `n${at}`,
        `export default ({ x }) => (${answer})`,
        [x],
        [
          output('y', 'int', { message: `y${at}` }),
          output('f', 'float', { message: `f${at}` }),
          output('j', 'json', { message: `j${at}` }),
        ],
        more,
      ),
    )
    await story.save(name, flow(nodes, int('x')))
    story.publish(`${name}.x`, 1)
    for (const [at, [what, [, expected, message]]] of cases.entries()) {
      const [error] = await story.errors(`${name}.n${at}`)
      assert.equal(error!.code, expected, what)
      assert.match(error!.message, message, what)
      assert.ok(error!.message.includes(`${name}.n${at}`), `${what} names the node: ${error!.message}`)
      for (const port of ['y', 'f', 'j']) assert.equal(story.version(`${name}.${port}${at}`), 0, `${what}: ${port}`)
    }
  })

  test(`ctx.emit of a body that runs ${place} throws where the mistake is, and the body may go on`, async () => {
    const story = new Story(live.engine)
    const name = `emits_${place}`
    const source = `export default async ({ x }, ctx) => {
  const codes = []
  for (const outputs of [{ y: 'one' }, { z: 1 }, 7, null, { y: NaN }]) {
    try { await ctx.emit(outputs) } catch (error) { codes.push(error.code) }
  }
  return { codes }
}`
    await story.save(
      name,
      flow([code('try', source, [x], [output('y', 'int'), output('codes', 'json')], more)], int('x')),
    )
    story.publish(`${name}.x`, 1)
    assert.deepEqual(await story.values(`${name}.codes`, 1), [
      ['wrong_dtype', 'undeclared_key', 'bad_output', 'bad_output', 'not_finite'],
    ])
    assert.equal(story.version(`${name}.y`), 0)
    assert.equal(story.node(name, 'try').errors, 0)
  })
}

test('an int passes for a float, nothing and an absent key publish nothing', async () => {
  const story = new Story(live.engine)
  const source = 'export default ({ x }) => [undefined, {}, { f: undefined }, { f: 3 }][x]'
  await story.save('silent', flow([code('answer', source, [x], [output('f', 'float')])], int('x')))
  for (const value of [0, 1, 2, 3]) story.publish('silent.x', value)
  await story.executed('silent', 'answer', 4)
  assert.deepEqual(await story.values('silent.f', 1), [3])
  assert.equal(story.node('silent', 'answer').errors, 0)
})

test('ten thousand emits without an await are an error; what was emitted before it stays', async () => {
  const story = new Story(live.engine)
  const source = 'export default ({ x }, ctx) => { for (let i = 0; i < x; i++) ctx.emit({ y: i }) }'
  await story.save(
    'flood',
    flow(
      [code('flood', source, [x], [output('y', 'int')]), code('read', 'export default () => {}', [input('y', 'int')])],
      int('x'),
    ),
  )
  story.publish('flood.x', 9_000)
  await story.executed('flood', 'read', 9_000)
  assert.equal(story.node('flood', 'flood').errors, 0)
  story.publish('flood.x', 20_000)
  const [error] = await story.errors('flood.flood')
  assert.equal(error!.code, 'emit_overflow')
  await story.executed('flood', 'read', story.version('flood.y'))
})

test('a body that cannot be loaded fails at each execution and says why; mended, it runs', async () => {
  const story = new Story(live.engine)
  const document = (source: string) => flow([code('load', source, [x], [output('y', 'int')])], int('x'))
  const sources = {
    missing: "import { nothing } from 'no-such-package'\nexport default () => nothing",
    throwing: "throw new Error('at the top\\nand below?')\nexport default () => {}",
  }
  for (const [name, source] of Object.entries(sources)) {
    await story.save(name, document(source))
    for (const value of [1, 2]) story.publish(`${name}.x`, value)
    const errors = await story.errors(`${name}.load`, 2)
    assert.deepEqual(
      errors.map(error => [error.code, (error.inputs as { x: number }).x]),
      [
        ['body_not_loaded', 2],
        ['body_not_loaded', 1],
      ],
    )
    assert.match(
      errors[0]!.message,
      name === 'missing' ? /no-such-package/ : /Error: at the top\. and below\? Check what it imports/,
    )
    await story.save(name, document('export default ({ x }) => ({ y: x })'))
    story.publish(`${name}.x`, 3)
    assert.deepEqual(await story.values(`${name}.y`, 1), [3])
  }
})

test('a node that reports itself down is an issue and counted until it reports well; its flow runs on', async () => {
  const story = new Story(live.engine)
  const source = "export default ({ x }, ctx) => { ctx.report(x > 0 ? 'ok' : 'down', 'no answer'); return { y: x } }"
  await story.save('reports', flow([code('poll', source, [x], [output('y', 'int')])], int('x')))
  const down = async () => (await live.engine.observe.summary()).nodes_down
  story.publish('reports.x', 0)
  await story.shows('reports', 'node_down')
  assert.match(story.issue('reports', 'node_down')!.message, /reports\.poll reports itself down: no answer/)
  assert.deepEqual([await down(), story.node('reports', 'poll').down], [1, 'no answer'])
  story.publish('reports.x', 1)
  await eventually(() => story.issue('reports', 'node_down') === undefined, 'it is well again')
  assert.deepEqual([await down(), story.node('reports', 'poll').down], [0, null])
  assert.deepEqual(await story.values('reports.y', 2), [0, 1])
  await story.events('reports', 'node_down')
  await story.events('reports', 'node_up')
})

test('gauges are shown, and what is no gauge or report is an error of the node', async () => {
  const story = new Story(live.engine)
  const source = `export default ({ x }, ctx) => {
  if (x === 1) ctx.metric('speed', 7.5)
  if (x === 2) ctx.metric('speed', NaN)
  if (x === 3) ctx.metric('', 1)
  if (x === 4) ctx.report('fine')
}`
  await story.save('gauge', flow([code('set', source, [x])], int('x')))
  for (const value of [1, 2, 3, 4]) story.publish('gauge.x', value)
  const codes = (await story.errors('gauge.set', 3)).map(error => error.code)
  assert.deepEqual(codes, ['bad_report', 'bad_metric', 'not_finite'])
  await eventually(
    () => [...live.engine.observe.prometheus()].join('').includes('svc_node_gauge{node="gauge.set",name="speed"} 7.5'),
    'the gauge is shown',
  )
})

for (const [where, more] of [
  ['on its lane', {}],
  ['in a call slot', { timeout: 60 }],
] as const)
  test(`a body ${where} that floods gauges and lines keeps the newest, and what was left out is counted`, async () => {
    const story = new Story(live.engine)
    const name = `pours${Object.keys(more).length}`
    const source = `export default ({ x }, ctx) => {
  for (let at = 0; at < 200_000; at++) ctx.metric('one', at)
  for (let at = 0; at < 1_000; at++) ctx.metric('m' + at, at)
  for (let at = 0; at < 1_000; at++) ctx.log('line ' + at)
  return { y: x }
}`
    await story.save(name, flow([code('out', source, [x], [output('y', 'int')], more)], int('x')))
    const before = { gauges: await story.dropped('gauges'), lines: await story.dropped('log_lines') }
    story.publish(`${name}.x`, 1)
    await story.executed(name, 'out', 1)
    await eventually(async () => (await story.dropped('log_lines')) > before.lines, 'lines were left out')
    await eventually(async () => (await story.dropped('gauges')) > before.gauges, 'gauges were left out')
    const shown = () => [...live.engine.observe.prometheus()].join('').match(/name="m\d+"/g) ?? []
    await eventually(
      () => [...live.engine.observe.prometheus()].join('').includes(`node="${name}.out",name="m999"`),
      'the newest is shown',
    )
    assert.ok(shown().length <= 2 * limits.GAUGES_PER_NODE)
  })

test('a flow that stays full makes the engine degraded, until it has room again', async () => {
  const story = new Story(live.engine)
  const gate = new Gate(live.data_dir, 'overload')
  await story.save(
    'full',
    flow(
      [
        code(
          'stand',
          `${gate.source}export default async ({ x }) => { await opened(); return { y: x } }`,
          [x],
          [output('y', 'int')],
        ),
      ],
      int('x'),
    ),
  )
  const status = async () => [(await live.engine.observe.summary()).status, (await live.engine.observe.health()).status]
  await eventually(async () => (await status()).every(one => one === 'ok'), 'it is well to begin with')
  const enough = Math.ceil(limits.FLOW_WAITING_ITEMS * limits.FLOW_PRESSURE_DEGRADED) + 10
  for (let at = 0; at < enough; at += 500)
    live.engine.messages.publish(Array.from({ length: 500 }, (_, value) => ({ name: 'full.x', value })))
  await eventually(async () => (await status()).every(one => one === 'degraded'), 'it is degraded')
  gate.open()
  await eventually(async () => (await status()).every(one => one === 'ok'), 'it is well again')
})

test('lines of a body are events with their level', async () => {
  const story = new Story(live.engine)
  await story.save(
    'talk',
    flow([code('say', "export default ({ x }, ctx) => { ctx.log('hello ' + x, 'warn') }", [x])], int('x')),
  )
  story.publish('talk.x', 1)
  const [event] = await story.events('talk', 'node_log')
  assert.deepEqual([event!['node'], event!['level'], event!['text']], ['talk.say', 'warn', 'hello 1'])
})

test('every execution that ends is counted once, however it ends', async () => {
  const story = new Story(live.engine)
  const bodies = {
    threw: 'export default () => { throw new Error("no") }',
    rejected: 'export default async () => { throw new Error("no") }',
    refused: 'export default async () => ({ undeclared: 1 })',
    broke_off: 'export default function* () { yield { y: 1 }; throw new Error("no") }',
    returned: 'export default async ({ x }) => ({ y: x })',
    yielded: 'export default function* ({ x }) { yield { y: x } }',
  }
  const nodes = Object.entries(bodies).map(([id, source]) =>
    code(id, source, [input('x', 'int')], [output('y', 'int', { message: `${id}_y` })]),
  )
  await story.save('ends', flow(nodes, int('x')))
  for (const x of [1, 2, 3]) story.publish('ends.x', x)
  await eventually(async () => (await story.cascades('ends')).length === 3, 'all three cascades have ended')
  for (const id of Object.keys(bodies)) assert.deepEqual([id, story.node('ends', id).executions], [id, 3])
})
