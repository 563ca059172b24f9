import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { AllowedHosts } from '../../../server/http/hosts.ts'

const hold = (hosts: AllowedHosts, allowed: readonly string[], refused: readonly string[]): void => {
  for (const host of allowed) assert.equal(hosts.allows(host), true, host)
  for (const host of refused) assert.equal(hosts.allows(host), false, host)
}

describe('the hosts of an engine', () => {
  test('are the loopback names and the address that it listens on, with any port', () => {
    hold(
      new AllowedHosts([], '192.168.0.7'),
      ['localhost', 'LOCALHOST:1', '127.0.0.1:8700', '127.9.9.9', '[::1]', '[::1]:8700', '[0:0::1]', '192.168.0.7:80'],
      [
        'evil.example',
        'localhost.evil.example',
        '192.168.0.8',
        '127.0.0.1.evil.example',
        '127.1',
        '0x7f.0.0.1',
        '[::2]',
        '',
      ],
    )
    hold(new AllowedHosts([], '::1'), ['[::1]:8700'], ['[::2]'])
    hold(new AllowedHosts([], 'engine.lan'), ['Engine.LAN:8700', '127.0.0.1'], ['other.lan'])
  })

  test('are those of the list besides', () => {
    hold(
      new AllowedHosts(['Engine.example', '[2001:db8::1]', '10.0.0.1'], '127.0.0.1'),
      ['engine.example', 'ENGINE.example:443', '[2001:DB8:0::1]:80', '10.0.0.1', 'localhost'],
      ['www.engine.example', 'example', 'engine.example.', '10.0.0.2'],
    )
  })

  test('of one that listens on every address are all addresses and no other names', () => {
    for (const listening of ['0.0.0.0', '::'])
      hold(
        new AllowedHosts(['engine.example'], listening),
        ['192.168.0.7:8700', '[2001:db8::1]', 'localhost', 'engine.example'],
        ['evil.example', 'a.127.0.0.1.evil.example', '1.2.3'],
      )
  })
})
