import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { limits } from '../../../protocol/limits.ts'
import { Revocations } from '../../../server/auth/revocations.ts'
import type { RevokedToken } from '../../../server/store/front/requests.ts'
import { Clock } from '../../kit/served-front.ts'

const LIFETIME_MS = limits.TOKEN_LIFETIME_S * 1000

function setting() {
  const clock = new Clock()
  /** What is on disk, as the store keeps it. */
  let rows: RevokedToken[] = []
  const keep = async (more: readonly RevokedToken[]): Promise<void> => {
    for (const { user, token } of more) if (token === '') rows = rows.filter(row => row.user !== user)
    rows = [...rows.filter(row => row.expires_at > clock.ms), ...more]
  }
  const claims = (id: string, subject = 'ada') => ({
    id,
    subject,
    binding: '',
    issued_ms: clock.ms,
    expires_ms: clock.ms + LIFETIME_MS,
  })
  const open = () => new Revocations(rows, keep, clock.now)
  return { clock, open, claims, rows: () => rows }
}

describe('revoked tokens', () => {
  test('stay revoked when the clock was set past their end and back again', async () => {
    const { clock, claims } = setting()
    const one = claims('one')
    let ahead_ms = 0
    const revocations = new Revocations(
      [],
      async () => {},
      () => clock.ms + ahead_ms,
      () => clock.ms,
    )
    await revocations.revoke(one)
    ahead_ms = 2 * LIFETIME_MS
    await revocations.revoke(claims('other', 'grace'))
    ahead_ms = 0
    assert.equal(revocations.isRevoked(one), true)
  })

  test('stay revoked over a restart, and are forgotten when they have ended by themselves', async () => {
    const { clock, open, claims, rows } = setting()
    const one = claims('one')
    const first = open()
    await first.revoke(one)
    const second = open()
    for (const revocations of [first, second])
      assert.deepEqual([revocations.isRevoked(one), revocations.isRevoked(claims('other'))], [true, false])
    clock.ms += LIFETIME_MS
    await second.revoke(claims('late', 'grace'))
    assert.deepEqual(
      rows().map(({ token }) => token),
      ['late'],
    )
  })

  test('are held one by one up to a bound; with one more all of that user end, and none comes back', async () => {
    const { clock, open, claims, rows } = setting()
    const revocations = open()
    const never_signed_out = claims('never signed out')
    const of_another = claims('of another', 'grace')
    const ended = []
    for (let n = 0; n < 5 * limits.REVOKED_TOKENS; n++) {
      const token = claims(`token ${n}`)
      ended.push(token)
      await revocations.revoke(token)
      assert.ok(rows().length <= limits.REVOKED_TOKENS + 1, `${rows().length} rows`)
    }
    for (const held of [revocations, open()]) {
      for (const token of [...ended, never_signed_out]) assert.equal(held.isRevoked(token), true, token.id)
      assert.equal(held.isRevoked(of_another), false)
    }
    clock.ms++
    assert.equal(revocations.isRevoked(claims('new')), false)
  })

  test('many at once keep the bound', async () => {
    const { open, claims, rows } = setting()
    const revocations = open()
    const tokens = Array.from({ length: 100 }, (_, n) => claims(`token ${n}`))
    await Promise.all(tokens.map(token => revocations.revoke(token)))
    assert.ok(rows().length <= limits.REVOKED_TOKENS + 1)
    for (const token of tokens) assert.equal(revocations.isRevoked(token), true)
  })
})
