import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ServiceError } from '../../../protocol/errors.ts'
import { Attempts } from '../../../server/auth/attempts.ts'
import { Clock } from '../../kit/served-front.ts'

const bounds = { failures: 3, window_ms: 60_000, buckets: 4, whom: 'one address' }

function setting() {
  const clock = new Clock()
  const attempts = new Attempts(bounds, clock.now)
  const fail = (address: string): void => {
    attempts.begin(address)
    attempts.failed(address)
  }
  /** Seconds to wait; 0 when an attempt is let through. */
  const wait = (address: string): number => {
    try {
      attempts.begin(address)
      attempts.succeeded(address)
      return 0
    } catch (error) {
      assert.ok(error instanceof ServiceError && error.code === 'rate_limited')
      return error.retry_after_s!
    }
  }
  return { clock, attempts, fail, wait }
}

describe('failed attempts', () => {
  test('the window slides: each failure is forgotten when it is old enough', () => {
    const { clock, fail, wait } = setting()
    for (const _ of [1, 2, 3]) {
      fail('a')
      clock.ms += 10_000
    }
    assert.equal(wait('a'), 30)
    clock.ms += 30_000
    assert.equal(wait('a'), 0)
    fail('a')
    assert.equal(wait('a'), 10)
  })

  test('the refusal says what is counted, how many are allowed, and to whom', () => {
    const refusal = (what?: string): string => {
      const attempts = new Attempts(what === undefined ? bounds : { ...bounds, what }, new Clock().now)
      for (const _ of [1, 2, 3]) attempts.begin('a')
      try {
        attempts.begin('a')
      } catch (error) {
        return (error as ServiceError).detail
      }
      return 'none'
    }
    assert.match(refusal(), /^3 failed attempts in 1 minutes are allowed to one address\./)
    assert.match(refusal('registrations'), /^3 registrations in 1 minutes are allowed to one address\./)
  })

  test('attempts under way count until their outcome is known', () => {
    const { attempts, wait } = setting()
    for (const _ of [1, 2, 3]) attempts.begin('a')
    assert.equal(wait('a'), 1)
    attempts.succeeded('a')
    assert.equal(wait('a'), 0)
  })

  test('an address without failures takes no place', () => {
    const { attempts, wait } = setting()
    for (let n = 0; n < 100; n++) assert.equal(wait(`address ${n}`), 0)
    assert.equal(attempts.size, 0)
  })

  test('a full table evicts the address with the fewest failures, never a blocked one for a newcomer', () => {
    const { attempts, fail, wait, clock } = setting()
    for (const _ of [1, 2, 3]) fail('blocked')
    for (let n = 0; n < 1000; n++) {
      clock.ms++
      fail(`newcomer ${n}`)
      assert.ok(attempts.size <= bounds.buckets)
    }
    assert.ok(wait('blocked') > 0)
  })

  test('a table full of blocked addresses evicts the one whose failures are oldest', () => {
    const { fail, wait, clock } = setting()
    for (const address of ['a', 'b', 'c', 'd']) {
      for (const _ of [1, 2, 3]) fail(address)
      clock.ms += 1000
    }
    fail('e')
    assert.deepEqual(
      ['b', 'c', 'd'].map(address => wait(address) > 0),
      [true, true, true],
    )
  })

  test('old failures make room before any others do', () => {
    const { attempts, fail, wait, clock } = setting()
    fail('old')
    clock.ms += bounds.window_ms
    for (const address of ['a', 'b', 'c']) for (const _ of [1, 2, 3]) fail(address)
    fail('new')
    assert.equal(attempts.size, bounds.buckets)
    assert.ok(['a', 'b', 'c'].every(address => wait(address) > 0))
  })
})
