import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { RouteTree } from '../../../server/http/route-tree.ts'

const tree = new RouteTree(
  [
    '/flows',
    '/flows/{name}',
    '/flows/{name}/enable',
    '/flows/{name}/nodes/{id}/source',
    '/messages/',
    '/users/me',
    '/nodes/{flow}.{node}/errors',
    '/app',
    '/app/settings',
    '/app/{path*}',
  ].map(path => ({ method: 'GET' as const, path })),
)
const find = (path: string): [string, Record<string, string>] | null => {
  const params = {}
  const leaf = tree.find(path, params)
  return leaf && [leaf.path, params]
}

describe('paths', () => {
  test('lead to the route that was declared', () => {
    assert.deepEqual(find('/flows'), ['/flows', {}])
    assert.deepEqual(find('/flows/a'), ['/flows/{name}', { name: 'a' }])
    assert.deepEqual(find('/flows/a/nodes/b/source'), ['/flows/{name}/nodes/{id}/source', { name: 'a', id: 'b' }])
    assert.deepEqual(find('/nodes/a.b/errors'), ['/nodes/{flow}.{node}/errors', { flow: 'a', node: 'b' }])
    assert.deepEqual(find('/nodes/a.b.c/errors'), ['/nodes/{flow}.{node}/errors', { flow: 'a', node: 'b.c' }])
    assert.deepEqual(find('/messages/'), ['/messages/', {}])
  })

  test('are decoded once, and not before they are cut into segments', () => {
    assert.deepEqual(find('/flows/a%2Fb'), ['/flows/{name}', { name: 'a/b' }])
    assert.deepEqual(find('/flows/%252e'), ['/flows/{name}', { name: '%2e' }])
    assert.deepEqual(find('/nodes/a%2Eb/errors'), ['/nodes/{flow}.{node}/errors', { flow: 'a', node: 'b' }])
    assert.equal(find('/fl%6fws'), null)
  })

  test('of which a route takes the rest, lead to it with what is left, slashes too', () => {
    assert.deepEqual(find('/app'), ['/app', {}])
    assert.deepEqual(find('/app/'), ['/app/{path*}', { path: '' }])
    assert.deepEqual(find('/app/a/b.js'), ['/app/{path*}', { path: 'a/b.js' }])
    assert.deepEqual(find('/app/a%2F..%2Fb'), ['/app/{path*}', { path: 'a/../b' }])
    assert.deepEqual(find('/app/settings'), ['/app/settings', {}])
    assert.deepEqual(find('/app/settings/users'), ['/app/{path*}', { path: 'settings/users' }])
    assert.equal(find('/app/%ff'), null)
    assert.equal(find('/apps'), null)
  })

  test('that lead nowhere', () => {
    for (const path of [
      '/',
      '//',
      '/flows/',
      '/flows//enable',
      '/flows/a/',
      '/flows/a/b',
      '/Flows',
      '/messages',
      '/users/you',
      '/nodes/a/errors',
      '/flows/%',
      '/flows/%ff',
      '/flows/%zz',
    ])
      assert.equal(find(path), null, path)
  })

  test('a name of the prototype is a name like any other', () => {
    assert.deepEqual(find('/flows/__proto__')?.[0], '/flows/{name}')
    assert.equal(find('/constructor'), null)
  })

  test('what is declared twice, or under two names, is a mistake', () => {
    const routes =
      (...paths: string[]) =>
      () =>
        new RouteTree(paths.map(path => ({ method: 'GET' as const, path })))
    assert.throws(routes('/a/{x}', '/a/{x}'), /twice/)
    assert.throws(routes('/a/{x}', '/a/{y}/b'), /another name/)
    assert.throws(routes('/a/x{y}'), /cannot read/)
    assert.throws(routes('/a/{x*}/b'), /must stand last/)
    assert.throws(routes('/a/{x*}', '/a/{x*}'), /twice/)
  })

  test('Allow names every method, HEAD with GET', () => {
    const both = new RouteTree([
      { method: 'POST' as const, path: '/a' },
      { method: 'GET' as const, path: '/a' },
      { method: 'POST' as const, path: '/b' },
    ])
    assert.equal(both.find('/a', {})?.allow, 'GET, HEAD, OPTIONS, POST')
    assert.equal(both.find('/b', {})?.allow, 'OPTIONS, POST')
  })
})
