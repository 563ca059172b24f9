import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { chmodSync, truncateSync } from 'node:fs'
import { dirname } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { Problem } from '../../../protocol/errors.ts'
import { limits } from '../../../protocol/limits.ts'
import type { ArtifactReference } from '../../../protocol/values/dtype.ts'
import { allRoutes } from '../../../server/routes/all-routes.ts'
import { artifactsOf } from '../../kit/artifacts.ts'
import { eventually } from '../../kit/live-engine.ts'
import { RawClient } from '../../kit/raw-client.ts'
import { type ServedFront, serveFront } from '../../kit/served-front.ts'
import { digestOfBytes, StoredFiles } from '../../kit/stored-artifacts.ts'

const BOUND = 24_000_000
let served: ServedFront
let files: StoredFiles
const artifacts = artifactsOf({ max_bytes: BOUND })

before(async () => {
  served = await serveFront({
    routes: services =>
      allRoutes({ ...services, engine: Object.create(services.engine, { artifacts: { value: artifacts } }) }),
  })
  files = new StoredFiles(dirname(artifacts.place.folder))
})
after(async () => {
  served.close()
  await artifacts.close()
})

const ask = (path: string, { headers = {}, ...more }: RequestInit & { headers?: Record<string, string> } = {}) =>
  fetch(served.url + path, { ...more, headers: { authorization: `Bearer ${served.user}`, ...headers } })
const put = (body: Buffer | string, headers: Record<string, string> = {}) =>
  ask('/artifacts', { method: 'PUT', body, headers })
const stored = async (body: Buffer | string): Promise<string> =>
  ((await (await put(body)).json()) as ArtifactReference).digest
const problem = async (answer: Response): Promise<Problem> => (await answer.json()) as Problem
const codeOf = async (answer: Response): Promise<[number, string]> => [answer.status, (await problem(answer)).code]
const raw = (headers: string, body = ''): string =>
  `PUT /artifacts HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${served.user}\r\n${headers}\r\n${body}`

describe('PUT /artifacts', () => {
  test('answers the reference: 201, and 200 when the same bytes were there', async () => {
    const bytes = randomBytes(1_000_000)
    const meta = { camera: 'gate', at: [1, { x: null }], umlaut: 'ü' }
    const ascii = JSON.stringify(meta).replace('ü', '\\u00fc')
    const first = await put(bytes, { 'content-type': 'image/png', 'x-artifact-meta': ascii })
    assert.equal(first.status, 201)
    assert.deepEqual(await first.json(), {
      digest: digestOfBytes(bytes),
      media_type: 'image/png',
      size: bytes.length,
      meta,
    })
    const again = await put(bytes, { 'content-type': 'text/plain; charset=utf-8' })
    assert.equal(again.status, 200)
    assert.deepEqual(await again.json(), {
      digest: digestOfBytes(bytes),
      media_type: 'text/plain; charset=utf-8',
      size: bytes.length,
    })
  })

  test('takes no bytes at all, and bytes without a media type', async () => {
    const client = await RawClient.open(served.port)
    const { text } = await client.write(raw('Content-Length: 0\r\n')).answered()
    assert.match(text, /"media_type":"application\/octet-stream","size":0\}/)
    client.end()
  })

  test('refuses what is no media type and no meta, before it takes a byte', async () => {
    for (const type of [
      'png',
      'image/',
      '/png',
      'image/png; x',
      'image/p ng',
      'a/b; c="\\"',
      `image/${'x'.repeat(130)}`,
    ]) {
      assert.deepEqual(await codeOf(await put('x', { 'content-type': type })), [422, 'bad_media_type'], type)
    }
    const deep = '['.repeat(100) + ']'.repeat(100)
    for (const meta of ['', '{', 'x', '[]', '"a"', 'null', '1', `{"a":${deep}}`]) {
      const answer = await put('x', { 'x-artifact-meta': meta })
      const refused = await problem(answer)
      assert.deepEqual([answer.status, refused.errors[0]?.loc], [422, 'headers.x-artifact-meta'], meta)
    }
    assert.equal(files.has(digestOfBytes('x')), false)
  })

  test('holds the bound against Content-Length before the first byte, and against the stream', async () => {
    await stored(Buffer.alloc(BOUND))
    const said = await RawClient.open(served.port)
    assert.deepEqual((await said.write(raw(`Content-Length: ${BOUND + 1}\r\n`)).answered()).statuses, [413])
    const found = await RawClient.open(served.port)
    found.write(raw('Transfer-Encoding: chunked\r\n'))
    const chunk = Buffer.concat([Buffer.from('f4240\r\n'), Buffer.alloc(1_000_000), Buffer.from('\r\n')])
    for (let sent = 0; sent <= BOUND; sent += 1_000_000) found.write(chunk)
    const reply = await found.closed()
    assert.deepEqual(reply.statuses, [413])
    assert.match(reply.text, /too_large/)
    await eventually(() => files.leftOver().length === 0, 'nothing is left of it')
    said.end()
  })

  test('that breaks off leaves nothing, wherever it does', async () => {
    const before = files.all()
    for (const sent of [0, 1, 100_000, 2_000_000]) {
      const client = await RawClient.open(served.port)
      client.write(raw(`Content-Length: ${2_000_001}\r\n`)).write(Buffer.alloc(sent, 7))
      await eventually(() => files.leftOver().length === 1, 'it has begun')
      if (sent % 2 === 0) client.end()
      else client.reset()
      await eventually(() => files.leftOver().length === 0, `nothing is left after ${sent} bytes`)
    }
    assert.deepEqual(files.all(), before)
    assert.deepEqual(served.log.errors, [])
  })

  test('of a Content-Length that lies stores what it says or nothing, and runs nothing of the rest', async () => {
    const few = await RawClient.open(served.port)
    few.write(raw('Content-Length: 9\r\n', 'too few'))
    await eventually(() => files.leftOver().length === 1, 'it has begun')
    few.end()
    const many = await RawClient.open(served.port)
    const behind = raw('Content-Length: 6\r\n', 'behind')
    await many.write(raw('Content-Length: 3\r\n', `too many${behind}`)).closed()
    await eventually(() => files.leftOver().length === 0, 'nothing is left')
    for (const text of ['too few', 'too many', 'behind']) assert.equal(files.has(digestOfBytes(text)), false, text)
  })

  test('of the same bytes by two at once is one file', async () => {
    const bytes = randomBytes(700_001)
    const both = [await RawClient.open(served.port), await RawClient.open(served.port)]
    for (const client of both) client.write(raw(`Content-Length: ${bytes.length}\r\n`))
    for (let at = 0; at < bytes.length; at += 50_000)
      for (const client of both) client.write(bytes.subarray(at, at + 50_000))
    for (const client of both) assert.match((await client.answered()).text, new RegExp(digestOfBytes(bytes)))
    assert.equal(files.all().filter(path => path.endsWith(digestOfBytes(bytes).slice(7))).length, 1)
    for (const client of both) client.end()
  })
})

describe('GET /artifacts/{digest}', () => {
  const bytes = Buffer.from(Array.from({ length: 100 }, (_, n) => n))
  let path = ''
  before(async () => {
    path = `/artifacts/${await stored(bytes)}`
  })
  const got = async (headers: Record<string, string> = {}, query = '') => {
    const answer = await ask(path + query, { headers })
    return { answer, bytes: Buffer.from(await answer.arrayBuffer()) }
  }

  test('serves all bytes with their digest as ETag, to be kept for ever and sniffed by nobody', async () => {
    const { answer, bytes: whole } = await got()
    assert.deepEqual([answer.status, whole], [200, bytes])
    const of = (name: string) => answer.headers.get(name)
    assert.equal(of('etag'), `"${digestOfBytes(bytes)}"`)
    assert.equal(of('cache-control'), 'private, max-age=31536000, immutable')
    assert.equal(of('x-content-type-options'), 'nosniff')
    assert.match(of('content-security-policy')!, /default-src 'none'.*sandbox/)
    assert.deepEqual([of('content-length'), of('accept-ranges')], ['100', 'bytes'])
  })

  test('serves them under the media type of the caller: media and plain text are shown, all else is saved', async () => {
    const shown = ['image/png', 'image/jpeg', 'audio/ogg', 'video/mp4', 'text/plain', 'text/plain; charset=utf-8']
    const saved = [
      'image/svg+xml',
      'IMAGE/SVG+XML',
      'text/html',
      'text/plainly',
      'application/pdf',
      'application/xhtml+xml',
      'text/css',
    ]
    for (const type of [...shown, ...saved]) {
      const { answer } = await got({}, `?media_type=${encodeURIComponent(type)}`)
      assert.equal(answer.headers.get('content-type'), type)
      const disposition = answer.headers.get('content-disposition')!
      assert.equal(
        disposition,
        shown.includes(type) ? 'inline' : `attachment; filename="${digestOfBytes(bytes).slice(7)}"`,
        type,
      )
      assert.match(answer.headers.get('content-security-policy')!, /sandbox/)
    }
    assert.equal((await got()).answer.headers.get('content-type'), 'application/octet-stream')
  })

  test('refuses an invalid media type, or one that carries a header of its own', async () => {
    for (const type of ['', 'x', 'text/html\r\nSet-Cookie: a=b', 'text/html, text/plain', 'text/html;x="a"b"']) {
      const answer = await ask(`${path}?media_type=${encodeURIComponent(type)}`)
      assert.deepEqual(await codeOf(answer), [422, 'bad_media_type'], type)
    }
  })

  test('finds nothing under what is no digest, or not stored', async () => {
    const hex = 'a'.repeat(64)
    const names = [
      `sha256:${hex}`,
      `sha256:${hex.toUpperCase()}`,
      hex,
      `sha256:${hex}a`,
      'sha256:',
      `md5:${hex}`,
      '%2e%2e%2fengine.db',
    ]
    for (const name of [...names, `sha256:${'.'.repeat(64)}`, `sha256%3A${hex}`, `sha256:..%2f..%2f${hex.slice(10)}`]) {
      assert.deepEqual(await codeOf(await ask(`/artifacts/${name}`)), [404, 'artifact_not_found'], name)
    }
    assert.equal((await ask(path.replace(':', '%3A'))).status, 200)
  })

  test('answers a range with its bytes and their place', async () => {
    const table: [string, number, string][] = [
      ['bytes=0-9', 0, 'bytes 0-9/100'],
      ['bytes=95-', 95, 'bytes 95-99/100'],
      ['bytes=-3', 97, 'bytes 97-99/100'],
      ['bytes=50-50', 50, 'bytes 50-50/100'],
      ['bytes=90-500', 90, 'bytes 90-99/100'],
      ['bytes=0-4,5-9', 0, 'bytes 0-9/100'],
      ['bytes=10-19,700-800', 10, 'bytes 10-19/100'],
    ]
    for (const [range, from, place] of table) {
      const { answer, bytes: part } = await got({ range })
      assert.deepEqual([answer.status, answer.headers.get('content-range')], [206, place], range)
      assert.deepEqual([...part], [...bytes.subarray(from, from + part.length)])
      assert.equal(answer.headers.get('content-length'), String(part.length))
    }
  })

  test('answers several ranges in parts, each with its place and the media type', async () => {
    const { answer, bytes: body } = await got({ range: 'bytes=80-89,0-9,-2' }, '?media_type=image/png')
    assert.equal(answer.status, 206)
    const boundary = /^multipart\/byteranges; boundary=(\S+)$/.exec(answer.headers.get('content-type')!)![1]!
    assert.equal(answer.headers.get('content-range'), null)
    const parts = body.toString('latin1').split(`--${boundary}`)
    assert.deepEqual([parts[0], parts.at(-1)], ['', '--\r\n'])
    const read = parts.slice(1, -1).map(part => {
      const [, head, content] = /^\r\n([\s\S]*?)\r\n\r\n([\s\S]*)\r\n$/.exec(part)!
      return { head: head!.split('\r\n').sort(), content: Buffer.from(content!, 'latin1') }
    })
    const part = (from: number, to: number) => ({
      head: [`content-range: bytes ${from}-${to}/100`, 'content-type: image/png'],
      content: Buffer.from(bytes.subarray(from, to + 1)),
    })
    assert.deepEqual(read, [part(80, 89), part(0, 9), part(98, 99)])
    assert.equal(answer.headers.get('content-length'), String(body.length))
  })

  test('refuses ranges that lie outside, and more of them than it gives, with the length', async () => {
    const many = `bytes=${Array.from({ length: limits.ARTIFACT_RANGES + 1 }, (_, n) => `${n * 3}-${n * 3}`)}`
    for (const range of ['bytes=100-', 'bytes=500-600', 'bytes=-0', many]) {
      const answer = await ask(path, { headers: { range } })
      assert.equal(answer.headers.get('content-range'), 'bytes */100', range)
      assert.deepEqual(await codeOf(answer), [416, 'bad_range'])
    }
  })

  test('gives the whole when the range is none, or If-Range names something else', async () => {
    const etag = `"${digestOfBytes(bytes)}"`
    const range = 'bytes=0-9'
    for (const headers of [
      { range: 'bytes=9-0' },
      { range: 'lines=0-9' },
      { range, 'if-range': '"sha256:other"' },
      { range, 'if-range': `W/${etag}` },
      { range, 'if-range': 'Sat, 01 Jan 2000 00:00:00 GMT' },
    ]) {
      assert.equal((await got(headers as Record<string, string>)).answer.status, 200, JSON.stringify(headers))
    }
    assert.equal((await got({ range, 'if-range': etag })).answer.status, 206)
  })

  test('is 304 to whoever has the bytes, before any range is looked at', async () => {
    const etag = `"${digestOfBytes(bytes)}"`
    for (const have of [etag, `W/${etag}`, `"a", ${etag}`, '*']) {
      const { answer, bytes: none } = await got({ 'if-none-match': have, range: 'bytes=500-' })
      assert.deepEqual([answer.status, none.length, answer.headers.get('etag')], [304, 0, etag], have)
    }
    assert.equal((await got({ 'if-none-match': '"a", "b"' })).answer.status, 200)
    assert.equal((await got({ 'if-none-match': digestOfBytes(bytes) })).answer.status, 200)
  })

  test('to HEAD tells the length of the whole, whatever range is asked for', async () => {
    const answer = await ask(path, { method: 'HEAD', headers: { range: 'bytes=0-9' } })
    assert.deepEqual([answer.status, answer.headers.get('content-length'), await answer.text()], [200, '100', ''])
    assert.equal((await ask(`/artifacts/sha256:${'0'.repeat(64)}`, { method: 'HEAD' })).status, 404)
  })

  test('of no bytes is an empty answer, and every range of it lies outside', async () => {
    const empty = `/artifacts/${await stored('')}`
    const whole = await ask(empty)
    assert.deepEqual([whole.status, await whole.text()], [200, ''])
    assert.equal((await ask(empty, { headers: { range: 'bytes=0-' } })).status, 416)
  })

  test('of a file that became shorter while it was sent ends its connection', async () => {
    const large = randomBytes(BOUND)
    const digest = await stored(large)
    const client = await RawClient.open(served.port)
    client.write(`GET /artifacts/${digest} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${served.user}\r\n\r\n`)
    await client.until(({ text }) => text.length > 0)
    client.pause()
    chmodSync(files.path(digest), 0o600)
    truncateSync(files.path(digest), 10)
    const reply = await client.resume().closed()
    assert.ok(reply.text.length < large.length)
    assert.match(served.log.errors.join(), /answer_broken_off ServiceError: The file ends at byte/)
  })
})

describe('the whole store', () => {
  test('is listed in pages to users', async () => {
    const { items, count } = (await (await ask('/artifacts?limit=2')).json()) as { items: unknown[]; count: number }
    assert.equal(items.length, 2)
    assert.equal(count, files.all().length)
    assert.equal((await ask('/artifacts?limit=0')).status, 422)
    assert.equal((await ask('/artifacts?limit=-1')).status, 422)
  })

  test('is verified and swept for superusers, and tells what it found', async () => {
    for (const path of ['/artifacts/verify', '/artifacts/sweep'])
      assert.equal((await ask(path, { method: 'POST' })).status, 403)
    const headers = { authorization: `Bearer ${served.superuser}` }
    const lines = (await (await ask('/artifacts/verify', { method: 'POST', headers })).text()).trimEnd().split('\n')
    const last = JSON.parse(lines.at(-1)!)
    assert.deepEqual([last.done, last.verified], [true, files.all().length])
    const damaged = lines.flatMap(line => JSON.parse(line).damaged)
    assert.deepEqual(
      damaged.map(({ size }) => size),
      [10],
    )
    const swept = (await (await ask('/artifacts/sweep', { method: 'POST', headers })).json()) as Record<string, unknown>
    assert.deepEqual([swept['seen'], swept['spared'], swept['removed']], [files.all().length, files.all().length, 0])
  })
})
