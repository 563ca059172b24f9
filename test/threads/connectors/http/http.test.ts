import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { ServedPort } from '../../../../threads/connectors/connector.ts'
import { httpRunner } from '../../../../threads/connectors/http/http.ts'
import type { HttpSettings } from '../../../../threads/nodes/types/http.ts'
import { ConnectorHostDouble } from '../../../kit/connector-host.ts'
import { json, outside } from '../../../kit/outside.ts'

const port = (name: string, dtype: ServedPort['dtype']): ServedPort => ({ name, dtype })
const STATUS = port('status', 'int')
const JSON_BODY = port('body', 'json')

function node(
  t: TestContext,
  settings: HttpSettings,
  outputs: ServedPort[] = [STATUS, JSON_BODY],
  { host = new ConnectorHostDouble(), inputs = [port('x', 'json')] } = {},
) {
  const open = httpRunner.open({ qualified: 'f.send', settings, inputs, outputs }, host)
  t.after(() => open.close())
  const call = (values: Record<string, unknown> = { x: 1 }, signal = new AbortController().signal) =>
    open.call!({ inputs: values, signal })
  return { call, host }
}

test('inputs are sent as JSON, as a form, as they are, or in the address of a method without a body', async t => {
  const there = await outside(t, (heard, response) => json(response, { type: heard.headers['content-type'] ?? null }))
  const inputs = [port('a', 'json'), port('b', 'str')]
  const values = { a: [1, 2], b: 'x y' }
  const said = async (settings: Partial<HttpSettings>, given = values, ports = inputs) => {
    await node(t, { url: `${there.url}/p?z=1`, ...settings }, [JSON_BODY], { inputs: ports }).call(given)
    const { method, path, headers, body } = there.heard.at(-1)!
    return [method, path, headers['content-type'] ?? null, body]
  }
  assert.deepEqual(await said({}), ['POST', '/p?z=1', 'application/json', '{"a":[1,2],"b":"x y"}'])
  const form = 'application/x-www-form-urlencoded'
  assert.deepEqual(await said({ format: 'form', method: 'PUT' }), ['PUT', '/p?z=1', form, 'a=%5B1%2C2%5D&b=x+y'])
  assert.deepEqual(await said({ method: 'GET', query: { key: 'k' } }), [
    'GET',
    '/p?z=1&key=k&a=%5B1%2C2%5D&b=x+y',
    null,
    '',
  ])
  assert.deepEqual(await said({ send_inputs: false }), ['POST', '/p?z=1', null, ''])
  const one = { b: 'as it is' } as never
  const text = 'text/plain; charset=utf-8'
  assert.deepEqual(await said({ format: 'raw' }, one, [port('b', 'str')]), ['POST', '/p?z=1', text, 'as it is'])
  const xml = { 'Content-Type': 'text/xml' }
  assert.deepEqual(await said({ format: 'raw', headers: xml }, one, [port('b', 'str')]), [
    'POST',
    '/p?z=1',
    'text/xml',
    'as it is',
  ])
})

test('the bytes of an artifact are sent, and those that are answered become one', async t => {
  const there = await outside(t, (heard, response) => {
    response
      .writeHead(200, { 'content-type': 'image/png; x=1' })
      .end(`<${heard.headers['content-type']} ${heard.body}>`)
  })
  const host = new ConnectorHostDouble()
  const reference = await host.artifacts.store([Buffer.from('bytes')] as never, 'image/jpeg')
  const inputs = [port('x', 'image')]
  const { call } = node(t, { url: there.url, format: 'raw' }, [port('body', 'image')], { host, inputs })
  assert.deepEqual(await call({ x: reference }), {
    status: 200,
    headers: (await call({ x: reference }))['headers'],
    body: { digest: reference.digest, media_type: 'image/png', size: 18 },
  })
  assert.equal(host.stored[1]!.bytes.toString(), '<image/jpeg bytes>')
})

test('an answer of 400 and above is an error of the node, unless it publishes the status', async t => {
  const there = await outside(t, (_heard, response) =>
    response.writeHead(404, { 'content-type': 'text/html' }).end('<p>'),
  )
  await assert.rejects(node(t, { url: there.url }, [JSON_BODY]).call(), {
    code: 'request_failed',
    message: /answers 404/,
  })
  const { status, body } = await node(t, { url: there.url }).call()
  assert.deepEqual([status, body], [404, undefined])
  assert.equal((await node(t, { url: there.url }, [STATUS, port('body', 'str')]).call())['body'], '<p>')
})

test('a request that does no harm twice is tried again, and no other one', async t => {
  const answers: number[] = []
  const there = await outside(t, (_heard, response) => {
    const status = answers.shift() ?? 200
    if (status === 0) response.destroy()
    else json(response, {}, status)
  })
  const tries = async (method: HttpSettings['method'], ...statuses: number[]) => {
    answers.splice(0, answers.length, ...statuses)
    const before = there.heard.length
    const outcome = await node(t, { url: there.url, method })
      .call()
      .then(
        ({ status }) => status,
        error => (error as { code: string }).code,
      )
    return [outcome, there.heard.length - before]
  }
  assert.deepEqual(await tries('GET', 503, 0, 502), [200, 4])
  assert.deepEqual(await tries('PUT', 504, 504, 504, 504), [504, 4])
  assert.deepEqual(await tries('DELETE', 0, 0, 0, 0), ['request_failed', 4])
  assert.deepEqual(await tries('GET', 500), [500, 1])
  assert.deepEqual(await tries('POST', 503), [503, 1])
  assert.deepEqual(await tries('PATCH', 0), ['request_failed', 1])
})

test('Retry-After is waited for when the timeout allows it, else the answer stands', async t => {
  let after = '0'
  const statuses = [503, 200, 503]
  const there = await outside(t, (_heard, response) =>
    json(response, {}, statuses.shift() ?? 200, { 'retry-after': after }),
  )
  assert.equal((await node(t, { url: there.url, method: 'GET' }).call())['status'], 200)
  assert.equal(there.heard.length, 2)
  after = '3600'
  assert.equal((await node(t, { url: there.url, method: 'GET' }).call())['status'], 503)
  assert.equal(there.heard.length, 3)
})

test('no try begins that the timeout would cut off: the error says what the last one met', async t => {
  const there = await outside(t, (_heard, response) => void response.destroy())
  const host = new ConnectorHostDouble()
  const times = [0, 9990]
  host.steadyMs = () => times.shift() ?? 9990
  const failed = node(t, { url: there.url, method: 'GET', timeout_s: 10 }, [STATUS], { host }).call()
  await assert.rejects(failed, { code: 'request_failed', message: /closes the connection before it has answered/ })
  assert.equal(there.heard.length, 1)
})

test('redirects are followed five times, and another origin gets no credentials', async t => {
  const other = await outside(t, (_heard, response) => json(response, {}))
  const there = await outside(t, ({ path }, response) => {
    const left = Number(/^\/(\d+)$/.exec(path)?.[1] ?? 0)
    const location = path === '/other' ? other.url : left === 1 ? '/end' : `/${left - 1}`
    const status = path === '/other' ? 307 : 302
    if (path === '/end') json(response, {})
    else response.writeHead(status, { location }).end()
  })
  assert.equal((await node(t, { url: `${there.url}/5` }).call())['status'], 200)
  assert.deepEqual([there.heard.at(-1)!.method, there.heard.at(-1)!.body], ['GET', ''])
  await assert.rejects(node(t, { url: `${there.url}/6` }).call(), /redirects more than 5 times/)
  const headers = { authorization: 'Bearer k', 'x-key': 'k', accept: 'a/b' }
  await node(t, { url: `${there.url}/other`, headers }).call()
  const [{ method, headers: got, body }] = other.heard as [(typeof other.heard)[0]]
  assert.deepEqual(
    [method, got['accept'], got['authorization'], got['x-key'], body],
    ['POST', 'a/b', undefined, undefined, '{"x":1}'],
  )
})

test('an address that connectors may not reach is refused, by its name, after a redirect, and before a byte is sent', async t => {
  const there = await outside(t, ({ path }, response) =>
    response.writeHead(302, { location: decodeURIComponent(path.slice(1)) }).end(),
  )
  const names = { 'rebound.test': '169.254.169.254', 'here.test': '127.0.0.1' }
  const host = new ConnectorHostDouble(names)
  const asks = (url: string) => node(t, { url, timeout_s: 5 }, [STATUS], { host }).call()
  const refused = { code: 'address_refused', message: /^[A-Z]+ http:\/\/[^ ]+: .*169\.254\.169\.254/ }
  for (const target of [
    'http://rebound.test/',
    'http://2852039166/',
    'http://169.254.169.254/',
    'http://0xa9fea9fe/',
  ]) {
    await assert.rejects(asks(target), refused, target)
    await assert.rejects(asks(`${there.url}/${encodeURIComponent(target)}`), refused, `redirect to ${target}`)
  }
  await assert.rejects(asks('http://[::ffff:169.254.169.254]/'), { code: 'address_refused' })
  await assert.rejects(
    asks(`${there.url}/${encodeURIComponent('file:///etc/passwd')}`),
    /redirects to what is not an http address/,
  )
  const { port: number } = new URL(there.url)
  await assert.rejects(asks(`http://here.test:${number}/${encodeURIComponent('http://rebound.test/')}`), refused)
})

test('what is answered without an end, too large, packed or not in HTTP is an error that names the thing', async t => {
  const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024))
  const there = await outside(t, ({ path }, response) => {
    switch (path) {
      case '/bomb':
        return void response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb)
      case '/damaged':
        return void response.writeHead(200, { 'content-encoding': 'gzip' }).end('no gzip')
      case '/strange':
        return void response.writeHead(200, { 'content-encoding': 'rot13' }).end('{}')
      case '/headers':
        return void response.writeHead(200, { 'x-long': 'h'.repeat(20_000) }).end()
      case '/cut':
        response.writeHead(200, { 'content-length': '100' }).write('{')
        return void setImmediate(() => response.destroy())
      case '/html':
        return void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>')
      case '/endless': {
        const more = (): void =>
          void (response.write(Buffer.alloc(64 * 1024, 'x')) ? setImmediate(more) : response.once('drain', more))
        return more()
      }
      case '/drip':
        response.write('[')
    }
  })
  const garbage = createServer(socket => socket.on('error', () => {}).end('220 mail.test ESMTP\r\n'))
  await new Promise<void>(resolve => garbage.listen(0, '127.0.0.1', resolve))
  t.after(() => garbage.close())
  const fails = (path: string, message: RegExp, timeout_s = 10) =>
    assert.rejects(
      node(t, { url: path.startsWith('/') ? there.url + path : path, timeout_s }).call(),
      { code: 'request_failed', message },
      path,
    )
  await fails('/bomb', /^POST http:\/\/127\.0\.0\.1:\d+ answers more than 4194304 bytes\./)
  await fails('/endless', /answers more than 4194304 bytes/)
  await fails('/damaged', /cannot be unpacked/)
  await fails('/strange', /encoding "rot13"/)
  await fails('/headers', /header fields of more than 16384 bytes/)
  await fails('/cut', /closes the connection/)
  await fails('/html', /text\/html that is not JSON/)
  await fails('/drip', /has not answered within 0\.2 s/, 0.2)
  await fails('/never', /has not answered within 0\.2 s/, 0.2)
  await fails(`http://127.0.0.1:${(garbage.address() as AddressInfo).port}`, /does not answer in HTTP/)
  await there.close()
  await fails('/gone', /refuses the connection/)
})

test('connections are kept between requests and closed with the last node', async t => {
  const there = await outside(t, (_heard, response) => json(response, {}))
  const host = new ConnectorHostDouble()
  const one = node(t, { url: there.url }, [JSON_BODY], { host })
  const two = node(t, { url: `${there.url}/two` }, [STATUS], { host })
  for (let times = 0; times < 5; times++) {
    await one.call()
    await two.call()
  }
  // An answer that nobody reads may still be on its way when the next request begins.
  assert.ok(there.sockets() <= 3, `${there.sockets()} connections`)
})

test('a call that nobody waits for any more ends with the reason that it was given', async t => {
  const there = await outside(t, () => {})
  const abort = new AbortController()
  const called = node(t, { url: there.url }).call({ x: 1 }, abort.signal)
  const { ServiceError } = await import('../../../../protocol/errors.ts')
  abort.abort(new ServiceError('interrupted', 'The flow was removed.'))
  await assert.rejects(called, { code: 'interrupted' })
})
