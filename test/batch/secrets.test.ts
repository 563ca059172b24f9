import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { FlowNode } from '../../protocol/nouns/flow-document.ts'
import { BatchStory } from '../kit/batch-story.ts'
import { eventually, type LiveEngine, liveEngine, sharedEngine } from '../kit/live-engine.ts'
import { code, flow, input, output, Story } from '../kit/live-story.ts'

const live = sharedEngine({ FLOW_MAX_WORKERS: '2' })

async function asked(engine: LiveEngine, path: string, init: RequestInit = {}): Promise<string> {
  const authorization = `Bearer ${readFileSync(join(engine.data_dir, 'token'), 'utf8')}`
  const answer = await fetch(engine.url + path, { ...init, headers: { authorization } })
  assert.ok(answer.ok, `${path}: ${answer.status}`)
  return answer.text()
}
const put = (name: string, value: string, engine: LiveEngine = live): Promise<string> =>
  asked(engine, `/secrets/${encodeURIComponent(name)}`, { method: 'PUT', body: JSON.stringify({ value }) })

const int = { message: 'x', dtype: 'int' } as const

test('a cached node runs again when a secret that it uses has another value, and not when others have', async () => {
  const story = new BatchStory(live.engine)
  await put('used', 'first value')
  await put('other', 'some value')
  const source = `export default async ({ x }, ctx) => ({ y: x + (await ctx.secret('used')).length })`
  await story.save('keyed', flow([code('body', source, [input('x', 'int')], [output('y', 'int')])], int))
  const ran = async (): Promise<[status: string | undefined, y: unknown]> => {
    const run = await story.runs('keyed', { inputs: { x: 1 } })
    return [(await story.statuses(run.id))['body'], run.result!['y']]
  }
  assert.deepEqual(await ran(), ['succeeded', 12])
  assert.deepEqual(await ran(), ['cached', 12])
  await put('other', 'another value')
  assert.deepEqual(await ran(), ['cached', 12])
  await put('used', 'second value!')
  assert.deepEqual(await ran(), ['succeeded', 14])
  assert.deepEqual(await ran(), ['cached', 14])
})

test('of a body that names a secret when it runs the first result is not given again, later ones are until the value changes', async () => {
  const story = new BatchStory(live.engine)
  await put('dynamic', 'first value')
  const source = `export default async ({ x }, ctx) => ({ y: x + (await ctx.secret(['dyn', 'amic'].join(''))).length })`
  await story.save('asks', flow([code('body', source, [input('x', 'int')], [output('y', 'int')])], int))
  const statuses: (string | undefined)[] = []
  for (let at = 0; at < 4; at++) {
    if (at === 3) await put('dynamic', 'another value')
    const run = await story.runs('asks', { inputs: { x: 1 } })
    statuses.push((await story.statuses(run.id))['body'])
  }
  assert.deepEqual(statuses, ['succeeded', 'succeeded', 'cached', 'succeeded'])
})

const VALUE = 'hunter2/correct+horse "battery" ä'
const LEAKS = `export default async ({ x }, ctx) => {
  const value = await ctx.secret('leaked')
  ctx.log('plain ' + value)
  ctx.log({ json: value })
  console.log('printed', Buffer.from('ab' + value).toString('base64'))
  console.log(encodeURIComponent(value))
  ctx.metric(value.slice(0, 60), 1)
  ctx.report('down', 'refused ' + value)
  if (x === 0) throw new TypeError('refused: ' + value)
  return { y: { [value]: ['Bearer ' + value] } }
}`
const FORMS = [
  VALUE,
  JSON.stringify(VALUE).slice(1, -1),
  encodeURIComponent(VALUE),
  'hunter2',
  'aHVudGVyM',
  'YmlubnRlcj',
  'h1bnRlcjIv',
]

for (const [place, more] of [
  ['a call slot', {}],
  ['a process', { isolation: 'process' }],
] as const satisfies [string, Partial<FlowNode>][]) {
  test(`what a body in ${place} lets slip of a secret stands nowhere: logs, errors, events, records, metrics, exports, files`, async t => {
    const engine = await liveEngine(t)
    const story = new BatchStory(engine.engine)
    await put('leaked', VALUE, engine)
    await story.save('leaks', flow([code('body', LEAKS, [input('x', 'int')], [output('y', 'json')], more)], int))
    const good = await story.runs('leaks', { inputs: { x: 1 } })
    const bad = await story.runs('leaks', { inputs: { x: 0 } })
    assert.deepEqual([good.status, bad.status], ['succeeded', 'failed'])
    assert.deepEqual(good.result, { y: { '***': ['Bearer ***'] } })
    assert.match(bad.error!.message, /refused: \*\*\*/)
    const live = new Story(engine.engine)
    for (const x of [1, 0]) live.publish('leaks.x', x)
    await eventually(async () => (await engine.engine.nodes.errors('leaks.body')).count > 0, 'the error')
    const paths = [
      `/runs/${good.id}`,
      `/runs/${good.id}/nodes`,
      `/runs/${good.id}/logs`,
      `/runs/${bad.id}`,
      `/runs/${bad.id}/nodes`,
    ]
    paths.push(
      `/runs/${bad.id}/logs`,
      '/runs',
      '/runs/export?format=jsonl',
      '/runs/metrics/export?format=jsonl',
      '/runs/metrics/names',
    )
    paths.push(
      '/events?limit=1000',
      '/nodes/leaks.body',
      '/nodes/leaks.body/errors',
      '/flows/leaks',
      '/metrics',
      '/observability/summary',
    )
    const texts = new Map<string, string>()
    for (const path of paths) texts.set(path, await asked(engine, path))
    assert.match(texts.get(`/runs/${good.id}/logs`)!, /plain \*\*\*/)
    assert.match(texts.get('/nodes/leaks.body/errors')!, /refused: \*\*\*/)
    await engine.close()
    for (const file of readdirSync(engine.data_dir).filter(name => /\.(db|log|db-wal)$/.test(name)))
      texts.set(file, readFileSync(join(engine.data_dir, file), 'latin1'))
    for (const [where, text] of texts)
      for (const form of FORMS) {
        // The value that flows live is the author's own affair; it is in the history of the message.
        if (where.startsWith('engine.db')) continue
        assert.equal(text.includes(form), false, `${where}: ${form}`)
      }
  })
}

test('secrets among the inputs of a run stand in no record and no export, and bodies and retries get them as they are', async t => {
  const first = await liveEngine(t, { FLOW_MAX_RUNS: '1' })
  await put('pass word', VALUE, first)
  const story = new BatchStory(first.engine)
  const body = `export default ({ x }) => ({ y: JSON.stringify(x).length })`
  await story.save(
    'given',
    flow([code('body', body, [input('x', 'json')], [output('y', 'int')])], { message: 'x', dtype: 'json' }),
  )
  const x = { user: 'ann', [VALUE]: [VALUE, Buffer.from(VALUE).toString('base64')] }
  const long = { value: VALUE, more: 'x'.repeat(20_000) }
  const expected = [JSON.stringify(x).length, JSON.stringify(long).length]
  const created = JSON.parse(
    await asked(first, '/runs/flows/given', { method: 'POST', body: JSON.stringify({ inputs: { x } }) }),
  )
  assert.deepEqual(created.inputs, { x: { user: 'ann', '***': ['***', '***A=='] } })
  const ids = [created.id, (await story.runs('given', { inputs: { x: long } })).id]
  for (const id of [...ids]) ids.push((await first.engine.runs.retry(id, 'admin')).id)
  for (const [at, id] of ids.entries()) assert.equal((await story.ended(id)).result!['y'], expected[at % 2])
  const never = code('never', 'export default () => new Promise(() => {})', [input('x', 'int')], [output('y', 'int')])
  await story.save('holds', flow([never], int))
  await story.create('holds', { inputs: { x: 1 } })
  const queued = await story.create('given', { inputs: { x } })
  const engine = await first.restart()
  const again = new BatchStory(engine.engine)
  assert.equal((await again.ended(queued.id)).result!['y'], expected[0])
  const { id } = await engine.engine.runs.retry(ids[3], 'admin')
  assert.equal((await again.ended(id)).result!['y'], expected[1])
  const paths = [
    '/runs',
    '/runs?where=input.x.user%3Dann',
    '/runs?columns=input.x.user',
    '/runs/export?format=jsonl',
    '/events?limit=1000',
  ]
  for (const run of [...ids, queued.id, id])
    paths.push(`/runs/${run}`, `/runs/${run}/nodes`, `/runs/${run}/nodes/body/why`)
  for (const path of paths) {
    const text = await asked(engine, path)
    for (const form of FORMS) assert.equal(text.includes(form), false, `${path}: ${form}`)
  }
})

test('while a run goes on, what its ended nodes let slip is masked as well', async () => {
  const story = new BatchStory(live.engine)
  await put('early', VALUE)
  const slip = code(
    'slip',
    `export default async (_, ctx) => ({ y: await ctx.secret('early') })`,
    [input('x', 'int')],
    [output('y', 'str')],
  )
  const waits = code(
    'waits',
    'export default () => new Promise(() => {})',
    [input('y', 'str', { message: 'y' })],
    [output('z', 'int')],
  )
  await story.save('goes', flow([slip, waits], int))
  const { run } = await live.engine.runs.create('goes', { inputs: { x: 1 } }, 'admin')
  await eventually(
    async () => (await asked(live, `/runs/${run.id}/nodes`)).includes('"node":"waits","status":"running"'),
    'the second node',
  )
  const shown = await asked(live, `/runs/${run.id}/nodes`)
  assert.match(shown, /\*\*\*/)
  assert.equal(shown.includes('hunter2'), false)
  await live.engine.runs.cancel(run.id, 'admin')
})
