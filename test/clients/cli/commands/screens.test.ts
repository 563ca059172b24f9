import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import { connect } from '../../../../clients/client/client.ts'
import { tile } from '../../../kit/panel-story.ts'
import { type ServedFront, serveFront } from '../../../kit/served-front.ts'
import { svcInProcess } from '../../../kit/svc-in-process.ts'

let served: ServedFront
before(async () => {
  served = await serveFront()
})
after(() => served.close())

const document = (...messages: string[]): string =>
  JSON.stringify({ locked: false, tiles: messages.map((message, at) => tile(`t${at}`, 'value', { message })) })
const svc = (t: TestContext, argv: string[], stdin = '') =>
  svcInProcess(t, argv, { url: served.url, token: served.user, stdin })

describe('svc dashboards', () => {
  test('put, get, list, diff, history and restore go together', async t => {
    const put = await svc(t, ['dashboards', 'put', 'hall', '-'], document('f.a'))
    assert.equal(put.code, 0, put.stderr)
    assert.match(put.stdout, /^hall version 1/)
    assert.match(put.stderr, /tiles\[0\]\.settings\.message: there is no message "f\.a" now/)
    const got = await svc(t, ['dashboards', 'get', 'hall'])
    assert.deepEqual(JSON.parse(got.stdout), JSON.parse(document('f.a')))
    const whole = await svc(t, ['dashboards', 'get', 'hall', '--json'])
    const diff = await svc(t, ['dashboards', 'diff', 'hall', '-'], document('f.b'))
    assert.equal(diff.stdout, '/tiles/0/settings/message\n- "f.a"\n+ "f.b"\n')
    assert.match((await svc(t, ['dashboards', 'diff', 'hall', '-'], whole.stdout)).stderr, /version 1 is the same/)
    await svc(t, ['dashboards', 'put', 'hall', '-', '--base-version', '1'], document('f.b', 'f.c'))
    const stale = await svc(t, ['dashboards', 'put', 'hall', '-', '--base-version', '1'], document('f.b'))
    assert.match(stale.stderr, /version 2, saved by ada at .*Read it again/s)
    const history = await svc(t, ['dashboards', 'history', 'hall'])
    assert.match(history.stdout, /2 .* ada +save +2\n +1 .* ada +save +1/)
    const changed = await svc(t, ['dashboards', 'history', 'hall', '2'])
    assert.match(changed.stdout, /^version 2 \(save by ada at .*\/tiles\/0\/settings\/message\n- "f\.a"\n\+ "f\.b"/s)
    assert.match((await svc(t, ['dashboards', 'restore', 'hall', '1'])).stdout, /^hall version 3/)
    assert.match((await svc(t, ['dashboards'])).stdout, /hall +3 +1 .* ada/)
    assert.equal((await svc(t, ['dashboards', 'delete', 'hall'])).code, 0)
    assert.match((await svc(t, ['dashboards', 'get', 'hal'])).stderr, /no dashboard "hal".*svc dashboards list/s)
  })

  test('a bad document is refused with the places of its mistakes', async t => {
    const bad = document('f.a').replace('"value"', '"valeu"')
    const { code, stderr } = await svc(t, ['dashboards', 'put', 'hall', '-'], bad)
    assert.notEqual(code, 0)
    assert.match(stderr, /no tile type "valeu"; did you mean "value"\?.*svc dashboards types/s)
  })

  test('types lists the types of tiles', async t => {
    assert.match((await svc(t, ['dashboards', 'types'])).stdout, /query-chart +Publishes a request/)
  })
})

describe('svc panels', () => {
  test('create, approve, set, unpair and delete, by the name of the panel', async t => {
    await svc(t, ['dashboards', 'put', 'lobby', '-'], document())
    await svc(t, ['dashboards', 'put', 'office', '-'], document())
    assert.match((await svc(t, ['panels', 'create', 'wall', 'lobby'])).stdout, /wall +\w{8} +no +0 +lobby/)
    const screen = connect({ url: served.url })
    const started = await screen.panels.startPairing()
    assert.equal(((await screen.panels.claim(started)) as { status: string }).status, 'pending')
    const approved = await svc(t, ['panels', 'approve', 'wall', started.code.toLowerCase()])
    assert.match(approved.stderr, /is the panel wall/)
    const claimed = await screen.panels.claim(started)
    assert.ok('token' in claimed)
    const own = connect({ url: served.url, token: claimed.token })
    await svc(t, ['panels', 'set', 'wall', 'office', 'lobby'])
    const { dashboards } = await own.panels.own()
    assert.deepEqual(
      dashboards.map(({ name }) => name),
      ['office', 'lobby'],
    )
    assert.match((await svc(t, ['panels'])).stdout, /wall +\w{8} +yes +0 +office, lobby/)
    assert.match((await svc(t, ['dashboards', 'delete', 'lobby'])).stderr, /Panel "wall" shows.*svc panels set/s)
    assert.equal((await svc(t, ['panels', 'unpair', claimed.panel.id.slice(-8)])).code, 0)
    await assert.rejects(own.panels.own(), { status: 401 })
    assert.equal((await svc(t, ['panels', 'delete', 'wall'])).code, 0)
    assert.match((await svc(t, ['panels', 'unpair', 'wall'])).stderr, /no panel "wall".*svc panels list/s)
    for (const client of [screen, own]) client.close()
  })
})
