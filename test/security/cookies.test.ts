import assert from 'node:assert/strict'
import { once } from 'node:events'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { WebSocket } from 'ws'
import type { Problem } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { TextSocketHandlers } from '../../server/http/socket.ts'
import { saying } from '../kit/raw-client.ts'
import { ADA, boiler, ROOT, type ServedFront, serveFront } from '../kit/served-front.ts'

let served: ServedFront
const silent: TextSocketHandlers = {
  path: '/ws/flows',
  who: 'read',
  frames: 'text',
  open: () => {},
  message: () => {},
  drain: () => {},
  close: () => {},
}
beforeEach(async () => {
  served = await serveFront({ proxies: ['127.0.0.1'], hosts: ['engine.example'], sockets: [silent] })
})
afterEach(() => served.close())

type Headers = Record<string, string>
const JSON_TYPE = { 'content-type': 'application/json' }

async function ask(method: string, path: string, headers: Headers = {}, body?: object) {
  const answer = await fetch(served.url + path, {
    method,
    headers: { ...(body && JSON_TYPE), ...headers },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  const json = text === '' ? null : JSON.parse(text)
  return { status: answer.status, code: (json as Problem | null)?.code, json, cookie: answer.headers.get('set-cookie') }
}
const signIn = ({ name, password } = ADA, headers: Headers = {}) =>
  ask('POST', '/login/session', headers, { username: name, password })
/** As a browser sends it back. */
const cookieOf = async (user = ADA): Promise<{ cookie: string }> => ({
  cookie: (await signIn(user)).cookie!.split(';')[0]!,
})
const save = (headers: Headers) => ask('PUT', '/flows/boiler', headers, { document: boiler })
/** The status with which a websocket is refused. */
async function refusedWith(socket: WebSocket): Promise<number> {
  socket.on('error', () => {})
  const [, answer] = await once(socket, 'unexpected-response')
  socket.terminate()
  return answer.statusCode
}
const own = (): Headers => ({ origin: served.url })

describe('a session of a browser', () => {
  test('is a cookie that scripts cannot read and other sites do not send; the token is in no body', async () => {
    const { status, json, cookie } = await signIn()
    assert.equal(status, 200)
    assert.deepEqual([json.user.name, json.expires_in], [ADA.name, limits.TOKEN_LIFETIME_S])
    const [pair, ...attributes] = cookie!.split('; ')
    assert.equal(pair!.split('=')[0], served.session.name)
    assert.deepEqual(attributes, ['Path=/', 'HttpOnly', 'SameSite=Strict', `Max-Age=${limits.TOKEN_LIFETIME_S}`])
    assert.ok(!JSON.stringify(json).includes(pair!.split('=')[1]!))
    assert.equal((await ask('GET', '/users/me', { cookie: `theme=dark; ${pair}; other=1` })).json.name, ADA.name)
  })

  test('is sent over https alone where a trusted proxy says https', async () => {
    assert.match((await signIn(ADA, { 'x-forwarded-proto': 'https' })).cookie!, /; Secure/)
    assert.doesNotMatch((await signIn(ADA, { 'x-forwarded-proto': 'http' })).cookie!, /Secure/)
    const bare = await serveFront({ public_url: 'https://engine.example', hosts: ['engine.example'] })
    const at = async (host: string, more = '') => {
      const body = JSON.stringify({ username: ADA.name, password: ADA.password })
      const head = `POST /login/session HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\n${more}`
      return (await saying(bare.port, `${head}Content-Length: ${body.length}\r\n\r\n${body}`)).text
    }
    assert.match(await at('engine.example'), /SameSite=Strict; Secure/)
    assert.match(await at('engine.example:443'), /; Secure/)
    assert.doesNotMatch(await at('127.0.0.1'), /Secure/)
    // Anybody can write the header.
    assert.doesNotMatch(await at('127.0.0.1', 'X-Forwarded-Proto: https\r\n'), /Secure/)
    bare.close()
  })

  test('signing out ends the token on the server and clears the cookie', async () => {
    const session = await cookieOf()
    const out = await ask('POST', '/logout', { ...session, ...own() })
    assert.equal(out.status, 204)
    assert.match(out.cookie!, new RegExp(`^${served.session.name}=; .*Max-Age=0$`))
    assert.equal((await ask('GET', '/users/me', session)).code, 'unauthenticated')
    const byToken = await ask('POST', '/logout', { authorization: `Bearer ${served.user}` })
    assert.deepEqual([byToken.status, byToken.cookie], [204, null])
  })

  test('goes on with another cookie when the password is changed', async () => {
    const session = await cookieOf()
    const body = { old: ADA.password, new: 'another long password' }
    const changed = await ask('POST', '/users/me/password', { ...session, 'x-svc-request': '1' }, body)
    assert.equal((await ask('GET', '/users/me', session)).code, 'unauthenticated')
    assert.equal((await ask('GET', '/users/me', { cookie: changed.cookie!.split(';')[0]! })).status, 200)
  })

  test('counts its failures with those of the other way to sign in', async () => {
    const wrong = { name: ADA.name, password: 'wrong' }
    for (let n = 0; n < limits.LOGIN_FAILURES - 1; n++) assert.equal((await signIn(wrong)).code, 'wrong_credentials')
    const body = { username: ADA.name, password: 'wrong' }
    assert.equal((await ask('POST', '/login/access-token', {}, body)).code, 'wrong_credentials')
    const refused = await signIn()
    assert.deepEqual([refused.code, refused.cookie], ['rate_limited', null])
  })

  test('that has expired, or is no token, is refused', async () => {
    const session = await cookieOf()
    for (const value of ['', 'nonsense', '"quoted"', 'a.b.c', 'x'.repeat(limits.TOKEN_BYTES + 1)]) {
      const cookie = `${served.session.name}=${value}`
      assert.equal((await ask('GET', '/users/me', { cookie })).code, 'unauthenticated', value.slice(0, 20))
    }
    served.clock.ms += limits.TOKEN_LIFETIME_S * 1000
    assert.equal((await ask('GET', '/users/me', session)).code, 'token_expired')
  })
})

describe('a page of another origin', () => {
  test('changes nothing with the cookie: an Origin of the engine is needed, or a header that other pages cannot send', async () => {
    const session = await cookieOf()
    assert.equal((await save(session)).code, 'origin_refused')
    for (const origin of ['http://evil.example', 'null', 'http://127.0.0.1:1', `${served.url}.evil.example`])
      assert.equal((await save({ ...session, origin })).code, 'origin_refused', origin)
    for (const header of ['0', '', 'true'])
      assert.equal((await save({ ...session, 'x-svc-request': header })).code, 'origin_refused', header)
    assert.equal(served.engine.flows.list({ limit: 1, offset: 0 }).count, 0)
    assert.equal((await save({ ...session, ...own() })).status, 200)
    assert.equal((await save({ ...session, 'x-svc-request': '1' })).status, 200)
    for (const method of ['POST', 'PATCH', 'DELETE'])
      assert.equal(
        (await ask(method, method === 'DELETE' ? '/flows/boiler' : '/users/me', session)).status >= 400,
        true,
      )
    assert.equal((await ask('DELETE', '/flows/boiler', session)).code, 'origin_refused')
    assert.equal((await ask('GET', '/flows/boiler', session)).status, 200)
  })

  test('opens no websocket with the cookie, and neither does a program without an Origin', async () => {
    const session = await cookieOf()
    const url = `ws://127.0.0.1:${served.port}/ws/flows`
    const statusOf = (headers: Headers) => refusedWith(new WebSocket(url, { headers }))
    assert.equal(await statusOf({ ...session, origin: 'http://evil.example' }), 403)
    assert.equal(await statusOf({ ...session, origin: 'null' }), 403)
    assert.equal(await statusOf(session), 403)
    assert.equal(await statusOf({ ...session, 'x-svc-request': '1' }), 403)
    assert.equal(await statusOf({ cookie: 'other=1', ...own() }), 401)
    const socket = new WebSocket(url, { headers: { ...session, ...own() } })
    await once(socket, 'open')
    const closed = once(socket, 'close')
    await ask('POST', '/logout', { ...session, ...own() })
    assert.equal((await closed)[0], 4401)
  })

  test('attaches no worker with the cookie of a superuser', async () => {
    const headers = { ...(await cookieOf(ROOT)), ...own() }
    const socket = new WebSocket(`ws://127.0.0.1:${served.port}/workers/attach`, { headers })
    assert.equal(await refusedWith(socket), 401)
  })
})

describe('a cookie beside a bearer token', () => {
  test('means nothing: the bearer counts, also one that is none', async () => {
    const session = await cookieOf(ROOT)
    const me = async (authorization: string) => ask('GET', '/users/me', { ...session, authorization })
    assert.equal((await me(`Bearer ${served.user}`)).json.name, ADA.name)
    for (const other of ['Bearer nonsense', 'Bearer', 'Basic cm9vdDpyb290'])
      assert.equal((await me(other)).code, 'unauthenticated', other)
    // Whoever sends a bearer token was not talked into it: no Origin is asked for.
    assert.equal((await save({ ...session, authorization: `Bearer ${served.user}` })).status, 200)
    const socket = new WebSocket(`ws://127.0.0.1:${served.port}/ws/flows`, ['svc.v1', 'bearer.nonsense'], {
      headers: { ...session, ...own() },
    })
    assert.equal(await refusedWith(socket), 401)
  })
})

describe('a cookie header', () => {
  const raw = async (cookies: readonly string[], path = '/users/me'): Promise<{ text: string; status: number }> => {
    const lines = cookies.map(each => `Cookie: ${each}\r\n`).join('')
    const { text, statuses } = await saying(served.port, `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${lines}\r\n`)
    return { text, status: statuses[0]! }
  }

  test('that stands there twice is refused, whatever is in it', async () => {
    const { cookie } = await cookieOf()
    assert.equal((await raw([cookie])).status, 200)
    assert.equal((await raw([cookie, 'a=b'])).status, 400)
    assert.equal((await raw([cookie, cookie])).status, 400)
  })

  test('with the session twice is refused: one of the two is not ours', async () => {
    const { cookie } = await cookieOf()
    assert.equal((await raw([`${cookie}; ${served.session.name}=`])).status, 400)
    assert.equal((await raw([`${served.session.name}=other; ${cookie}`])).status, 400)
    // Nobody has to sign in there.
    assert.equal((await raw([`${cookie}; ${cookie}`], '/utils/health/')).status, 200)
  })

  test('that is malformed names nobody, and one that is huge is refused', async () => {
    const { cookie } = await cookieOf()
    for (const odd of [
      ';;;',
      '=',
      `=${cookie}`,
      `x${cookie}`,
      `${served.session.name}`,
      '\u00ff=\u00fe',
      `"${cookie}"`,
    ])
      assert.equal((await raw([odd])).status, 401, odd)
    assert.equal((await raw([`${';'.repeat(4000)}${cookie}`])).status, 200)
    assert.equal((await raw([`a=${'x'.repeat(limits.COOKIE_BYTES)}; ${cookie}`])).status, 431)
  })
})
