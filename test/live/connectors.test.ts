import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { eventually, sharedEngine } from '../kit/live-engine.ts'
import { code, flow, input, node, output, Story } from '../kit/live-story.ts'
import { outside as outsideOf } from '../kit/outside.ts'

const live = sharedEngine()
const codes = (name: string): string[] => live.engine.flows.get(name).issues.map(({ code }) => code)

/** A server outside; what it answers is the test's. */
async function outside(
  t: { after(end: () => void): void },
  answer: (path: string, body: string) => { status?: number; body: unknown },
): Promise<{ url: string; asked: string[]; close(): Promise<void> }> {
  const asked: string[] = []
  const server: Server = createServer(async (request, response) => {
    let body = ''
    for await (const part of request) body += part
    asked.push(`${request.method} ${request.url} ${body}`.trim())
    const { status = 200, body: answered } = answer(request.url ?? '', body)
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answered))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const close = async (): Promise<void> => {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  }
  t.after(() => void close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, close }
}

test('a source of the connectors thread publishes, its flow runs, and going down is an issue until it is well again', async t => {
  const story = new Story(live.engine)
  let level = 20
  let status = 200
  const there = await outside(t, () => ({ status, body: { tank: { level: level++ } } }))
  const poll = node(
    'poll',
    'http-poll',
    { url: there.url, every_s: 0.1, pointer: '/tank/level' },
    [],
    [output('body', 'int')],
  )
  const twice = code(
    'twice',
    'export default ({ body }) => ({ doubled: body * 2 })',
    [input('body', 'int')],
    [output('doubled', 'int')],
  )
  await story.save('tank', flow([poll, twice]))
  await story.reaches('tank.doubled', 3)
  assert.deepEqual((await story.values('tank.doubled', 3)).slice(0, 3), [40, 42, 44])
  assert.deepEqual(codes('tank'), [])
  status = 500
  await eventually(() => codes('tank').includes('node_down'), 'the issue')
  status = 200
  await eventually(() => codes('tank').length === 0, 'no issue')
})

test('a node that sends a request publishes what is answered, in the cascade that has woken it', async t => {
  const story = new Story(live.engine)
  const there = await outside(t, (_path, body) => ({ status: 201, body: { heard: JSON.parse(body) } }))
  const send = node(
    'send',
    'http',
    { url: `${there.url}/alarms`, query: { key: 'k' } },
    [input('x', 'int')],
    [output('status', 'int'), output('body', 'json')],
  )
  const join = code(
    'join',
    'export default ({ status, body }) => ({ told: status + " " + body.heard.x })',
    [input('status', 'int'), input('body', 'json')],
    [output('told', 'str')],
  )
  await story.save('alarm', flow([send, join], { message: 'x', dtype: 'int' }))
  for (const x of [7, 8, 9]) story.publish('alarm.x', x)
  await story.reaches('alarm.told', 3)
  assert.deepEqual(await story.values('alarm.told'), ['201 7', '201 8', '201 9'])
  assert.deepEqual(
    there.asked,
    [7, 8, 9].map(x => `POST /alarms?key=k {"x":${x}}`),
  )
  await there.close()
  story.publish('alarm.x', 10)
  await eventually(() => codes('alarm').includes('node_error'), 'the error')
})

test('an answer that the flow refuses is an issue of the node, until another answer is good', async t => {
  const story = new Story(live.engine)
  let text = '{"level":1e999}'
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(text)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(() => void server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const ask = node('ask', 'http', { url, method: 'GET' }, [input('x', 'int')], [output('body', 'json')])
  await story.save('infinite', flow([ask], { message: 'x', dtype: 'int' }))
  story.publish('infinite.x', 1)
  const [error] = await story.errors('infinite.ask')
  assert.equal(error!.code, 'not_finite')
  await story.executed('infinite', 'ask', 1)
  await story.shows('infinite', 'node_error')
  text = '{"level":1}'
  story.publish('infinite.x', 2)
  await story.becomes('infinite.body', { level: 1 })
  await eventually(() => !codes('infinite').includes('node_error'), 'the end of the issue')
})

test('a setting that names a secret is refused by the name, and the settings are held against their schema', async () => {
  const story = new Story(live.engine)
  const send = node(
    'send',
    'http',
    { url: 'http://127.0.0.1:9', headers: { authorization: { secret: 'token' } } },
    [],
    [],
  )
  await assert.rejects(story.save('secret', flow([send])), /no secret "token"/)
  const wrong = node('send', 'http', { url: 'ftp://x', more: 1 }, [], [output('body', 'int')])
  await assert.rejects(story.save('secret', flow([wrong])), error => {
    const places = (error as { errors: { loc: string }[] }).errors.map(({ loc }) => loc)
    assert.deepEqual(places.toSorted(), [
      'nodes[0].ports.outputs[0].dtype',
      'nodes[0].settings.more',
      'nodes[0].settings.url',
    ])
    return true
  })
})

test('what the others do does not hold up a node of the same thread, and the bytes that are answered are stored', async t => {
  const story = new Story(live.engine)
  const bomb = gzipSync(Buffer.alloc(256 * 1024 * 1024))
  let count = 0
  const there = await outsideOf(t, ({ path }, response) => {
    if (path === '/bomb') response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb)
    else if (path === '/count') response.writeHead(200).end(String(count++))
    else if (path === '/image') response.writeHead(200, { 'content-type': 'image/png' }).end('bytes')
    else response.write('[')
  })
  const poll = (id: string, path: string) =>
    node(id, 'http-poll', { url: there.url + path, every_s: 0.1 }, [], [output('body', 'json', { message: id })])
  const image = node(
    'image',
    'http',
    { url: `${there.url}/image`, method: 'GET', send_inputs: false },
    [input('body', 'json', { message: 'good' })],
    [output('body', 'image', { message: 'png' })],
  )
  await story.save('among', flow([poll('bad', '/bomb'), poll('never', '/never'), poll('good', '/count'), image]))
  await eventually(() => codes('among').includes('node_down'), 'one of them is down')
  const before = story.version('among.good')
  await story.reaches('among.good', before + 5)
  await story.reaches('among.png', 1)
  const { digest, media_type } = story.value('among.png') as { digest: string; media_type: string }
  assert.deepEqual([digest, media_type], [`sha256:${createHash('sha256').update('bytes').digest('hex')}`, 'image/png'])
  const { items } = await live.engine.artifacts.list({ limit: 100, offset: 0 })
  assert.ok(items.some(item => item.digest === digest))
})
