import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ServiceError } from '../../../protocol/errors.ts'
import { addressOfBytes, bucketOf, normalizeAddress, TrustedProxies } from '../../../server/auth/client-address.ts'

describe('addresses', () => {
  test('each has one spelling', () => {
    const spellings: Record<string, string | null> = {
      ' 203.0.113.7 ': '203.0.113.7',
      '::ffff:203.0.113.7': '203.0.113.7',
      '::FFFF:cb00:7107': '203.0.113.7',
      '2001:DB8:0:0:0:0:0:1': '2001:db8::1',
      '2001:db8::1%eth0': null,
      '[2001:db8::1]': null,
      '203.0.113.7:80': null,
      '203.0.113': null,
      unknown: null,
      '': null,
    }
    for (const [text, expected] of Object.entries(spellings)) assert.equal(normalizeAddress(text), expected, text)
  })

  test('the bytes of a peer are read, IPv4 inside IPv6 as IPv4', () => {
    assert.equal(addressOfBytes(Uint8Array.of(127, 0, 0, 1)), '127.0.0.1')
    assert.equal(addressOfBytes(Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 127, 0, 0, 1)), '127.0.0.1')
    assert.equal(addressOfBytes(Uint8Array.of(32, 1, 13, 184, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1)), '2001:db8::1')
  })

  test('IPv6 is counted by its first 64 bits', () => {
    assert.equal(bucketOf('203.0.113.7'), '203.0.113.7')
    assert.equal(bucketOf('2001:db8::1'), bucketOf('2001:db8::ffff:1'))
    assert.equal(bucketOf('2001:db8:1:2:3:4:5:6'), '2001:db8:1:2')
    assert.notEqual(bucketOf('2001:db8:0:1::1'), bucketOf('2001:db8:0:2::1'))
    assert.equal(bucketOf('::2'), '0:0:0:0')
  })

  test('the loopback addresses, which every program of this machine has, count as one', () => {
    for (const address of ['127.0.0.1', '127.0.0.2', '127.255.255.254', '::1'])
      assert.equal(bucketOf(address), 'loopback')
    for (const address of ['128.0.0.1', '12.7.0.0', '::7f00:1']) assert.notEqual(bucketOf(address), 'loopback')
  })
})

describe('trusted proxies', () => {
  const proxies = new TrustedProxies(['10.0.0.0/8', '192.0.2.1', '2001:db8::/32'])

  test('the client is the right-most address that no proxy has', () => {
    const cases: [peer: string, forwarded: string, client: string][] = [
      ['203.0.113.1', '198.51.100.1', '203.0.113.1'],
      ['10.0.0.1', '', '10.0.0.1'],
      ['10.0.0.1', '198.51.100.1', '198.51.100.1'],
      ['10.0.0.1', 'spoofed, 198.51.100.1', '198.51.100.1'],
      ['10.0.0.1', '1.2.3.4, 198.51.100.1, 192.0.2.1,10.9.9.9', '198.51.100.1'],
      ['10.0.0.1', '10.0.0.2, 10.0.0.3', '10.0.0.2'],
      ['10.0.0.1', '198.51.100.1, unknown', '10.0.0.1'],
      ['10.0.0.1', '198.51.100.1, unknown, 10.0.0.5', '10.0.0.5'],
      ['2001:db8::1', '::ffff:198.51.100.1', '198.51.100.1'],
      ['10.0.0.1', ',,,', '10.0.0.1'],
    ]
    for (const [peer, forwarded, client] of cases) assert.equal(proxies.clientOf(peer, forwarded), client, forwarded)
  })

  test('an entry that is no address and no CIDR is refused by name', () => {
    for (const entry of ['localhost', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/8/8', '2001:db8::/129', '10.0.0/8'])
      assert.throws(
        () => new TrustedProxies([entry]),
        (error: unknown) =>
          error instanceof ServiceError && error.code === 'bad_setting' && error.detail.includes(entry),
      )
  })
})
