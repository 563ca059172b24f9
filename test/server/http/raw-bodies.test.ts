import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { after, before, test } from 'node:test'
import { limits } from '../../../protocol/limits.ts'
import { ok, type Route, route } from '../../../server/http/route.ts'
import { type ServedFront, serveFront } from '../../kit/served-front.ts'

const raw: Route = route({
  method: 'POST',
  path: '/raw',
  scope: 'open',
  tag: 'raw',
  summary: '',
  raw: true,
  body_limit: limits.HOOK_BODY_BYTES,
  answers: { 200: null },
  handle: ({ body, query_text, headers }) =>
    ok({ bytes: (body as Uint8Array).length, query_text, twice: headers['x-twice'] }),
})

let served: ServedFront
before(async () => {
  served = await serveFront({ routes: () => [raw] })
})
after(() => served.close())

/** Sends the head and the beginning of a body; resolves with the answer. */
function begins(body: string | Buffer, length: number): { socket: Socket; answer: Promise<string> } {
  const socket = connect(served.port, '127.0.0.1')
  socket.write(`POST /raw HTTP/1.1\r\nHost: 127.0.0.1:${served.port}\r\nContent-Length: ${length}\r\n\r\n`)
  socket.write(body)
  const answer = new Promise<string>(resolve => {
    socket.once('data', data => resolve(String(data)))
    socket.once('close', () => resolve('closed'))
  })
  socket.on('error', () => {})
  return { socket, answer }
}

test('a raw route gets the body, the query and the header fields as they came, in pieces or at once', async () => {
  const headers = new Headers([
    ['x-twice', 'a'],
    ['x-twice', 'b'],
  ])
  const asked = (body: Buffer) =>
    fetch(`${served.url}/raw?a=%20&a`, { method: 'POST', headers, body }).then(a => a.json())
  assert.deepEqual(await asked(Buffer.from('four')), { bytes: 4, query_text: 'a=%20&a', twice: 'a, b' })
  const long = Buffer.alloc(limits.HOOK_BODY_BYTES)
  assert.deepEqual(await asked(long), { bytes: long.length, query_text: 'a=%20&a', twice: 'a, b' })
})

test('a client that sends its body byte by byte is refused when its time is over', async t => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const slow = begins('{', 1000)
  t.after(() => slow.socket.destroy())
  // Another request is answered, so the first one was read.
  assert.match(await begins('x', 1).answer, /^HTTP\/1\.1 200 /)
  t.mock.timers.tick(limits.HOOK_RECEIVE_MS)
  assert.match(await slow.answer, /^HTTP\/1\.1 400 .*upload_incomplete/s)
})

test('bodies that are on their way are bounded together, and are free again when their clients go', async t => {
  const piece = Buffer.alloc(limits.HOOK_BODY_BYTES - 1)
  const count = limits.HOOK_BODIES_BYTES / limits.HOOK_BODY_BYTES + 1
  const slow = Array.from({ length: count }, () => begins(piece, limits.HOOK_BODY_BYTES))
  t.after(() => slow.map(({ socket }) => socket.destroy()))
  // Whoever still sends when it is refused may not read why.
  assert.match(await Promise.race(slow.map(({ answer }) => answer)), /^HTTP\/1\.1 503 .*too_many_connections|^closed/s)
  for (const { socket } of slow) socket.destroy()
  let answer: string
  do answer = await begins(piece, piece.length).answer
  while (!answer.startsWith('HTTP/1.1 200 '))
})
