import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { ServedPort } from '../../../../threads/connectors/connector.ts'
import { httpPollRunner } from '../../../../threads/connectors/http/http-poll.ts'
import type { HttpPollSettings } from '../../../../threads/nodes/types/http-poll.ts'
import { ConnectorHostDouble } from '../../../kit/connector-host.ts'
import { eventually } from '../../../kit/live-engine.ts'
import { json, outside } from '../../../kit/outside.ts'

function poll(
  t: TestContext,
  settings: HttpPollSettings,
  { host = new ConnectorHostDouble(), dtype = 'json' as ServedPort['dtype'] } = {},
): ConnectorHostDouble {
  const outputs = [{ name: 'body', dtype }]
  const open = httpPollRunner.open({ qualified: 'f.poll', settings, inputs: [], outputs }, host)
  t.after(() => open.close())
  return host
}

test('what has not changed is published once, and a server that knows it says so without a body', async t => {
  let text = 'one'
  const there = await outside(t, ({ headers }, response) => {
    const etag = `"${text}"`
    if (headers['if-none-match'] === etag) response.writeHead(304).end()
    else json(response, { text }, 200, { etag })
  })
  const host = poll(t, { url: there.url, every_s: 0.1, pointer: '/text', headers: { 'x-key': 'k' } })
  await eventually(() => there.heard.length >= 3, 'three polls')
  assert.deepEqual(host.published, [{ body: 'one' }])
  assert.deepEqual(
    there.heard.slice(0, 2).map(({ headers }) => headers['if-none-match']),
    [undefined, '"one"'],
  )
  assert.equal(there.heard[1]!.headers['x-key'], 'k')
  text = 'two'
  await eventually(() => host.published.length === 2, 'the change')
  assert.deepEqual(host.states, ['ok'])
})

test('a value that could not be published is asked for whole again, and only then is the node well', async t => {
  const there = await outside(t, ({ headers }, response) => {
    if (headers['if-none-match'] !== undefined) response.writeHead(304).end()
    else json(response, 7, 200, { etag: '"7"' })
  })
  const host = new ConnectorHostDouble()
  host.answers = ['full', 'full']
  poll(t, { url: there.url, every_s: 0.1 }, { host })
  await eventually(() => host.published.length === 1 && host.states.length > 0, 'it is published')
  assert.equal(there.heard[2]!.headers['if-none-match'], undefined)
  assert.deepEqual([host.published, host.states], [[{ body: 7 }], ['ok']])
})

const SAYS: Record<string, { answer: (response: ServerResponse) => void; reason: RegExp }> = {
  'a page': {
    answer: response => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>'),
    reason: /^http:\/\/127\.0\.0\.1:\d+ answers text\/html that is not JSON$/,
  },
  'an error of its own': { answer: response => response.writeHead(500).end(), reason: / answers 500$/ },
  'a gzip bomb': {
    answer: response =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(32 * 1024 * 1024))),
    reason: / answers more than 4194304 bytes$/,
  },
  'a redirect to a metadata service': {
    answer: response => response.writeHead(302, { location: 'http://169.254.169.254/latest/' }).end(),
    reason: /^http:\/\/127\.0\.0\.1:\d+: connectors may not reach 169\.254\.169\.254$/,
  },
  'JSON without the place that is asked for': {
    answer: response => json(response, {}),
    reason: / has nothing at \/level$/,
  },
  nothing: { answer: () => {}, reason: / has not answered within 0\.1 s$/ },
}

for (const [what, { answer, reason }] of Object.entries(SAYS)) {
  test(`a poll that answers ${what} is down, and well again afterwards`, async t => {
    let bad = true
    const there = await outside(t, (_heard, response) => (bad ? answer(response) : json(response, { level: 4 })))
    const host = poll(t, { url: there.url, every_s: 0.1, pointer: '/level', timeout_s: what === 'nothing' ? 0.1 : 20 })
    await eventually(() => host.states.length === 1, 'it is down')
    assert.match(host.states[0]!, reason)
    bad = false
    await eventually(() => host.states.length === 2, 'it is well')
    assert.deepEqual([host.states[1], host.published], ['ok', [{ body: 4 }]])
  })
}

test('a poll is not begun while another one is under way', async t => {
  let open: ServerResponse | null = null
  const there = await outside(t, (_heard, response) => (open = response))
  const host = poll(t, { url: there.url, every_s: 0.1, timeout_s: 60 })
  await eventually(() => open !== null, 'the first poll')
  await new Promise(resolve => setTimeout(resolve, 350))
  assert.equal(there.heard.length, 1)
  json(open!, 1)
  await eventually(() => there.heard.length === 2, 'the next poll')
  assert.deepEqual(host.published, [{ body: 1 }])
})

test('a poll by a cron expression asks at once, and again when its time comes', async t => {
  let count = 0
  const there = await outside(t, (_heard, response) => response.writeHead(200).end(`text ${count++}`))
  const host = poll(t, { url: there.url, cron: '* * * * * *' }, { dtype: 'str' })
  await eventually(() => host.published.length >= 2, 'two polls')
  assert.deepEqual(host.published.slice(0, 2), [{ body: 'text 0' }, { body: 'text 1' }])
})
