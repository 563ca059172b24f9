import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { limits } from '../../../protocol/limits.ts'
import { Gate } from '../../../server/http/gate.ts'

/** Header pairs as the parser would give them, for what this parser does not let through and another one may. */
const source = (headers: readonly [string, string][]) => ({
  forEach(visit: (name: string, value: string) => void): void {
    for (const [name, value] of headers) visit(name, value)
  },
})
const codeOf = (headers: readonly [string, string][], method = 'GET', path = '/flows', query = ''): string | null =>
  new Gate().inspect(method, path, query, source(headers))?.code ?? null
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
    const gate = new Gate()
    gate.inspect('POST', '/', '', source([host, ['authorization', 'x'], ['content-length', '5'], ['origin', 'y']]))
    assert.deepEqual([gate.authorization, gate.content_length, gate.has_body], ['x', 5, true])
    assert.equal(gate.inspect('GET', '/', '', source([host])), null)
    assert.deepEqual([gate.authorization, gate.content_length, gate.has_body, gate.origin], ['', -1, false, ''])
  })

  test('a body belongs to the methods that carry one', () => {
    for (const method of ['POST', 'PUT', 'PATCH']) assert.equal(codeOf([host, ['content-length', '1']], method), null)
    for (const method of ['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE', 'FOO'])
      assert.equal(codeOf([host, ['content-length', '1']], method), 'malformed_request', method)
    assert.equal(codeOf([host, ['content-length', '0']], 'GET'), null)
  })
})
