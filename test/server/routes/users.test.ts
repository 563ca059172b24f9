import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe, test } from 'node:test'
import { ServiceError } from '../../../protocol/errors.ts'
import { limits } from '../../../protocol/limits.ts'
import { SCOPES_OF } from '../../../protocol/words/scopes.ts'
import { Asking } from '../../kit/asking.ts'
import { eventually } from '../../kit/live-engine.ts'
import { ADA, ROOT, type ServedFront, serveFront } from '../../kit/served-front.ts'

const login = '/login/access-token'

/** A front of its own for each test of a suite, and who asks it. */
function eachFront(options?: Parameters<typeof serveFront>[0]): { served: ServedFront; asking: Asking } {
  const each = {} as { served: ServedFront; asking: Asking }
  beforeEach(async () => {
    each.served = await serveFront(options)
    each.asking = new Asking(each.served)
  })
  afterEach(() => each.served.close())
  return each
}

describe('signing in', () => {
  const each = eachFront({ proxies: ['127.0.0.1', '10.0.0.0/8'] })

  const attempt = (password: string, address = '203.0.113.7', username = ADA.name) =>
    each.asking.ask('POST', login, {
      as: 'nobody',
      body: { username, password },
      headers: { 'x-forwarded-for': address },
    })

  test('with JSON or with a form, a name and a password give a token that works', async () => {
    const byJson = await each.asking.ask('POST', login, {
      as: 'nobody',
      body: { username: ADA.name, password: ADA.password },
    })
    assert.deepEqual(
      [byJson.status, byJson.json.token_type, byJson.json.expires_in],
      [200, 'bearer', limits.TOKEN_LIFETIME_S],
    )
    assert.equal(byJson.headers.get('cache-control'), 'no-store')
    const text = new URLSearchParams({ grant_type: 'password', username: ADA.name, password: ADA.password, scope: '' })
    const headers = { 'content-type': 'application/x-www-form-urlencoded; charset=UTF-8' }
    const byForm = await each.asking.ask('POST', login, { as: 'nobody', text: String(text), headers })
    for (const { json } of [byJson, byForm]) {
      const me = await each.asking.ask('GET', '/users/me', {
        as: 'nobody',
        headers: { authorization: `Bearer ${json.access_token}` },
      })
      assert.deepEqual([me.json.name, me.json.superuser], [ADA.name, false])
    }
  })

  test('a wrong password and an unknown name are refused in the same words', async () => {
    const wrong = await attempt('not this one')
    const unknown = await attempt('not this one', '203.0.113.8', 'nobody-of-that-name')
    assert.deepEqual([wrong.status, wrong.text], [401, unknown.text])
  })

  test('ten failures close the door to an address for five minutes; the right password does not open it', async () => {
    for (let failure = 0; failure < limits.LOGIN_FAILURES; failure++) assert.equal((await attempt('wrong')).status, 401)
    const refused = await attempt(ADA.password)
    assert.deepEqual([refused.status, refused.json.code], [429, 'rate_limited'])
    assert.equal(Number(refused.headers.get('retry-after')), limits.LOGIN_WINDOW_MS / 1000)
    assert.equal((await attempt(ADA.password, '203.0.113.8')).status, 200)
    each.served.clock.ms += limits.LOGIN_WINDOW_MS
    assert.equal((await attempt(ADA.password)).status, 200)
  })

  test('a success spends nothing', async () => {
    for (let round = 0; round < limits.LOGIN_FAILURES - 1; round++) await attempt('wrong')
    for (let round = 0; round < 5; round++) assert.equal((await attempt(ADA.password)).status, 200)
    assert.equal((await attempt('wrong')).status, 401)
    assert.equal((await attempt(ADA.password)).status, 429)
  })

  test('attempts that are made at once count like attempts one after another', async () => {
    const all = await Promise.all(Array.from({ length: 25 }, () => attempt('wrong')))
    const refused = all.filter(({ status }) => status === 401).length
    assert.ok(refused <= limits.LOGIN_FAILURES, `${refused} were tried`)
  })

  test('behind a trusted proxy the right-most address that no proxy has is the client', async () => {
    for (let failure = 0; failure < limits.LOGIN_FAILURES; failure++)
      await attempt('wrong', `198.51.100.${failure}, 203.0.113.9, 10.1.2.3`)
    assert.equal((await attempt(ADA.password, '203.0.113.9')).status, 429)
    assert.equal((await attempt(ADA.password, '203.0.113.9, 198.51.100.1')).status, 200)
  })

  test('only what says that it is JSON or a form is read', async () => {
    const fields = { username: ADA.name, password: ADA.password }
    for (const target of [login, '/password-recovery', '/password-reset'])
      for (const type of [
        'text/plain',
        'text/plain;charset=UTF-8',
        'multipart/form-data; boundary=x',
        'application/jsonp',
        'x',
      ]) {
        const asked = { as: 'nobody', text: JSON.stringify(fields), headers: { 'content-type': type } } as const
        assert.equal(await each.asking.code('POST', target, asked), 'unsupported_media_type', `${target} ${type}`)
      }
    // Without any, as a page may send bytes without being asked for leave.
    const bare = await fetch(each.served.url + login, {
      method: 'POST',
      body: new TextEncoder().encode(JSON.stringify(fields)),
    })
    assert.equal(bare.status, 415)
    const headers = { 'content-type': 'Application/JSON ; charset=utf-8' }
    assert.equal(await each.asking.status('POST', login, { as: 'nobody', text: JSON.stringify(fields), headers }), 200)
  })

  test('what is not a sign-in is refused at its place', async () => {
    const problem = await each.asking.problem('POST', login, {
      as: 'nobody',
      body: { username: '', password: 7, remember: true },
    })
    assert.deepEqual(problem.errors.map(({ loc }) => loc).sort(), ['body.password', 'body.remember', 'body.username'])
    const text = 'username=a&username=b&password=c'
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    assert.equal(
      (await each.asking.problem('POST', login, { as: 'nobody', text, headers })).errors[0]!.loc,
      'body.username',
    )
    assert.equal(
      await each.asking.code('POST', login, { as: 'nobody', text: 'x'.repeat(20_000), headers }),
      'too_large',
    )
  })
})

describe('no trusted proxy', () => {
  test('X-Forwarded-For means nothing', async () => {
    const served = await serveFront()
    const asking = new Asking(served)
    const attempt = (address: string, password: string) =>
      asking.status('POST', login, {
        as: 'nobody',
        body: { username: ADA.name, password },
        headers: { 'x-forwarded-for': address },
      })
    for (let failure = 0; failure < limits.LOGIN_FAILURES; failure++) await attempt(`203.0.113.${failure}`, 'wrong')
    assert.equal(await attempt('198.51.100.1', ADA.password), 429)
    // Whoever forgot to name the proxy hears of it, once: everybody behind it is one client.
    assert.deepEqual(
      served.log.lines.filter(({ event }) => event === 'forwarded_for_not_trusted').map(({ fields }) => fields['peer']),
      ['127.0.0.1'],
    )
    served.close()
  })
})

describe('one account', () => {
  const each = eachFront({ proxies: ['127.0.0.1'] })

  const attempt = (address: string, password: string, username = ADA.name) =>
    each.asking.ask('POST', login, {
      as: 'nobody',
      body: { username, password },
      headers: { 'x-forwarded-for': address },
    })
  /** As many failures as an account is allowed, none of the addresses with more than it is allowed. */
  const besiege = async (username = ADA.name, network = '198.51.100'): Promise<void> => {
    for (let failure = 0; failure < limits.LOGIN_ACCOUNT_FAILURES; failure++)
      assert.equal((await attempt(`${network}.${failure >> 3}`, 'wrong', username)).status, 401)
  }

  test('gets few guesses from strangers, however many addresses they have', async () => {
    await besiege()
    const refused = await attempt('203.0.113.1', ADA.password)
    assert.deepEqual([refused.status, refused.json.code], [429, 'rate_limited'])
    assert.equal(Number(refused.headers.get('retry-after')), limits.LOGIN_ACCOUNT_WINDOW_MS / 1000)
    assert.equal((await attempt('203.0.113.1', ROOT.password, ROOT.name)).status, 200)
    each.served.clock.ms += limits.LOGIN_ACCOUNT_WINDOW_MS
    assert.equal((await attempt('203.0.113.1', ADA.password)).status, 200)
  })

  test('cannot be locked by strangers: from an address that it knows its user signs in', async () => {
    assert.equal((await attempt('192.0.2.1', ADA.password)).status, 200)
    await besiege()
    assert.equal((await attempt('203.0.113.1', ADA.password)).status, 429)
    assert.equal((await attempt('192.0.2.1', 'wrong')).status, 401)
    assert.equal((await attempt('192.0.2.1', ADA.password)).status, 200)
  })

  test('is known where its password was reset', async () => {
    await besiege()
    const digest = each.served.accounts.find(ADA.name)!.digest
    const token = await each.served.tokens.mint('reset', ADA.name, digest, limits.RESET_LIFETIME_S)
    const body = { token, password: 'a fresh password' }
    const headers = { 'x-forwarded-for': '203.0.113.1' }
    assert.equal(await each.asking.status('POST', '/password-reset', { as: 'nobody', body, headers }), 204)
    assert.equal((await attempt('203.0.113.2', 'a fresh password')).status, 429)
    assert.equal((await attempt('203.0.113.1', 'a fresh password')).status, 200)
  })

  test('that does not exist is treated like one that does', async () => {
    await besiege('nobody-of-that-name')
    const unknown = await attempt('203.0.113.1', 'wrong', 'nobody-of-that-name')
    await besiege(ADA.name, '192.0.2')
    const known = await attempt('203.0.113.1', 'wrong')
    assert.deepEqual([unknown.status, unknown.text], [429, known.text])
  })

  test('what happens to it is told: who, what, from where, with what result, and never a password or a name that is none', async () => {
    await attempt('203.0.113.1', 'a secret word')
    await attempt('203.0.113.1', 'wrong', 'my password by mistake')
    await attempt('203.0.113.1', ADA.password)
    const body = { name: 'grace', password: 'long enough' }
    await each.asking.ask('POST', '/users', { as: 'superuser', body })
    await each.asking.ask('POST', '/users', { as: 'superuser', body })
    const change = { old: 'not this one', new: 'another password' }
    await each.asking.ask('POST', '/users/me/password', { body: change })
    await each.asking.ask('POST', '/users/me/password', { body: { ...change, old: ADA.password } })
    await each.asking.ask('DELETE', '/users/grace', { as: 'superuser' })
    await each.asking.ask('POST', '/password-reset', {
      as: 'nobody',
      body: { token: 'none', password: 'another password' },
    })
    await each.asking.ask('POST', '/logout', { as: 'superuser' })
    const rows = each.served.audited.map(({ action, object, actor, address, result }) => [
      action,
      object,
      actor,
      address,
      result,
    ])
    assert.deepEqual(rows, [
      ['sign_in', 'user:ada', null, '203.0.113.1', 'wrong_credentials'],
      ['sign_in', null, null, '203.0.113.1', 'wrong_credentials'],
      ['sign_in', 'user:ada', null, '203.0.113.1', 'ok'],
      ['user_created', 'user:grace', 'root', '127.0.0.1', 'ok'],
      ['password_changed', 'user:ada', 'ada', '127.0.0.1', 'wrong_password'],
      ['password_changed', 'user:ada', 'ada', '127.0.0.1', 'ok'],
      ['user_removed', 'user:grace', 'root', '127.0.0.1', 'ok'],
      ['password_reset', null, null, '127.0.0.1', 'reset_refused'],
      ['sign_out', 'user:root', 'root', '127.0.0.1', 'ok'],
    ])
    const secrets = ['a secret word', ADA.password, 'another password', 'long enough', 'mistake', each.served.superuser]
    for (const secret of secrets) assert.ok(!JSON.stringify(each.served.audited).includes(secret), secret)
  })

  test('an address that is refused is told once, not with each attempt', async () => {
    for (let round = 0; round < limits.LOGIN_FAILURES + 20; round++) await attempt('203.0.113.1', 'wrong')
    const results = each.served.audited.map(({ result }) => result)
    assert.equal(results.filter(result => result === 'rate_limited').length, 1)
    assert.equal(results.length, limits.LOGIN_FAILURES + 1)
  })
})

describe('signing out', () => {
  const each = eachFront()

  const as = (token: string) => ({ as: 'nobody', headers: { authorization: `Bearer ${token}` } }) as const

  test('ends the token of the request at once and no other, and is kept', async () => {
    const other = await each.served.mint(ADA.name)
    assert.equal(await each.asking.status('POST', '/logout'), 204)
    assert.equal(await each.asking.code('GET', '/users/me'), 'unauthenticated')
    assert.equal(await each.asking.code('POST', '/logout'), 'unauthenticated')
    assert.equal(await each.asking.status('GET', '/users/me', as(other)), 200)
    assert.deepEqual(
      each.served.users.revoked.map(({ user, expires_at }) => [user, expires_at]),
      [['ada', each.served.clock.ms + limits.TOKEN_LIFETIME_S * 1000]],
    )
  })

  test('that could not be kept has not happened', async () => {
    each.served.users.refuse = new ServiceError('disk_full')
    assert.equal(await each.asking.code('POST', '/logout'), 'disk_full')
    assert.equal(await each.asking.status('GET', '/users/me'), 200)
  })
})

describe('changing one’s own password', () => {
  const each = eachFront()

  const change = (old: string, password = 'a fresh password') =>
    each.asking.ask('POST', '/users/me/password', { body: { old, new: password } })

  test('takes the old one, ends every token, and answers a new one', async () => {
    const changed = await change(ADA.password)
    assert.deepEqual([changed.status, changed.json.expires_in], [200, limits.TOKEN_LIFETIME_S])
    assert.equal(await each.asking.code('GET', '/users/me'), 'unauthenticated')
    const headers = { authorization: `Bearer ${changed.json.access_token}` }
    assert.equal(await each.asking.status('GET', '/users/me', { as: 'nobody', headers }), 200)
    const login_with = (password: string) =>
      each.asking.status('POST', login, { as: 'nobody', body: { username: ADA.name, password } })
    assert.deepEqual([await login_with(ADA.password), await login_with('a fresh password')], [401, 200])
  })

  test('is refused with a wrong old one or a short new one, and bounded by user', async () => {
    assert.equal((await change(ADA.password, 'short')).json.errors[0].loc, 'body.new')
    for (let round = 0; round < limits.LOGIN_FAILURES; round++)
      assert.equal((await change('wrong')).json.code, 'wrong_password')
    assert.equal((await change(ADA.password)).json.code, 'rate_limited')
    assert.equal(await each.asking.status('GET', '/users/me'), 200)
    const body = { old: ROOT.password, new: 'a fresh password' }
    assert.equal(await each.asking.status('POST', '/users/me/password', { as: 'superuser', body }), 200)
  })

  test('twice at once: one wins', async () => {
    const both = await Promise.all([change(ADA.password, 'the first one'), change(ADA.password, 'the second one')])
    const [won, lost] = both.map(({ status }) => status).sort()
    assert.equal(won, 200)
    // 401: the other had changed it, and ended this token, before this request was looked at.
    assert.ok(lost === 403 || lost === 401, String(lost))
  })
})

describe('users', () => {
  const all = {} as { served: ServedFront; asking: Asking }
  before(async () => {
    all.served = await serveFront()
    all.asking = new Asking(all.served)
  })
  after(() => all.served.close())

  const add = (name: string, more: object = {}) =>
    all.asking.ask('POST', '/users', { as: 'superuser', body: { name, password: 'long enough', ...more } })

  test('a superuser adds, lists and removes users', async () => {
    const made = await add('grace@example.org')
    assert.deepEqual([made.status, made.json.superuser], [201, false])
    assert.doesNotMatch(made.text, /argon2|password/)
    const { items, count } = (await all.asking.ask('GET', '/users?limit=2', { as: 'superuser' })).json
    assert.deepEqual([count, items.map((user: { name: string }) => user.name)], [3, ['ada', 'grace@example.org']])
    assert.equal(await all.asking.status('DELETE', '/users/grace@example.org', { as: 'superuser' }), 204)
    assert.equal(await all.asking.code('DELETE', '/users/grace@example.org', { as: 'superuser' }), 'user_not_found')
  })

  test('names and passwords are checked', async () => {
    for (const name of ['', 'me?', 'a b', '.a', 'x'.repeat(129), 'me'])
      assert.equal((await add(name)).json.errors[0].loc, 'body.name', name)
    assert.equal((await add('short', { password: '7 chars' })).json.errors[0].loc, 'body.password')
    assert.equal(
      (await add('long', { password: 'x'.repeat(limits.PASSWORD_CHARACTERS + 1) })).json.errors[0].loc,
      'body.password',
    )
    assert.equal((await add(ADA.name)).json.code, 'user_exists')
  })

  test('the last superuser stays', async () => {
    assert.equal(await all.asking.code('DELETE', `/users/${ROOT.name}`, { as: 'superuser' }), 'last_superuser')
    await add('second', { superuser: true })
    assert.equal(await all.asking.status('DELETE', '/users/second', { as: 'superuser' }), 204)
  })

  const change = (name: string, body: object) => all.asking.ask('PATCH', `/users/${name}`, { as: 'superuser', body })
  const signs_in = (username: string, password = 'long enough') =>
    all.asking.status('POST', login, { as: 'nobody', body: { username, password } })
  const as = (token: string) => ({ as: 'nobody', headers: { authorization: `Bearer ${token}` } }) as const

  test('a superuser changes role, names and mail of a user, and what is absent stays', async () => {
    await add('lin', { role: 'viewer', display_name: 'Lin', mail: 'lin@example.org' })
    const changed = await change('lin', { role: 'operator', display_name: null })
    assert.partialDeepStrictEqual(changed.json, { role: 'operator', display_name: null, mail: 'lin@example.org' })
    assert.equal((await change('lin', { superuser: false })).json.role, 'operator')
    assert.equal((await change('lin', { superuser: true })).json.role, 'superuser')
    assert.equal((await change('lin', { superuser: false })).json.role, 'editor')
    assert.equal((await change('lin', { role: 'viewer', superuser: true })).json.errors[0].loc, 'body.superuser')
    assert.equal((await change('nobody-of-that-name', {})).json.code, 'user_not_found')
    assert.equal(await all.asking.code('PATCH', '/users/lin', { body: { role: 'superuser' } }), 'forbidden')
  })

  test('a mail address is one address, and a display name is one line', async () => {
    for (const mail of [
      '',
      'lin',
      'lin@',
      '@example.org',
      'a@b, c@d',
      'a@b\r\nBcc: c@d',
      '"a b"@c',
      'a@b>',
      `${'x'.repeat(65)}@b`,
    ])
      assert.equal((await change('lin', { mail })).json.errors[0].loc, 'body.mail', mail)
    for (const display_name of ['', 'a\nb', '\u001b[31m', '\u202eadmin', 'x'.repeat(129)])
      assert.equal((await change('lin', { display_name })).json.errors[0].loc, 'body.display_name', display_name)
    assert.equal((await change('lin', { display_name: 'Lín Ångström 林' })).status, 200)
  })

  test('a user who is disabled has no token that stands and cannot sign in; tokens from before stay dead', async () => {
    const { served } = all
    await add('kim')
    const before = await served.mint('kim')
    assert.equal(await all.asking.status('GET', '/users/me', as(before)), 200)
    served.clock.ms += 1000
    assert.equal((await change('kim', { disabled: true })).json.disabled, true)
    assert.equal(await all.asking.code('GET', '/users/me', as(before)), 'unauthenticated')
    assert.equal(await signs_in('kim'), 401)
    assert.equal((await change('kim', { disabled: false })).json.disabled, false)
    assert.equal(await all.asking.code('GET', '/users/me', as(before)), 'unauthenticated')
    assert.equal(await signs_in('kim'), 200)
    assert.equal(await all.asking.status('GET', '/users/me', as(await served.mint('kim'))), 200)
  })

  test('a role takes effect with the next request', async () => {
    await add('max', { role: 'viewer' })
    const token = as(await all.served.mint('max'))
    assert.deepEqual((await all.asking.ask('GET', '/users/me', token)).json.scopes, ['read'])
    assert.equal(await all.asking.code('PUT', '/flows/boiler', { ...token, body: {} }), 'forbidden')
    await change('max', { role: 'editor' })
    assert.equal(await all.asking.code('PUT', '/flows/boiler', { ...token, body: {} }), 'validation')
    assert.deepEqual((await all.asking.ask('GET', '/users/me', token)).json.scopes, SCOPES_OF.editor)
  })

  test('the last superuser is neither demoted nor disabled; of two that demote each other at once one stays', async () => {
    assert.equal((await change(ROOT.name, { role: 'editor' })).json.code, 'last_superuser')
    assert.equal((await change(ROOT.name, { disabled: true })).json.code, 'last_superuser')
    await add('other', { superuser: true })
    const token = as(await all.served.mint('other'))
    const answers = await Promise.all([
      change('other', { superuser: false }),
      all.asking.ask('PATCH', `/users/${ROOT.name}`, { ...token, body: { disabled: true } }),
    ])
    const [won, lost] = answers.map(({ status }) => status).sort()
    assert.equal(won, 200)
    // 403 or 401: the other was first, and its change counts before this request is looked at.
    assert.ok([401, 403, 409].includes(lost!), String(lost))
    const [root, other] = [ROOT.name, 'other'].map(name => all.served.accounts.find(name)!)
    assert.equal([root, other].filter(user => user!.role === 'superuser' && !user!.disabled).length, 1)
    if (root!.disabled) await all.served.accounts.change(ROOT.name, { disabled: false }, async () => {})
    await all.served.accounts.remove('other')
    // A superuser who is disabled keeps nobody in.
    await add('asleep', { superuser: true })
    await change('asleep', { disabled: true })
    assert.equal((await change(ROOT.name, { role: 'viewer' })).json.code, 'last_superuser')
  })

  test('everybody changes the own display name, and the mail address with the password', async () => {
    await add('eve', { role: 'viewer' })
    const token = as(await all.served.mint('eve'))
    const own = (body: object) => all.asking.ask('PATCH', '/users/me', { ...token, body })
    assert.equal((await own({ display_name: 'Eve' })).json.display_name, 'Eve')
    assert.equal((await own({ mail: 'eve@example.org' })).json.code, 'wrong_password')
    assert.equal((await own({ mail: 'eve@example.org', password: 'wrong' })).json.code, 'wrong_password')
    assert.equal((await own({ mail: 'eve@example.org', password: 'long enough' })).json.mail, 'eve@example.org')
    assert.equal((await own({ mail: 'eve@example.org', display_name: null })).json.display_name, null)
    assert.equal((await own({ role: 'superuser' })).json.errors[0].loc, 'body.role')
    for (let round = 0; round < limits.LOGIN_FAILURES; round++) await own({ mail: null, password: 'wrong' })
    assert.equal((await own({ mail: null, password: 'long enough' })).json.code, 'rate_limited')
  })

  test('two that create the same name at once: one wins', async () => {
    const statuses = (await Promise.all([add('twin'), add('twin'), add('twin')])).map(({ status }) => status)
    assert.deepEqual(statuses.sort(), [201, 409, 409])
  })

  test('what could not be stored is not there', async () => {
    all.served.users.refuse = new ServiceError('disk_full')
    assert.equal((await add('ghost')).json.code, 'disk_full')
    assert.equal(await all.asking.code('DELETE', '/users/ada', { as: 'superuser' }), 'disk_full')
    all.served.users.refuse = null
    assert.equal(all.served.accounts.find('ghost'), null)
    assert.equal(await all.asking.status('GET', '/users/me'), 200)
  })
})

describe('a lost password', () => {
  const each = eachFront()

  const recover = (username: string) =>
    each.asking.ask('POST', '/password-recovery', { as: 'nobody', body: { username } })
  const reset = (token: string, password = 'a fresh password') =>
    each.asking.ask('POST', '/password-reset', { as: 'nobody', body: { token, password } })
  /** The token that the recovery delivered, once it has: the answer does not wait for it. */
  const delivered = async (): Promise<string> => {
    await eventually(() => each.served.resets.length > 0, 'a delivery')
    return each.served.resets.at(-1)!.token
  }

  test('asking answers the same for a name that exists and for one that does not', async () => {
    const known = await recover(ADA.name)
    await delivered()
    const unknown = await recover('nobody-of-that-name')
    assert.deepEqual([known.status, known.text], [202, unknown.text])
    assert.deepEqual(
      each.served.resets.map(({ name }) => name),
      [ADA.name],
    )
  })

  test('a reset sets the password once, and ends every older token', async () => {
    await recover(ADA.name)
    const token = await delivered()
    assert.equal((await reset(token)).status, 204)
    assert.equal((await reset(token)).json.code, 'reset_refused')
    assert.equal(await each.asking.status('GET', '/users/me'), 401)
    const login_with = (password: string) =>
      each.asking.status('POST', login, { as: 'nobody', body: { username: ADA.name, password } })
    assert.equal(await login_with(ADA.password), 401)
    assert.equal(await login_with('a fresh password'), 200)
  })

  test('two tokens for one password: when one was used, the other stops verifying', async () => {
    await recover(ADA.name)
    const first = await delivered()
    const digest = each.served.accounts.find(ADA.name)!.digest
    const second = await each.served.tokens.mint('reset', ADA.name, digest, limits.RESET_LIFETIME_S)
    const statuses = (await Promise.all([reset(first), reset(second)])).map(({ status }) => status)
    assert.deepEqual(statuses.sort(), [204, 400])
  })

  test('a reset token is valid 48 hours', async () => {
    await recover(ADA.name)
    const token = await delivered()
    each.served.clock.ms += limits.RESET_LIFETIME_S * 1000
    assert.equal((await reset(token)).json.code, 'reset_refused')
    each.served.clock.ms -= 1000
    assert.equal((await reset(token)).status, 204)
  })

  test('a user who is disabled gets no way to a new password, and one that was on its way is refused', async () => {
    await recover(ADA.name)
    const token = await delivered()
    await each.served.accounts.change(ADA.name, { disabled: true }, async () => {})
    assert.equal((await reset(token)).json.code, 'reset_refused')
    assert.equal((await recover(ADA.name)).status, 202)
    // Requests are worked on in their order.
    await recover(ROOT.name)
    await eventually(() => each.served.resets.length === 2, 'the delivery for the other')
    assert.deepEqual(
      each.served.resets.map(({ name }) => name),
      [ADA.name, ROOT.name],
    )
  })

  test('an access token resets nothing, and a weak password is refused before the token is used', async () => {
    assert.equal((await reset(each.served.user)).json.code, 'reset_refused')
    await recover(ADA.name)
    const token = await delivered()
    assert.equal((await reset(token, 'short')).json.code, 'validation')
    assert.equal((await reset(token)).status, 204)
  })

  test('asking and guessing are bounded by address, each for itself', async () => {
    for (let round = 0; round < limits.LOGIN_FAILURES; round++) assert.equal((await recover('nobody')).status, 202)
    assert.equal((await recover(ADA.name)).json.code, 'rate_limited')
    for (let round = 0; round < limits.LOGIN_FAILURES; round++)
      assert.equal((await reset('guess')).json.code, 'reset_refused')
    assert.equal((await reset('guess')).json.code, 'rate_limited')
    const body = { username: ADA.name, password: ADA.password }
    assert.equal(await each.asking.status('POST', login, { as: 'nobody', body }), 200)
  })
})
