import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import Type from 'typebox'
import { ServiceError } from '../../../protocol/errors.ts'
import { type Answer, nothing, ok, route } from '../../../server/http/route.ts'
import { RawClient, saying } from '../../kit/raw-client.ts'
import { type ServedFront, serveFront } from '../../kit/served-front.ts'

const HOST = 'Host: localhost\r\n'
const get = (path: string): string => `GET ${path} HTTP/1.1\r\n${HOST}\r\n`

/** Routes that do what a handler might do wrong, or do late. */
class Odd {
  /** Ends the waiting of `/odd/waiting`. */
  release: (answer: Answer) => void = () => {}
  waiting = new Promise<Answer>(resolve => {
    this.release = resolve
  })
  entered = 0

  readonly routes = [
    ['throws', () => { throw new TypeError('a defect') }],
    ['refuses', () => { throw new ServiceError('disk_full', 'The disk has 0 bytes left.') }],
    ['rejects', () => Promise.reject(new TypeError('a late defect'))],
    ['rejects-nothing', () => Promise.reject()],
    ['later', () => new Promise<Answer>(resolve => setImmediate(() => resolve(ok({ late: true }))))],
    ['waiting', () => { this.entered++; return this.waiting }],
    ['circle', () => { const body: Record<string, unknown> = {}; body['self'] = body; return ok(body) }],
    ['bigint', () => ok({ n: 1n })],
    ['nothing', () => nothing],
    ['header', () => ({ status: 200, body: 1, headers: { 'x-name': 'a\r\nSet-Cookie: b\0c' } })],
    ['bytes', () => ({ status: 200, content: { type: 'application/octet-stream', bytes: new Uint8Array([0, 255, 10]) } })],
    ['large', () => ok('é'.repeat(3_000_000))],
    ['page', () => ({ status: 200, content: { type: 'text/html; charset=utf-8', bytes: '<p>', page: true } })],
  ].map(([name, handle]) =>
    route({ method: 'GET', path: `/odd/${name}`, scope: 'open', tag: 'odd', summary: '', answers: { 200: null }, handle: handle as () => Answer }),
  ).concat([
    route({
      method: 'POST', path: '/odd/body', scope: 'read', tag: 'odd', summary: '', body: Type.Unknown(), answers: { 200: null },
      handle: ({ body }) => ok({ body }),
    }),
    route({
      method: 'POST', path: '/odd/no-body', scope: 'open', tag: 'odd', summary: '', answers: { 200: null },
      handle: () => ok({}),
    }),
  ])
} // biome-ignore format: a table

let served: ServedFront
const odd = new Odd()
before(async () => {
  served = await serveFront({ routes: () => odd.routes })
})
after(() => served.close())

const alive = async (): Promise<void> => assert.equal((await fetch(`${served.url}/odd/nothing`)).status, 204)

describe('handlers', () => {
  test('one that throws, now or later, is 500 and a line in the log, and the next request is served', async () => {
    for (const name of ['throws', 'rejects', 'rejects-nothing', 'circle', 'bigint']) {
      const lines = served.log.errors.length
      const answer = await fetch(`${served.url}/odd/${name}`)
      assert.deepEqual([answer.status, ((await answer.json()) as { code: string }).code], [500, 'internal'], name)
      assert.equal(served.log.errors.length, lines + 1, name)
      await alive()
    }
  })

  test('one that refuses is answered with the problem', async () => {
    const answer = await fetch(`${served.url}/odd/refuses`)
    assert.equal(answer.status, 507)
    assert.deepEqual(await answer.json(), {
      type: 'about:blank#disk_full',
      title: 'The disk is full',
      status: 507,
      detail: 'The disk has 0 bytes left. Free space in the data directory, then try again.',
      code: 'disk_full',
      errors: [],
      instance: '/odd/refuses',
    })
  })

  test('a client that leaves while its handler works is forgotten', async () => {
    const client = await RawClient.open(served.port)
    const entered = odd.entered
    client.write(get('/odd/waiting'))
    while (odd.entered === entered) await new Promise(resolve => setImmediate(resolve))
    client.reset()
    const lines = served.log.errors.length
    await alive()
    odd.release(ok({}))
    await alive()
    assert.equal(served.log.errors.length, lines)
  })

  test('a large answer arrives whole', async () => {
    assert.equal(((await (await fetch(`${served.url}/odd/large`)).json()) as string).length, 3_000_000)
  })

  test('bytes are sent as they are', async () => {
    const answer = await fetch(`${served.url}/odd/bytes`)
    assert.deepEqual([...new Uint8Array(await answer.arrayBuffer())], [0, 255, 10])
  })

  test('line ends and NUL are taken out of header values', async () => {
    const answer = await fetch(`${served.url}/odd/header`)
    assert.equal(answer.headers.get('set-cookie'), null)
    assert.equal(answer.headers.get('x-name'), 'a  Set-Cookie: b c')
  })

  test('pages and data have their own policies, and both say no to sniffing', async () => {
    const page = await fetch(`${served.url}/odd/page`)
    assert.match(
      page.headers.get('content-security-policy')!,
      /default-src 'none'; script-src 'self';.*frame-ancestors 'none'/,
    )
    assert.doesNotMatch(page.headers.get('content-security-policy')!, /unsafe/)
    const data = await fetch(`${served.url}/odd/later`)
    assert.match(data.headers.get('content-security-policy')!, /sandbox/)
    for (const { headers } of [page, data]) {
      assert.deepEqual([headers.get('x-content-type-options'), headers.get('cache-control')], ['nosniff', 'no-store'])
    }
  })
})

describe('methods', () => {
  test('HEAD is GET without its body', async () => {
    const whole = await saying(served.port, get('/odd/later'))
    const client = await RawClient.open(served.port)
    const reply = await client
      .write(`HEAD /odd/later HTTP/1.1\r\n${HOST}\r\n${get('/odd/nothing')}`)
      .closed()
      .catch(() => client.reply)
    // A late answer and a second request in one packet: the library ends such a connection. One by one it is answered.
    assert.deepEqual(reply.statuses, [])
    const alone = await RawClient.open(served.port)
    const head = await alone.write(`HEAD /odd/later HTTP/1.1\r\n${HOST}\r\n`).answered()
    const length = /content-length: (\d+)/i.exec(whole.text)![1]
    assert.match(head.text, new RegExp(`content-length: ${length}\r\n`, 'i'))
    assert.ok(head.text.endsWith('\r\n\r\n'))
    alone.write(get('/odd/nothing'))
    assert.deepEqual((await alone.answered(2)).statuses, [200, 204])
    alone.end()
  })

  test('HEAD of what is not there, or refuses, has no body either', async () => {
    for (const path of ['/nothing', '/odd/refuses', '/odd/throws']) {
      const client = await RawClient.open(served.port)
      await client.write(`HEAD ${path} HTTP/1.1\r\n${HOST}\r\n`).answered()
      const { text, statuses } = await client.write(get('/odd/nothing')).answered(2)
      assert.equal(statuses[1], 204, path)
      assert.ok(text.includes('\r\n\r\nHTTP/1.1 204'), path)
      client.end()
    }
  })

  test('OPTIONS says what is allowed; any other method is 405 and says it too', async () => {
    const options = await fetch(`${served.url}/odd/body`, { method: 'OPTIONS' })
    assert.deepEqual([options.status, options.headers.get('allow')], [204, 'OPTIONS, POST'])
    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH']) {
      const answer = await fetch(`${served.url}/odd/body`, { method })
      assert.deepEqual([answer.status, answer.headers.get('allow')], [405, 'OPTIONS, POST'])
    }
    for (const method of ['TRACE', 'get', 'FOO', 'constructor'])
      assert.deepEqual(
        (await saying(served.port, `${method} /odd/body HTTP/1.1\r\n${HOST}\r\n`)).statuses,
        [405],
        method,
      )
  })

  test('no page of another origin is let in: nothing answers to a preflight', async () => {
    const headers = { origin: 'http://elsewhere', 'access-control-request-method': 'POST' }
    const answer = await fetch(`${served.url}/odd/body`, { method: 'OPTIONS', headers })
    assert.equal(answer.headers.get('access-control-allow-origin'), null)
  })
})

describe('bodies', () => {
  test('one that comes while the token is still being checked is kept and read', async () => {
    const token = await served.mint('ada')
    const body = JSON.stringify({ text: 'é'.repeat(200_000) })
    const answer = await fetch(`${served.url}/odd/body`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body,
    })
    assert.deepEqual(await answer.json(), { body: JSON.parse(body) })
  })

  test('a route that takes none does not mind one', async () => {
    const answer = await fetch(`${served.url}/odd/no-body`, { method: 'POST', body: '{"any": "thing"}' })
    assert.equal(answer.status, 200)
    const large = await fetch(`${served.url}/odd/no-body`, { method: 'POST', body: 'x'.repeat(2_000_000) })
    assert.equal(large.status, 413)
  })

  test('JSON is assumed unless a form is named', async () => {
    const headers = { authorization: `Bearer ${served.user}`, 'content-type': 'text/plain' }
    const answer = await fetch(`${served.url}/odd/body`, { method: 'POST', headers, body: '[1]' })
    assert.deepEqual(await answer.json(), { body: [1] })
  })
})

describe('connections', () => {
  test('a port is listened on by one front alone', async () => {
    const other = await serveFront()
    await assert.rejects(
      other.front.listen('127.0.0.1', served.port),
      (error: unknown) => error instanceof ServiceError && error.code === 'address_in_use',
    )
    other.close()
  })

  test('those past the bound are closed, and the others go on', async () => {
    const small = await serveFront({ connections: 3, routes: () => odd.routes })
    const kept = [await RawClient.open(small.port), await RawClient.open(small.port), await RawClient.open(small.port)]
    for (const client of kept) await client.write(get('/odd/nothing')).answered()
    for (let extra = 0; extra < 10; extra++) {
      const client = await RawClient.open(small.port)
      assert.deepEqual((await client.write(get('/odd/nothing')).closed()).statuses, [])
    }
    for (const client of kept)
      assert.deepEqual((await client.write(get('/odd/nothing')).answered(2)).statuses, [204, 204])
    kept[0]!.end()
    while (small.front.counts().connections > 2) await new Promise(resolve => setImmediate(resolve))
    assert.deepEqual((await saying(small.port, get('/odd/nothing'))).statuses, [204])
    small.close()
  })

  test('closing ends every connection at once: idle, waiting, and in the middle of a body', async () => {
    const closing = await serveFront({ routes: () => new Odd().routes })
    const clients = await Promise.all([0, 1, 2].map(() => RawClient.open(closing.port)))
    await clients[0]!.write(get('/odd/nothing')).answered()
    clients[1]!.write(get('/odd/waiting'))
    clients[2]!.write(
      `POST /odd/body HTTP/1.1\r\n${HOST}Authorization: Bearer ${closing.user}\r\nContent-Length: 9\r\n\r\n{`,
    )
    while (closing.front.counts().connections < 3) await new Promise(resolve => setImmediate(resolve))
    closing.close()
    for (const client of clients) assert.equal((await client.closed()).closed, true)
    await assert.rejects(RawClient.open(closing.port))
    closing.close()
    assert.equal(closing.front.publish('topic', 'after the end'), false)
    assert.deepEqual(closing.log.errors, [])
  })
})
