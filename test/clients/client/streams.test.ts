import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { Client, type ClientOptions } from '../../../clients/client/client.ts'
import type { ClientError } from '../../../clients/client/client-error.ts'
import { VERSION } from '../../../protocol/version.ts'
import { ApiDouble, refuse, type Scripted } from '../../kit/api-double.ts'

/** A client of a server that does whatever the listener does. */
async function clientOf(t: TestContext, listener: RequestListener, options: Partial<ClientOptions> = {}) {
  const server = createServer(listener)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const client = new Client({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, ...options })
  t.after(() => {
    client.close()
    server.closeAllConnections()
    server.close()
  })
  return client
}

const MIB = 1024 * 1024

describe('an export', () => {
  test('comes as it is made, and says what was left out', async t => {
    const asked: string[] = []
    const client = await clientOf(t, (request, response) => {
      asked.push(request.url!)
      if (request.url!.startsWith('/runs/metrics')) response.setHeader('x-truncated', 'the newest 10000 runs')
      response.write('run,name\n')
      response.end('a,b\n')
    })
    const runs = await client.runs.export(
      { flow: 'f', since: '2026-01-01T00:00:00+00:00' },
      { metrics: ['f.a.x', 'f.b.y'] },
    )
    assert.deepEqual([await text(runs.stream), runs.truncated], ['run,name\na,b\n', null])
    const metrics = await client.metrics.export(
      { group: 'g' },
      { format: 'jsonl', name: 'f.a.x', stride: 5, raw: true },
    )
    assert.deepEqual([await text(metrics.stream), metrics.truncated], ['run,name\na,b\n', 'the newest 10000 runs'])
    assert.deepEqual(asked, [
      '/runs/export?flow=f&since=2026-01-01T00%3A00%3A00%2B00%3A00&metrics=f.a.x%2Cf.b.y',
      '/runs/metrics/export?group=g&name=f.a.x&stride=5&format=jsonl&raw=true',
    ])
  })

  test('that breaks off fails, so that half is not taken for all', async t => {
    const client = await clientOf(t, (_, response) => {
      response.write('run,name\n')
      setImmediate(() => response.destroy())
    })
    const { stream } = await client.runs.export()
    await assert.rejects(text(stream), /aborted/)
  })

  test('is not cut off while its reader lets it wait', async t => {
    const client = await clientOf(t, (_, response) => response.end(Buffer.alloc(16 * MIB)), { read_timeout_ms: 100 })
    const { stream } = await client.runs.export()
    await setTimeout(350)
    let bytes = 0
    for await (const part of stream) bytes += part.length
    assert.equal(bytes, 16 * MIB)
  })

  const lacking: Record<string, Scripted> = {
    'GET /runs/export': { refuse: 'run_not_found' },
    'GET /runs/metrics/export': { refuse: 'not_found' },
  }

  test('that the engine lacks is told with the versions of both', async t => {
    const { url } = await ApiDouble.start(t, {
      ...lacking,
      'GET /observability/summary': { answer: { version: '0.1.2' } },
    })
    const client = new Client({ url })
    const told = new RegExp(`version 0\\.1\\.2, and this client is ${VERSION.replaceAll('.', '\\.')}\\.`)
    await assert.rejects(client.runs.export(), (error: ClientError) => error.status === 404 && told.test(error.message))
    await assert.rejects(client.metrics.export(), told)
  })

  test('that an engine lacks which tells no version is told as an older one', async t => {
    const { url } = await ApiDouble.start(t, { ...lacking, 'GET /observability/summary': { answer: { status: 'ok' } } })
    await assert.rejects(new Client({ url }).runs.export(), /is older than this client .*tells no version/)
  })

  test('of what is not there is told as that', async t => {
    const { url } = await ApiDouble.start(t, { 'GET /runs/metrics/export': { refuse: 'flow_not_found' } })
    await assert.rejects(new Client({ url }).metrics.export(), (error: ClientError) => error.code === 'flow_not_found')
  })
})

describe('an artifact', () => {
  const reference = { digest: `sha256:${'ab'.repeat(32)}`, media_type: 'image/png' }
  const source = (parts: number) =>
    async function* () {
      for (let part = 0; part < parts; part++) yield Buffer.alloc(MIB, part)
    }

  test('is put from bytes or from a source, with its media type and length', async t => {
    const seen: unknown[] = []
    const client = await clientOf(t, async (request, response) => {
      const { 'content-type': type, 'content-length': length } = request.headers
      seen.push([request.method, request.url, type, length, (await text(request)).length])
      response.end(JSON.stringify(reference))
    })
    assert.deepEqual(await client.artifacts.put(Buffer.from('abc'), { media_type: 'image/png' }), reference)
    await client.artifacts.put(source(3), { length: 3 * MIB })
    await client.artifacts.put(source(2))
    assert.deepEqual(seen, [
      ['PUT', '/artifacts', 'image/png', '3', 3],
      ['PUT', '/artifacts', 'application/octet-stream', String(3 * MIB), 3 * MIB],
      ['PUT', '/artifacts', 'application/octet-stream', undefined, 2 * MIB],
    ])
  })

  test('is put with its meta in plain ASCII, whatever is in it', async t => {
    const meta = { naïve: '\u{1f600} "quoted"\n', list: [1, null] }
    let seen = ''
    const client = await clientOf(t, async (request, response) => {
      seen = String(request.headers['x-artifact-meta'])
      await text(request)
      response.end(JSON.stringify(reference))
    })
    await client.artifacts.put(Buffer.from('abc'), { meta })
    assert.match(seen, /^[ -~]+$/)
    assert.deepEqual(JSON.parse(seen), meta)
  })

  test('whose verification breaks off is told as lost, after the lines that came', async t => {
    const line = { done: false, verified: 3, bytes: 9, damaged: [] }
    const client = await clientOf(t, (_request, response) => {
      response.write(`${JSON.stringify(line)}\n{"done":fal`)
      void setTimeout(20).then(() => response.destroy())
    })
    const lines = client.artifacts.verify()
    assert.deepEqual((await lines.next()).value, line)
    await assert.rejects(lines.next(), (error: ClientError) => error.kind === 'lost')
  })

  test('is put again from its beginning when the connection breaks off', async t => {
    let tries = 0
    const client = await clientOf(t, async (request, response) => {
      if (++tries === 1) {
        request.once('data', () => request.destroy())
        return
      }
      const { length } = await text(request)
      response.end(JSON.stringify({ ...reference, meta: { length } }))
    })
    assert.deepEqual(await client.artifacts.put(source(4)), { ...reference, meta: { length: 4 * MIB } })
    assert.equal(tries, 2)
  })

  test('that is too large is refused while it is sent', async t => {
    const client = await clientOf(t, (request, response) => {
      refuse(response, 'too_large')
      request.resume()
    })
    await assert.rejects(client.artifacts.put(source(64)), (error: ClientError) => error.code === 'too_large')
  })

  test('whose source fails is not put, and the source tells why', async t => {
    let tries = 0
    const client = await clientOf(t, request => {
      tries++
      request.on('error', () => {}).resume()
    })
    const failing = async function* () {
      yield Buffer.alloc(10)
      throw new RangeError('no such file')
    }
    await assert.rejects(client.artifacts.put(failing), /^RangeError: no such file$/)
    assert.ok(tries <= 1)
  })

  test('is read whole or in part, as the media type that the reader wants', async t => {
    const asked: unknown[] = []
    const client = await clientOf(t, (request, response) => {
      asked.push([request.url, request.headers.range])
      response.writeHead(request.headers.range === undefined ? 200 : 206, {
        'content-type': 'image/png',
        'content-length': 3,
      })
      response.end('abc')
    })
    const whole = await client.artifacts.get(reference.digest, { media_type: 'image/png' })
    assert.deepEqual([whole.length, whole.media_type, await text(whole.stream)], [3, 'image/png', 'abc'])
    await text((await client.artifacts.get(reference.digest, { from: 2, to: 4 })).stream)
    await text((await client.artifacts.get(reference.digest, { from: 5 })).stream)
    const path = `/artifacts/${encodeURIComponent(reference.digest)}`
    assert.deepEqual(asked, [
      [`${path}?media_type=image%2Fpng`, undefined],
      [path, 'bytes=2-4'],
      [path, 'bytes=5-'],
    ])
  })
})
