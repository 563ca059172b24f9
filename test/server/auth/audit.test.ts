import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../../protocol/limits.ts'
import { Audit } from '../../../server/auth/audit.ts'
import { Clock } from '../../kit/served-front.ts'

test('a flood of attempts is counted and not told one by one; what a user did is told in any case', () => {
  const clock = new Clock()
  const told: Record<string, unknown>[] = []
  const audit = new Audit(entry => told.push(entry), clock.now)
  const entry = {
    action: 'sign_in',
    actor: null,
    object: null,
    address: '203.0.113.1',
    result: 'wrong_credentials',
  } as const
  for (let n = 0; n < limits.AUDIT_OPEN_PER_MIN + 40; n++) audit.tried(entry)
  assert.equal(told.length, limits.AUDIT_OPEN_PER_MIN)
  audit.done({ ...entry, object: 'user:ada' })
  assert.deepEqual(told.at(-1), { ...entry, object: 'user:ada', result: 'ok', left_out: 40 })
  clock.ms += 60_000
  audit.tried(entry)
  assert.deepEqual(told.at(-1), entry)
})
