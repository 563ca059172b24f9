import assert from 'node:assert/strict'
import { createHash, generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { limits } from '../../../protocol/limits.ts'
import type { Role, Scope } from '../../../protocol/words/scopes.ts'
import { Accounts } from '../../../server/auth/accounts.ts'
import { Audit } from '../../../server/auth/audit.ts'
import { KnownAddresses } from '../../../server/auth/known-addresses.ts'
import { SignIn } from '../../../server/auth/sign-in.ts'
import { signingKeyOf } from '../../../server/auth/signing-key.ts'
import { Tokens } from '../../../server/auth/tokens.ts'
import { Grants } from '../../../server/oauth/grants.ts'
import { OAuth, type TokenAnswer } from '../../../server/oauth/oauth.ts'
import type { OAuthError } from '../../../server/oauth/oauth-error.ts'
import { Registrations } from '../../../server/oauth/registrations.ts'
import { Clock, quickPasswords } from '../../kit/served-front.ts'
import { UsersDouble } from '../../kit/users-double.ts'

const ISSUER = 'http://127.0.0.1:8700'
const BACK = 'http://127.0.0.1:3000/callback'
const VERIFIER = 'v'.repeat(64)
const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url')
const PASSWORD = 'correct horse battery'
type Client = {
  owner: string
  scopes: readonly Scope[]
  redirect_uris: readonly string[]
  client_name: string
  client_id: string
  since_ms: number
}

async function server(stored: string[] = []) {
  const clock = new Clock()
  const { privateKey } = generateKeyPairSync('ed25519')
  const tokens = new Tokens(
    await signingKeyOf(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()),
    clock.now,
  )
  const accounts = await Accounts.open(new UsersDouble(), quickPasswords())
  for (const role of ['viewer', 'editor'] satisfies Role[]) await accounts.create(role, PASSWORD, role)
  const audited: string[] = []
  const sign_in = new SignIn({
    accounts,
    addresses: new KnownAddresses([], () => {}, clock.now),
    audit: new Audit(() => {}, clock.now),
    now: clock.now,
  })
  const clients = new Map<string, Client>()
  const registrations = new Registrations(clock.now)
  const kept = new Map<string, string>()
  const keep = async (id: string, body: string | null) => void (body === null ? kept.delete(id) : kept.set(id, body))
  const oauth = new OAuth({
    clients: {
      find: id => clients.get(id) ?? null,
      letIn: async (registration, owner, scopes) => {
        const { client_id } = registration
        await Promise.resolve()
        if ((clients.get(client_id)?.owner ?? owner) !== owner) return false
        clients.set(client_id, { ...registration, owner, scopes, since_ms: 0 })
        return true
      },
      mint: (id, lifetime_s) => tokens.mint('client', id, id, lifetime_s),
      clientOf: async token => (await tokens.verify('client', token).catch(() => null))?.subject ?? null,
      endTokens: async id => void (clients.get(id)!.since_ms = clock.ms),
    },
    registrations,
    grants: new Grants(stored, tokens, keep, clock.now),
    sign_in,
    now_ms: clock.now,
    audit: (action, _client, user) => audited.push(`${action} ${user}`),
  })
  const query = (client_id: string, more: Record<string, string> = {}): Record<string, string> => ({
    response_type: 'code',
    client_id,
    redirect_uri: BACK,
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
    state: 'st',
    scope: 'read run',
    resource: `${ISSUER}/mcp`,
    ...more,
  })
  const register = () => registrations.register({ redirect_uris: [BACK], client_name: 'an agent' }).client_id
  const ask = (client_id: string, more: Record<string, string> = {}): string => {
    const answer = oauth.authorize(query(client_id, more), ISSUER)
    assert.ok('page' in answer)
    return answer.page.request
  }
  const allow = async (request: string, more: Record<string, string> = {}): Promise<URL> => {
    const ticked = { scope_read: 'yes', scope_run: 'yes', scope_code: 'yes' }
    const form = { request, decision: 'allow', username: 'editor', password: PASSWORD, ...ticked, ...more }
    const decided = await oauth.decide(form, '10.0.0.1')
    assert.ok('location' in decided, JSON.stringify(decided))
    return new URL(decided.location)
  }
  const token = (form: Record<string, string>): Promise<TokenAnswer> => oauth.token(form)
  const exchange = (client_id: string, code: string, more: Record<string, string> = {}) =>
    token({ grant_type: 'authorization_code', client_id, code, redirect_uri: BACK, code_verifier: VERIFIER, ...more })
  const refresh = (refresh_token: string) => token({ grant_type: 'refresh_token', refresh_token })
  const signIn = async () => {
    const client_id = register()
    const code = (await allow(ask(client_id))).searchParams.get('code')!
    return { client_id, code, tokens: await exchange(client_id, code) }
  }
  return { oauth, clock, clients, registrations, kept, audited, query, register, ask, allow, exchange, refresh, signIn }
}
const refusedAs = (code: string) => (error: OAuthError) => error.code === code

test('a program registers, a user lets it in, and it gets tokens with no more than the user granted', async () => {
  const { clients, audited, registrations, register, ask, allow, exchange } = await server()
  const client_id = register()
  const back = await allow(ask(client_id, { scope: 'read run code' }), { scope_code: 'no' })
  assert.equal(back.origin + back.pathname, BACK)
  assert.deepEqual([back.searchParams.get('state'), back.searchParams.get('iss')], ['st', ISSUER])
  const answer = await exchange(client_id, back.searchParams.get('code')!)
  assert.deepEqual([answer.token_type, answer.scope], ['Bearer', 'read run'])
  assert.deepEqual(
    [clients.get(client_id)?.owner, audited, registrations.size],
    ['editor', ['client_approved editor'], 0],
  )
})

test('a viewer grants nothing but reading', async () => {
  const { clients, register, ask, allow, oauth } = await server()
  const client_id = register()
  await allow(ask(client_id), { username: 'viewer' })
  assert.deepEqual(clients.get(client_id)?.scopes, ['read'])
  const other = register()
  const form = {
    request: ask(other, { scope: 'code' }),
    decision: 'allow',
    username: 'viewer',
    password: PASSWORD,
    scope_code: 'yes',
  }
  const decided = await oauth.decide(form, '10.0.0.1')
  assert.ok('page' in decided && /none/.test(decided.page.wrong!))
  assert.equal(clients.has(other), false)
})

test('a wrong password shows the page again, and too many are refused', async () => {
  const { oauth, register, ask, allow } = await server()
  const request = ask(register())
  const form = { request, decision: 'allow', username: 'editor', password: 'wrong', scope_read: 'yes' }
  for (let n = 0; n < limits.LOGIN_FAILURES; n++) {
    const decided = await oauth.decide(form, '10.0.0.2')
    assert.ok('page' in decided && decided.status === 401)
  }
  const blocked = await oauth.decide({ ...form, password: PASSWORD }, '10.0.0.2')
  assert.ok('page' in blocked && blocked.status === 429)
  assert.ok((await allow(request)).searchParams.get('code'))
})

test('an unknown client, and an address that was not registered, get no answer at all', async () => {
  const { oauth, query, register } = await server()
  assert.throws(() => oauth.authorize(query('nobody'), ISSUER), refusedAs('invalid_client'))
  const client_id = register()
  for (const redirect_uri of ['https://evil.example/', `${BACK}/more`, 'javascript:alert(1)'])
    assert.throws(() => oauth.authorize(query(client_id, { redirect_uri }), ISSUER), refusedAs('invalid_redirect_uri'))
})

test('what else is wrong goes back to the program: no PKCE, a plain challenge, another resource, an unknown scope', async () => {
  const { oauth, query, register } = await server()
  const client_id = register()
  const wrong = (more: Record<string, string>): string => {
    const answer = oauth.authorize(query(client_id, more), ISSUER)
    assert.ok('location' in answer)
    const { searchParams } = new URL(answer.location)
    assert.deepEqual([searchParams.get('state'), searchParams.get('iss')], ['st', ISSUER])
    return searchParams.get('error')!
  }
  assert.equal(wrong({ code_challenge: '' }), 'invalid_request')
  assert.equal(wrong({ code_challenge_method: 'plain' }), 'invalid_request')
  assert.equal(wrong({ response_type: 'token' }), 'unsupported_response_type')
  assert.equal(wrong({ resource: 'https://other.example/mcp' }), 'invalid_target')
  assert.equal(wrong({ scope: 'read everything' }), 'invalid_scope')
})

test('a code is good for one minute, its own client, its own address and its own verifier', async () => {
  const { clock, register, ask, allow, exchange } = await server()
  const client_id = register()
  const other = register()
  const code = async (): Promise<string> => (await allow(ask(client_id))).searchParams.get('code')!
  const bad = refusedAs('invalid_grant')
  await assert.rejects(exchange(other, await code()), bad)
  await assert.rejects(exchange(client_id, await code(), { redirect_uri: 'http://127.0.0.1:3000/other' }), bad)
  await assert.rejects(exchange(client_id, await code(), { code_verifier: 'w'.repeat(64) }), bad)
  await assert.rejects(exchange(client_id, await code(), { code_verifier: '' }), bad)
  const late = await code()
  clock.ms += limits.CODE_LIFETIME_MS
  await assert.rejects(exchange(client_id, late), bad)
  await assert.rejects(exchange(client_id, 'nothing'), bad)
})

test('a code that comes a second time ends what the first one gave', async () => {
  const { clock, clients, exchange, refresh, signIn } = await server()
  const { client_id, code, tokens } = await signIn()
  clock.ms += 1000
  await assert.rejects(exchange(client_id, code), refusedAs('invalid_grant'))
  await assert.rejects(refresh(tokens.refresh_token), refusedAs('invalid_grant'))
  assert.equal(clients.get(client_id)!.since_ms, clock.ms)
})

test('a refresh whose answer was lost is answered again for a while; an older token ends the family', async () => {
  const { clock, clients, audited, refresh, signIn } = await server()
  const { client_id, tokens } = await signIn()
  const lost = await refresh(tokens.refresh_token)
  clock.ms += limits.REFRESH_AGAIN_MS - 1
  const again = await refresh(tokens.refresh_token)
  const third = await refresh(again.refresh_token)
  await assert.rejects(refresh(tokens.refresh_token), refusedAs('invalid_grant'))
  assert.equal(audited.at(-1), 'client_token_reused null')
  for (const { refresh_token } of [lost, again, third])
    await assert.rejects(refresh(refresh_token), refusedAs('invalid_grant'))
  assert.equal(clients.get(client_id)!.since_ms, clock.ms)
})

test('the token before the present one is refused after its time, and ends the family', async () => {
  const { clock, refresh, signIn } = await server()
  const { tokens } = await signIn()
  const next = await refresh(tokens.refresh_token)
  clock.ms += limits.REFRESH_AGAIN_MS
  await assert.rejects(refresh(tokens.refresh_token), refusedAs('invalid_grant'))
  await assert.rejects(refresh(next.refresh_token), refusedAs('invalid_grant'))
})

test('garbage for a refresh token ends nothing', async () => {
  const { refresh, signIn } = await server()
  const { tokens } = await signIn()
  for (const garbage of ['', 'x', tokens.access_token, `${tokens.refresh_token}x`])
    await assert.rejects(refresh(garbage), refusedAs('invalid_grant'))
  assert.ok(await refresh(tokens.refresh_token))
})

test('revoking either token ends both, and revoking what is no token does nothing', async () => {
  const { clock, clients, oauth, refresh, signIn } = await server()
  const one = await signIn()
  await oauth.revoke({ token: one.tokens.refresh_token })
  await assert.rejects(refresh(one.tokens.refresh_token), refusedAs('invalid_grant'))
  const two = await signIn()
  clock.ms += 5
  await oauth.revoke({ token: two.tokens.access_token })
  await assert.rejects(refresh(two.tokens.refresh_token), refusedAs('invalid_grant'))
  assert.equal(clients.get(two.client_id)!.since_ms, clock.ms)
  await oauth.revoke({ token: 'nothing' })
})

test('a client that was deleted gets no more tokens', async () => {
  const { clients, refresh, signIn } = await server()
  const { client_id, tokens } = await signIn()
  clients.delete(client_id)
  await assert.rejects(refresh(tokens.refresh_token), refusedAs('invalid_grant'))
})

test('another user cannot take over a client', async () => {
  const { clients, ask, allow, signIn } = await server()
  const { client_id } = await signIn()
  const back = await allow(ask(client_id), { username: 'viewer' })
  assert.equal(back.searchParams.get('error'), 'access_denied')
  assert.equal(clients.get(client_id)!.owner, 'editor')
})

test('of two users who let one client in at once, the first is its owner and the other gets no code', async () => {
  const { clients, ask, allow, register, exchange } = await server()
  const client_id = register()
  const [one, other] = [ask(client_id), ask(client_id)]
  const both = await Promise.all([allow(one), allow(other, { username: 'viewer' })])
  const codes = both.map(({ searchParams }) => searchParams.get('code')).filter(code => code !== null)
  assert.deepEqual(
    [codes.length, both.filter(({ searchParams }) => searchParams.get('error') === 'access_denied').length],
    [1, 1],
  )
  const { owner } = clients.get(client_id)!
  assert.equal((await exchange(client_id, codes[0]!)).scope, owner === 'viewer' ? 'read' : 'read run')
})

test('a flood of pages of one client takes no page of another', async () => {
  const { ask, allow, oauth, query, register } = await server()
  const waiting = ask(register())
  const flooding = register()
  for (let n = 0; n < limits.AUTHORIZATIONS + 5; n++) assert.ok('page' in oauth.authorize(query(flooding), ISSUER))
  assert.ok((await allow(waiting)).searchParams.get('code') !== null)
})

test('a program that nobody let in sends no browser to another site', async () => {
  const { oauth, query, registrations, ask, allow } = await server()
  const redirect_uri = 'https://agent.example/callback'
  const { client_id } = registrations.register({ redirect_uris: [redirect_uri] })
  const wrong = () => oauth.authorize(query(client_id, { redirect_uri, scope: 'everything' }), ISSUER)
  assert.throws(wrong, refusedAs('invalid_scope'))
  await allow(ask(client_id, { redirect_uri }))
  const answer = wrong()
  assert.ok('location' in answer)
  assert.equal(new URL(answer.location).searchParams.get('error'), 'invalid_scope')
})

test('a page is decided once, also by two at once', async () => {
  const { ask, allow, oauth, register } = await server()
  const request = ask(register())
  const both = await Promise.allSettled([allow(request), allow(request)])
  assert.deepEqual(both.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  await assert.rejects(oauth.decide({ request, decision: 'deny' }, ''), refusedAs('invalid_request'))
})

test('a flood of registrations and of pages keeps to its bounds, and the newest stand', async () => {
  const { oauth, query, registrations, register } = await server()
  const first = register()
  for (let n = 0; n < limits.REGISTRATIONS; n++) register()
  assert.equal(registrations.size, limits.REGISTRATIONS)
  assert.equal(registrations.find(first), null)
  const client_id = register()
  for (let n = 0; n < limits.AUTHORIZATIONS + 5; n++) assert.ok('page' in oauth.authorize(query(client_id), ISSUER))
})

test('a registration needs addresses that answers may go to', async () => {
  const { registrations } = await server()
  const refused = (asked: unknown, code: string) => assert.throws(() => registrations.register(asked), refusedAs(code))
  refused(null, 'invalid_client_metadata')
  refused([], 'invalid_client_metadata')
  refused({}, 'invalid_redirect_uri')
  refused({ redirect_uris: [] }, 'invalid_redirect_uri')
  refused({ redirect_uris: Array(limits.REDIRECT_URIS + 1).fill(BACK) }, 'invalid_redirect_uri')
  refused({ redirect_uris: [BACK, 'javascript:alert(1)'] }, 'invalid_redirect_uri')
  refused({ redirect_uris: [BACK], grant_types: ['client_credentials'] }, 'invalid_client_metadata')
  refused({ redirect_uris: [BACK], client_name: 5 }, 'invalid_client_metadata')
  const { client_name } = registrations.register({
    redirect_uris: [BACK],
    client_name: '\u202eagent\u0000',
    unknown: 1,
  })
  assert.equal(client_name, 'agent')
})
