import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type LiveEngine, liveEngine } from '../kit/live-engine.ts'

const BACK = 'http://127.0.0.1:3999/callback'
const VERIFIER = 'v'.repeat(64)
const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url')
const PASSWORD = 'correct horse battery'

async function ask(
  url: string,
  method: string,
  token: string | null,
  body?: object | URLSearchParams,
  // biome-ignore lint/suspicious/noExplicitAny: tests say what they expect of it
): Promise<{ status: number; json: any }> {
  const isForm = body instanceof URLSearchParams
  const answer = await fetch(url, {
    method,
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined || isForm ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
  })
  const text = await answer.text()
  return { status: answer.status, json: text === '' ? null : JSON.parse(text) }
}
const admin = ({ data_dir }: LiveEngine): string => readFileSync(join(data_dir, 'token'), 'utf8')

/** The page, by its address; then its form, sent by the user. */
async function letIn(live: LiveEngine, client_id: string): Promise<URL> {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id,
    redirect_uri: BACK,
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
    state: 'st',
    scope: 'read run',
    resource: `${live.url}/mcp`,
  })
  const page = await fetch(`${live.url}/oauth/authorize?${query}`)
  const html = await page.text()
  assert.equal(page.status, 200, html)
  const policy = page.headers.get('content-security-policy')!
  assert.match(policy, /form-action 'self' http:\/\/127\.0\.0\.1:3999;/)
  assert.doesNotMatch(policy, /script-src|unsafe/)
  const request = /name="request" value="([^"]+)"/.exec(html)![1]!
  const form = { request, decision: 'allow', username: 'ada', password: PASSWORD, scope_read: 'yes', scope_run: 'yes' }
  const answer = await fetch(`${live.url}/oauth/authorize`, {
    method: 'POST',
    redirect: 'manual',
    headers: { origin: live.url },
    body: new URLSearchParams(form),
  })
  assert.equal(answer.status, 302, await answer.text())
  return new URL(answer.headers.get('location')!)
}

test('an agent is described the way in, registers, is let in, acts, refreshes after a restart, and ends when its client is deleted', async t => {
  let live = await liveEngine(t)
  assert.equal((await ask(`${live.url}/users`, 'POST', admin(live), { name: 'ada', password: PASSWORD })).status, 201)
  const resource = (await ask(`${live.url}/.well-known/oauth-protected-resource/mcp`, 'GET', null)).json
  assert.deepEqual([resource.resource, resource.authorization_servers], [`${live.url}/mcp`, [live.url]])
  const server = (await ask(`${live.url}/.well-known/oauth-authorization-server`, 'GET', null)).json
  assert.deepEqual(server.code_challenge_methods_supported, ['S256'])
  const metadata = {
    client_name: '<b>an agent</b>',
    redirect_uris: [BACK],
    token_endpoint_auth_method: 'none',
    logo_uri: 'x',
  }
  const registered = await ask(server.registration_endpoint, 'POST', null, metadata)
  assert.equal(registered.status, 201)
  const { client_id, client_id_issued_at, ...others } = registered.json
  assert.ok(Number.isInteger(client_id_issued_at), 'seconds, as RFC 7591 wants')
  const members = ['client_name', 'grant_types', 'redirect_uris', 'response_types', 'token_endpoint_auth_method']
  assert.deepEqual(Object.keys(others).sort(), members)
  const listed = async (): Promise<{ status: string; owner: string | null }[]> =>
    (await ask(`${live.url}/clients`, 'GET', admin(live))).json.items
  assert.deepEqual(
    (await listed()).map(({ status, owner }) => [status, owner]),
    [['pending', null]],
  )

  const back = await letIn(live, client_id)
  const grant = { grant_type: 'authorization_code', client_id, redirect_uri: BACK, code_verifier: VERIFIER }
  const form = new URLSearchParams({ ...grant, code: back.searchParams.get('code')! })
  const { status, json: first } = await ask(server.token_endpoint, 'POST', null, form)
  assert.deepEqual([status, first.scope], [200, 'read run'])
  assert.deepEqual(
    (await listed()).map(({ status, owner }) => [status, owner]),
    [['approved', 'ada']],
  )
  assert.equal((await ask(`${live.url}/flows`, 'GET', first.access_token)).status, 200)
  assert.equal(
    (await ask(`${live.url}/messages/`, 'POST', first.access_token, { name: 'a.b', value: 1 })).json.code,
    'forbidden',
  )

  live = await live.restart()
  const refresh = (token: string) =>
    ask(
      `${live.url}/oauth/token`,
      'POST',
      null,
      new URLSearchParams({ grant_type: 'refresh_token', refresh_token: token }),
    )
  const second = (await refresh(first.refresh_token)).json
  assert.equal((await ask(`${live.url}/flows`, 'GET', second.access_token)).status, 200)
  const third = (await refresh(second.refresh_token)).json
  const stolen = await refresh(first.refresh_token)
  assert.deepEqual([stolen.status, stolen.json.error], [400, 'invalid_grant'])
  assert.equal((await refresh(third.refresh_token)).json.error, 'invalid_grant')

  await new Promise(resolve => setTimeout(resolve, 2))
  await letIn(live, client_id).then(async again => {
    const anew = new URLSearchParams({ ...grant, code: again.searchParams.get('code')! })
    const { json } = await ask(`${live.url}/oauth/token`, 'POST', null, anew)
    assert.equal((await ask(`${live.url}/flows`, 'GET', json.access_token)).status, 200)
    assert.equal((await ask(`${live.url}/flows`, 'GET', second.access_token)).status, 401)
    assert.equal((await ask(`${live.url}/clients/${client_id}`, 'DELETE', admin(live))).status, 204)
    assert.equal((await ask(`${live.url}/flows`, 'GET', json.access_token)).status, 401)
    assert.equal((await refresh(json.refresh_token)).json.error, 'invalid_grant')
  })
  const told = (await ask(`${live.url}/events?type=audit`, 'GET', admin(live))).json.items.map(
    (event: { action: string }) => event.action,
  )
  for (const action of ['client_approved', 'client_token_reused', 'client_removed'])
    assert.ok(told.includes(action), action)
})

test('a user whose account is disabled ends the agents that act for them', async t => {
  const live = await liveEngine(t)
  await ask(`${live.url}/users`, 'POST', admin(live), { name: 'ada', password: PASSWORD })
  const { client_id } = (await ask(`${live.url}/oauth/register`, 'POST', null, { redirect_uris: [BACK] })).json
  const code = (await letIn(live, client_id)).searchParams.get('code')!
  const form = { grant_type: 'authorization_code', client_id, redirect_uri: BACK, code_verifier: VERIFIER, code }
  const { access_token, refresh_token } = (
    await ask(`${live.url}/oauth/token`, 'POST', null, new URLSearchParams(form))
  ).json
  await ask(`${live.url}/users/ada`, 'PATCH', admin(live), { disabled: true })
  assert.equal((await ask(`${live.url}/flows`, 'GET', access_token)).status, 401)
  const again = await ask(
    `${live.url}/oauth/token`,
    'POST',
    null,
    new URLSearchParams({ grant_type: 'refresh_token', refresh_token }),
  )
  assert.equal(again.json.error, 'invalid_grant')
})

test('a program that cannot be trusted with an answer gets none: the user sees why', async t => {
  const live = await liveEngine(t)
  const { client_id } = (await ask(`${live.url}/oauth/register`, 'POST', null, { redirect_uris: [BACK] })).json
  for (const query of [
    { client_id: 'nobody', redirect_uri: BACK },
    { client_id, redirect_uri: 'https://evil.example/' },
  ]) {
    const answer = await fetch(`${live.url}/oauth/authorize?${new URLSearchParams(query)}`, { redirect: 'manual' })
    assert.deepEqual([answer.status, answer.headers.get('location')], [400, null])
    assert.match(await answer.text(), /cannot be answered/)
  }
  const refused = await ask(`${live.url}/oauth/register`, 'POST', null, { redirect_uris: ['javascript:alert(1)'] })
  assert.deepEqual([refused.status, refused.json.error], [400, 'invalid_redirect_uri'])
})
