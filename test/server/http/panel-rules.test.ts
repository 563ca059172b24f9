import assert from 'node:assert/strict'
import { test } from 'node:test'
import Type from 'typebox'
import type { Problem } from '../../../protocol/errors.ts'
import { TrustedProxies } from '../../../server/auth/client-address.ts'
import type { Admission } from '../../../server/auth/gatekeeper.ts'
import { createFront } from '../../../server/http/front.ts'
import { AllowedHosts } from '../../../server/http/hosts.ts'
import { existing, ok, type Route, route } from '../../../server/http/route.ts'

/** A panel that may touch what is called "mine". */
const isMine = (name: string): boolean => name === 'mine'
const ADMISSION: Admission = {
  principal: {
    kind: 'panel',
    id: 'p1',
    actor: 'panel:p1',
    scopes: [],
    reach: { mayPublish: isMine, mayRead: isMine, mayFetch: isMine, mayShow: isMine },
  },
  expires_ms: 1e15,
  holds: () => true,
}
const handled: string[] = []
const done = (what: string) => () => {
  handled.push(what)
  return ok({})
}
const shown = { tag: '', summary: '', answers: { 200: null } } as const
const name = existing(Type.String(), 'message_not_found')
const routes: Route[] = [
  route({ ...shown, method: 'GET', path: '/all', scope: 'read', handle: done('all') }),
  route({
    ...shown,
    method: 'GET',
    path: '/any/{name}',
    scope: 'read',
    object: 'any',
    params: { name },
    handle: done('any'),
  }),
  route({ ...shown, method: 'GET', path: '/me', scope: 'self', handle: done('me') }),
  route({
    ...shown,
    method: 'GET',
    path: '/named/{name}',
    scope: 'read',
    params: { name },
    object: (reach, { params }) => reach.mayRead(params.name),
    handle: done('named'),
  }),
  route({
    ...shown,
    method: 'POST',
    path: '/listed',
    scope: 'publish',
    body: Type.Array(Type.String()),
    object: (reach, { body }) => body.every(each => reach.mayPublish(each)),
    handle: done('listed'),
  }),
]

test('a panel may call the routes that have a rule for panels, with what its reach covers', async t => {
  const front = await createFront({
    routes,
    sockets: [],
    admissions: { known: () => ADMISSION, admit: async () => ADMISSION },
    proxies: new TrustedProxies([]),
    hosts: new AllowedHosts([], '127.0.0.1'),
    log: { info: () => {}, warn: () => {}, error: (_event, fields) => assert.fail(String(fields?.['error'])) },
  })
  t.after(() => front.close())
  const port = await front.listen('127.0.0.1', 0)
  const ask = async (method: string, path: string, body?: unknown): Promise<string | number> => {
    const headers = { authorization: 'Bearer panel', 'content-type': 'application/json' }
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers, body: JSON.stringify(body) })
    return answer.status === 200 ? 200 : ((await answer.json()) as Problem).code
  }
  assert.equal(await ask('GET', '/all'), 'forbidden')
  assert.equal(await ask('GET', '/any/mine'), 'forbidden')
  assert.equal(await ask('GET', '/me'), 'forbidden')
  assert.equal(await ask('GET', '/named/theirs'), 'forbidden')
  assert.equal(await ask('POST', '/listed', ['mine', 'theirs']), 'forbidden')
  assert.deepEqual(handled, [])
  assert.equal(await ask('GET', '/named/mine'), 200)
  assert.equal(await ask('POST', '/listed', ['mine', 'mine']), 200)
  assert.deepEqual(handled, ['named', 'listed'])
})
