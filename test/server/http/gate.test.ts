import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { limits } from '../../../protocol/limits.ts'
import { Gate } from '../../../server/http/gate.ts'
import { AllowedHosts } from '../../../server/http/hosts.ts'

/** Header pairs as the parser would give them, for what this parser does not let through and another one may. */
const source = (headers: readonly [string, string][]) => ({
  forEach(visit: (name: string, value: string) => void): void {
    for (const [name, value] of headers) visit(name, value)
  },
})
const hosts = new AllowedHosts(['a', 'a.b-c.example', 'under_score', '2001:db8::1'], '127.0.0.1')
const codeOf = (headers: readonly [string, string][], method = 'GET', path = '/flows', query = ''): string | null =>
  new Gate(hosts).inspect(method, path, query, source(headers))?.code ?? null
const host: [string, string] = ['host', 'a']

describe('the gate on its own', () => {
  test('hosts', () => {
    for (const good of ['a', 'a:8700', 'a.b-c.example', '127.0.0.1:1', '[::1]:8700', '[2001:db8::1]', 'under_score'])
      assert.equal(codeOf([['host', good]]), null, good)
    for (const bad of [
      '',
      ' ',
      'a b',
      'a/b',
      'a@b',
      'a:b',
      'a:',
      ':1',
      'http://a',
      'a,b',
      '[::1',
      '::1',
      'é',
      '-a',
      'a\0',
    ])
      assert.equal(codeOf([['host', bad]]), 'malformed_request', bad)
    assert.equal(codeOf([]), 'malformed_request')
  })

  test('a name that is empty is refused where it is seen', () => {
    assert.equal(codeOf([host, ['', 'x']]), 'malformed_request')
  })

  test('counts and sizes', () => {
    const many = Array.from({ length: limits.HEADER_COUNT }, (_, n): [string, string] => [`x-${n}`, ''])
    assert.equal(codeOf([host, ...many.slice(1)]), null)
    assert.equal(codeOf([host, ...many]), 'headers_too_large')
    assert.equal(codeOf([host, ['x', 'a'.repeat(limits.HEADER_BYTES)]]), 'headers_too_large')
    assert.equal(codeOf([host], 'GET', '/', 'a'.repeat(limits.URL_BYTES)), 'url_too_long')
  })

  test('what a header said is forgotten with its request', () => {
    const gate = new Gate(hosts)
    gate.inspect(
      'POST',
      '/',
      '',
      source([host, ['authorization', 'x'], ['content-length', '5'], ['origin', 'http://a']]),
    )
    assert.deepEqual([gate.authorization, gate.content_length, gate.has_body], ['x', 5, true])
    assert.equal(gate.inspect('GET', '/', '', source([host])), null)
    assert.deepEqual([gate.authorization, gate.content_length, gate.has_body, gate.origin], ['', -1, false, ''])
  })

  test('a host that is not a name of this engine is refused, and a page of another origin, whatever the method', () => {
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'TRACE']) {
      assert.equal(codeOf([['host', 'evil.example']], method), 'host_refused', method)
      assert.equal(codeOf([host, ['origin', 'http://evil.example']], method), 'origin_refused', method)
      assert.equal(codeOf([host, ['origin', 'null']], method), 'origin_refused', method)
      assert.equal(codeOf([host, ['origin', 'http://a']], method), null, method)
    }
    const gate = new Gate(hosts)
    assert.equal(gate.inspect('GET', '/', '', source([host])), null)
    assert.equal(gate.inspect('GET', '/', '', source([['host', 'b']]))?.code, 'host_refused')
    assert.equal(gate.inspect('GET', '/', '', source([['host', 'b']]))?.code, 'host_refused')
  })

  test('a coded body and a part of one are refused', () => {
    for (const method of ['PUT', 'POST']) {
      const length: [string, string] = ['content-length', '5']
      for (const coding of ['gzip', 'br', 'deflate, gzip', 'x', ''])
        assert.equal(codeOf([host, length, ['content-encoding', coding]], method), 'unsupported_media_type', coding)
      assert.equal(codeOf([host, length, ['content-encoding', 'Identity']], method), null)
      assert.equal(codeOf([host, length, ['content-range', 'bytes 0-4/10']], method), 'malformed_request')
    }
  })

  test('a body belongs to the methods that carry one', () => {
    for (const method of ['POST', 'PUT', 'PATCH']) assert.equal(codeOf([host, ['content-length', '1']], method), null)
    for (const method of ['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE', 'FOO'])
      assert.equal(codeOf([host, ['content-length', '1']], method), 'malformed_request', method)
    assert.equal(codeOf([host, ['content-length', '0']], 'GET'), null)
  })
})
