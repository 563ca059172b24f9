import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { ApiDouble, type Scripted } from '../../../kit/api-double.ts'
import { svcInProcess } from '../../../kit/svc-in-process.ts'

const AT = '2026-01-02T03:04:05.000006+00:00'

async function against(t: TestContext, script: Record<string, Scripted>, argv: string[], more: object = {}) {
  const api = await ApiDouble.start(t, script)
  return { ...(await svcInProcess(t, argv, { url: api.url, ...more })), requests: api.requests }
}

describe('svc audit', () => {
  const event = { type: 'audit', ts: AT, flow: null, run: null, actor: 'ada', address: '192.0.2.1', result: 'ok' }
  const saved = { ...event, action: 'flow_saved', object: 'flow:boiler' }
  const failed = { ...event, actor: null, action: 'sign_in', object: 'user:ada', result: 'wrong_credentials' }

  test('prints who did what to which thing, the newest last', async t => {
    const answer = { items: [failed, saved], count: 2 }
    const { code, stdout, requests } = await against(t, { 'GET /events': { answer } }, ['audit', '--limit', '2'])
    assert.deepEqual([code, requests[0]!.query], [0, { type: 'audit', limit: '2' }])
    const [first, second] = stdout.split('\n').map(line => line.slice(21).split(/ {2,}/))
    assert.deepEqual(first, ['flow_saved', 'ada', 'flow:boiler', 'from 192.0.2.1'])
    assert.deepEqual(second, ['sign_in', '-', 'user:ada', 'from 192.0.2.1', 'refused: wrong_credentials'])
  })

  test('asks for one actor and one action, and refuses an action that there is not', async t => {
    const empty = { answer: { items: [], count: 0 } }
    const asked = await against(t, { 'GET /events': empty }, ['audit', '--actor', 'ada', '--action', 'flow_saved'])
    assert.partialDeepStrictEqual(asked.requests[0]!.query, { type: 'audit', actor: 'ada', action: 'flow_saved' })
    const { code, stderr } = await against(t, {}, ['audit', '--action', 'flow_eaten'])
    assert.equal(code, 2)
    assert.match(stderr, /flow_eaten.*flow_saved/s)
  })
})

describe('svc users', () => {
  const ada = { name: 'ada', role: 'operator', superuser: false, display_name: null, mail: 'a@b', disabled: true }
  const answer = { ...ada, created_at: AT }
  const bodyOf = async (t: TestContext, argv: string[]): Promise<unknown> => {
    const { code, stderr, requests } = await against(t, { 'PATCH /users/ada': { answer } }, ['users', ...argv])
    assert.equal(code, 0, stderr)
    return requests[0]!.body
  }

  test('set changes what is given, and an empty name or address takes it away', async t => {
    assert.deepEqual(await bodyOf(t, ['set', 'ada', '--role', 'operator']), { role: 'operator' })
    assert.deepEqual(await bodyOf(t, ['set', 'ada', '--display-name', 'Ada L', '--mail', '']), {
      display_name: 'Ada L',
      mail: null,
    })
    const { code, stderr } = await against(t, {}, ['users', 'set', 'ada'])
    assert.equal(code, 2)
    assert.match(stderr, /--role, --display-name or --mail/)
  })

  test('disable and enable', async t => {
    assert.deepEqual(await bodyOf(t, ['disable', 'ada']), { disabled: true })
    assert.deepEqual(await bodyOf(t, ['enable', 'ada']), { disabled: false })
  })

  test('list shows the role, and who is disabled', async t => {
    const { stdout } = await against(t, { 'GET /users': { answer: { items: [answer], count: 1 } } }, ['users'])
    assert.match(stdout, /ada +operator, disabled +- +a@b/)
  })

  test('add gives a role, and refuses two that contradict each other', async t => {
    const script = { 'POST /users': { answer } }
    const argv = ['users', 'add', 'ada', '--role', 'viewer', '--password-file', '-']
    const { requests } = await against(t, script, argv, { stdin: 'long enough\n' })
    assert.partialDeepStrictEqual(requests[0]!.body, { name: 'ada', role: 'viewer' })
    const { code } = await against(t, script, [...argv, '--superuser'], { stdin: 'long enough\n' })
    assert.equal(code, 2)
  })

  test('reset sets a password with a token', async t => {
    const argv = ['users', 'reset', 'a.b.c', '--password-file', '-']
    const { code, requests } = await against(t, { 'POST /password-reset': { answer: null } }, argv, {
      stdin: 'a new one\n',
    })
    assert.deepEqual([code, requests[0]!.body], [0, { token: 'a.b.c', password: 'a new one' }])
  })
})
