import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import { WebSocket } from 'ws'
import { limits } from '../../../protocol/limits.ts'
import type { CreatedClient } from '../../../protocol/nouns/accounts/client.ts'
import { ROOT, type ServedFront, serveFront } from '../../kit/served-front.ts'

let served: ServedFront
before(async () => {
  served = await serveFront({
    sockets: [
      {
        path: '/ws/flows',
        who: 'read',
        frames: 'text',
        open: () => {},
        message: () => {},
        drain: () => {},
        close: () => {},
      },
    ],
  })
})
after(() => served.close())

async function call(method: string, path: string, body?: unknown, token = served.superuser) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const answer = await fetch(served.url + path, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) })
  const text = await answer.text()
  return { status: answer.status, json: text === '' ? null : JSON.parse(text) }
}

async function made(scopes: string[], more: object = {}): Promise<CreatedClient> {
  const { status, json } = await call('POST', '/clients', { name: 'agent', scopes, ...more })
  assert.equal(status, 201)
  return json as CreatedClient
}

test('a client is made with its token, which is shown this once, and the audit says who made it', async () => {
  const client = await made(['read', 'run'])
  assert.deepEqual([client.name, client.scopes, client.owner], ['agent', ['read', 'run'], ROOT.name])
  assert.deepEqual([client.expires_at, client.last_used, client.status], [null, null, 'approved'])
  const { json } = await call('GET', '/clients')
  assert.ok(json.items.some((item: CreatedClient) => item.client_id === client.client_id))
  assert.ok(!JSON.stringify(json).includes(client.token))
  const last = served.audited.at(-1)!
  assert.deepEqual(
    [last['action'], last['actor'], last['object'], last['result']],
    ['client_created', ROOT.name, `client:${client.client_id}`, 'ok'],
  )
  assert.ok(!JSON.stringify(served.audited).includes(client.token))
})

test('a deleted client is refused on the next request, and its websockets are closed', async () => {
  const { client_id, token } = await made(['read'])
  assert.equal((await call('GET', '/flows', undefined, token)).status, 200)
  const headers = { authorization: `Bearer ${token}` }
  const socket = new WebSocket(`ws://127.0.0.1:${served.port}/ws/flows`, ['svc.v1'], { headers })
  await once(socket, 'open')
  const closed = once(socket, 'close')
  assert.equal((await call('DELETE', `/clients/${client_id}`)).status, 204)
  assert.equal((await call('GET', '/flows', undefined, token)).json.code, 'unauthenticated')
  assert.equal((await closed)[0], 4401)
  assert.equal((await call('DELETE', `/clients/${client_id}`)).json.code, 'client_not_found')
  const by_name = await call('DELETE', '/clients/claude')
  assert.deepEqual([by_name.status, by_name.json.code], [404, 'client_not_found'])
  assert.match(by_name.json.detail, /^"claude" is not a valid client id\./)
  assert.equal(served.audited.at(-1)!['action'], 'client_removed')
})

test('an end that is no time, that has passed, or that is too far away is refused', async () => {
  const { ms } = served.clock
  const at = (later_ms: number): string => new Date(ms + later_ms).toISOString()
  const ten_years_ms = limits.CLIENT_LIFETIME_S * 1000
  for (const expires_at of ['tomorrow', '2020-01-01', at(-1), at(ten_years_ms + 1000)]) {
    const { status, json } = await call('POST', '/clients', { name: 'agent', scopes: ['read'], expires_at })
    assert.deepEqual([status, json.errors[0].loc], [422, 'body.expires_at'], expires_at)
  }
  const { token } = await made(['read'], { expires_at: at(60_000) })
  assert.equal((await call('GET', '/flows', undefined, token)).status, 200)
  served.clock.ms += 60_000
  assert.equal((await call('GET', '/flows', undefined, token)).json.code, 'token_expired')
  served.clock.ms = ms
})

test('names without characters, with control characters or too long, and unknown, doubled or no scopes are refused', async () => {
  const names = ['', 'a\nb', 'a\u0000', 'x'.repeat(limits.CLIENT_NAME_CHARACTERS + 1), 7]
  for (const name of names) assert.equal((await call('POST', '/clients', { name, scopes: ['read'] })).status, 422)
  for (const scopes of [[], ['everything'], ['read', 'read'], 'read', undefined])
    assert.equal((await call('POST', '/clients', { name: 'agent', scopes })).status, 422)
})

test('a client that manages clients gives no scope that it does not have, and what it makes is its owner’s', async () => {
  const { token } = await made(['admin', 'read'])
  const { json } = await call('POST', '/clients', { name: 'child', scopes: ['read', 'code'] }, token)
  assert.deepEqual([json.code, /code/.test(json.detail)], ['forbidden', true])
  const child = await call('POST', '/clients', { name: 'child', scopes: ['read'] }, token)
  assert.deepEqual([child.status, child.json.owner], [201, ROOT.name])
})
