import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ClientFrame } from '../../../../protocol/socket/frames.ts'
import { ROLES, SCOPES, SCOPES_OF, type Scope } from '../../../../protocol/words/scopes.ts'
import type { Caller, WorkerPrincipal } from '../../../../server/auth/principal.ts'
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

/** Of each frame, one that names what the panel does not have; which scope it needs besides the one of the socket, and whether a panel may send it. */
const FRAMES: {
  readonly [Type in ClientFrame['type']]: [frame: ClientFrame & { type: Type }, scope: Scope, panel: boolean]
} = {
  subscribe: [{ type: 'subscribe', names: ['bank.safe'] }, 'read', false],
  unsubscribe: [{ type: 'unsubscribe', names: ['bank.safe'] }, 'read', true],
  publish: [{ type: 'publish', id: 1, name: 'bank.safe', value: 1 }, 'publish', false],
  have: [{ type: 'have', versions: { 'bank.safe': 1 } }, 'read', false],
  follow_logs: [{ type: 'follow_logs', run: '01a2' } as never, 'read', false],
  unfollow_logs: [{ type: 'unfollow_logs', run: '01a2' } as never, 'read', false],
  follow_activity: [{ type: 'follow_activity' }, 'read', false],
  unfollow_activity: [{ type: 'unfollow_activity' }, 'read', true],
  // What it does not have is left out.
  media: [{ type: 'media', names: ['bank.safe'] }, 'read', true],
  figures: [{ type: 'figures', engine: true }, 'read', false],
}

test('every frame that there is asks every kind of caller for its rights', () => {
  const types = ClientFrame.anyOf.map(({ properties }) => properties.type.const)
  assert.deepEqual(Object.keys(FRAMES).sort(), [...types].sort())
  const worker = { kind: 'worker', actor: 'worker:w1', scopes: [] } as unknown as WorkerPrincipal
  const client = (scopes: readonly Scope[]): Caller =>
    ({ ...viewer, kind: 'client', id: 'c1', owner: 'ada', scopes }) as never
  const callers: [name: string, caller: Caller | WorkerPrincipal, may: (scope: Scope, panel: boolean) => boolean][] = [
    ...ROLES.map((role): (typeof callers)[number] => {
      const scopes = SCOPES_OF[role]
      return [role, { ...viewer, role, scopes }, scope => scopes.includes(scope)]
    }),
    // A socket opens only for who may read.
    ...SCOPES.map((scope): (typeof callers)[number] => {
      const scopes = [...new Set<Scope>(['read', scope])]
      return [`client of ${scope}`, client(scopes), asked => scopes.includes(asked)]
    }),
    ['panel', panel, (_scope, mayPanel) => mayPanel],
    ['worker', worker, () => false],
  ]
  for (const [type, [frame, scope, mayPanel]] of Object.entries(FRAMES))
    for (const [name, caller, may] of callers) {
      const what = `${type} of ${name}`
      if (may(scope, mayPanel)) assert.equal(permitted(caller, frame as never).type, type, what)
      else assert.throws(() => permitted(caller, frame as never), { code: 'forbidden' }, what)
    }
})
