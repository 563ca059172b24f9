import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { SignJWT } from 'jose'
import { WebSocket } from 'ws'
import { type Problem, ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import { ROLES, SCOPES, SCOPES_OF, type Scope } from '../../protocol/words/scopes.ts'
import type { WelcomeFrame } from '../../protocol/worker/frames.ts'
import { encodeFrame, readFrame, WORKER_PATH } from '../../protocol/worker/wire.ts'
import type { RouteScope } from '../../server/auth/principal.ts'
import type { Route } from '../../server/http/route.ts'
import type { SocketHandlers } from '../../server/http/socket.ts'
import { ADA, ROOT, type ServedFront, serveFront } from '../kit/served-front.ts'

/**
 * Walks every declared route with every kind of credential. A refusal must come before anything else is looked at: the paths
 * name nothing and the bodies are no JSON, so a route that let the wrong caller through would answer something else.
 */
let served: ServedFront
/** Tokens whose users may sign out, with their users. */
const signed_in: [token: string, user: string][] = []
interface Credential {
  readonly header: string | null
  readonly may: readonly RouteScope[]
  readonly code?: string
  /** Of a screen: routes with a rule for panels look at what a request names. */
  readonly isPanel?: boolean
}
const credentials = new Map<string, Credential>()

/** A websocket whose frames nobody reads. */
const quiet: SocketHandlers = {
  path: '/ws/flows',
  who: 'read',
  frames: 'text',
  open: () => {},
  message: () => {},
  drain: () => {},
  close: () => {},
}

before(async () => {
  served = await serveFront({ sockets: [quiet] })
  signed_in.push([served.user, ADA.name], [served.superuser, ROOT.name])
  await served.accounts.create('gone', 'a password that goes', 'superuser')
  await served.accounts.create('changed', 'the first password', 'superuser')
  const gone = await served.mint('gone')
  const changed = await served.mint('changed')
  await served.accounts.remove('gone')
  await served.accounts.setPassword('changed', served.accounts.find('changed')!.digest, 'the second password')

  const made = { rights: ['metrics' as const], expires_s: 3600 }
  const brief = await served.lasting.create({ ...made, name: 'brief', expires_s: 60 }, ROOT.name)
  const minute_ms = 60_000
  served.clock.ms += minute_ms
  const lasting = await served.lasting.create({ ...made, name: 'prometheus' }, ROOT.name)
  const revoked = await served.lasting.create({ ...made, name: 'revoked' }, ROOT.name)
  await served.lasting.revoke('revoked')

  const { tokens, accounts, clock } = served
  const signed_out = await served.mint(ROOT.name)
  const headers = { authorization: `Bearer ${signed_out}` }
  assert.equal((await fetch(`${served.url}/logout`, { method: 'POST', headers })).status, 204)
  const root = accounts.find(ROOT.name)!
  const now_s = Math.floor(clock.ms / 1000)
  const expired = await tokens.mint('access', ROOT.name, root.digest, -1)
  const reset = await tokens.mint('reset', ROOT.name, root.digest, 3600)
  const claims = { jti: 'strange', sub: ROOT.name, aud: 'access', iat: now_s, exp: now_s + 3600, pwd: root.digest }
  const { privateKey: strange_key } = generateKeyPairSync('ed25519')
  const signed = (
    header: { alg: string; typ?: string },
    more: object = {},
    key: Parameters<SignJWT['sign']>[0] = strange_key,
  ) => new SignJWT({ ...claims, ...more }).setProtectedHeader(header).sign(key)
  const base64url = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const [, payload, signature] = served.superuser.split('.')
  const only_open = ['open'] as const
  const bad = (header: string | null, code = 'unauthenticated') => ({ header, may: only_open, code })

  const table: Record<string, Credential> = {
    'no credential': bad(null),
    'an empty header': bad(''),
    'a scheme without a token': bad('Bearer'),
    'another scheme': bad(`Basic ${Buffer.from(`${ROOT.name}:${ROOT.password}`).toString('base64')}`),
    'no token at all': bad('Bearer nonsense'),
    'a token with two parts': bad(`Bearer ${served.superuser.split('.').slice(0, 2).join('.')}`),
    'a token of blanks': bad('Bearer a b c'),
    'a very long token': bad(`Bearer ${'a'.repeat(limits.TOKEN_BYTES + 1)}`),
    'an expired token': bad(`Bearer ${expired}`, 'token_expired'),
    'a reset token': bad(`Bearer ${reset}`),
    'a worker token': bad(`Bearer ${await served.door.mint('w1')}`),
    'a token under another key': bad(`Bearer ${await signed({ alg: 'EdDSA', typ: 'access+jwt' })}`),
    'a token with the right audience and another type': bad(
      `Bearer ${await signed({ alg: 'EdDSA', typ: 'reset+jwt' }, {}, served.key.sign)}`,
    ),
    'a token without a type': bad(`Bearer ${await signed({ alg: 'EdDSA' }, {}, served.key.sign)}`),
    'a token with the right type and another audience': bad(
      `Bearer ${await signed({ alg: 'EdDSA', typ: 'access+jwt' }, { aud: 'reset' }, served.key.sign)}`,
    ),
    'a token that never ends': bad(
      `Bearer ${await signed({ alg: 'EdDSA', typ: 'access+jwt' }, { exp: undefined }, served.key.sign)}`,
    ),
    'a token without an id': bad(
      `Bearer ${await signed({ alg: 'EdDSA', typ: 'access+jwt' }, { jti: undefined }, served.key.sign)}`,
    ),
    'a token that names nobody': bad(
      `Bearer ${await signed({ alg: 'EdDSA', typ: 'access+jwt' }, { sub: 'nobody' }, served.key.sign)}`,
    ),
    'a token without a signature': bad(`Bearer ${base64url({ alg: 'none', typ: 'access+jwt' })}.${payload}.`),
    'a token that says alg none and keeps the signature': bad(
      `Bearer ${base64url({ alg: 'none', typ: 'access+jwt' })}.${payload}.${signature}`,
    ),
    'a token signed with the public key as a secret': bad(
      `Bearer ${await signed({ alg: 'HS256', typ: 'access+jwt' }, {}, Buffer.alloc(32, 1))}`,
    ),
    'a token whose payload was changed': bad(
      `Bearer ${served.user.split('.')[0]}.${base64url({ ...claims, sub: ROOT.name })}.${served.user.split('.')[2]}`,
    ),
    'a token of a user that is gone': bad(`Bearer ${gone}`),
    'a token from before a change of password': bad(`Bearer ${changed}`),
    'a token that was signed out': bad(`Bearer ${signed_out}`),
    'a lasting token that was revoked': bad(`Bearer ${revoked.token}`),
    'a lasting token with another secret': bad(
      `Bearer ${lasting.token.slice(0, -1)}${lasting.token.endsWith('A') ? 'B' : 'A'}`,
    ),
    'a lasting token with the id of another': bad(`Bearer ${lasting.token.replace(lasting.id, brief.id)}`),
    'a lasting token that has expired': bad(`Bearer ${brief.token}`, 'token_expired'),
    'a lasting token for metrics': { header: `Bearer ${lasting.token}`, may: ['open', 'metrics'], code: 'forbidden' },
    'a superuser': { header: `bearer  ${served.superuser}`, may: ['open', 'self', 'mcp', 'metrics', ...SCOPES] },
  }
  for (const role of ROLES) {
    if (role === 'superuser') continue
    await accounts.create(role, 'a password of a role', role)
    const token = await served.mint(role)
    signed_in.push([token, role])
    const header = `Bearer ${token}`
    table[`a user who is ${role}`] = {
      header,
      may: ['open', 'self', 'mcp', 'metrics', ...SCOPES_OF[role]],
      code: 'forbidden',
    }
  }
  const { clients } = served
  const clientOf = async (owner: string, scopes: readonly Scope[], expires_ms: number | null = null) => {
    const { created_at: since } = accounts.find(owner)!
    const row = await clients.create({
      name: 'agent',
      scopes,
      owner: { name: owner, since },
      redirect_uris: [],
      expires_ms,
    })
    return { ...row, token: await tokens.mint('client', row.id, row.id, 3600) }
  }
  for (const scope of SCOPES) {
    const { token } = await clientOf(ROOT.name, [scope])
    const may: RouteScope[] = scope === 'read' ? ['open', 'mcp', 'read', 'metrics'] : ['open', 'mcp', scope]
    table[`a client that may ${scope}`] = { header: `Bearer ${token}`, may, code: 'forbidden' }
  }
  table['a client with more scopes than its owner'] = {
    header: `Bearer ${(await clientOf('operator', SCOPES)).token}`,
    may: ['open', 'mcp', 'metrics', ...SCOPES_OF.operator],
    code: 'forbidden',
  }
  const asClient = (id: string, more: object = {}) => ({ sub: id, aud: 'client', client_id: id, ...more })
  const { id: known } = await clientOf(ROOT.name, SCOPES)
  const own = served.key.sign
  const deleted = await clientOf(ROOT.name, SCOPES)
  await clients.remove(deleted.id)
  await accounts.create('former', 'a password of a former', 'superuser')
  const orphan = await clientOf('former', SCOPES)
  await accounts.remove('former')
  await accounts.create('former', 'a password of another', 'superuser')
  await accounts.create('resting', 'a password that rests', 'superuser', { disabled: true })
  const { client_id: pending } = served.registrations.register({ redirect_uris: ['http://127.0.0.1/'] })
  const revoked_client = await clientOf(ROOT.name, SCOPES)
  clock.ms++
  await clients.endTokens(revoked_client.id)
  Object.assign(table, {
    'a client that was deleted': bad(`Bearer ${deleted.token}`),
    'a client whose owner is gone, and another user has the name': bad(`Bearer ${orphan.token}`),
    'a client whose owner is disabled': bad(`Bearer ${(await clientOf('resting', SCOPES)).token}`),
    'a client that nobody has approved': bad(`Bearer ${await tokens.mint('client', pending, pending, 3600)}`),
    'a token of a client that was revoked': bad(`Bearer ${revoked_client.token}`),
    'a refresh token': bad(`Bearer ${await tokens.mint('refresh', known, 'family 1', 3600)}`),
    'a client that has expired': bad(`Bearer ${(await clientOf(ROOT.name, SCOPES, clock.ms)).token}`),
    'a token of a client that has expired': bad(
      `Bearer ${await tokens.mint('client', known, known, -1)}`,
      'token_expired',
    ),
    'a token of a client that names another': bad(`Bearer ${await tokens.mint('client', known, deleted.id, 3600)}`),
    'a token of a client with the type of users': bad(
      `Bearer ${await signed({ alg: 'EdDSA', typ: 'access+jwt' }, asClient(known), own)}`,
    ),
    'a token of a client with the audience of users': bad(
      `Bearer ${await signed({ alg: 'EdDSA', typ: 'client+jwt' }, asClient(known, { aud: 'access' }), own)}`,
    ),
    'a token of a client without its id': bad(
      `Bearer ${await signed({ alg: 'EdDSA', typ: 'client+jwt' }, asClient(known, { client_id: undefined }), own)}`,
    ),
    'a token of a client under another key': bad(
      `Bearer ${await signed({ alg: 'EdDSA', typ: 'client+jwt' }, asClient(known))}`,
    ),
    'a token of a user with the type of clients': bad(
      `Bearer ${await signed({ alg: 'EdDSA', typ: 'client+jwt' }, {}, own)}`,
    ),
  })
  await accounts.create('disabled', 'a password that rests', 'superuser', { disabled: true })
  table['a user who is disabled'] = bad(`Bearer ${await served.mint('disabled')}`)
  const { panels } = served
  const panel = await panels.create({ name: 'entrance', dashboards: [] }, ROOT.name)
  const unpaired = await panels.create({ name: 'unpaired', dashboards: [] }, ROOT.name)
  const removed = await panels.create({ name: 'removed', dashboards: [] }, ROOT.name)
  const panelToken = (id: string): Promise<string> => tokens.mint('panel', id, panels.standing(id)!.nonce, 3600)
  const screen = await panelToken(panel.id)
  const old_nonce = await panelToken(unpaired.id)
  const of_removed = await panelToken(removed.id)
  await panels.unpair(unpaired.id)
  await panels.remove(removed.id)
  const { nonce } = panels.standing(panel.id)!
  const screen_claims = { sub: panel.id, aud: 'panel', pwd: undefined, nonce }
  Object.assign(table, {
    'a panel token from before it was unpaired': bad(`Bearer ${old_nonce}`),
    'a token of a panel that is gone': bad(`Bearer ${of_removed}`),
    'an expired panel token': bad(`Bearer ${await tokens.mint('panel', panel.id, nonce, -1)}`, 'token_expired'),
    'a panel token under another key': bad(`Bearer ${await signed({ alg: 'EdDSA', typ: 'panel+jwt' }, screen_claims)}`),
    'a panel token of a portal, which has no nonce': bad(
      `Bearer ${await signed({ alg: 'EdDSA', typ: 'panel+jwt' }, { ...screen_claims, nonce: undefined }, own)}`,
    ),
    'a panel token with an empty nonce': bad(
      `Bearer ${await signed({ alg: 'EdDSA', typ: 'panel+jwt' }, { ...screen_claims, nonce: '' }, own)}`,
    ),
    'a panel token with the nonce of another panel': bad(
      `Bearer ${await tokens.mint('panel', panel.id, panels.standing(unpaired.id)!.nonce, 3600)}`,
    ),
    'a panel token with the type of an access token': bad(
      `Bearer ${await signed({ alg: 'EdDSA', typ: 'access+jwt' }, screen_claims, own)}`,
    ),
    'a panel token with the audience of an access token': bad(
      `Bearer ${await signed({ alg: 'EdDSA', typ: 'panel+jwt' }, { ...screen_claims, aud: 'access' }, own)}`,
    ),
    'a panel token that names a user': bad(
      `Bearer ${await signed({ alg: 'EdDSA', typ: 'panel+jwt' }, { ...screen_claims, sub: ROOT.name }, own)}`,
    ),
    'a screen': { header: `Bearer ${screen}`, may: ['open'], code: 'forbidden', isPanel: true },
  } satisfies typeof table)
  for (const [name, credential] of Object.entries(table)) credentials.set(name, credential)
})
after(() => served.close())

/** A path that leads to the route and names nothing. */
const pathOf = (route: Route): string => route.path.replaceAll(/\{[a-z_]+\*?\}/g, 'nothing')

async function call(route: Route, given: string | null): Promise<{ status: number; code: string | null }> {
  // Whoever may sign out does so: with a token that nothing else here needs.
  const own = route.path === '/logout' ? signed_in.find(([token]) => given?.endsWith(token)) : undefined
  const header = own === undefined ? given : `Bearer ${await served.mint(own[1])}`
  const answer = await fetch(served.url + pathOf(route), {
    method: route.method,
    headers: header === null ? {} : { authorization: header },
    body: route.body === null ? undefined : '{',
  })
  const text = await answer.text()
  const isProblem = answer.headers.get('content-type') === 'application/problem+json'
  return { status: answer.status, code: isProblem ? (JSON.parse(text) as Problem).code : null }
}

/** What comes of an attempt to attach as a worker: `welcome`, or the code of the refusal. */
async function attach(header: string | null): Promise<string> {
  try {
    return (await attached(header)).t
  } catch (error) {
    return (error as ServiceError).code
  }
}

/** What comes of an attempt to open the websocket of flows: `open`, or the code of the refusal. */
async function opened(header: string | null): Promise<string> {
  const headers = header === null ? {} : { authorization: header }
  const socket = new WebSocket(`ws://127.0.0.1:${served.port}/ws/flows`, ['svc.v1'], { headers })
  return new Promise(resolve => {
    socket.on('open', () => {
      socket.terminate()
      resolve('open')
    })
    socket.on('unexpected-response', async (_request, answer) =>
      resolve((JSON.parse(await text(answer)) as Problem).code),
    )
  })
}

function attached(header: string | null): Promise<WelcomeFrame> {
  const headers = header === null ? {} : { authorization: header }
  const socket = new WebSocket(`ws://127.0.0.1:${served.port}${WORKER_PATH}`, { headers })
  return new Promise((resolve, reject) => {
    socket.on('open', () => socket.send(encodeFrame({ t: 'hello' })))
    socket.on('message', (bytes: Buffer) => {
      socket.terminate()
      resolve(readFrame(bytes) as WelcomeFrame)
    })
    socket.on('unexpected-response', async (_request, answer) => {
      reject(ServiceError.from(JSON.parse(await text(answer)) as Problem))
    })
  })
}

describe('deny by default', () => {
  test('every route says who may call it', () => {
    assert.ok(served.routes.length > 30)
    for (const route of served.routes)
      assert.ok(['open', 'self', 'mcp', 'metrics', ...SCOPES].includes(route.scope), route.path)
  })

  test('only these routes need no credential', () => {
    const open = served.routes.filter(route => route.scope === 'open').map(route => `${route.method} ${route.path}`)
    assert.deepEqual(open.sort(), [
      'DELETE /hooks/{flow}/{node}',
      'GET /',
      'GET /.well-known/oauth-authorization-server',
      'GET /.well-known/oauth-protected-resource',
      'GET /.well-known/oauth-protected-resource/mcp',
      'GET /app',
      'GET /app/{path*}',
      'GET /docs',
      'GET /docs/favicon-32x32.png',
      'GET /docs/start.js',
      'GET /docs/swagger-ui-bundle.js',
      'GET /docs/swagger-ui.css',
      'GET /hooks/{flow}/{node}',
      'GET /oauth/authorize',
      'GET /oauth/style.css',
      'GET /openapi.json',
      'GET /panel',
      'GET /utils/health/',
      'PATCH /hooks/{flow}/{node}',
      'POST /hooks/{flow}/{node}',
      'POST /login/access-token',
      'POST /login/session',
      'POST /oauth/authorize',
      'POST /oauth/register',
      'POST /oauth/revoke',
      'POST /oauth/token',
      'POST /panels/pairings',
      'POST /panels/pairings/{code}/claim',
      'POST /password-recovery',
      'POST /password-reset',
      'PUT /hooks/{flow}/{node}',
    ])
  })

  test('only these routes need a superuser', () => {
    const high = served.routes.filter(route => route.scope === 'admin').map(route => `${route.method} ${route.path}`)
    assert.deepEqual(high.sort(), [
      'DELETE /clients/{client_id}',
      'DELETE /secrets/{name}',
      'DELETE /tokens/{name}',
      'DELETE /users/{name}',
      'GET /clients',
      'GET /search',
      'GET /secrets/',
      'GET /tokens',
      'GET /users',
      'PATCH /users/{name}',
      'POST /artifacts/sweep',
      'POST /artifacts/verify',
      'POST /clients',
      'POST /secret-keys',
      'POST /tokens',
      'POST /users',
      'PUT /secrets/{name}',
    ])
  })

  test('a lasting token for metrics reads the metrics and nothing else', () => {
    const open = served.routes.filter(route => route.scope === 'metrics').map(route => `${route.method} ${route.path}`)
    assert.deepEqual(open, ['GET /metrics'])
  })

  test('a refusal names the token and its rights', async () => {
    const { header } = credentials.get('a lasting token for metrics')!
    const answer = await fetch(`${served.url}/flows`, { headers: { authorization: header! } })
    const { code, detail } = (await answer.json()) as Problem
    assert.deepEqual([answer.status, code], [403, 'forbidden'])
    assert.match(detail, /This route needs the scope "read"; token "prometheus" has "metrics"/)
  })

  test('every route refuses every credential that is not enough, before it looks at anything else', async () => {
    for (const route of served.routes)
      for (const [name, { header, may, code, isPanel = false }] of credentials) {
        const what = `${route.method} ${route.path} with ${name}`
        const got = await call(route, header)
        const isLooked = isPanel && route.object !== null
        if (isLooked) assert.notEqual(got.status, 401, what)
        else if (may.includes(route.scope))
          assert.ok(got.status !== 401 && got.status !== 403, `${what}: ${got.status}`)
        else assert.equal(got.code, code, what)
      }
    assert.deepEqual(served.log.errors, [])
  })

  test('a worker attaches with a superuser, or with a token of its own that was not used before', async () => {
    for (const [name, { header, may, code }] of credentials) {
      const isToken = name === 'a worker token'
      const welcome = isToken || (may.includes('admin') && may.includes('self'))
      assert.equal(await attach(header), welcome ? 'welcome' : code, name)
      if (isToken) assert.equal(await attach(header), 'unauthenticated')
    }
    const old = `Bearer ${await served.door.mint('w2')}`
    served.clock.ms += limits.WORKER_TOKEN_LIFETIME_S * 1000
    assert.equal(await attach(old), 'unauthenticated')
    const gone = `Bearer ${await served.door.mint('w3')}`
    served.door.forget('w3')
    assert.equal(await attach(gone), 'unauthenticated')
    served.clock.ms -= limits.WORKER_TOKEN_LIFETIME_S * 1000
  })

  test('a websocket takes whoever may read, and refuses everybody else before it opens', async () => {
    for (const [name, { header, may, code, isPanel = false }] of credentials)
      assert.equal(await opened(header), may.includes('read') || isPanel ? 'open' : code, name)
  })

  test('the paths of this machine are told to a process that the engine has started, and to nobody else', async () => {
    const own = await attached(`Bearer ${await served.door.mint('w4')}`)
    const other = await attached(`Bearer ${served.superuser}`)
    assert.deepEqual([own.place?.bodies, other.place], ['/bodies', null])
  })

  test('a refusal of a credential says how to sign in, and nothing of why the token is no good', async () => {
    for (const [name, { header, code }] of credentials) {
      if (code !== 'unauthenticated') continue
      const answer = await fetch(`${served.url}/flows`, { headers: header === null ? {} : { authorization: header } })
      assert.equal(answer.status, 401, name)
      assert.equal(answer.headers.get('www-authenticate'), 'Bearer')
      const mcp = await fetch(`${served.url}/mcp`, { headers: header === null ? {} : { authorization: header } })
      const metadata = `${served.url}/.well-known/oauth-protected-resource/mcp`
      assert.equal(mcp.headers.get('www-authenticate'), `Bearer resource_metadata="${metadata}"`, name)
      const { detail } = (await answer.json()) as Problem
      assert.doesNotMatch(detail, /signature|alg|audience|claim|key/i, name)
    }
  })

  test('a token ends on the clock of the engine', async () => {
    const token = await served.mint(ADA.name)
    const ask = async (): Promise<number> =>
      (await fetch(`${served.url}/flows`, { headers: { authorization: `Bearer ${token}` } })).status
    assert.equal(await ask(), 200)
    served.clock.ms += limits.TOKEN_LIFETIME_S * 1000
    assert.equal(await ask(), 401)
    served.clock.ms -= limits.TOKEN_LIFETIME_S * 1000
    assert.equal(await ask(), 200)
  })

  test('a user who becomes no user is refused on the next request', async () => {
    await served.accounts.create('brief', 'a short stay here', 'editor')
    const headers = { authorization: `Bearer ${await served.mint('brief')}` }
    assert.equal((await fetch(`${served.url}/users/me`, { headers })).status, 200)
    await served.accounts.remove('brief')
    assert.equal((await fetch(`${served.url}/users/me`, { headers })).status, 401)
  })
})
