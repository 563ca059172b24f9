import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { after, before, beforeEach, describe, test } from 'node:test'
import { ServiceError } from '../../../protocol/errors.ts'
import { limits } from '../../../protocol/limits.ts'
import { type Answer, ok, type Route, type RouteRequest, route } from '../../../server/http/route.ts'
import { eventually } from '../../kit/live-engine.ts'
import { RawClient, saying } from '../../kit/raw-client.ts'
import { type ServedFront, serveFront } from '../../kit/served-front.ts'

const HOST = 'Host: localhost\r\n'
const MIB = 1024 * 1024
const BOUND = 24 * MIB
const digest = (bytes: Buffer | string): string =>
  createHash('sha256')
    .update(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
    .digest('hex')
const put = (length: number | null, more = ''): string =>
  `PUT /streams/upload HTTP/1.1\r\n${HOST}${more}${length === null ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`}\r\n\r\n`
const get = (path = 'down', method = 'GET'): string => `${method} /streams/${path} HTTP/1.1\r\n${HOST}\r\n`
const chunked = (bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])
const bodyOf = (text: string): string => text.slice(text.indexOf('\r\n\r\n') + 4)

/** What a test lets the handlers do, and what they saw. */
class Streams {
  /** Reads the upload; the default is to its end. */
  take: (request: RouteRequest) => Answer | Promise<Answer> = read
  give: (request: RouteRequest) => Answer | Promise<Answer> = () => ok(null)
  entered = 0
  readonly failures: string[] = []

  readonly routes: Route[] = [
    ...(['upload', 'signed'] as const).map(name =>
      route({
        method: 'PUT', path: `/streams/${name}`, scope: name === 'signed' ? 'read' : 'open', tag: '', summary: '', upload: true,
        body_limit: BOUND, answers: { 200: null },
        handle: async request => {
          this.entered++
          try {
            return await this.take(request as unknown as RouteRequest)
          } catch (error) {
            this.failures.push((error as ServiceError).code)
            throw error
          }
        },
      }),
    ),
    route({
      method: 'GET', path: '/streams/down', scope: 'open', tag: '', summary: '', headers: ['x-first', 'x-second'], answers: { 200: null },
      handle: request => this.give(request as unknown as RouteRequest),
    }),
  ] // biome-ignore format: a table
}

async function read({ upload }: RouteRequest): Promise<Answer> {
  const hash = createHash('sha256')
  let pieces = 0
  let bytes = 0
  for await (const piece of upload!) {
    assert.ok(piece.length > 0 && piece.length <= limits.UPLOAD_PIECE_BYTES)
    pieces++
    bytes += piece.length
    hash.update(piece)
  }
  return ok({ digest: hash.digest('hex'), bytes, pieces, length: upload!.length })
}

/** Chunks of bytes from one memory that is written over for each, as a file reader's is; it notes how it is treated. */
class Source implements AsyncIterableIterator<Uint8Array> {
  readonly #bytes: Buffer
  readonly #size: number
  readonly #memory: Buffer
  readonly #fails_at: number
  #at = 0
  asked = 0
  closed = 0

  constructor(bytes: Buffer, size: number, fails_at = Number.POSITIVE_INFINITY) {
    this.#bytes = bytes
    this.#size = size
    this.#memory = Buffer.alloc(size)
    this.#fails_at = fails_at
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.asked++
    if (this.asked % 3 === 0) await new Promise(resolve => setImmediate(resolve))
    if (this.#at >= this.#fails_at) throw new ServiceError('artifact_damaged')
    const bytes = this.#bytes.copy(this.#memory, 0, this.#at, this.#at + this.#size)
    this.#at += bytes
    return bytes === 0 ? { done: true, value: undefined } : { done: false, value: this.#memory.subarray(0, bytes) }
  }

  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.closed++
    return { done: true, value: undefined }
  }
}

let served: ServedFront
const streams = new Streams()
before(async () => {
  served = await serveFront({ routes: () => streams.routes })
})
after(() => served.close())
beforeEach(() => {
  streams.take = read
  streams.failures.length = 0
})
const streaming = (source: Source, length: number | null): void => {
  streams.give = () => ({ status: 200, stream: { type: 'application/octet-stream', length, chunks: source } })
}
const brokenOff = (): string[] => served.log.errors.filter(line => line.startsWith('answer_broken_off'))

describe('an upload', () => {
  test('arrives whole and in order, whatever the pieces that it came in', async () => {
    const bytes = randomBytes(3 * MIB + 7)
    for (const step of [bytes.length, 100_001, 4096]) {
      const client = await RawClient.open(served.port)
      client.write(put(bytes.length))
      for (let at = 0; at < bytes.length; at += step) client.write(bytes.subarray(at, at + step))
      const seen = JSON.parse(bodyOf((await client.answered()).text))
      assert.deepEqual([seen.digest, seen.bytes, seen.length], [digest(bytes), bytes.length, bytes.length])
      client.end()
    }
  })

  test('that does not say its length arrives whole, too', async () => {
    const bytes = randomBytes(700_000)
    const parts = [bytes.subarray(0, 1), bytes.subarray(1, 300_000), bytes.subarray(300_000)]
    const client = await RawClient.open(served.port)
    client.write(Buffer.concat([Buffer.from(put(null)), ...parts.map(chunked), Buffer.from('0\r\n\r\n')]))
    const seen = JSON.parse(bodyOf((await client.answered()).text))
    assert.deepEqual([seen.digest, seen.length], [digest(bytes), null])
    client.end()
  })

  test('of no bytes is over at once, with a length of none or without any', async () => {
    for (const request of [put(0), `PUT /streams/upload HTTP/1.1\r\n${HOST}\r\n`, `${put(null)}0\r\n\r\n`]) {
      const { text, statuses } = await saying(served.port, request)
      assert.deepEqual([statuses, JSON.parse(bodyOf(text)).pieces], [[200], 0], request)
    }
  })

  test('that nobody reads stays with its sender, and is read to its end once somebody does', async () => {
    const bytes = randomBytes(BOUND)
    const gate = Promise.withResolvers<void>()
    streams.take = async request => {
      await gate.promise
      return read(request)
    }
    const client = await RawClient.open(served.port)
    client.write(put(bytes.length)).write(bytes)
    await standsStill(() => client.unsent)
    assert.ok(client.unsent > 4 * MIB, `${client.unsent} bytes were left with the sender`)
    gate.resolve()
    assert.equal(JSON.parse(bodyOf((await client.answered()).text)).digest, digest(bytes))
    client.end()
  })

  test('that says it is too large is refused before a byte of it, and nobody is asked to read it', async () => {
    const entered = streams.entered
    const client = await RawClient.open(served.port)
    const reply = await client.write(put(BOUND + 1)).closed()
    assert.deepEqual(reply.statuses, [413])
    assert.match(reply.text, new RegExp(`is larger than the ${BOUND} bytes`))
    assert.equal(streams.entered, entered)
  })

  test('that turns out too large is refused on the way, its connection ends, and its reader hears of it', async () => {
    const client = await RawClient.open(served.port)
    client.write(put(null))
    const part = chunked(Buffer.alloc(MIB))
    for (let sent = 0; sent <= BOUND; sent += MIB) client.write(part)
    assert.deepEqual((await client.closed()).statuses, [413])
    await eventually(() => streams.failures.length === 1, 'the reader heard')
    assert.deepEqual(streams.failures, ['too_large'])
  })

  test('that breaks off is told to its reader, also when it waits for the socket', async () => {
    for (const sent of [0, 10, 9 * MIB]) {
      const entered = streams.entered
      streams.failures.length = 0
      const client = await RawClient.open(served.port)
      client.write(put(BOUND)).write(Buffer.alloc(sent))
      await eventually(() => streams.entered > entered, 'the handler runs')
      client.reset()
      await eventually(() => streams.failures.length === 1, `the reader heard of an end after ${sent} bytes`)
      assert.deepEqual(streams.failures, ['upload_incomplete'])
    }
    assert.deepEqual(served.log.errors, [])
  })

  test('that is answered while its socket is held back leaves the connection in step', async () => {
    const gate = Promise.withResolvers<void>()
    streams.take = async () => {
      await gate.promise
      return ok('enough')
    }
    const client = await RawClient.open(served.port)
    client.write(put(BOUND)).write(Buffer.alloc(BOUND))
    await standsStill(() => client.unsent)
    assert.ok(client.unsent > 0)
    gate.resolve()
    assert.deepEqual((await client.answered()).statuses, [200])
    streams.take = read
    client.write(put(3)).write('abc')
    const reply = await client.answered(2)
    assert.deepEqual(reply.statuses, [200, 200])
    assert.match(reply.text, new RegExp(digest('abc')))
    client.end()
  })

  test('whose reader gives up is answered, and what is left of it is dropped', async () => {
    streams.take = async ({ upload }) => {
      for await (const piece of upload!) return ok({ first: piece.length > 0 })
      return ok(null)
    }
    const client = await RawClient.open(served.port)
    client.write(put(6 * MIB)).write(Buffer.alloc(6 * MIB))
    assert.match((await client.answered()).text, /"first":true/)
    streams.take = read
    assert.deepEqual((await client.write(put(1)).write('x').answered(2)).statuses, [200, 200])
    client.end()
  })

  test('waits for its caller to be let in, and goes no further without that', async () => {
    const entered = streams.entered
    const fresh = await served.mint('ada')
    const bytes = randomBytes(2 * MIB)
    const answer = await fetch(`${served.url}/streams/signed`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${fresh}` },
      body: bytes,
    })
    assert.equal(((await answer.json()) as { body: { digest: string } } & { digest: string }).digest, digest(bytes))
    const refused = await fetch(`${served.url}/streams/signed`, { method: 'PUT', body: 'abc' })
    assert.equal(refused.status, 401)
    assert.equal(streams.entered, entered + 1)
  })

  test('one too many at once is refused with a time to come back, until another has ended', async () => {
    const clients: RawClient[] = []
    for (let open = 0; open < limits.UPLOADS_AT_ONCE; open++) {
      clients.push((await RawClient.open(served.port)).write(put(5)))
    }
    const entered = streams.entered
    await eventually(async () => {
      const { statuses, text } = await saying(served.port, put(0))
      return statuses[0] === 503 && /retry-after: 5\r\n/i.test(text)
    }, 'one too many is refused')
    assert.ok(streams.entered >= entered)
    for (const client of clients) client.write('12345')
    for (const client of clients) assert.deepEqual((await client.answered()).statuses, [200])
    assert.deepEqual((await saying(served.port, put(0))).statuses, [200])
    for (const client of clients) client.end()
  })
})

describe('a streamed answer', () => {
  const bytes = randomBytes(5 * MIB + 3)

  test('arrives whole, with a length when it is known and chunked when not', async () => {
    for (const length of [bytes.length, null]) {
      const source = new Source(bytes, 100_000)
      streaming(source, length)
      const answer = await fetch(`${served.url}/streams/down`)
      assert.equal(answer.headers.get('content-length'), length === null ? null : String(length))
      assert.equal(answer.headers.get('x-content-type-options'), 'nosniff')
      assert.equal(digest(Buffer.from(await answer.arrayBuffer())), digest(bytes))
      await eventually(() => source.closed === 1, 'the source is closed')
    }
  })

  test('of no bytes is an empty answer', async () => {
    for (const length of [0, null]) {
      const source = new Source(Buffer.alloc(0), 10)
      streaming(source, length)
      const { statuses, text } = await saying(served.port, get())
      assert.deepEqual([statuses, bodyOf(text).replace('0\r\n\r\n', '')], [[200], ''])
      await eventually(() => source.closed === 1, 'the source is closed')
    }
  })

  test('waits for a slow reader with one chunk, and goes on where it was', async () => {
    const large = randomBytes(24 * MIB)
    for (const length of [large.length, null]) {
      const source = new Source(large, 64 * 1024)
      streaming(source, length)
      const client = await RawClient.open(served.port)
      client.pause().write(get())
      await eventually(() => source.asked > 0, 'the first is asked for')
      await standsStill(() => source.asked)
      assert.ok(source.asked < (large.length / 65536) * 0.75, `${source.asked} chunks were asked for`)
      client.resume()
      await eventually(() => source.closed === 1, 'the rest was taken')
      const reply = await client.until(
        ({ text }) => text.length >= large.length && (length !== null || text.endsWith('0\r\n\r\n')),
      )
      const body = bodyOf(reply.text)
      assert.equal(digest(length === null ? unchunked(body) : body), digest(large))
      client.end()
    }
  })

  test('that nobody wants any more is closed at its source', async () => {
    for (const length of [bytes.length, null]) {
      const source = new Source(bytes, 1000)
      streaming(source, length)
      const client = await RawClient.open(served.port)
      client.write(get())
      await client.until(({ text }) => text.length > 0)
      client.reset()
      await eventually(() => source.closed === 1, 'the source is closed')
    }
    assert.deepEqual(brokenOff(), [])
  })

  test('whose source fails half-way, or gives more or less than it said, ends its connection and is no whole answer', async () => {
    const cases: [string, Source, number | null][] = [
      ['fails, of known length', new Source(bytes, 100_000, 1_000_000), bytes.length],
      ['fails, of unknown length', new Source(bytes, 100_000, 1_000_000), null],
      ['gives less', new Source(bytes, 100_000), bytes.length + 1],
      ['gives more', new Source(bytes, 100_000), bytes.length - 1],
    ]
    for (const [what, source, length] of cases) {
      const lines = brokenOff().length
      streaming(source, length)
      const reply = await (await RawClient.open(served.port)).write(get()).closed()
      assert.deepEqual(reply.statuses, [200], what)
      if (length === null) assert.ok(!reply.text.endsWith('0\r\n\r\n'), what)
      else assert.ok(bodyOf(reply.text).length < length, what)
      assert.equal(brokenOff().length, lines + 1, what)
      assert.equal(source.closed, 1)
    }
  })

  test('whose source fails before its first chunk is a refusal like any other', async () => {
    const source = new Source(bytes, 1000, 0)
    streaming(source, bytes.length)
    const answer = await fetch(`${served.url}/streams/down`)
    assert.deepEqual([answer.status, ((await answer.json()) as { code: string }).code], [500, 'artifact_damaged'])
    assert.equal(source.closed, 1)
  })

  test('to HEAD has no body, and its source is asked for nothing and closed', async () => {
    for (const length of [bytes.length, null]) {
      const source = new Source(bytes, 1000)
      streaming(source, length)
      const client = await RawClient.open(served.port)
      const { text } = await client.write(get('down', 'HEAD')).answered()
      assert.ok(text.endsWith('\r\n\r\n'))
      assert.equal(/content-length: (\d+)/i.exec(text)?.[1], length === null ? undefined : String(length))
      assert.deepEqual([source.asked, source.closed], [0, 1])
      const next = new Source(Buffer.from('abc'), 10)
      streaming(next, 3)
      assert.ok((await client.write(get()).until(reply => reply.text.endsWith('abc'))).text.endsWith('\r\n\r\nabc'))
      client.end()
    }
  })

  test('leaves its connection to the next request', async () => {
    const client = await RawClient.open(served.port)
    const some = bytes.subarray(0, 400_000)
    for (let times = 1; times <= 3; times++) {
      streaming(new Source(some, 100_000), some.length)
      await client.write(get()).until(({ text }) => text.length >= times * some.length)
    }
    assert.deepEqual(client.reply.statuses, [200, 200, 200])
    client.end()
  })
})

describe('header fields that a route asks for', () => {
  test('reach it, the others do not, and one that stands there twice is refused', async () => {
    streams.give = ({ headers, content_type }) => ok({ headers, content_type })
    const asked = `GET /streams/down HTTP/1.1\r\n${HOST}X-First: 1\r\nX-Third: 3\r\n`
    assert.deepEqual(JSON.parse(bodyOf((await saying(served.port, `${asked}\r\n`)).text)), {
      headers: { 'x-first': '1' },
      content_type: '',
    })
    assert.deepEqual((await saying(served.port, `${asked}x-first: 2\r\n\r\n`)).statuses, [400])
  })
})

/** Resolves when the number has not moved for a while. */
async function standsStill(read: () => number): Promise<void> {
  let before = Number.NaN
  await eventually(async () => {
    const same = read() === before
    before = read()
    await new Promise(resolve => setTimeout(resolve, 40))
    return same
  }, 'nothing moves any more')
}

/** The bytes of a chunked body. */
function unchunked(text: string): string {
  const parts: string[] = []
  for (let at = 0; ; ) {
    const end = text.indexOf('\r\n', at)
    const length = Number.parseInt(text.slice(at, end), 16)
    if (length === 0) return parts.join('')
    parts.push(text.slice(end + 2, end + 2 + length))
    at = end + 2 + length + 2
  }
}
