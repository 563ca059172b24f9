import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { WebSocket } from 'ws'
import { type LiveEngine, liveEngine } from '../kit/live-engine.ts'
import { boiler } from '../kit/served-front.ts'

const PASSWORD = 'correct horse battery'

async function as(
  live: LiveEngine,
  role: string,
): Promise<(method: string, path: string, body?: object) => Promise<string | number>> {
  const call = async (token: string | null, method: string, path: string, body?: object) => {
    const headers = {
      'content-type': 'application/json',
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    }
    const answer = await fetch(live.url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    const text = await answer.text()
    return { status: answer.status, json: text === '' ? null : JSON.parse(text) }
  }
  const admin = readFileSync(join(live.data_dir, 'token'), 'utf8')
  const made = await call(admin, 'POST', '/users', { name: role, password: PASSWORD, role })
  assert.deepEqual([made.status, made.json.role], [201, role])
  const { json } = await call(null, 'POST', '/login/access-token', { username: role, password: PASSWORD })
  return async (method, path, body) => {
    const { status, json: answered } = await call(json.access_token, method, path, body)
    return status < 400 ? status : answered.code
  }
}

test('who edits without code hands no secret on, and reads no file of the machine', async t => {
  const live = await liveEngine(t)
  const { flows } = live.engine
  const stored = await fetch(`${live.url}/secrets/api%20key`, {
    method: 'PUT',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${readFileSync(join(live.data_dir, 'token'), 'utf8')}`,
    },
    body: JSON.stringify({ value: 'a value of many letters' }),
  })
  assert.equal(stored.status, 204)
  const outputs = (name: string, dtype: string) => ({ outputs: [{ name, dtype }] })
  const poll = (url: string, settings: object = {}) => ({
    nodes: [
      { id: 'poll', type: 'http-poll', settings: { url, every_s: 3600, ...settings }, ports: outputs('body', 'json') },
    ],
  })
  const headers = { 'X-Key': { secret: 'api key' } }
  const lines = (listen: string) => ({
    nodes: [
      { id: 'p', type: 'lines', settings: { listen, format: 'csv', columns: ['a'] }, ports: outputs('a', 'str') },
    ],
  })
  const film = (source: string) => ({
    nodes: [{ id: 'p', type: 'camera', settings: { source }, ports: outputs('frame', 'image') }],
  })
  const save = (name: string, document: object, may: 'edit' | 'code' = 'edit') =>
    flows.save(name, { document: document as never }, 'agent', may)
  const forbidden = { code: 'forbidden' }
  await assert.rejects(save('poll', poll('http://127.0.0.1:9/', { headers })), forbidden)
  await save('poll', poll('http://127.0.0.1:9/'))
  await assert.rejects(save('poll', poll('http://127.0.0.1:9/', { headers })), forbidden)
  await save('poll', poll('http://127.0.0.1:9/', { headers }), 'code')
  await assert.rejects(save('poll', poll('http://127.0.0.1:8/', { headers })), forbidden)
  await save('poll', { ...poll('http://127.0.0.1:9/', { headers }), inputs: [{ message: 'more', dtype: 'float' }] })
  await save('poll', poll('http://127.0.0.1:8/'))
  for (const document of [lines('file:///etc/passwd'), lines('unix:///run/x.sock'), film('/etc/passwd')])
    await assert.rejects(save('files', document), forbidden)
  await save('files', film('test'))
})

test('a viewer reads, an operator publishes and runs as well, an editor saves flows as well', async t => {
  const live = await liveEngine(t)
  const editor = await as(live, 'editor')
  const operator = await as(live, 'operator')
  const viewer = await as(live, 'viewer')
  const save = ['PUT', '/flows/boiler', { document: boiler }] as const
  const publish = ['POST', '/messages/boiler.raw', { value: 1 }] as const
  const run = ['POST', '/runs/flows/boiler', { inputs: { raw: 1 } }] as const
  assert.equal(await viewer(...save), 'forbidden')
  assert.equal(await operator(...save), 'forbidden')
  assert.equal(await editor(...save), 200)
  assert.equal(await viewer('GET', '/flows/boiler'), 200)
  assert.equal(await viewer(...publish), 'forbidden')
  assert.equal(await operator(...publish), 202)
  assert.equal(await viewer(...run), 'forbidden')
  assert.equal(await operator(...run), 201)
  assert.equal(await operator('POST', '/flows/boiler/disable'), 200)
  assert.equal(await operator('POST', '/modules/refresh'), 'forbidden')
  assert.equal(await editor('GET', '/users'), 'forbidden')
})

test('an author without the scope for code changes wires and settings, and no body', async t => {
  const { engine } = await liveEngine(t)
  const { flows } = engine
  await assert.rejects(
    flows.create({ name: 'boiler', document: boiler as never }, 'agent', 'edit'),
    /The code of smoother/,
  )
  await flows.create({ name: 'boiler', document: boiler as never }, 'ada')
  const [smoother] = boiler.nodes
  const slower = { ...boiler, nodes: [{ ...smoother, timeout: 5 }] }
  assert.equal((await flows.save('boiler', { document: slower as never }, 'agent', 'edit')).version, 2)
  const other = { ...boiler, nodes: [{ ...smoother, source: 'export default () => ({ smooth: 0 })' }] }
  await assert.rejects(flows.save('boiler', { document: other as never }, 'agent', 'edit'), { code: 'forbidden' })
  assert.equal(flows.get('boiler').version, 2)
})

test('the websocket of a user ends when the user is disabled, and when the role becomes another', async t => {
  const live = await liveEngine(t)
  const headers = {
    authorization: `Bearer ${readFileSync(join(live.data_dir, 'token'), 'utf8')}`,
    'content-type': 'application/json',
  }
  const ask = async (method: string, path: string, body: object): Promise<{ access_token: string }> =>
    (await (await fetch(live.url + path, { method, headers, body: JSON.stringify(body) })).json()) as {
      access_token: string
    }
  await ask('POST', '/users', { name: 'ada', password: PASSWORD })
  for (const change of [{ role: 'viewer' }, { disabled: true }]) {
    const { access_token } = await ask('POST', '/login/access-token', { username: 'ada', password: PASSWORD })
    const socket = new WebSocket(`${live.url.replace('http', 'ws')}/ws/flows`, {
      headers: { authorization: `Bearer ${access_token}` },
    })
    await once(socket, 'open')
    const closed = once(socket, 'close')
    await ask('PATCH', '/users/ada', change)
    assert.equal((await closed)[0], 4401, JSON.stringify(change))
  }
})
