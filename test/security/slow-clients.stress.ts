import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { RawClient } from '../kit/raw-client.ts'
import { type ServedFront, serveFront } from '../kit/served-front.ts'

/**
 * What the parser holds to be the beginning of a request is never answered: it waits for the rest. Such a connection must not
 * live on because its client keeps it warm. All of them run side by side, since each lasts as long as the parser's patience.
 */
let served: ServedFront
before(async () => {
  served = await serveFront()
})
after(() => served.close())

const HOST = 'Host: localhost\r\n'
/** What is sent first, and what is sent again and again. */
const WAITING: Record<string, readonly [string, string]> = {
  'says nothing': ['', ''],
  'writes its headers one byte at a time': [`GET /flows HTTP/1.1\r\n${HOST}X: `, 'x'],
  'writes its body one byte at a time': [
    `POST /login/access-token HTTP/1.1\r\n${HOST}Content-Length: 10000\r\n\r\n`,
    'x',
  ],
  'writes chunks of one byte': [
    `POST /login/access-token HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n`,
    '1\r\nx\r\n',
  ],
  'names no host': ['GET /flows HTTP/1.1\r\n\r\n', 'x'],
  'puts NUL into a header': [`GET /flows HTTP/1.1\r\n${HOST}X: a\0b\r\n\r\n`, 'x'],
  'puts a control character into a header': [`GET /flows HTTP/1.1\r\n${HOST}X: a\x01b\r\n\r\n`, 'x'],
  'puts a bare line feed into a header': [`GET /flows HTTP/1.1\r\n${HOST}X: a\nY: b\r\n\r\n`, 'x'],
  'folds a header': [`GET /flows HTTP/1.1\r\n${HOST}X: a\r\n b\r\n\r\n`, 'x'],
  'puts a blank before a colon': [`POST /flows HTTP/1.1\r\n${HOST}Content-Length : 5\r\n\r\nhello`, 'x'],
  'writes a header without a colon': [`GET /flows HTTP/1.1\r\n${HOST}X\r\n\r\n`, 'x'],
  'adds an extension to a chunk': [
    `POST /flows HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\n\r\n`,
    '',
  ],
  'keeps its connection after an answer': [`GET /utils/health/ HTTP/1.1\r\n${HOST}\r\n`, ''],
}

test('a client that never completes a request is let go, however it keeps the connection warm', async () => {
  await Promise.all(
    Object.entries(WAITING).map(async ([name, [first, again]]) => {
      const client = await RawClient.open(served.port)
      client.write(first)
      const drip = again === '' ? null : setInterval(() => client.write(again), 400)
      try {
        const reply = await client.closed()
        const healthy = name.startsWith('keeps')
          ? [200]
          : name.startsWith('puts a blank') || again === ''
            ? reply.statuses
            : []
        assert.ok(
          reply.statuses.every(status => status >= 400 || healthy.includes(status)),
          `${name}: ${reply.statuses}`,
        )
      } catch (error) {
        throw new assert.AssertionError({ message: `a client that ${name} is held on to: ${String(error)}` })
      } finally {
        if (drip !== null) clearInterval(drip)
        client.end()
      }
    }),
  )
  assert.equal((await fetch(`${served.url}/utils/health/`)).status, 200)
  assert.deepEqual(served.log.errors, [])
})
