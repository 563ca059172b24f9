import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { randomFrom, seed } from '../kit/random.ts'
import { RawClient } from '../kit/raw-client.ts'
import { boiler, type ServedFront, serveFront } from '../kit/served-front.ts'

/**
 * Good requests with bytes changed, cut out, doubled, put in and sent in pieces of any size, many on a connection. Whatever
 * comes back, the front must answer the next good request, log no defect, and execute nothing that no good request asked for.
 */
const ROUNDS = process.env['LONG'] ? 20_000 : 600
let served: ServedFront
before(async () => {
  const nothing = (): void => {}
  const sockets = {
    path: '/ws/flows',
    who: 'read',
    frames: 'text',
    open: nothing,
    message: nothing,
    drain: nothing,
    close: nothing,
  } as const
  served = await serveFront({ sockets: [sockets] })
  await served.engine.flows.create({ name: 'boiler', document: structuredClone(boiler) as never }, 'ada')
})
after(() => served.close())

const SPICE = [
  '\0', '\r', '\n', '\r\n', '\r\n\r\n', ' ', '\t', ':', '\xff', '%', '%00', '%2e', '#', '?', '&', '/', '..', '{', '[', '"', '\\',
  'Content-Length: 5\r\n', 'Content-Length: 99999999999\r\n', 'Transfer-Encoding: chunked\r\n', 'Transfer-Encoding: x\r\n',
  'Host: b\r\n', 'Upgrade: websocket\r\n', 'Sec-WebSocket-Key: x3JJHMbDL1EzLkh9GBhXDw==\r\n', 'Expect: 100-continue\r\n',
  'Connection: close\r\n', '0\r\n\r\n', 'HTTP/1.1', 'HTTP/1.0', 'GET ', 'PUT ', 'x'.repeat(5000),
] // biome-ignore format: a list of bytes

test(`bytes of any kind leave the front answering (SEED=${seed})`, async () => {
  const random = randomFrom(seed)
  const below = (bound: number): number => Math.floor(random() * bound)
  const pick = <Item>(items: readonly Item[]): Item => items[below(items.length)]!
  const auth = `Authorization: Bearer ${served.user}\r\n`
  const body = '{"value":1.5}'
  const good = [
    `GET /flows HTTP/1.1\r\nHost: localhost\r\n${auth}\r\n`,
    `GET /flows?limit=5&offset=1 HTTP/1.1\r\nHost: localhost\r\n${auth}\r\n`,
    `POST /messages/boiler.raw HTTP/1.1\r\nHost: localhost\r\n${auth}Content-Length: ${body.length}\r\n\r\n${body}`,
    `POST /messages/ HTTP/1.1\r\nHost: localhost\r\n${auth}Transfer-Encoding: chunked\r\n\r\n5\r\n[{"na\r\n0\r\n\r\n`,
    'POST /login/access-token HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 7\r\n\r\nusernam',
    `GET /ws/flows HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x3JJHMbDL1EzLkh9GBhXDw==\r\nSec-WebSocket-Version: 13\r\n${auth}\r\n`,
    'GET /docs HTTP/1.1\r\nHost: localhost\r\n\r\n',
  ]
  const spoil = (text: string): string => {
    let spoiled = text
    for (let change = below(4); change > 0; change--) {
      const at = below(spoiled.length + 1)
      const length = below(12)
      switch (below(4)) {
        case 0:
          spoiled = spoiled.slice(0, at) + pick(SPICE) + spoiled.slice(at)
          break
        case 1:
          spoiled = spoiled.slice(0, at) + spoiled.slice(at + length)
          break
        case 2:
          spoiled = spoiled.slice(0, at) + spoiled.slice(at, at + length) + spoiled.slice(at)
          break
        default:
          spoiled = spoiled.slice(0, at) + String.fromCharCode(below(256)) + spoiled.slice(at + 1)
      }
    }
    return spoiled
  }
  for (let round = 0; round < ROUNDS; round++) {
    const client = await RawClient.open(served.port)
    const text = Array.from({ length: 1 + below(4) }, () => spoil(pick(good))).join('')
    for (let at = 0; at < text.length && !client.reply.closed; ) {
      const size = below(3) === 0 ? 1 + below(40) : text.length
      client.write(text.slice(at, at + size))
      at += size
      if (below(4) === 0) await new Promise(resolve => setImmediate(resolve))
    }
    // Some leave before they are read, most a few turns later.
    for (let turns = below(8); turns > 0; turns--) await new Promise(resolve => setImmediate(resolve))
    if (below(4) === 0) client.reset()
    else client.end()
    if (round % 50 !== 0) continue
    assert.equal((await fetch(`${served.url}/utils/health/`)).status, 200, `round ${round}`)
    assert.deepEqual(served.log.errors, [], `round ${round}`)
  }
  const values = await served.engine.messages.history('boiler.raw', {
    since_us: null,
    until_us: null,
    limit: 9999,
    bucket_s: null,
  })
  for (const point of values.items) assert.equal(typeof (point as { value: unknown }).value, 'number')
  assert.deepEqual(served.log.errors, [])
})
