import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../../protocol/limits.ts'
import { type Approval, Pairings } from '../../../server/panels/pairings.ts'

const HOME = '192.0.2.1'
const APPROVAL: Approval = { panel: 'p1', nonce: 'n1' }
const isGood = (): boolean => true

function paired(): { pairings: Pairings; clock: { ms: number } } {
  const clock = { ms: 1_000_000 }
  return { pairings: new Pairings({ now_us: () => clock.ms * 1000, steady_ms: () => clock.ms }), clock }
}
const codeOf = (work: () => unknown): string => {
  try {
    work()
    return 'ok'
  } catch (error) {
    return (error as { code: string }).code
  }
}

test('a screen waits for its approval, and is let in once', () => {
  const { pairings } = paired()
  const { code, secret, expires_at } = pairings.start(HOME)
  assert.match(code, /^[2-9A-HJKMNP-TW-Z]{6}$/)
  assert.deepEqual(pairings.claim(code, secret, HOME, isGood), { expires_at })
  pairings.approve(code.toLowerCase(), APPROVAL, 'ada')
  assert.partialDeepStrictEqual(pairings.claim(code, secret, HOME, isGood), APPROVAL)
  assert.equal(
    codeOf(() => pairings.claim(code, secret, HOME, isGood)),
    'pairing_not_found',
  )
  assert.equal(
    codeOf(() => pairings.approve(code, APPROVAL, 'ada')),
    'pairing_not_found',
  )
})

test('a code is approved once, also before the screen has come for it', () => {
  const { pairings } = paired()
  const { code, secret } = pairings.start(HOME)
  pairings.approve(code, APPROVAL, 'ada')
  assert.equal(
    codeOf(() => pairings.approve(code, { panel: 'p2', nonce: 'n2' }, 'eve')),
    'pairing_not_found',
  )
  assert.partialDeepStrictEqual(pairings.claim(code, secret, HOME, isGood), APPROVAL)
})

test('a code ends after ten minutes, approved or not', () => {
  const { pairings, clock } = paired()
  const waiting = pairings.start(HOME)
  const approved = pairings.start(HOME)
  pairings.approve(approved.code, APPROVAL, 'ada')
  clock.ms += limits.PAIRING_TTL_MS
  for (const { code, secret } of [waiting, approved])
    assert.equal(
      codeOf(() => pairings.claim(code, secret, HOME, isGood)),
      'pairing_not_found',
    )
  assert.equal(
    codeOf(() => pairings.approve(waiting.code, APPROVAL, 'ada')),
    'pairing_not_found',
  )
})

test('a panel that was unpaired after the approval lets nobody in', () => {
  const { pairings } = paired()
  const { code, secret } = pairings.start(HOME)
  pairings.approve(code, APPROVAL, 'ada')
  assert.equal(
    codeOf(() => pairings.claim(code, secret, HOME, () => false)),
    'pairing_not_found',
  )
  assert.equal(
    codeOf(() => pairings.claim(code, secret, HOME, isGood)),
    'pairing_not_found',
  )
})

test('ten wrong tries of an address, and its right one is refused as well; others are not', () => {
  const { pairings, clock } = paired()
  const { code, secret } = pairings.start(HOME)
  const { code: other, secret: others } = pairings.start('192.0.2.2')
  for (let tries = 0; tries < limits.PAIRING_FAILURES; tries++)
    assert.equal(
      codeOf(() => pairings.claim(tries % 2 === 0 ? code : 'AAAAAA', `guess ${tries}`, HOME, isGood)),
      'pairing_not_found',
    )
  assert.equal(
    codeOf(() => pairings.claim(code, secret, HOME, isGood)),
    'rate_limited',
  )
  assert.equal(
    codeOf(() => pairings.claim(other, others, '192.0.2.2', isGood)),
    'ok',
  )
  clock.ms += limits.PAIRING_WINDOW_MS
  assert.equal(
    codeOf(() => pairings.claim(code, secret, HOME, isGood)),
    'ok',
  )
})

test('whoever has a network of IPv6 addresses has no more tries with it', () => {
  const { pairings } = paired()
  const { code, secret } = pairings.start('2001:db8::1')
  for (let tries = 0; tries < limits.PAIRING_FAILURES; tries++)
    assert.equal(
      codeOf(() => pairings.claim(code, 'guess', `2001:db8::${tries + 2}`, isGood)),
      'pairing_not_found',
    )
  assert.equal(
    codeOf(() => pairings.claim(code, secret, '2001:db8::1', isGood)),
    'rate_limited',
  )
  for (let at = 1; at < limits.PAIRINGS_OF_ADDRESS; at++) pairings.start(`2001:db8::${at}`)
  assert.equal(
    codeOf(() => pairings.start('2001:db8::ffff')),
    'too_many_pairings',
  )
})

test('asking again and again with the right secret is no wrong try', () => {
  const { pairings } = paired()
  const { code, secret } = pairings.start(HOME)
  for (let tries = 0; tries < 100; tries++) pairings.claim(code, secret, HOME, isGood)
})

test('codes are guessed no better in approvals', () => {
  const { pairings } = paired()
  const { code } = pairings.start(HOME)
  for (let tries = 0; tries < limits.PAIRING_FAILURES; tries++)
    assert.equal(
      codeOf(() => pairings.approve('AAAAAA', APPROVAL, 'eve')),
      'pairing_not_found',
    )
  assert.equal(
    codeOf(() => pairings.approve(code, APPROVAL, 'eve')),
    'rate_limited',
  )
  assert.equal(
    codeOf(() => pairings.approve(code, APPROVAL, 'ada')),
    'ok',
  )
})

test('so many codes are pending of one address and of all, and no more', () => {
  const { pairings, clock } = paired()
  for (let at = 0; at < limits.PAIRINGS_OF_ADDRESS; at++) pairings.start(HOME)
  assert.equal(
    codeOf(() => pairings.start(HOME)),
    'too_many_pairings',
  )
  for (let at = limits.PAIRINGS_OF_ADDRESS; at < limits.PAIRINGS_PENDING; at++) pairings.start(`192.0.2.${10 + at}`)
  assert.equal(
    codeOf(() => pairings.start('192.0.2.2')),
    'too_many_pairings',
  )
  clock.ms += limits.PAIRING_TTL_MS
  assert.equal(
    codeOf(() => pairings.start(HOME)),
    'ok',
  )
})
