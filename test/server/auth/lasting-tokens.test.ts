import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { limits } from '../../../protocol/limits.ts'
import { LastingTokens } from '../../../server/auth/lasting-tokens.ts'
import { Clock } from '../../kit/served-front.ts'

const YEAR_S = 365 * 86_400
const metrics = (name: string) => ({ name, rights: ['metrics' as const], expires_s: YEAR_S })

function setting() {
  const clock = new Clock()
  const disk: { text: string | undefined; fails: boolean } = { text: undefined, fails: false }
  const keep = async (text: string): Promise<void> => {
    if (disk.fails) throw new Error('the disk is full')
    disk.text = text
  }
  return { clock, disk, open: () => new LastingTokens(disk.text, keep, clock.now) }
}

describe('lasting tokens', () => {
  test('are shown once, and what is kept does not hold them', async () => {
    const { disk, open } = setting()
    const tokens = open()
    const { token, ...rest } = await tokens.create(metrics('prometheus'), 'ada')
    assert.deepEqual(tokens.list(), [rest])
    const secret = token.split('_').slice(2).join('_')
    assert.equal(secret.length, 43)
    assert.doesNotMatch(disk.text!, new RegExp(secret))
  })

  test('outlive a restart, until they expire', async () => {
    const { clock, open } = setting()
    const { token } = await open().create(metrics('prometheus'), 'ada')
    const again = open()
    assert.deepEqual(again.known(token).principal, {
      kind: 'token',
      name: 'prometheus',
      actor: 'token:prometheus',
      scopes: ['metrics'],
    })
    const admission = await again.admit(token)
    clock.ms += YEAR_S * 1000
    assert.equal(admission.holds(), false)
    assert.throws(() => again.known(token), { code: 'token_expired' })
    await assert.rejects(again.admit(token), { code: 'token_expired' })
  })

  test('end at once when they are revoked, and stay revoked over a restart', async () => {
    const { open } = setting()
    const tokens = open()
    const { token } = await tokens.create(metrics('prometheus'), 'ada')
    const admission = tokens.known(token)
    await tokens.revoke('prometheus')
    assert.equal(admission.holds(), false)
    for (const each of [tokens, open()]) await assert.rejects(each.admit(token), { code: 'unauthenticated' })
    await assert.rejects(tokens.revoke('prometheus'), { code: 'token_not_found' })
  })

  test('are there only when they were kept', async () => {
    const { disk, open } = setting()
    const tokens = open()
    disk.fails = true
    await assert.rejects(tokens.create(metrics('prometheus'), 'ada'))
    assert.deepEqual(tokens.list(), [])
    disk.fails = false
    const { token } = await tokens.create(metrics('prometheus'), 'ada')
    disk.fails = true
    await assert.rejects(tokens.revoke('prometheus'))
    assert.equal(tokens.known(token).holds(), true)
  })

  test('have names of their own, and are not more than the bound', async () => {
    const { open } = setting()
    const tokens = open()
    const attempts = await Promise.allSettled([1, 2].map(() => tokens.create(metrics('prometheus'), 'ada')))
    assert.deepEqual(attempts.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
    await assert.rejects(tokens.create(metrics('prometheus'), 'ada'), { code: 'token_exists' })
    for (let i = 1; i < limits.LASTING_TOKENS; i++) await tokens.create(metrics(`t${i}`), 'ada')
    await assert.rejects(tokens.create(metrics('one-more'), 'ada'), { code: 'too_many_tokens' })
  })
})
