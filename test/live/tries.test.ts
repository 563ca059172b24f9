import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { connect } from '../../clients/client/index.ts'
import { limits } from '../../protocol/limits.ts'
import { eventually, sharedEngine } from '../kit/live-engine.ts'
import { code, flow, Gate, inject, input, output, refused, Story } from '../kit/live-story.ts'

const live = sharedEngine({ FLOW_LANES: '1', FLOW_MAX_WORKERS: '1' })
const tried = (node: string, request = {}, gone: AbortSignal | null = null) =>
  live.engine.nodes.try(node, request, gone)
const client = () => connect({ url: live.url, token: readFileSync(join(live.data_dir, 'token'), 'utf8').trim() })
const one = (source: string, more = {}) =>
  flow([code('body', source, [input('x', 'int')], [output('y')], more)], { message: 'x', dtype: 'int' })

test('a body runs on the newest values, and what came of it is answered and kept nowhere', async () => {
  const story = new Story(live.engine)
  await story.save(
    'seen',
    one(`export default async ({ x }, ctx) => {
      ctx.state.count = (ctx.state.count ?? 0) + 1
      ctx.log('it is ' + x, 'warn')
      console.log('printed')
      ctx.metric('level', x / 2)
      ctx.report('down', 'no sensor')
      await ctx.emit({ y: 'first' })
      await ctx.emit({ y: ctx.state.count })
      return { y: { x, run: ctx.run, settings: ctx.settings } }
    }`),
  )
  story.publish('seen.x', 4)
  await story.reaches('seen.y', 3)
  const before = { node: story.node('seen', 'body'), version: story.version('seen.y') }
  const { ts: _, ...line } = (await tried('seen.body')).log[0]!
  const { log, duration_s, ...answer } = await tried('seen.body', { inputs: { x: 7 } })
  assert.deepEqual(line, { level: 'warn', text: 'it is 4' })
  assert.deepEqual(
    log.map(({ level, text }) => [level, text]),
    [
      ['warn', 'it is 7'],
      ['info', 'printed'],
    ],
  )
  assert.ok(duration_s > 0)
  assert.deepEqual(answer, {
    inputs: { x: 7 },
    outputs: { y: { x: 7, run: null, settings: {} } },
    emissions: [{ y: 'first' }, { y: 2 }],
    emitted: 2,
    log_dropped: 0,
    metrics: { level: 3.5 },
    report: { status: 'down', text: 'no sensor' },
    // The state of the node, and one more: each try has a copy of its own.
    state: { count: 2 },
    error: null,
    left_out: [],
  })
  assert.deepEqual({ node: story.node('seen', 'body'), version: story.version('seen.y') }, before)
  assert.equal(before.node.executions, 1)
  // The report of the live execution stands; the tries added nothing.
  assert.equal((await story.errors('seen.body', 0)).length, 0)
})

test('an input that is missing, unknown or of another dtype is refused by its port', async () => {
  const story = new Story(live.engine)
  await story.save('asked', one('export default ({ x }) => ({ y: x })'))
  const places = (inputs: object) =>
    tried('asked.body', { inputs }).then(
      () => assert.fail('it ran'),
      ({ code, errors }) => [code, errors.map(({ loc }: { loc: string }) => loc)],
    )
  assert.deepEqual(await places({}), ['bad_input', ['body.inputs.x']])
  assert.deepEqual(await places({ x: 1, z: 2 }), ['bad_input', ['body.inputs.z']])
  assert.deepEqual(await places({ x: 'a text' }), ['bad_input', ['body.inputs.x']])
  assert.equal(await refused(tried('asked.nobody')), 'node_not_found')
  await story.save('timed', flow([inject('tick', { cron: '0 0 1 1 *' }, output('out'))]))
  assert.equal(await refused(tried('timed.tick')), 'no_body')
})

test('a draft is checked as a save checks it, and runs without being saved', async () => {
  const story = new Story(live.engine)
  await story.save('drafted', one('export default ({ x }) => ({ y: x })'))
  const draft = (source: string) => tried('drafted.body', { source, inputs: { x: 3 } })
  assert.deepEqual((await draft('export default ({ x }: { x: number }) => ({ y: x * 2 })')).outputs, { y: 6 })
  await assert.rejects(draft('export default ({ x }) => {\n  return { y: }\n}'), {
    code: 'syntax_error',
    detail: 'source:2:15: node "body": line 2, column 15: Expression expected. Correct the line and column named.',
    errors: [{ loc: 'body.source:2:15', msg: 'node "body": line 2, column 15: Expression expected' }],
  })
  assert.equal(await refused(draft('export const body = 1')), 'no_default_export')
  const { error, outputs } = await draft(
    `const level = (x: number): never => {\n  throw new RangeError('too ' + x)\n}\nexport default ({ x }: { x: number }) => level(x)`,
  )
  assert.deepEqual([error!.code, error!.line, error!.column, outputs], ['node_error', 2, 9, null])
  assert.match(error!.message, /too 3/)
  const undeclared = await draft('export default () => ({ z: 1 })')
  assert.equal(undeclared.error!.code, 'undeclared_key')
  assert.equal(live.engine.flows.get('drafted').version, 1)
  assert.equal((await tried('drafted.body', { inputs: { x: 3 } })).outputs!['y'], 3)
})

test('a body that never ends is ended, and holds no live call up meanwhile', async () => {
  const story = new Story(live.engine)
  // The only call slot of live nodes.
  await story.save('away', one('export default ({ x }) => ({ y: x })', { timeout: 60 }))
  await story.save('endless', one('export default () => { for (;;); }'))
  const endless = [1, 2].map(x => tried('endless.body', { inputs: { x }, timeout_s: 1 }))
  assert.equal(await refused(tried('endless.body', { inputs: { x: 3 } })), 'too_many_tries')
  story.publish('away.x', 1)
  await story.becomes('away.y', 1)
  for (const { error } of await Promise.all(endless)) assert.equal(error!.code, 'timeout')
  assert.equal((await tried('away.body', { inputs: { x: 2 } })).outputs!['y'], 2)
  const replaced = { limit: 100, offset: 0, flow: 'endless', type: 'thread_replaced', since_us: null, until_us: null }
  assert.equal((await live.engine.observe.events(replaced)).count, 0)
})

test('a body that emits without end, or a value without bounds, costs no more than an answer has room for', async () => {
  const story = new Story(live.engine)
  await story.save(
    'floods',
    one(
      'export default async (_, ctx) => { for (let y = 0; ; y++) { ctx.log("x".repeat(1000)); await ctx.emit({ y }) } }',
    ),
  )
  const { error, emitted, emissions, log, log_dropped } = await tried('floods.body', { inputs: { x: 1 } })
  assert.deepEqual([error!.code, emissions.length], ['emit_overflow', limits.TRY_EMISSIONS_SHOWN])
  assert.ok(emitted >= limits.TRY_EMISSIONS)
  assert.ok(log.length <= limits.TRY_LINES && log_dropped > 0)
  const large = 'export default () => ({ y: "x".repeat(500_000) })'
  const { outputs, left_out } = await tried('floods.body', { source: large, inputs: { x: 1 } })
  assert.deepEqual([outputs, left_out], [{ y: null }, ['outputs.y']])
})

test('a client that goes away ends the body', async () => {
  const story = new Story(live.engine)
  const gate = new Gate(live.data_dir, 'try')
  await story.save(
    'left',
    one(`${gate.source}
      export default async ({ x }, ctx) => { await ctx.artifact('begun ' + x, 'text/plain'); await opened(); return { y: 1 } }`),
  )
  // The body of who left ends a moment later: until then the place may be taken.
  const leave = async (x: number): Promise<boolean> => {
    const leaving = new AbortController()
    const trying = client().nodes.try('left.body', { inputs: { x }, timeout_s: 60 }, { signal: leaving.signal })
    setTimeout(() => leaving.abort(new Error('enough')), 50)
    const error = await trying.then(
      () => assert.fail('it has an answer'),
      (reason: Error & { code?: string }) => reason,
    )
    if (error.code === 'too_many_tries') return false
    assert.match(error.message, /enough/)
    return true
  }
  for (let round = 0; round < 3; round++) await eventually(() => leave(round), 'a place for the next one')
  // Three of them would not run at once, were one of them still there.
  gate.open()
  await eventually(
    () =>
      tried('left.body', { inputs: { x: 9 } }).then(
        ({ outputs }) => outputs?.['y'] === 1,
        () => false,
      ),
    'a free place',
  )
})

test('a node with a process of its own is tried in one', async () => {
  const story = new Story(live.engine)
  await story.save(
    'apart',
    one('export default ({ x }, ctx) => { ctx.log("in " + x); return { y: process.env.PLACE } }', {
      isolation: 'process',
      resources: { env: { PLACE: 'a process' } },
    }),
  )
  const { outputs, log, error } = await tried('apart.body', { inputs: { x: 1 } })
  assert.deepEqual([outputs, log.map(({ text }) => text), error], [{ y: 'a process' }, ['in 1'], null])
  const { error: ended } = await tried('apart.body', {
    inputs: { x: 1 },
    timeout_s: 1,
    source: 'export default () => { for (;;); }',
  })
  assert.equal(ended!.code, 'timeout')
})

test('whoever may run may try what is there; another source needs the scope "code"', async () => {
  const story = new Story(live.engine)
  await story.save('guarded', one('export default ({ x }) => ({ y: x })'))
  const admin = client()
  await admin.users.add({ name: 'olga', password: 'a password of olga', role: 'operator' })
  const { access_token } = await admin.login('olga', 'a password of olga')
  const olga = connect({ url: live.url, token: access_token })
  assert.deepEqual((await olga.nodes.try('guarded.body', { inputs: { x: 1 } })).outputs, { y: 1 })
  const source = 'export default () => ({})'
  await assert.rejects(olga.nodes.try('guarded.body', { inputs: { x: 1 }, source }), { code: 'forbidden' })
  await assert.rejects(olga.nodes.try('guarded.body', { inputs: { x: 1 }, settings: {} }), { code: 'forbidden' })
  assert.deepEqual((await admin.nodes.try('guarded.body', { inputs: { x: 1 }, source })).outputs, {})
})
