import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { limits } from '../../../protocol/limits.ts'
import { KnownAddresses } from '../../../server/auth/known-addresses.ts'
import type { KnownAddress } from '../../../server/store/front/requests.ts'
import { Clock } from '../../kit/served-front.ts'

describe('the addresses that an account knows', () => {
  test('are the newest ones, of that account alone', () => {
    const clock = new Clock()
    const addresses = new KnownAddresses([], () => {}, clock.now)
    for (let n = 0; n <= limits.KNOWN_ADDRESSES; n++) {
      clock.ms++
      addresses.add('ada', `address ${n}`)
    }
    assert.equal(addresses.has('ada', 'address 0'), false)
    for (let n = 1; n <= limits.KNOWN_ADDRESSES; n++) assert.equal(addresses.has('ada', `address ${n}`), true)
    assert.equal(addresses.has('grace', 'address 1'), false)
    addresses.forget('ada')
    assert.equal(addresses.has('ada', 'address 1'), false)
  })

  test('are written when they are new, and once a day after that', () => {
    const clock = new Clock()
    const written: KnownAddress[] = []
    const addresses = new KnownAddresses([], known => written.push(known), clock.now)
    for (let n = 0; n < 3; n++) addresses.add('ada', 'here')
    assert.equal(written.length, 1)
    clock.ms += limits.KNOWN_ADDRESS_WRITTEN_MS
    addresses.add('ada', 'here')
    assert.equal(written.length, 2)
    const after_start = new KnownAddresses(written, () => assert.fail('it is known'), clock.now)
    after_start.add('ada', 'here')
    assert.equal(after_start.has('ada', 'here'), true)
  })
})
