import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { EngineEvent } from '../../protocol/nouns/event.ts'
import { eventually, type LiveEngine, liveEngine } from '../kit/live-engine.ts'

const PASSWORD = 'correct horse battery'
const fileToken = ({ data_dir }: LiveEngine): string => readFileSync(join(data_dir, 'token'), 'utf8')

async function ask(live: LiveEngine, method: string, path: string, token: string | null, body?: object) {
  const answer = await fetch(live.url + path, {
    method,
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  return { status: answer.status, json: text === '' ? null : JSON.parse(text) }
}
const signIn = async (live: LiveEngine, username: string, password: string) =>
  ask(live, 'POST', '/login/access-token', null, { username, password })
const audited = async (live: LiveEngine): Promise<EngineEvent[]> =>
  (await ask(live, 'GET', '/events?type=audit', fileToken(live))).json.items.reverse()

test('a token that was signed out stays dead over a restart, another goes on, and who signed in and out is on record', async t => {
  const live = await liveEngine(t)
  await ask(live, 'POST', '/users', fileToken(live), { name: 'ada', password: PASSWORD })
  const one = (await signIn(live, 'ada', PASSWORD)).json.access_token
  const other = (await signIn(live, 'ada', PASSWORD)).json.access_token
  assert.equal((await signIn(live, 'ada', 'wrong')).status, 401)
  assert.equal((await ask(live, 'POST', '/logout', one)).status, 204)
  const restarted = await live.restart()
  assert.equal((await ask(restarted, 'GET', '/users/me', one)).status, 401)
  assert.equal((await ask(restarted, 'GET', '/users/me', other)).status, 200)
  const rows = (await audited(restarted)).map(event => [
    event['action'],
    event['object'],
    event['actor'],
    event['result'],
  ])
  assert.deepEqual(rows, [
    ['user_created', 'user:ada', 'admin', 'ok'],
    ['sign_in', 'user:ada', null, 'ok'],
    ['sign_in', 'user:ada', null, 'ok'],
    ['sign_in', 'user:ada', null, 'wrong_credentials'],
    ['sign_out', 'user:ada', 'ada', 'ok'],
  ])
  const seen_by_ada = await ask(restarted, 'GET', '/events?limit=1000', other)
  assert.ok(seen_by_ada.json.items.every(({ type }: EngineEvent) => type !== 'audit'))
})

test('the token file holds a good token after the one in it was signed out', async t => {
  const live = await liveEngine(t)
  const first = fileToken(live)
  assert.equal((await ask(live, 'POST', '/logout', first)).status, 204)
  assert.equal((await ask(live, 'GET', '/users/me', first)).status, 401)
  await eventually(() => fileToken(live) !== first, 'another token lies in the file')
  assert.equal((await ask(live, 'GET', '/users/me', fileToken(live))).status, 200)
})

test('a lasting token reads the metrics of an engine over a restart, and nothing else, until it is revoked', async t => {
  const live = await liveEngine(t)
  const metrics = async (of: LiveEngine, token: string): Promise<number> =>
    (await fetch(`${of.url}/metrics`, { headers: { authorization: `Bearer ${token}` } })).status
  const wanted = { name: 'prometheus', rights: ['metrics'], expires_s: 86_400 }
  const { token, id } = (await ask(live, 'POST', '/tokens', fileToken(live), wanted)).json
  assert.equal(await metrics(live, token), 200)
  const restarted = await live.restart()
  assert.equal(await metrics(restarted, token), 200)
  assert.equal((await ask(restarted, 'GET', '/flows', token)).json.code, 'forbidden')
  assert.equal((await ask(restarted, 'POST', '/tokens', token, wanted)).json.code, 'forbidden')
  const [listed] = (await ask(restarted, 'GET', '/tokens', fileToken(restarted))).json.items
  assert.deepEqual([listed.name, listed.id, listed.created_by, 'token' in listed], ['prometheus', id, 'admin', false])
  assert.equal((await ask(restarted, 'DELETE', '/tokens/prometheus', fileToken(restarted))).status, 204)
  assert.equal(await metrics(restarted, token), 401)
  const rows = (await audited(restarted)).map(event => [event['action'], event['object'], event['actor']])
  assert.deepEqual(rows, [
    ['token_created', 'token:prometheus', 'admin'],
    ['token_revoked', 'token:prometheus', 'admin'],
  ])
})

test('audit events are found by who did it and by what was done', async t => {
  const live = await liveEngine(t)
  const admin = fileToken(live)
  await ask(live, 'POST', '/users', admin, { name: 'ada', password: PASSWORD })
  const ada = (await signIn(live, 'ada', PASSWORD)).json.access_token
  await ask(live, 'POST', '/logout', ada)
  const found = async (query: string): Promise<unknown[]> =>
    (await ask(live, 'GET', `/events?type=audit&${query}`, admin)).json.items.map(
      (event: EngineEvent) => event['action'],
    )
  assert.deepEqual(await found('actor=ada'), ['sign_out'])
  assert.deepEqual(await found('action=user_created'), ['user_created'])
  assert.deepEqual(await found('actor=ada&action=user_created'), [])
})
