import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { FlowNode } from '../../protocol/nouns/flow-document.ts'
import { eventually, type LiveEngine, liveEngine, sharedEngine } from '../kit/live-engine.ts'
import { code, flow, input, node, output, Story } from '../kit/live-story.ts'
import { json, outside } from '../kit/outside.ts'

const live = sharedEngine({ FLOW_LANES: '2', FLOW_MAX_WORKERS: '2' })

async function ask(engine: LiveEngine, method: string, path: string, body?: unknown) {
  const token = readFileSync(join(engine.data_dir, 'token'), 'utf8')
  const answer = await fetch(engine.url + path, {
    method,
    headers: { authorization: `Bearer ${token}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  return { status: answer.status, text, json: text === '' ? null : JSON.parse(text) }
}
const put = async (name: string, value: string, engine: LiveEngine = live): Promise<void> => {
  const { status, text } = await ask(engine, 'PUT', `/secrets/${encodeURIComponent(name)}`, { value })
  assert.equal(status, 204, text)
}
const listed = async (name: string, engine: LiveEngine = live) => {
  const { items } = (await ask(engine, 'GET', '/secrets/')).json as {
    items: { name: string; used_by: string[]; updated_by: string; updated_at: string }[]
  }
  return items.find(item => item.name === name)
}

/** Answers a digest of the secret, so that the value itself goes nowhere. */
const DIGEST = `import { createHash } from 'node:crypto'
export default async ({ x }, ctx) => ({ y: createHash('sha256').update(await ctx.secret('key')).digest('hex') })`
const digestOf = async (value: string): Promise<string> =>
  Buffer.from(await crypto.subtle.digest('SHA-256', Buffer.from(value))).toString('hex')

const PLACES: readonly [place: string, more: Partial<FlowNode>][] = [
  ['on a lane', {}],
  ['in a call slot', { timeout: 30 }],
  ['in a process', { isolation: 'process' }],
]

for (const [place, more] of PLACES) {
  test(`a body ${place} gets the value of a secret, and the next call sees a new one`, async () => {
    const story = new Story(live.engine)
    const name = `asks${PLACES.findIndex(one => one[0] === place)}`
    await put('key', 'the first value')
    await story.save(
      name,
      flow([code('body', DIGEST, [input('x', 'int')], [output('y', 'str')], more)], { message: 'x', dtype: 'int' }),
    )
    story.publish(`${name}.x`, 1)
    await story.becomes(`${name}.y`, await digestOf('the first value'))
    await put('key', 'the second value, ünïcode')
    story.publish(`${name}.x`, 2)
    await story.becomes(`${name}.y`, await digestOf('the second value, ünïcode'))
    assert.ok((await listed('key'))!.used_by.includes(`${name}.body`))
  })

  test(`a body ${place} that names a secret which nobody stored fails, and the error names it`, async () => {
    const story = new Story(live.engine)
    const name = `lacks${PLACES.findIndex(one => one[0] === place)}`
    const source = `export default async (_, ctx) => ({ y: await ctx.secret('nowhere') })`
    await story.save(
      name,
      flow([code('body', source, [input('x', 'int')], [output('y', 'str')], more)], { message: 'x', dtype: 'int' }),
    )
    story.publish(`${name}.x`, 1)
    await eventually(async () => (await live.engine.nodes.errors(`${name}.body`)).count > 0, 'the error')
    const [error] = (await live.engine.nodes.errors(`${name}.body`)).items
    assert.equal(error!.code, 'secret_not_found')
    assert.match(error!.message, /no secret "nowhere"/)
  })
}

test('a secret that a body names when it runs is remembered, and deleting it is refused with the node', async () => {
  const story = new Story(live.engine)
  const odd = 'Ärger/with ?odd#names%2F'
  await put(odd, 'some value')
  const source = `export default async ({ x }, ctx) => ({ y: (await ctx.secret(x)).length })`
  await story.save(
    'runtime',
    flow([code('body', source, [input('x', 'str')], [output('y', 'int')])], { message: 'x', dtype: 'str' }),
  )
  assert.deepEqual((await listed(odd))!.used_by, [])
  story.publish('runtime.x', odd)
  await story.becomes('runtime.y', 10)
  assert.deepEqual((await listed(odd))!.used_by, ['runtime.body'])
  const path = `/secrets/${encodeURIComponent(odd)}`
  const refused = await ask(live, 'DELETE', path)
  assert.deepEqual([refused.status, refused.json.code], [409, 'secret_in_use'])
  assert.match(refused.json.detail, /"runtime\.body"/)
  assert.equal((await ask(live, 'DELETE', '/flows/runtime')).status, 204)
  assert.equal((await ask(live, 'DELETE', path)).status, 204)
  assert.equal((await ask(live, 'DELETE', path)).json.code, 'secret_not_found')
})

test('a setting names a secret: the connector sends its value, and a new value makes that connector alone begin anew', async t => {
  const story = new Story(live.engine)
  const there = await outside(t, ({ headers }, response) => json(response, headers['x-key'] ?? null))
  await put('header', 'value one')
  const poll = (id: string, headers: Record<string, unknown>) =>
    node(id, 'http-poll', { url: there.url, every_s: 3600, headers }, [], [output('body', 'json', { message: id })])
  const unknown = flow([poll('first', { 'x-key': { secret: 'nobody stored it' } })])
  const refused = await ask(live, 'PUT', '/flows/polls', { document: unknown })
  assert.deepEqual([refused.status, refused.json.code], [422, 'unknown_secret'])
  await story.save(
    'polls',
    flow([poll('first', { 'x-key': { secret: 'header' } }), poll('other', { 'x-key': 'plain' })]),
  )
  await story.becomes('polls.first', 'value one')
  await story.becomes('polls.other', 'plain')
  await put('header', 'value two')
  await story.becomes('polls.first', 'value two')
  await put('header', 'value two')
  assert.deepEqual([story.version('polls.first'), story.version('polls.other')], [2, 1])
  const shown = JSON.stringify([live.engine.flows.get('polls'), (await ask(live, 'GET', '/secrets/')).json])
  assert.doesNotMatch(shown, /value (one|two)/)
  assert.deepEqual((await listed('header'))!.used_by, ['polls.first'])
})

test('a webhook checks the value that its secret has now', async () => {
  const story = new Story(live.engine)
  await put('hook', 'first token')
  const hook = node(
    'in',
    'webhook',
    { token: { header: 'x-token', secret: { secret: 'hook' } } },
    [],
    [output('body', 'json')],
  )
  await story.save('hooked', flow([hook]))
  const send = async (token: string): Promise<number> =>
    (
      await fetch(`${live.url}/hooks/hooked/in`, {
        method: 'POST',
        body: '1',
        headers: { 'x-token': token, 'content-type': 'application/json' },
      })
    ).status
  assert.deepEqual([await send('first token'), await send('second token')], [202, 403])
  await put('hook', 'second token')
  assert.deepEqual([await send('first token'), await send('second token')], [403, 202])
})

test('values that are no text, empty or too long are refused, and no answer repeats them', async () => {
  const wrong: readonly [value: unknown, status: number, code: string][] = [
    ['', 422, 'bad_secret'],
    ['has \0 in it, hunter22', 422, 'bad_secret'],
    ['half of a pair \ud800 hunter22', 422, 'bad_secret'],
    [['hunter22'], 422, 'bad_secret'],
    [22_222_222, 422, 'bad_secret'],
    [undefined, 422, 'validation'],
    ['hunter22'.repeat(8_193), 413, 'too_large'],
    ['hunter22'.repeat(125_000), 413, 'too_large'],
  ]
  for (const [value, status, code] of wrong) {
    const refused = await ask(live, 'PUT', '/secrets/refused', { value })
    assert.deepEqual([refused.status, refused.json.code], [status, code])
    assert.doesNotMatch(refused.text, /hunter22|22222222/)
  }
  assert.equal((await ask(live, 'PUT', `/secrets/${'n'.repeat(129)}`, { value: 'x' })).status, 422)
  assert.equal(await listed('refused'), undefined)
})

test('secrets outlive a restart and a new key, and no file of the installation holds a value', async t => {
  const first = await liveEngine(t)
  await put('kept', 'correct horse battery', first)
  const rekeyed = await ask(first, 'POST', '/secret-keys')
  assert.deepEqual([rekeyed.status, rekeyed.json], [200, { count: 1 }])
  const again = await first.restart()
  const story = new Story(again.engine)
  const length = `export default async (_, ctx) => ({ y: (await ctx.secret('kept')).length })`
  await story.save(
    'reads',
    flow([code('body', length, [input('x', 'int')], [output('y', 'int')])], { message: 'x', dtype: 'int' }),
  )
  story.publish('reads.x', 1)
  await story.becomes('reads.y', 21)
  await again.close()
  for (const file of ['engine.db', 'engine.db-wal', 'redo.log', 'serve.log', 'key.pem']) {
    let bytes = Buffer.alloc(0)
    try {
      bytes = readFileSync(join(again.data_dir, file))
    } catch {}
    assert.equal(bytes.includes('correct horse battery'), false, file)
  }
})
