import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { describe, test } from 'node:test'
import { limits } from '../../../protocol/limits.ts'
import { Accounts } from '../../../server/auth/accounts.ts'
import { Gatekeeper } from '../../../server/auth/gatekeeper.ts'
import { Passwords } from '../../../server/auth/passwords.ts'
import { Revocations } from '../../../server/auth/revocations.ts'
import { signingKeyOf } from '../../../server/auth/signing-key.ts'
import { StandingUsers } from '../../../server/auth/standing-users.ts'
import { Tokens } from '../../../server/auth/tokens.ts'
import { profile } from '../../../test/kit/profile.ts'
import { Clock, quickPasswords } from '../../kit/served-front.ts'
import { UsersDouble } from '../../kit/users-double.ts'

const nothingRevoked = () =>
  new Revocations(
    [],
    async () => {},
    () => 0,
  )
const newKey = () =>
  signingKeyOf(generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString())

describe('passwords', () => {
  test('are kept as argon2id at the cost that is recommended', async () => {
    const hash = await new Passwords().hash('correct horse battery')
    assert.match(hash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    const passwords = new Passwords()
    assert.equal(await passwords.verify(hash, 'correct horse battery'), true)
    assert.equal(await passwords.verify(hash, 'Correct horse battery'), false)
    assert.equal(await passwords.verify(null, 'a password that nobody has'), false)
  })

  test('more checks at once than the bound are refused, and later ones work again', async () => {
    const passwords = quickPasswords()
    const hash = await passwords.hash('x')
    const all = await Promise.allSettled(
      Array.from({ length: limits.LOGIN_AT_ONCE + 5 }, () => passwords.verify(hash, 'x')),
    )
    assert.equal(
      all.filter(({ status }) => status === 'rejected').length,
      5 + limits.LOGIN_AT_ONCE - limits.LOGIN_STRANGERS_AT_ONCE,
    )
    assert.equal(await passwords.verify(hash, 'x'), true)
  })
})

describe('a flood of sign-ins', () => {
  test('leaves places for those who sign in from an address that their account knows', async () => {
    const passwords = quickPasswords()
    const hash = await passwords.hash('x')
    const strangers = Array.from({ length: limits.LOGIN_AT_ONCE }, () => passwords.verify(null, 'guess', false))
    const known = Array.from({ length: limits.LOGIN_AT_ONCE - limits.LOGIN_STRANGERS_AT_ONCE }, () =>
      passwords.verify(hash, 'x', true),
    )
    const refused = (await Promise.allSettled(strangers)).filter(({ status }) => status === 'rejected').length
    assert.equal(refused, limits.LOGIN_AT_ONCE - limits.LOGIN_STRANGERS_AT_ONCE)
    assert.ok((await Promise.all(known)).every(Boolean))
  })
})

describe('accounts', () => {
  test('come back from their store', async () => {
    const users = new UsersDouble()
    const accounts = await Accounts.open(users, quickPasswords())
    await accounts.create('ada', 'correct horse battery', 'superuser')
    const again = await Accounts.open(users, quickPasswords())
    assert.equal((await again.signIn('ada', 'correct horse battery'))?.role, 'superuser')
    assert.equal(await again.signIn('ada', 'something else'), null)
  })

  test('whoever keeps a token hears of a new password and of a removal', async () => {
    const accounts = await Accounts.open(new UsersDouble(), quickPasswords())
    const heard: string[] = []
    accounts.onChange(name => heard.push(name))
    await accounts.create('ada', 'correct horse battery', 'superuser')
    await accounts.create('grace', 'correct horse battery', 'superuser')
    await accounts.setPassword('ada', accounts.find('ada')!.digest, 'another password')
    await accounts.remove('grace')
    assert.deepEqual(heard, ['ada', 'grace'])
  })
})

describe('the gatekeeper', () => {
  test('remembers a bounded number of tokens, and any token works whether it is remembered or not', async () => {
    const clock = new Clock()
    const tokens = new Tokens(await newKey(), clock.now)
    const accounts = await Accounts.open(new UsersDouble(), quickPasswords())
    const { digest } = await accounts.create('ada', 'correct horse battery', 'editor')
    const gatekeeper = new Gatekeeper(tokens, new StandingUsers(accounts, nothingRevoked()), clock.now)
    const minted: string[] = []
    for (let n = 0; n < limits.TOKENS_REMEMBERED + 10; n++) {
      const token = await tokens.mint('access', 'ada', digest, 1000 + n)
      minted.push(token)
      await gatekeeper.admit(token)
    }
    assert.equal(gatekeeper.known(minted[0]!), null)
    assert.equal(gatekeeper.known(minted.at(-1)!)?.principal.name, 'ada')
    assert.equal((await gatekeeper.admit(minted[0]!)).principal.name, 'ada')
  })

  test('a user who becomes a superuser is one on the next request', async () => {
    const clock = new Clock()
    const users = new UsersDouble()
    const tokens = new Tokens(await newKey(), clock.now)
    const accounts = await Accounts.open(users, quickPasswords())
    const { digest, name, password_hash } = await accounts.create('ada', 'correct horse battery', 'editor')
    const token = await tokens.mint('access', 'ada', digest, 1000)
    const before = new Gatekeeper(tokens, new StandingUsers(accounts, nothingRevoked()), clock.now)
    assert.equal((await before.admit(token)).principal.superuser, false)
    await users.put({ name, password_hash, ...profile('superuser') })
    const after_start = new Gatekeeper(
      tokens,
      new StandingUsers(await Accounts.open(users, quickPasswords()), nothingRevoked()),
      clock.now,
    )
    assert.equal((await after_start.admit(token)).principal.superuser, true)
  })
})
