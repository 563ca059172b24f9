import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { ApiDouble, type Scripted } from '../../../kit/api-double.ts'
import { ROOT } from '../../../kit/sources.ts'
import { directoryFor, eventually } from '../../../kit/spawned.ts'
import { svc } from '../../../kit/svc-against.ts'
import { svcInProcess } from '../../../kit/svc-in-process.ts'

const SAVED = { name: 'boiler', version: 4, commit: 'd'.repeat(64), restarted: ['smooth'], kept: ['read'], issues: [] }
const EMPTY = { answer: { items: [], count: 0 } }
const AT = '2026-01-02T03:04:05.000006+00:00'

async function against(t: TestContext, script: Record<string, Scripted>, argv: string[], more: object = {}) {
  const api = await ApiDouble.start(t, script)
  return { ...(await svcInProcess(t, argv, { url: api.url, ...more })), requests: api.requests }
}

describe('a group of commands', () => {
  for (const [group, path] of [
    ['flows', '/flows'],
    ['messages', '/messages'],
    ['cascades', '/cascades'],
    ['flavors', '/flavors'],
    ['artifacts', '/artifacts'],
    ['users', '/users'],
  ] as const) {
    test(`svc ${group} alone lists`, async t => {
      const { code, requests } = await against(t, { [`GET ${path}`]: EMPTY }, [group])
      assert.deepEqual([code, requests.map(each => each.path)], [0, [path]])
    })
  }

  for (const group of ['tokens', 'clients', 'messages', 'dashboards', 'panels']) {
    test(`says so when there are no ${group}`, async t => {
      const { code, stdout, stderr } = await against(t, { [`GET /${group}`]: EMPTY }, [group])
      assert.deepEqual([code, stdout], [0, ''])
      assert.match(stderr, new RegExp(`there are no ${group}; `))
    })
  }

  test('refuses a flow that there is not, where the list of its messages is empty', async t => {
    const script: Record<string, Scripted> = {
      'GET /messages': EMPTY,
      'GET /flows/boiler': { answer: { name: 'boiler' } },
      'GET /flows/bioler': { refuse: 'flow_not_found' },
    }
    const there = await against(t, script, ['messages', 'list', 'boiler'])
    assert.match(there.stderr, /flow boiler has no messages; /)
    const slip = await against(t, script, ['messages', 'list', 'bioler'])
    assert.deepEqual([slip.code, slip.stdout], [3, ''])
  })

  test('takes the options of its list', async t => {
    const { requests } = await against(t, { 'GET /cascades': EMPTY }, ['cascades', '--limit', '3'])
    assert.equal(requests[0]!.query['limit'], '3')
  })

  test('takes a misspelled command for no argument, and says which one was meant', async t => {
    const { code, stderr, requests } = await against(t, {}, ['runs', 'lst'])
    assert.deepEqual([code, requests], [2, []])
    assert.match(stderr, /unknown command 'lst'\. Did you mean "list"\?/)
  })
})

describe('svc flows', () => {
  test('enables, disables and renames', async t => {
    for (const verb of ['enable', 'disable']) {
      const { code, stdout } = await against(t, { [`POST /flows/boiler/${verb}`]: { answer: SAVED } }, [
        ...['flows', verb, 'boiler'],
      ])
      assert.deepEqual([code, stdout.split('\n')[0]], [0, `boiler version 4, commit ${'d'.repeat(64)}`])
    }
    const { requests } = await against(t, { 'POST /flows/boiler/rename': { answer: SAVED } }, [
      ...['flows', 'rename', 'boiler', 'kettle'],
    ])
    assert.deepEqual(requests[0]!.body, { to: 'kettle' })
  })

  test('deletes, and says how it comes back', async t => {
    const { code, stderr } = await against(t, { 'DELETE /flows/boiler': { answer: null } }, [
      ...['flows', 'delete', 'boiler'],
    ])
    assert.equal(code, 0)
    assert.match(stderr, /"svc flows history boiler" lists what can be restored/)
  })

  const FLOW = {
    version: 3,
    document: { nodes: [{ id: 'smooth', type: 'code', settings: { window: 6, mode: 'a' } }, { id: 'read' }] },
  }

  test('sets one setting of a node over the version that it read, and leaves the others', async t => {
    const script = { 'GET /flows/boiler': { answer: FLOW }, 'PUT /flows/boiler': { answer: SAVED } }
    const { code, requests } = await against(t, script, ['flows', 'set', 'boiler', 'smooth.window', '12'])
    assert.equal(code, 0)
    assert.deepEqual(requests[1]!.body, {
      document: { nodes: [{ id: 'smooth', type: 'code', settings: { window: 12, mode: 'a' } }, { id: 'read' }] },
      base_version: 3,
      message: 'smooth.window = 12',
    })
  })

  test('names the nodes when the one to set is not there', async t => {
    const { code, stderr } = await against(t, { 'GET /flows/boiler': { answer: FLOW } }, [
      ...['flows', 'set', 'boiler', 'smoth.window', '12'],
    ])
    assert.equal(code, 3)
    assert.match(stderr, /has no node "smoth"\. Did you mean "smooth"\? Its nodes: smooth, read\./)
  })
})

test('an example folder is put as it lies, with the file that its node reads', async t => {
  const { requests } = await against(t, { 'PUT /flows/mine': { answer: SAVED } }, [
    ...['flows', 'put', 'mine', join(ROOT, 'docs/examples/machine')],
  ])
  const { document } = requests[0]!.body as { document: { nodes: { id: string; settings: { file: string } }[] } }
  const { file } = document.nodes.find(({ id }) => id === 'replay')!.settings
  assert.ok(isAbsolute(file) && existsSync(file), file)
})

describe('svc nodes', () => {
  const FAILED = {
    ...{ node: 'boiler.smooth', code: 'node_error', message: 'RangeError: too hot', stack: null, ts: AT },
    ...{ inputs: { raw: 5 }, cascade: null, acknowledged: false },
  }

  test('shows the failed executions with the inputs that failed', async t => {
    const script = { 'GET /nodes/boiler.smooth/errors': { answer: { items: [FAILED, FAILED], count: 2 } } }
    const { stdout, stderr } = await against(t, script, ['nodes', 'errors', 'boiler.smooth', '--limit', '1'])
    assert.equal(stdout, '2026-01-02 03:04:05  node_error\n  RangeError: too hot\n  inputs   {"raw":5}\n')
    assert.match(stderr, /1 of 2; --limit shows more/)
  })

  test('acknowledges the last one', async t => {
    const script = {
      'GET /nodes/boiler.smooth/errors': { answer: { items: [FAILED], count: 1 } },
      'POST /nodes/boiler.smooth/acknowledge': { answer: null },
    }
    const { code, requests } = await against(t, script, ['nodes', 'ack', 'boiler.smooth'])
    assert.deepEqual([code, requests.at(-1)!.method], [0, 'POST'])
  })

  test('have nothing to acknowledge when none has failed', async t => {
    const script = { 'GET /nodes/boiler.smooth/errors': { answer: { items: [], count: 0 } } }
    const { code, stderr, requests } = await against(t, script, ['nodes', 'ack', 'boiler.smooth'])
    assert.deepEqual([code, requests.length], [0, 1])
    assert.match(stderr, /boiler\.smooth has no failed executions/)
  })
})

describe('svc history', () => {
  const history = (items: object[], bucket_s: number | null) => ({
    'GET /messages/f.m/history': { answer: { name: 'f.m', dtype: 'float', bucket_s, items, truncated: false } },
  })

  test('prints the values of a message, or bins of them', async t => {
    const point = { ts: AT, version: 7, value: 1.5 }
    const points = await against(t, history([point], null), ['history', 'f.m'])
    assert.equal(points.stdout.split('\n')[1], '2026-01-02 03:04:05.000        7  1.5')
    const bin = { ts: AT, count: 4, min: 1, max: 2, mean: 1.23456789, last: 2 }
    const bins = await against(t, history([bin], 60), ['history', 'f.m', '--bucket', '60', '--since', AT])
    assert.match(bins.stdout, /^2026-01-02 03:04:05\.000 +4 +1 +2 +1\.23457 +2$/m)
    assert.partialDeepStrictEqual(bins.requests[0]!.query, { bucket_s: '60', since: AT, limit: '20' })
  })
})

describe('svc events', () => {
  const EVENTS = [
    { type: 'node_error', ts: AT, flow: 'f', run: null, node: 'f.a', message: 'too hot' },
    { type: 'flow_saved', ts: AT, flow: 'f', run: null, version: 2 },
  ]
  const script = { 'GET /events': { answer: { items: EVENTS, count: 2 } } }

  test('prints the newest last, a line each', async t => {
    const { stdout, requests } = await against(t, script, ['events', '--flow', 'f', '--type', 'node_error'])
    assert.deepEqual(stdout.split('\n'), [
      '2026-01-02 03:04:05  flow_saved        f  version=2',
      '2026-01-02 03:04:05  node_error        f.a  too hot',
      '',
    ])
    assert.partialDeepStrictEqual(requests[0]!.query, { flow: 'f', type: 'node_error', limit: '20' })
  })

  test('fits into the terminal', async t => {
    const long = { ...EVENTS[0]!, message: 'x'.repeat(200) }
    const { stdout } = await against(t, { 'GET /events': { answer: { items: [long], count: 1 } } }, ['events'], {
      columns: 80,
    })
    assert.equal(stdout.trimEnd().length, 80)
  })

  test('follows, and shows what happened while the list was read once', async t => {
    const api = await ApiDouble.start(t, {
      'GET /events': {
        act: () => {
          // The newest one of the list and one more come over the socket while the list is on its way.
          for (const socket of api.sockets) {
            socket.send(JSON.stringify(EVENTS[0]))
            socket.send(JSON.stringify({ type: 'flow_enabled', ts: AT, flow: 'f', run: null }))
          }
          return { items: EVENTS, count: 2 }
        },
      },
    })
    api.onFrame((_frame, socket) => socket.send(JSON.stringify({ type: 'subscribed', names: [], flows: [] })))
    const following = svc(t, api, ['events', '--follow', '--json'])
    const types = () => following.stdout.split('\n').flatMap(line => (line === '' ? [] : [JSON.parse(line).type]))
    await eventually('all are shown', () => types().length >= 3)
    // One of the list comes late, after the answer.
    for (const socket of api.sockets) {
      socket.send(JSON.stringify(EVENTS[1]))
      socket.send(JSON.stringify({ type: 'engine_recovered', ts: AT, flow: null, run: null }))
    }
    await eventually('what happens later is shown too', () => types().includes('engine_recovered'))
    assert.deepEqual(types(), ['flow_saved', 'node_error', 'flow_enabled', 'engine_recovered'])
  })

  test('names the types when it knows none of the name', async t => {
    const { code, stderr } = await against(t, {}, ['events', '--type', 'node_errors'])
    assert.equal(code, 2)
    assert.match(stderr, /--type is "node_errors"; the types are .*node_error,/)
  })
})

describe('svc tokens', () => {
  const TOKEN = { name: 'prometheus', id: 'a1', rights: ['metrics'], created_at: AT, created_by: 'ada', expires_at: AT }

  test('makes one that lasts as long as it is told, and prints it alone', async t => {
    const script = { 'POST /tokens': { answer: { ...TOKEN, token: 'svc_a1_secret' } } }
    const words = ['token', 'create', 'prometheus', '--rights', 'metrics', '--expires', '8w']
    const made = await against(t, script, words)
    assert.deepEqual(made.requests[0]!.body, { name: 'prometheus', rights: ['metrics'], expires_s: 8 * 7 * 86_400 })
    assert.equal(made.stdout, 'svc_a1_secret\n')
    assert.match(made.stderr, /token prometheus may read metrics until/)
  })

  test('refuses an invalid time and an unknown right', async t => {
    for (const expires of ['1', '0d', '11y', 'soon']) {
      const refused = await against(t, {}, ['tokens', 'create', 'p', '--rights', 'metrics', '--expires', expires])
      assert.equal(refused.code, 2, expires)
      assert.match(refused.stderr, /--expires is .*1y is needed/)
    }
    const refused = await against(t, {}, ['tokens', 'create', 'p', '--rights', 'everything'])
    assert.equal(refused.code, 2)
  })

  test('lists them, and revokes one', async t => {
    const listed = await against(t, { 'GET /tokens': { answer: { items: [TOKEN], count: 1 } } }, ['tokens'])
    assert.match(listed.stdout, /prometheus +metrics/)
    const revoked = await against(t, { 'DELETE /tokens/prometheus': { answer: null } }, [
      'tokens',
      'revoke',
      'prometheus',
    ])
    assert.equal(revoked.code, 0)
  })
})

describe('svc clients', () => {
  const ID = '0190f3c2-0000-7bb2-87b3-cb0b0b96297e'
  const CLIENT = { client_id: ID, name: 'claude', scopes: ['read', 'run'], owner: 'ada', status: 'approved' }
  const NEVER = { redirect_uris: [], created_at: AT, expires_at: null, last_used: null }

  test('adds one with some scopes, and prints its token alone', async t => {
    const script = { 'POST /clients': { answer: { ...CLIENT, ...NEVER, token: 'a.b.c' } } }
    const added = await against(t, script, ['client', 'add', 'claude', '--scopes', 'read', 'run'])
    assert.deepEqual(added.requests[0]!.body, { name: 'claude', scopes: ['read', 'run'] })
    assert.equal(added.stdout, 'a.b.c\n')
    assert.match(added.stderr, /client claude \(0190f3c2-.*\) may read, run/)
    const brief = await against(t, script, ['clients', 'add', 'claude', '--scopes', 'read', '--expires', '12h'])
    assert.match((brief.requests[0]!.body as { expires_at: string }).expires_at, /^20.*\+00:00$/)
  })

  test('lists them, and deletes one', async t => {
    const listed = await against(t, { 'GET /clients': { answer: { items: [{ ...CLIENT, ...NEVER }], count: 1 } } }, [
      'clients',
    ])
    assert.match(listed.stdout, /claude +0190f3c2-.*read, run +ada/)
    const deleted = await against(t, { [`DELETE /clients/${ID}`]: { answer: null } }, ['clients', 'delete', ID])
    assert.equal(deleted.code, 0)
  })
})

describe('svc users', () => {
  const USER = { name: 'ada', role: 'editor', superuser: false, created_at: AT }

  test('adds one with the password of a file, and removes one', async t => {
    const added = await against(
      t,
      { 'POST /users': { answer: USER } },
      ['users', 'add', 'ada', '--password-file', '-'],
      {
        stdin: 'long enough a secret\n',
      },
    )
    assert.deepEqual(added.requests[0]!.body, { name: 'ada', password: 'long enough a secret', role: 'editor' })
    assert.match(added.stderr, /user ada is added/)
    const removed = await against(t, { 'DELETE /users/ada': { answer: null } }, ['users', 'remove', 'ada'])
    assert.equal(removed.code, 0)
  })

  test('changes your password', async t => {
    const cwd = directoryFor(t)
    writeFileSync(join(cwd, 'old'), 'the old one\n')
    writeFileSync(join(cwd, 'new'), 'the new one\n')
    const script = {
      'GET /users/me': { answer: USER },
      'POST /users/me/password': { answer: { access_token: 'x', token_type: 'bearer', expires_in: 60 } },
    }
    const argv = ['users', 'passwd', '--old-password-file', 'old', '--password-file', 'new']
    const { code, requests } = await against(t, script, argv, { cwd })
    assert.equal(code, 0)
    assert.deepEqual(requests[1]!.body, { old: 'the old one', new: 'the new one' })
  })
})

test('svc modules refresh asks the engine for it', async t => {
  const { code, requests } = await against(t, { 'POST /modules/refresh': { answer: null } }, ['modules', 'refresh'])
  assert.deepEqual([code, requests.length], [0, 1])
})

describe('svc help', () => {
  test('prints the help of svc, and of a command as deep as it lies', async t => {
    assert.match((await against(t, {}, ['help'])).stdout, /^Usage: svc /)
    assert.match((await against(t, {}, ['help', 'flows', 'set'])).stdout, /^Usage: svc flows set /)
  })

  test('says which command was meant', async t => {
    const { code, stderr } = await against(t, {}, ['help', 'flow'])
    assert.equal(code, 2)
    assert.match(stderr, /There is no command "flow"\. Did you mean "flows"\?/)
  })
})

test('svc -v prints the release', async t => {
  const { code, stdout } = await against(t, {}, ['-v'])
  assert.deepEqual([code, /^\d+\.\d+\.\d+\n$/.test(stdout)], [0, true])
})
