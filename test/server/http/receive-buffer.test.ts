import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { limits } from '../../../protocol/limits.ts'
import { limitReceiveBuffers } from '../../../server/http/receive-buffer.ts'
import { ok, type RouteRequest, route } from '../../../server/http/route.ts'
import { RawClient } from '../../kit/raw-client.ts'
import { type ServedFront, serveFront } from '../../kit/served-front.ts'

/** More than the kernel would ever keep. */
const BYTES = 96 * 1024 * 1024
const LIBRARY_READ_BYTES = 512 * 1024

let served: ServedFront
let release: () => void = () => {}
const released = new Promise<void>(resolve => (release = resolve))
before(async () => {
  served = await serveFront({
    routes: () => [
      route({
        method: 'PUT', path: '/slow', scope: 'open', tag: '', summary: '', upload: true, body_limit: BYTES, answers: { 200: null },
        handle: async ({ upload }: Pick<RouteRequest, 'upload'>) => {
          await released
          let bytes = 0
          for await (const piece of upload!) bytes += piece.length
          return ok({ bytes })
        },
      }),
    ],
  }) // biome-ignore format: a table
})
after(() => served.close())

test('a connection keeps less in the kernel than the library reads at once, so a flood of one leaves the others served', async () => {
  const bytes = await limitReceiveBuffers(served.port)
  assert.ok(bytes !== null && bytes > limits.RECEIVE_BUFFER_BYTES / 2 && bytes < LIBRARY_READ_BYTES, String(bytes))
  const flood = await RawClient.open(served.port)
  flood.write(`PUT /slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${BYTES}\r\n\r\n`).write(Buffer.alloc(BYTES))
  for (let times = 0; times < 20; times++) {
    assert.equal((await fetch(`${served.url}/nothing`)).status, 404)
    await new Promise(resolve => setTimeout(resolve, 5))
  }
  // Its own buffers and the kernel's of the sending side are all that left it.
  assert.ok(flood.unsent > BYTES / 2, `${flood.unsent} bytes are left with the sender`)
  release()
  assert.match((await flood.answered()).text, new RegExp(`"bytes":${BYTES}`))
  flood.end()
})

test('where nothing listens there is nothing to limit', async () => {
  assert.equal(await limitReceiveBuffers(1), null)
})
