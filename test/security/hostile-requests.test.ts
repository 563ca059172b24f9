import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Problem } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import { RawClient, type RawReply, saying } from '../kit/raw-client.ts'
import { boiler, type ServedFront, serveFront } from '../kit/served-front.ts'

let served: ServedFront
const HOST = 'Host: 127.0.0.1\r\n'
/** A request that would change something, if a refused one let it through. */
let smuggled = ''
let bearer = ''

before(async () => {
  served = await serveFront()
  bearer = `Authorization: Bearer ${served.user}\r\n`
  await served.engine.flows.create({ name: 'boiler', document: structuredClone(boiler) as never }, 'ada')
  const body = '{"value":1}'
  smuggled = `POST /messages/boiler.raw HTTP/1.1\r\n${HOST}${bearer}Content-Length: ${body.length}\r\n\r\n${body}`
  // The token is known from here on, so that requests are handled at once and pipelining shows.
  assert.deepEqual((await saying(served.port, smuggled)).statuses, [202])
})
after(() => served.close())

const version = (): number => served.engine.messages.get('boiler.raw').version
const problemOf = (reply: RawReply): Problem =>
  JSON.parse(reply.text.slice(reply.text.indexOf('\r\n\r\n') + 4)) as Problem
const isAlive = async (): Promise<void> => {
  const answer = await fetch(`${served.url}/utils/health/`)
  assert.equal(answer.status, 200)
}

interface Hostile {
  readonly request: string
  readonly status: number
}
const post = (headers: string, body = ''): string =>
  `POST /messages/boiler.raw HTTP/1.1\r\n${HOST}${headers}\r\n${body}`
const get = (headers: string, path = '/flows'): string => `GET ${path} HTTP/1.1\r\n${headers}\r\n`

/** Refused by the gate: the framing, or what the request is about, can be read in two ways. */
const REFUSED: Record<string, Hostile> = {
  'two Content-Lengths that differ': {
    request: post('Content-Length: 5\r\nContent-Length: 6\r\n', 'hello!'),
    status: 400,
  },
  'two Content-Lengths that agree': {
    request: post('Content-Length: 5\r\nContent-Length: 5\r\n', 'hello'),
    status: 400,
  },
  'a Content-Length with a sign': { request: post('Content-Length: +5\r\n', 'hello'), status: 400 },
  'a negative Content-Length': { request: post('Content-Length: -5\r\n', 'hello'), status: 400 },
  'a list as Content-Length': { request: post('Content-Length: 5, 5\r\n', 'hello'), status: 400 },
  'a hexadecimal Content-Length': { request: post('Content-Length: 0x5\r\n', 'hello'), status: 400 },
  'an empty Content-Length': { request: post('Content-Length: \r\n', 'hello'), status: 400 },
  'a Content-Length past all numbers': { request: post(`Content-Length: ${'9'.repeat(30)}\r\n`, 'hello'), status: 400 },
  'a Transfer-Encoding that only ends in chunked': {
    request: post('Transfer-Encoding: xchunked\r\n', '0\r\n\r\n'),
    status: 400,
  },
  'Transfer-Encoding: identity': { request: post('Transfer-Encoding: identity\r\n', '0\r\n\r\n'), status: 400 },
  'Transfer-Encoding: gzip, chunked': {
    request: post('Transfer-Encoding: gzip, chunked\r\n', '0\r\n\r\n'),
    status: 400,
  },
  'Transfer-Encoding twice': {
    request: post('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'),
    status: 400,
  },
  'an empty Transfer-Encoding': { request: post('Transfer-Encoding: \r\n', '0\r\n\r\n'), status: 400 },
  'two hosts': { request: get(HOST + HOST), status: 400 },
  'an empty host': { request: get('Host: \r\n'), status: 400 },
  'a host with a path': { request: get('Host: a/b\r\n'), status: 400 },
  'a host with a user': { request: get('Host: ada@a\r\n'), status: 400 },
  'a host with blanks': { request: get('Host: a b\r\n'), status: 400 },
  'two credentials': { request: get(`${HOST}Authorization: Bearer a\r\nAuthorization: Bearer b\r\n`), status: 400 },
  'a body on GET': { request: get(`${HOST}Content-Length: 5\r\n`).concat('hello'), status: 400 },
  'a chunked body on GET': { request: get(`${HOST}Transfer-Encoding: chunked\r\n`).concat('0\r\n\r\n'), status: 400 },
  'a body on HEAD': { request: `HEAD /flows HTTP/1.1\r\n${HOST}Content-Length: 5\r\n\r\nhello`, status: 400 },
  'a body on DELETE': {
    request: `DELETE /flows/boiler HTTP/1.1\r\n${HOST}Content-Length: 5\r\n\r\nhello`,
    status: 400,
  },
  'a body on OPTIONS': { request: `OPTIONS /flows HTTP/1.1\r\n${HOST}Content-Length: 5\r\n\r\nhello`, status: 400 },
  'a host that is not this engine': { request: get('Host: evil.example\r\n'), status: 421 },
  'a page of another origin that publishes': {
    request: post('Origin: http://evil.example\r\nContent-Length: 11\r\n', '{"value":1}'),
    status: 403,
  },
  'a page of another origin that reads': { request: get(`${HOST}Origin: http://127.0.0.1:1\r\n`), status: 403 },
  'a page without an origin of its own': { request: get(`${HOST}Origin: null\r\n`), status: 403 },
  'a coded body': { request: post('Content-Encoding: gzip\r\nContent-Length: 5\r\n', 'hello'), status: 415 },
  'a part of a body': {
    request: `PUT /artifacts HTTP/1.1\r\n${HOST}Content-Range: bytes 0-4/9\r\nContent-Length: 5\r\n\r\nhello`,
    status: 400,
  },
  'a fragment in the address': { request: get(HOST, '/flows#top'), status: 400 },
  'bytes past ASCII in the address': { request: get(HOST, '/flows\xff'), status: 400 },
  'an address that is too long': { request: get(HOST, `/${'a'.repeat(limits.URL_BYTES)}`), status: 414 },
}

/** Refused by the parser before anything of ours sees them. */
const UNREADABLE: Record<string, Hostile> = {
  'more headers than allowed': {
    request: get(HOST + Array.from({ length: limits.HEADER_COUNT + 1 }, (_, n) => `X-${n}: 1\r\n`).join('')),
    status: 431,
  },
  'a header block that is too large': { request: get(`${HOST}X: ${'a'.repeat(limits.HEADER_BYTES)}\r\n`), status: 431 },
  'Content-Length and Transfer-Encoding': {
    request: post('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'),
    status: 400,
  },
  'Transfer-Encoding and Content-Length': {
    request: post('Transfer-Encoding: chunked\r\nContent-Length: 5\r\n', '0\r\n\r\n'),
    status: 400,
  },
  'HTTP/1.0': { request: 'GET /flows HTTP/1.0\r\n\r\n', status: 505 },
  'HTTP/2 without asking': { request: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', status: 505 },
  'a TLS hello': { request: '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'.padEnd(80, '\x07'), status: 505 },
  'an absolute address': { request: get(HOST, 'http://elsewhere/flows'), status: 505 },
  CONNECT: { request: `CONNECT elsewhere:80 HTTP/1.1\r\n${HOST}\r\n`, status: 505 },
  'a control character in the address': { request: get(HOST, '/fl\x01ows'), status: 505 },
  'NUL in the address': { request: get(HOST, '/fl\0ows'), status: 505 },
  'line ends without carriage return': { request: 'GET /flows HTTP/1.1\nHost: a\n\n', status: 505 },
}

describe('the header gate', () => {
  for (const [name, { request, status }] of Object.entries(REFUSED)) {
    test(`${name}: ${status}, a closed connection, and nothing behind it is executed`, async () => {
      const before = version()
      for (const behind of ['', smuggled, smuggled + smuggled]) {
        const client = await RawClient.open(served.port)
        const reply = await client.write(request + behind).closed()
        assert.deepEqual(reply.statuses, [status])
        assert.equal(problemOf(reply).status, status)
        assert.match(reply.text, /^connection: close\r$/im)
      }
      assert.equal(version(), before)
      await isAlive()
    })
  }

  for (const [name, { request, status }] of Object.entries(UNREADABLE)) {
    test(`${name}: ${status} from the parser, and a closed connection`, async () => {
      const before = version()
      const reply = await (await RawClient.open(served.port)).write(request + smuggled).closed()
      assert.deepEqual(reply.statuses, [status])
      assert.equal(version(), before)
      await isAlive()
    })
  }

  test('a chunked body with an invalid chunk length ends the connection', async () => {
    const before = version()
    for (const length of ['zz', '-5', 'ffffffffffffffff']) {
      const client = await RawClient.open(served.port)
      const reply = await client
        .write(post(`${bearer}Transfer-Encoding: chunked\r\n`, `${length}\r\nhello\r\n0\r\n\r\n`) + smuggled)
        .until(({ closed, statuses }) => closed || statuses.length > 0)
      assert.ok(!reply.statuses.includes(202), `${length}: ${reply.statuses}`)
      client.end()
    }
    assert.equal(version(), before)
    await isAlive()
  })
})

describe('a chunked body', () => {
  const chunked = (body: string): string => post(`${bearer}Transfer-Encoding: chunked\r\n`, body)
  const chunk = 'b\r\n{"value":1}'

  /** What the library passes over, and another reader of the connection may read in another way. */
  const TOLERATED: Record<string, string> = {
    'as it should be': `${chunk}\r\n0\r\n\r\n`,
    'with other bytes behind the data of a chunk': `${chunk}XX0\r\n\r\n`,
    'with line ends without carriage return': 'b\n{"value":1}\r\n0\n\r\n',
    'with bytes behind a blank in the line of a chunk': 'b \x01more\n{"value":1}\r\n0\r\n\r\n',
    'with other bytes in place of the last line end': `${chunk}\r\n0\r\nXX`,
  }
  for (const [name, body] of Object.entries(TOLERATED))
    test(`${name}: its connection is closed behind the answer, and a request behind it is not executed`, async () => {
      const before = version()
      const alone = await (await RawClient.open(served.port)).write(chunked(body)).closed()
      assert.deepEqual(alone.statuses, [202])
      assert.match(alone.text, /^connection: close\r$/im)
      assert.equal(version(), before + 1)
      // In the same packet, and in one that comes before the answer has gone out.
      const together = await (await RawClient.open(served.port)).write(chunked(body) + smuggled).closed()
      assert.deepEqual(together.statuses, [])
      assert.equal(version(), before + 1)
    })

  test('with trailers: the connection is closed, and nothing is executed', async () => {
    const before = version()
    for (const trailer of ['X: y\r\n\r\n', `${smuggled}`, 'Content-Length: 5\r\n\r\nhello']) {
      const reply = await (await RawClient.open(served.port)).write(chunked(`${chunk}\r\n0\r\n${trailer}`)).closed()
      assert.ok(!reply.statuses.includes(202), `${trailer}: ${reply.statuses}`)
    }
    assert.equal(version(), before)
    await isAlive()
  })

  test('of an upload ends its connection, too', async () => {
    const head = `PUT /artifacts HTTP/1.1\r\n${HOST}${bearer}Content-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n`
    const alone = await (await RawClient.open(served.port)).write(`${head}5\r\nhello\r\n0\r\n\r\n`).closed()
    assert.deepEqual(alone.statuses, [201])
    const before = version()
    await (await RawClient.open(served.port)).write(`${head}5\r\nhello\r\n0\r\n\r\n${smuggled}`).closed()
    assert.equal(version(), before)
  })

  test('to a route that takes none is refused, and its connection is closed', async () => {
    const ask = `POST /modules/refresh HTTP/1.1\r\n${HOST}${bearer}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`
    const reply = await (await RawClient.open(served.port)).write(ask + smuggled).closed()
    assert.deepEqual(reply.statuses, [400])
    assert.match(problemOf(reply).detail, /takes no body/)
  })

  test('of a route that answers nothing ends its connection, too', async () => {
    const body = '{"token":"x","password":"long enough"}'
    const head = `POST /password-reset HTTP/1.1\r\n${HOST}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`
    const reply = await (await RawClient.open(served.port))
      .write(`${head}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`)
      .closed()
    assert.deepEqual(reply.statuses, [400])
    assert.equal(problemOf(reply).code, 'reset_refused')
  })
})

describe('what the parser does not show', () => {
  test('bytes past ASCII at the ends of a value are cut off before anybody sees them; the connection stays in step', async () => {
    const before = version()
    const client = await RawClient.open(served.port)
    client.write(
      `POST /messages/boiler.raw HTTP/1.1\r\nHost: \xfflocalhost\xff\r\n${bearer}Content-Length: \xff11\x80\r\n\r\n{"value":1}`,
    )
    assert.deepEqual((await client.answered(1)).statuses, [202])
    assert.deepEqual((await client.write(smuggled).answered(2)).statuses, [202, 202])
    assert.equal(version(), before + 2)
    client.end()
  })

  test('bytes past ASCII inside a value that says where a request ends are refused', async () => {
    for (const header of ['Content-Length: 1\xff1\r\n', 'Transfer-Encoding: chun\xffked\r\n', 'Host: a\xffb\r\n']) {
      const reply = await (await RawClient.open(served.port)).write(post(header, '{"value":1}') + smuggled).closed()
      assert.deepEqual(reply.statuses, [400], header)
    }
  })
})

describe('one connection, many requests', () => {
  test('pipelined requests are answered in order', async () => {
    const client = await RawClient.open(served.port)
    const before = version()
    const ask = get(HOST + bearer, '/messages/boiler.raw')
    const reply = await client.write(smuggled + ask + smuggled + get(HOST, '/nothing')).answered(4)
    assert.deepEqual(reply.statuses, [202, 200, 202, 404])
    assert.equal(version(), before + 2)
    assert.equal(reply.closed, false)
    client.end()
  })

  test('a request behind a good one and before a hostile one is answered; what follows is not', async () => {
    const before = version()
    const client = await RawClient.open(served.port)
    const reply = await client.write(smuggled + REFUSED['two Content-Lengths that differ']!.request + smuggled).closed()
    assert.deepEqual(reply.statuses, [202, 400])
    assert.equal(version(), before + 1)
  })

  test('a request that is refused before its body has come leaves the connection in step', async () => {
    const client = await RawClient.open(served.port)
    const before = version()
    client.write(`POST /messages/boiler.raw HTTP/1.1\r\n${HOST}Content-Length: 400\r\n\r\n`)
    assert.deepEqual((await client.answered(1)).statuses, [401])
    // What comes now is the rest of the refused body, whatever it looks like.
    client.write(smuggled.slice(0, 200)).write(smuggled.slice(0, 200)).write(get(HOST, '/utils/health/'))
    assert.deepEqual((await client.answered(2)).statuses, [401, 200])
    assert.equal(version(), before)
    client.end()
  })

  test('a body in single bytes is one body', async () => {
    const client = await RawClient.open(served.port)
    const [head, body] = smuggled.split('\r\n\r\n')
    client.write(`${head}\r\n\r\n`)
    for (const byte of body!) client.write(byte)
    assert.deepEqual((await client.answered()).statuses, [202])
    client.end()
  })

  test('a chunked body is one body', async () => {
    const chunks = ['{"val', 'ue"', ':2.', '5}'].map(text => `${text.length.toString(16)}\r\n${text}\r\n`).join('')
    const reply = await saying(served.port, post(`${bearer}Transfer-Encoding: chunked\r\n`, `${chunks}0\r\n\r\n`))
    assert.deepEqual(reply.statuses, [202])
    assert.equal(served.engine.messages.get('boiler.raw').value, 2.5)
  })

  test('Connection: close is followed', async () => {
    const client = await RawClient.open(served.port)
    const reply = await client.write(get(`${HOST}Connection: close\r\n`, '/utils/health/')).closed()
    assert.deepEqual(reply.statuses, [200])
  })

  test('Expect: 100-continue is answered', async () => {
    const client = await RawClient.open(served.port)
    client.write(post(`${bearer}Expect: 100-continue\r\nContent-Length: 11\r\n`))
    await client.until(({ statuses }) => statuses.includes(100))
    assert.deepEqual((await client.write('{"value":3}').answered(2)).statuses, [100, 202])
    client.end()
  })
})

describe('bodies', () => {
  test('one that says it is too large is refused before it comes', async () => {
    const client = await RawClient.open(served.port)
    const reply = await client.write(post(`${bearer}Content-Length: ${limits.BODY_BYTES + 1}\r\n`)).answered()
    assert.deepEqual(reply.statuses, [413])
    assert.match(problemOf(reply).detail, new RegExp(String(limits.BODY_BYTES)))
    client.end()
  })

  test('one that says it is larger than anything that would be read and dropped ends its connection', async () => {
    const client = await RawClient.open(served.port)
    const reply = await client.write(post(`${bearer}Content-Length: ${limits.BODY_DRAIN_BYTES + 1}\r\n`)).closed()
    assert.deepEqual(reply.statuses, [413])
  })

  test('one that turns out too large is refused on the way, and its connection ends', async () => {
    const client = await RawClient.open(served.port)
    client.write(post(`${bearer}Transfer-Encoding: chunked\r\n`))
    const piece = `10000\r\n${'x'.repeat(0x10000)}\r\n`
    for (let sent = 0; sent <= limits.BODY_BYTES && !client.reply.closed; sent += 0x10000) client.write(piece)
    assert.deepEqual((await client.closed()).statuses, [413])
  })

  test('an upload that its client gives up leaves nothing behind', async () => {
    const before = version()
    for (let round = 0; round < 20; round++) {
      const client = await RawClient.open(served.port)
      client.write(post(`${bearer}Content-Length: 500000\r\n`, 'x'.repeat(round * 1000)))
      if (round % 2 === 0) client.reset()
      else client.end()
    }
    await isAlive()
    assert.equal(version(), before)
    assert.deepEqual(served.log.errors, [])
  })

  test('what is no UTF-8, no JSON or too deep is refused with its own code', async () => {
    const codeOf = async (body: string): Promise<string> =>
      problemOf(await saying(served.port, post(`${bearer}Content-Length: ${body.length}\r\n`, body))).code
    assert.equal(await codeOf('{"value":"\xff"}'), 'malformed_json')
    assert.equal(await codeOf('{"value":"\xed\xa0\x80"}'), 'malformed_json')
    assert.equal(await codeOf('\xef\xbb\xbf{"value":1}'), 'malformed_json')
    assert.equal(await codeOf('{"value":NaN}'), 'malformed_json')
    assert.equal(await codeOf('{"value":1}x'), 'malformed_json')
    assert.equal(await codeOf(`{"value":${'['.repeat(64)}${']'.repeat(64)}}`), 'too_deep')
    assert.equal(await codeOf(`{"value":${'['.repeat(500_000)}`), 'too_deep')
    assert.equal(await codeOf(`{"value":"${'['.repeat(1000)}"}`), 'wrong_dtype')
    assert.equal(await codeOf('[]'), 'validation')
    assert.equal(await codeOf('{"value":1,"__proto__":{"x":1}}'), 'validation')
  })
})

describe('leaving early', () => {
  test('clients that leave before, while and after they are answered harm nobody', async () => {
    const asks = [smuggled, get(HOST + bearer, '/observability/summary'), get(HOST, '/docs/swagger-ui-bundle.js')]
    for (let round = 0; round < 30; round++) {
      const client = await RawClient.open(served.port)
      client.write(asks[round % asks.length]!)
      if (round % 4 === 0) await client.answered()
      if (round % 2 === 0) client.reset()
      else client.end()
    }
    await isAlive()
    assert.deepEqual(served.log.errors, [])
  })
})
