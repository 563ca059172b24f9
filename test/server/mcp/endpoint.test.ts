import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import * as sdk from '@modelcontextprotocol/server'
import { limits } from '../../../protocol/limits.ts'
import { McpEndpoint } from '../../../server/mcp/endpoint.ts'
import { eventually } from '../../kit/live-engine.ts'
import { fixtureServer } from '../../kit/mcp-fixture.ts'
import { ADA, ROOT, type ServedFront, serveFront } from '../../kit/served-front.ts'

let served: ServedFront
before(async () => {
  served = await serveFront()
})
after(() => served.close())

const BOTH = 'application/json, text/event-stream'
const call = (id: number, method: string, params: object = {}) => ({ jsonrpc: '2.0', id, method, params })
const initialize = call(1, 'initialize', {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'test', version: '1' },
})

/** What each request of 2026 says of its client. */
const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}
const now_ms = (): number => performance.now()

interface Asking {
  readonly url?: string
  readonly token?: string
  readonly session?: string
  readonly headers?: Record<string, string>
}

const ask = (
  method: string,
  body: unknown,
  { url = served.url, token = served.user, session, headers = {} }: Asking = {},
) =>
  fetch(`${url}/mcp`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      accept: BOTH,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(session === undefined ? {} : { 'mcp-session-id': session }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })

/** A session, with what it was told read to its end. */
async function begin(token = served.user): Promise<string> {
  const answer = await ask('POST', initialize, { token })
  assert.equal(answer.status, 200)
  await answer.text()
  return answer.headers.get('mcp-session-id')!
}

async function clientOf(name: string): Promise<{ id: string; token: string }> {
  const { created_at: since } = served.accounts.find(name)!
  const owner = { name, since }
  const { id } = await served.clients.create({
    ...{ name: 'agent', scopes: ['read'], owner, redirect_uris: [], expires_ms: null },
  })
  return { id, token: await served.tokens.mint('client', id, id, 3600) }
}

/** Resolves when the stream has ended, in whatever way. */
async function ended(answer: Response): Promise<void> {
  await answer.text().catch(() => {})
}

describe('sessions', () => {
  test('belong to who began them: to another caller they are not there', async () => {
    const session = await begin()
    const { token } = await clientOf(ADA.name)
    for (const [whose, other] of [
      ['another user', served.superuser],
      ['a client of the same user', token],
    ])
      for (const method of ['GET', 'POST', 'DELETE']) {
        const body = method === 'POST' ? call(2, 'tools/list') : undefined
        assert.equal((await ask(method, body, { token: other!, session })).status, 404, `${method} of ${whose}`)
      }
    const own = await ask('POST', call(2, 'tools/list'), { session })
    assert.match(await own.text(), /list_flows/)
  })

  test('end when they are deleted, and one that never was is not there', async () => {
    const session = await begin()
    assert.equal((await ask('DELETE', undefined, { session })).status, 200)
    assert.equal((await ask('POST', call(2, 'ping'), { session })).status, 404)
    assert.equal((await ask('POST', call(2, 'ping'), { session: 'x'.repeat(200) })).status, 404)
  })

  test('are bounded for each caller: the one used longest ago gives way', async () => {
    const { token } = await clientOf(ROOT.name)
    const first = await begin(token)
    const others: string[] = []
    for (let at = 0; at < limits.MCP_CALLER_SESSIONS; at++) {
      served.clock.ms += 1
      others.push(await begin(token))
    }
    assert.equal((await ask('POST', call(2, 'ping'), { token, session: first })).status, 404)
    for (const session of others) {
      const answer = await ask('POST', call(2, 'ping'), { token, session })
      assert.equal(answer.status, 200)
      await answer.text()
    }
  })

  test('what a client of 2025 sends without one is answered without one', async () => {
    const answer = await ask('POST', call(7, 'tools/call', { name: 'list_flows', arguments: {} }))
    assert.equal(answer.headers.get('mcp-session-id'), null)
    assert.match(await answer.text(), /"id":7/)
    assert.equal((await ask('GET', undefined)).status, 405)
  })
})

describe('open streams', () => {
  test('answer at once, and end when the client is deleted or its owner is disabled', async () => {
    await served.accounts.create('owner', 'a password of an owner', 'editor')
    const ends: [what: string, end: (id: string) => Promise<unknown>][] = [
      ['the client is deleted', id => served.clients.remove(id)],
      ['its owner is gone', () => served.accounts.remove('owner')],
    ]
    for (const [what, end] of ends) {
      const { id, token } = await clientOf('owner')
      const session = await begin(token)
      const stream = await ask('GET', undefined, { token, session })
      assert.deepEqual([stream.status, stream.headers.get('content-type')], [200, 'text/event-stream'], what)
      const over = ended(stream)
      await end(id)
      await over
      assert.equal((await ask('POST', call(2, 'ping'), { token, session })).status, 401, what)
    }
  })

  test('are let go when the client goes away: it may open the stream of its session again', async () => {
    const session = await begin()
    for (let round = 0; round < 3; round++) {
      // The engine hears of it a moment later.
      await eventually(async () => {
        const stream = await ask('GET', undefined, { session })
        await stream.body!.cancel()
        return stream.status === 200
      }, 'the stream of the session is free')
    }
  })

  test('are bounded for each caller', async t => {
    // A server whose lists may change, so that clients can wait for that.
    const fixture = await serveFront({
      mcp: async () =>
        new McpEndpoint({
          sdk,
          server: fixtureServer,
          holds: () => true,
          now_ms,
          onDefect: error => assert.fail(String(error)),
        }),
    })
    t.after(() => fixture.close())
    const subscribe = (token: string): Promise<Response> => {
      const params = { notifications: { toolsListChanged: true }, _meta: ENVELOPE }
      const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' }
      return ask('POST', call(1, 'subscriptions/listen', params), {
        token,
        headers,
        url: fixture.url,
      })
    }
    const open: Response[] = []
    for (let at = 0; at < limits.MCP_CALLER_STREAMS; at++) open.push(await subscribe(fixture.user))
    assert.ok(open.every(({ status }) => status === 200))
    const refused = await subscribe(fixture.user)
    assert.equal(((await refused.json()) as { code: string }).code, 'too_many_connections')
    assert.ok(Number(refused.headers.get('retry-after')) > 0)
    assert.equal((await subscribe(fixture.superuser)).status, 200, 'another caller has room')
    for (const { body } of open) await body!.cancel()
    const ping = () => ask('POST', call(1, 'ping'), { token: fixture.user, url: fixture.url })
    await eventually(async () => (await ping()).status === 200, 'the streams are let go')
  })
})

test('who is not signed in is told where to read how to sign in: below the address that users see', async t => {
  const proxied = await serveFront({ public_url: 'https://flows.example', hosts: ['flows.example'] })
  t.after(() => proxied.close())
  const at = async (url: string): Promise<string | null> => {
    const answer = await fetch(`${url}/mcp`, { method: 'POST', body: '{}' })
    assert.equal(answer.status, 401)
    return answer.headers.get('www-authenticate')
  }
  const document = '/.well-known/oauth-protected-resource/mcp'
  assert.equal(await at(served.url), `Bearer resource_metadata="${served.url}${document}"`)
  assert.equal(await at(proxied.url), `Bearer resource_metadata="https://flows.example${document}"`)
})

describe('what is no request of the protocol', () => {
  test('is refused before it is taken apart', async () => {
    const cases: [what: string, body: string, headers: Record<string, string>, status: number][] = [
      ['no JSON', '{', {}, 422],
      ['nothing', '', {}, 422],
      ['nested too deeply', '['.repeat(100) + ']'.repeat(100), {}, 422],
      ['too large', `"${'x'.repeat(limits.FLOW_BODY_BYTES)}"`, {}, 413],
      ['no message', '{"a":1}', {}, 400],
      ['a number', '7', {}, 400],
      ['null', 'null', {}, 400],
      ['text', '{}', { 'content-type': 'text/plain' }, 415],
      ['a client that takes no events', JSON.stringify(initialize), { accept: 'application/json' }, 406],
      [
        'more members than any message has',
        JSON.stringify({
          ...call(1, 'ping'),
          params: Object.fromEntries(Array.from({ length: limits.MCP_MESSAGE_PARTS }, (_, at) => [`k${at}`, at])),
        }),
        {},
        422,
      ],
      ['a long batch', JSON.stringify(Array(400).fill(call(1, 'ping'))), {}, 400],
      ['a page of another origin', JSON.stringify(initialize), { origin: 'https://example.com' }, 403],
    ]
    for (const [what, body, headers, status] of cases) {
      const answer = await ask('POST', body, { headers })
      await answer.text()
      assert.equal(answer.status, status, what)
    }
    assert.deepEqual(served.log.errors, [])
  })

  test('a look at the head opens nothing, and other methods are not there', async () => {
    assert.equal((await ask('HEAD', undefined)).status, 405)
    assert.equal((await ask('PUT', '{}')).status, 405)
  })

  test('arguments of every shape are refused with their places, and nothing of them is a defect', async () => {
    for (const args of [
      null,
      [],
      'x',
      7,
      { name: 7 },
      { name: '../x' },
      { name: 'x', document: [] },
      { __proto__: null },
    ]) {
      const answer = await ask('POST', call(1, 'tools/call', { name: 'save_flow', arguments: args }))
      assert.ok([200, 400].includes(answer.status))
      assert.match(await answer.text(), /validation|-32602|-32700|Invalid/)
    }
    assert.deepEqual(served.log.errors, [])
  })
})
