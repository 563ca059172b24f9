import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SCOPES_OF } from '../../../../protocol/words/scopes.ts'
import type { Caller } from '../../../../server/auth/principal.ts'
import { permitted } from '../../../../server/fanout/sockets/permitted.ts'

const viewer: Caller = {
  kind: 'user',
  name: 'ada',
  actor: 'ada',
  role: 'viewer',
  superuser: false,
  scopes: SCOPES_OF.viewer,
}
const operator: Caller = { ...viewer, role: 'operator', scopes: SCOPES_OF.operator }
const panel: Caller = {
  kind: 'panel',
  id: 'p1',
  actor: 'panel:p1',
  scopes: [],
  reach: {
    mayPublish: name => name === 'hall.lamp',
    mayRead: name => name === 'hall.camera' || name === 'hall.lamp',
    mayFetch: () => false,
    mayShow: () => false,
  },
}
const publish = (name: string) => ({ type: 'publish', id: 1, name, value: 1 }) as const

test('publishing on the socket needs the scope for it', () => {
  assert.throws(() => permitted(viewer, publish('hall.lamp')), { code: 'forbidden' })
  assert.deepEqual(permitted(operator, publish('hall.lamp')), publish('hall.lamp'))
  assert.equal(permitted(viewer, { type: 'subscribe', flows: ['hall'] }).type, 'subscribe')
})

test('a panel publishes and follows what its tiles have, one name or all refused', () => {
  assert.equal(permitted(panel, publish('hall.lamp')).type, 'publish')
  assert.throws(() => permitted(panel, publish('hall.camera')), { code: 'forbidden' })
  assert.equal(permitted(panel, { type: 'subscribe', names: ['hall.camera'] }).type, 'subscribe')
  assert.throws(() => permitted(panel, { type: 'subscribe', names: ['hall.camera', 'bank.safe'] }), /bank\.safe/)
  assert.throws(() => permitted(panel, { type: 'have', versions: { 'hall.lamp': 3, 'bank.safe': 1 } }), /bank\.safe/)
})

test('a panel follows no whole flows, no events, no logs and no figures', () => {
  assert.throws(() => permitted(panel, { type: 'follow_activity' }), { code: 'forbidden' })
  assert.throws(() => permitted(panel, { type: 'subscribe', flows: ['hall'] }), { code: 'forbidden' })
  assert.throws(() => permitted(panel, { type: 'subscribe', events: true }), { code: 'forbidden' })
  assert.throws(() => permitted(panel, { type: 'follow_logs', run: 'x' } as never), { code: 'forbidden' })
  assert.throws(() => permitted(panel, { type: 'figures', engine: true }), { code: 'forbidden' })
})

test('the names that a panel wants frames of are those that its tiles draw', () => {
  const asked = { type: 'media', names: ['hall.camera', 'bank.vault'] } as const
  assert.deepEqual(permitted(panel, { ...asked, names: [...asked.names] }), { type: 'media', names: ['hall.camera'] })
})
