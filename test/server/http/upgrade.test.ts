import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import WebSocket from 'ws'
import { ServiceError } from '../../../protocol/errors.ts'
import { limits } from '../../../protocol/limits.ts'
import { isSameHost } from '../../../server/http/hosts.ts'
import type { BinarySocketHandlers, Socket, TextSocketHandlers } from '../../../server/http/socket.ts'
import { RawClient } from '../../kit/raw-client.ts'
import { ADA, type ServedFront, serveFront } from '../../kit/served-front.ts'

/** Answers each text with itself; some words have a meaning. */
class Parrot implements TextSocketHandlers {
  readonly path = '/ws/flows'
  readonly who = 'read'
  readonly frames = 'text'
  readonly open_sockets = new Set<Socket>()
  opened = 0
  closed = 0
  drained = 0

  open(socket: Socket): void {
    this.opened++
    this.open_sockets.add(socket)
  }
  message(socket: Socket, text: string): void {
    if (text === 'throw') throw new TypeError('a defect')
    if (text.startsWith('follow ')) socket.subscribe(text.slice(7))
    else if (text.startsWith('leave ')) socket.unsubscribe(text.slice(6))
    else if (text === 'end') socket.end(4000, 'é'.repeat(200))
    else socket.send(text)
  }
  drain(): void {
    this.drained++
  }
  close(socket: Socket): void {
    this.closed++
    this.open_sockets.delete(socket)
    assert.equal(socket.isOpen, false)
    assert.deepEqual([socket.send('late'), socket.subscribe('x'), socket.bufferedAmount()], ['dropped', false, 0])
    socket.end(1000, 'again')
  }
}

/** A path beside, whose frames are bytes and whose tokens are its own: whoever says "worker <id>" is one, once. */
class Echo implements BinarySocketHandlers {
  readonly path = '/bytes'
  readonly who = 'worker'
  readonly frames = 'binary'
  readonly frame_bytes = 1000
  readonly users: Socket['caller'][] = []
  readonly #known = new Set<string>()
  readonly admissions = {
    known: () => null,
    admit: async (token: string) => {
      if (!token.startsWith('worker') || this.#known.has(token)) throw new ServiceError('unauthenticated')
      this.#known.add(token)
      return { principal: { kind: 'worker', id: token } as const, expires_ms: 0, holds: () => true }
    },
  }
  open(socket: Socket): void {
    this.users.push(socket.caller)
  }
  message(socket: Socket, bytes: Uint8Array): void {
    socket.sendBinary(bytes)
  }
  drain(): void {}
  close(): void {}
}

let served: ServedFront
let parrot: Parrot
let echo: Echo
beforeEach(async () => {
  parrot = new Parrot()
  echo = new Echo()
  served = await serveFront({ sockets: [parrot, echo], most_sockets: 3, token_sweep_ms: 5 })
})
afterEach(() => served.close())

interface Dialled {
  readonly client: WebSocket
  /** 101, or the status of the refusal. */
  readonly status: number
  readonly code: string | null
}

function dial(
  protocols: string[],
  headers: Record<string, string> = {},
  path = '/ws/flows',
  port = served.port,
): Promise<Dialled> {
  const client = new WebSocket(`ws://127.0.0.1:${port}${path}`, protocols, { headers })
  return new Promise((resolve, reject) => {
    client.on('open', () => resolve({ client, status: 101, code: null }))
    client.on('error', reject)
    client.on('unexpected-response', (_request, answer) => {
      const chunks: Buffer[] = []
      answer.on('data', chunk => chunks.push(chunk))
      answer.on('end', () =>
        resolve({ client, status: answer.statusCode!, code: JSON.parse(Buffer.concat(chunks).toString()).code }),
      )
    })
  })
}
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const next = (client: WebSocket): Promise<string> =>
  new Promise(resolve => client.once('message', data => resolve(String(data))))
const ended = (client: WebSocket): Promise<[number, string]> =>
  new Promise(resolve => client.once('close', (code, reason) => resolve([code, String(reason)])))
const until = async (condition: () => boolean): Promise<void> => {
  for (let turn = 0; !condition(); turn++) {
    assert.ok(turn < 100_000, 'waited in vain')
    await new Promise(resolve => setImmediate(resolve))
  }
}

describe('letting sockets in', () => {
  test('with a header, or as a browser does with two subprotocols, of which one is answered', async () => {
    const byHeader = await dial([], bearer(served.user))
    assert.deepEqual([byHeader.status, byHeader.client.protocol], [101, ''])
    const byProtocol = await dial(['svc.v1', `bearer.${served.superuser}`])
    assert.deepEqual([byProtocol.status, byProtocol.client.protocol], [101, 'svc.v1'])
    assert.deepEqual(
      [...parrot.open_sockets].map(({ caller, id }) => [caller.kind === 'user' && caller.name, id]),
      [
        ['ada', 1],
        ['root', 2],
      ],
    )
  })

  test('nobody gets in without a good token, and the answer is a problem', async () => {
    assert.deepEqual((await dial([])).code, 'unauthenticated')
    assert.deepEqual((await dial(['svc.v1'])).code, 'unauthenticated')
    assert.deepEqual((await dial(['svc.v1', 'bearer.nonsense'])).code, 'unauthenticated')
    assert.deepEqual((await dial(['svc.v1', `Bearer.${served.user}`])).code, 'unauthenticated')
    assert.deepEqual((await dial([`bearer.${served.user}`])).code, 'unauthenticated')
    assert.deepEqual((await dial(['svc.v1', `bearer.${served.user}`], bearer('nonsense'))).code, 'unauthenticated')
    const reset = await served.tokens.mint('reset', ADA.name, served.accounts.find(ADA.name)!.digest, 100)
    assert.deepEqual((await dial(['svc.v1', `bearer.${reset}`])).code, 'unauthenticated')
    served.clock.ms += limits.TOKEN_LIFETIME_S * 1000
    assert.deepEqual((await dial([], bearer(served.user))).code, 'token_expired')
    assert.equal(parrot.opened, 0)
  })

  test('a token in the address is refused, a good one too', async () => {
    const refused = await dial([], bearer(served.user), `/ws/flows?token=${served.user}`)
    assert.deepEqual([refused.status, refused.code], [422, 'validation'])
  })

  test('a page of another origin is refused, one of this host is not', async () => {
    const from = (origin: string) => dial([], { ...bearer(served.user), origin })
    assert.equal((await from(`http://127.0.0.1:${served.port}`)).status, 101)
    for (const origin of [
      'http://elsewhere',
      'null',
      `http://127.0.0.1:${served.port + 1}`,
      'file://',
      `http://127.0.0.1:${served.port}.elsewhere`,
    ])
      assert.deepEqual((await from(origin)).code, 'origin_refused', origin)
  })

  test('hosts are the same with and without the port that goes without saying', () => {
    assert.ok(isSameHost('https://Engine.example', 'engine.example:443'))
    assert.ok(isSameHost('http://engine.example:80', 'engine.example'))
    assert.ok(isSameHost('http://[::1]:8700', '[::1]:8700'))
    assert.ok(!isSameHost('https://engine.example', 'engine.example:80'))
    assert.ok(!isSameHost('http://engine.example@elsewhere', 'elsewhere'))
    assert.ok(!isSameHost('http://a/b', 'a'))
  })

  test('places are bounded; one that is left is taken again', async () => {
    const dialled = await Promise.all(Array.from({ length: 8 }, () => dial([], bearer(served.user))))
    assert.deepEqual(dialled.map(({ status }) => status).sort(), [101, 101, 101, 503, 503, 503, 503, 503])
    assert.equal(served.front.counts().sockets, 3)
    dialled.find(({ status }) => status === 101)!.client.close()
    await until(() => parrot.closed === 1)
    assert.equal((await dial([], bearer(served.user))).status, 101)
  })

  test('what is no upgrade is told that one is wanted', async () => {
    const plain = await fetch(`${served.url}/ws/flows`)
    assert.deepEqual([plain.status, plain.headers.get('upgrade')], [426, 'websocket'])
    assert.equal((await dial([], bearer(served.user), '/ws/other')).status, 404)
    const key = 'Sec-WebSocket-Key: x3JJHMbDL1EzLkh9GBhXDw==\r\n'
    const head = `GET /ws/flows HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${served.user}\r\n`
    const good = `${head}Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n${key}`
    const cases: [string, number][] = [
      [`${head}${key}`, 426],
      [`${head}${key}Upgrade: websocket\r\nSec-WebSocket-Version: 8\r\n`, 426],
      [`${good}Host: b\r\n`, 400],
      [`${good}Content-Length: 5\r\n`, 400],
      [`${good}${key}`, 400],
      [good, 101],
    ]
    for (const [request, status] of cases) {
      const client = await RawClient.open(served.port)
      assert.deepEqual((await client.write(`${request}\r\n`).answered()).statuses, [status], request)
      client.end()
    }
  })

  test('a client that leaves while its token is checked is no socket', async () => {
    for (let round = 0; round < 10; round++) {
      const token = await served.tokens.mint('access', ADA.name, served.accounts.find(ADA.name)!.digest, 100 + round)
      const client = await RawClient.open(served.port)
      client.write(
        `GET /ws/flows HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x3JJHMbDL1EzLkh9GBhXDw==\r\nAuthorization: Bearer ${token}\r\n\r\n`,
      )
      client.reset()
    }
    await until(() => served.front.counts().connections === 0)
    assert.equal(parrot.opened, parrot.closed)
    assert.equal((await dial([], bearer(served.user))).status, 101)
    assert.deepEqual(served.log.errors, [])
  })
})

describe('sockets that are in', () => {
  test('texts go both ways, and topics reach those who follow them', async () => {
    const { client: one } = await dial([], bearer(served.user))
    const { client: two } = await dial([], bearer(served.user))
    one.send('grüße')
    assert.equal(await next(one), 'grüße')
    for (const client of [one, two]) {
      client.send('follow boiler.raw')
      client.send('ready')
      assert.equal(await next(client), 'ready')
    }
    assert.equal(served.front.subscribers('boiler.raw'), 2)
    const both = Promise.all([next(one), next(two)])
    assert.equal(served.front.publish('boiler.raw', 'seventy'), true)
    assert.deepEqual(await both, ['seventy', 'seventy'])
    assert.equal(served.front.publish('boiler.smooth', 'nobody hears'), false)
    two.send('leave boiler.raw')
    two.send('left')
    assert.equal(await next(two), 'left')
    assert.equal(served.front.subscribers('boiler.raw'), 1)
  })

  test('a handler that throws ends its own socket; the others go on', async () => {
    const { client: one } = await dial([], bearer(served.user))
    const { client: two } = await dial([], bearer(served.user))
    one.send('throw')
    assert.deepEqual(await ended(one), [1011, 'internal error'])
    two.send('still here')
    assert.equal(await next(two), 'still here')
    assert.match(served.log.errors[0]!, /socket_failed TypeError/)
  })

  test('a long reason is cut to what a close frame carries', async () => {
    const { client } = await dial([], bearer(served.user))
    client.send('end')
    assert.deepEqual(await ended(client), [4000, 'é'.repeat(61)])
  })

  test('binary frames, texts that are no UTF-8 and texts past the bound end the socket', async () => {
    const { client: binary } = await dial([], bearer(served.user))
    binary.send(Buffer.from([1]))
    assert.equal((await ended(binary))[0], 1003)
    const { client: large } = await dial([], bearer(served.user))
    large.on('error', () => {})
    large.send('x'.repeat(limits.SOCKET_FRAME_BYTES + 1))
    assert.notEqual((await ended(large))[0], 1000)
    const { client: broken } = await dial([], bearer(served.user))
    broken.send(Buffer.from([0xff, 0xfe]), { binary: false })
    assert.notEqual((await ended(broken))[0], 1000)
    await until(() => parrot.closed === 3)
  })

  test('a socket ends with its token: when that runs out, and when its user goes', async () => {
    await served.accounts.create('brief', 'a short stay here', 'editor')
    const { client: brief } = await dial([], bearer(await served.mint('brief')))
    const { client: longer } = await dial([], bearer(served.user))
    await served.accounts.remove('brief')
    assert.equal((await ended(brief))[0], 4401)
    longer.send('still here')
    assert.equal(await next(longer), 'still here')
    served.clock.ms += limits.TOKEN_LIFETIME_S * 1000
    assert.equal((await ended(longer))[0], 4401)
  })

  test('closing the front tells each socket, once, that the engine goes away', async () => {
    const clients = [(await dial([], bearer(served.user))).client, (await dial([], bearer(served.user))).client]
    const all = Promise.all(clients.map(ended))
    served.close()
    assert.deepEqual([parrot.opened, parrot.closed], [2, 2])
    for (const end of await all) assert.deepEqual(end, [1001, 'the engine stops'])
    assert.deepEqual(served.log.errors, [])
  })

  test('a frame of a socket whose token has ended is not handled, whenever its token is looked at again', async () => {
    const own = new Parrot()
    const front = await serveFront({ sockets: [own], token_sweep_ms: 1e9 })
    const { client } = await dial([], bearer(front.user), '/ws/flows', front.port)
    const heard: string[] = []
    client.on('message', data => heard.push(String(data)))
    const gone = ended(client)
    front.clock.ms += limits.TOKEN_LIFETIME_S * 1000
    client.send('late')
    assert.equal((await gone)[0], 4401)
    assert.deepEqual(heard, [])
    front.close()
  })

  test('sockets end at once when their user goes, when the password changes and when their token is signed out', async () => {
    const own = new Parrot()
    const front = await serveFront({ sockets: [own], token_sweep_ms: 1e9 })
    await front.accounts.create('brief', 'a short stay here', 'editor')
    const open = async (token: string) => (await dial([], bearer(token), '/ws/flows', front.port)).client
    const other = await open(front.superuser)
    const cases: [token: string, end: (token: string) => Promise<unknown>][] = [
      [
        await front.mint(ADA.name),
        token => fetch(`${front.url}/logout`, { method: 'POST', headers: { authorization: `Bearer ${token}` } }),
      ],
      [front.user, () => front.accounts.changePassword(ADA.name, ADA.password, 'another password')],
      [await front.mint('brief'), () => front.accounts.remove('brief')],
    ]
    for (const [token, end] of cases) {
      const gone = ended(await open(token))
      await end(token)
      assert.equal((await gone)[0], 4401)
    }
    other.send('still here')
    assert.equal(await next(other), 'still here')
    front.close()
  })
})

describe('a path beside, with binary frames and tokens of its own', () => {
  const as = (token: string) => dial([], { authorization: `Bearer ${token}` }, '/bytes')

  test('carries bytes there and back, up to its own bound', async () => {
    const { client } = await as('worker-1')
    assert.deepEqual(echo.users, [{ kind: 'worker', id: 'worker-1' }])
    const bytes = Buffer.from([0, 1, 254, 255])
    const back = new Promise<Buffer>(resolve => client.once('message', data => resolve(data as Buffer)))
    client.send(bytes)
    assert.deepEqual(await back, bytes)
    client.send(Buffer.alloc(1001))
    assert.equal((await ended(client))[0], 1006)
  })

  test('takes no text', async () => {
    const { client } = await as('worker-1')
    client.send('words')
    assert.deepEqual(await ended(client), [1003, 'frames are binary'])
  })

  test('has nothing to do with the other: neither takes what opens the other, and it is not swept with its tokens', async () => {
    assert.equal((await as(served.superuser)).code, 'unauthenticated')
    assert.equal((await dial([], bearer('worker-2'))).code, 'unauthenticated')
    const { client } = await as('worker-2')
    assert.equal((await as('worker-2')).code, 'unauthenticated')
    // Sweeps come every 5 ms.
    for (let sweep = 0; sweep < 5; sweep++) await new Promise(resolve => setTimeout(resolve, 10))
    const back = new Promise(resolve => client.once('message', resolve))
    client.send(Buffer.from([1]))
    await back
    assert.equal((await fetch(`${served.url}/bytes`)).status, 426)
  })
})
