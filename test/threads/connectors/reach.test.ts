import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AddressRefused, Reach } from '../../../threads/connectors/reach.ts'
import { resolving } from '../../kit/connector-host.ts'

const plain = new Reach({ allow: [], deny: [] })

/** As sockets ask. */
const found = (reach: Reach, name: string): Promise<unknown> =>
  new Promise((resolve, reject) => {
    reach.lookup(name, { all: true }, (error, addresses) => (error ? reject(error) : resolve(addresses)))
  })

test('link-local addresses, metadata services and addresses of no host are refused in every spelling', () => {
  const refused = [
    ...['169.254.169.254', '169.254.0.1', 'fe80::1', 'fe80::1%eth0', 'febf::1', 'fd00:ec2::254', '100.100.100.200'],
    ...['::ffff:169.254.169.254', '::ffff:a9fe:a9fe', '::a9fe:a9fe', '64:ff9b::a9fe:a9fe', '0.0.0.0', '::'],
    ...['::ffff:0.0.0.0', 'FD00:0EC2:0:0:0:0:0:0254'],
  ]
  assert.deepEqual(
    refused.filter(address => plain.mayReach(address)),
    [],
  )
  const reached = [
    '127.0.0.1',
    '::1',
    '10.0.0.7',
    '192.168.1.1',
    '8.8.8.8',
    '169.253.0.1',
    'fec0::1',
    '::ffff:127.0.0.1',
  ]
  assert.deepEqual(
    reached.filter(address => !plain.mayReach(address)),
    [],
  )
})

test('a host that is an address in decimal, octal or hexadecimal digits is refused like the address itself', () => {
  for (const url of [
    'http://2852039166/',
    'http://0xa9fea9fe/',
    'http://0251.0376.0251.0376/',
    'http://169.254.43518/',
  ])
    assert.throws(() => plain.assertHost(new URL(url).hostname), AddressRefused, url)
  assert.throws(() => plain.assertHost(new URL('http://[::ffff:169.254.169.254]/').hostname), AddressRefused)
  plain.assertHost(new URL('http://127.1/').hostname)
  plain.assertHost('metadata.test')
})

test('networks that are denied are refused, and those that are allowed are exceptions from everything', () => {
  const only = new Reach({ deny: ['0.0.0.0/0', '::/0'], allow: ['10.1.0.0/16', '169.254.7.7'] })
  const addresses = ['10.1.2.3', '::ffff:10.1.2.3', '169.254.7.7', '10.2.0.1', '127.0.0.1', '::1', '169.254.169.254']
  assert.deepEqual(
    addresses.map(address => only.mayReach(address)),
    [true, true, true, false, false, false, false],
  )
})

test('a name is refused by the address that it has when a socket looks it up', async () => {
  const names = { 'rebound.test': '169.254.169.254', 'mapped.test': '::ffff:a9fe:a9fe', 'good.test': '127.0.0.1' }
  const reach = new Reach({ allow: [], deny: [] }, resolving(names))
  await assert.rejects(
    found(reach, 'rebound.test'),
    /rebound\.test is 169\.254\.169\.254, which connectors may not reach/,
  )
  await assert.rejects(found(reach, 'mapped.test'), AddressRefused)
  assert.deepEqual(await found(reach, 'good.test'), [{ address: '127.0.0.1', family: 4 }])
  await assert.rejects(found(reach, 'none.test'), /ENOTFOUND/)
})
