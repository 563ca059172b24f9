import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { WebSocket } from 'ws'
import { limits } from '../../protocol/limits.ts'
import type { WorkerFrame } from '../../protocol/worker/frames.ts'
import { encodeFrame, readFrame, WORKER_PATH } from '../../protocol/worker/wire.ts'
import { randomFrom, seed } from '../kit/random.ts'
import { type ServedFront, serveFront } from '../kit/served-front.ts'

/** Workers that say anything, over real sockets: each is told why and cut off, or goes on; the front answers the next request. */
const ROUNDS = process.env['LONG'] ? 5_000 : 150
let served: ServedFront
before(async () => (served = await serveFront()))
after(() => served.close())

function attach(): Promise<WebSocket> {
  const headers = { authorization: `Bearer ${served.superuser}` }
  const socket = new WebSocket(`ws://127.0.0.1:${served.port}${WORKER_PATH}`, { headers })
  socket.on('error', () => {})
  return new Promise(resolve => socket.once('open', () => resolve(socket)))
}

const FRAMES: WorkerFrame[] = [
  { t: 'hello', protocol: 2, labels: ['a'], inventory: { cpus: 1, gpus: 0, ram_mb: 1 } },
  { t: 'heartbeat' },
  { t: 'emit', call: 1, outputs: { y: [1, { a: 'b' }] } },
  { t: 'result', call: 1, outputs: null, state: {}, ms: 1 },
]

test(`whatever an attached worker sends, the front goes on, and says why it cut it off (SEED=${seed})`, async () => {
  const random = randomFrom(seed)
  const below = (bound: number): number => Math.floor(random() * bound)
  const bytes = (): Buffer => {
    const frame = encodeFrame(FRAMES[below(FRAMES.length)]!)
    const kind = below(3)
    if (kind === 0) return frame
    if (kind === 1) return Buffer.from(Array.from({ length: below(60) }, () => below(256)))
    for (let changes = 1 + below(4); changes > 0; changes--) frame[below(frame.length)] = below(256)
    return frame.subarray(0, 1 + below(frame.length))
  }
  for (let round = 0; round < ROUNDS; round++) {
    const socket = await attach()
    const refusals: string[] = []
    const ended = new Promise<number>(resolve => socket.once('close', resolve))
    socket.on('message', (answer: Buffer) => {
      const frame = readFrame(answer) as { t: string; code?: string }
      if (frame.t === 'refuse') refusals.push(frame.code!)
    })
    for (let sent = 1 + below(6); sent > 0; sent--) socket.send(bytes())
    if (below(2) === 0) socket.send('a text')
    // What is surely no frame after a hello: the second one.
    for (let hello = 0; hello < 2; hello++) socket.send(encodeFrame(FRAMES[0]!))
    const code = await ended
    assert.ok([1003, 1008].includes(code), `${code}`)
    if (code === 1008) assert.equal(refusals.length, 1)
    for (const refusal of refusals) assert.ok(['bad_worker_frame', 'worker_protocol'].includes(refusal), refusal)
  }
  const huge = await attach()
  huge.send(Buffer.alloc(limits.WORKER_FRAME_BYTES + 1))
  await new Promise(resolve => huge.once('close', resolve))
  assert.equal((await fetch(`${served.url}/utils/health/`)).status, 200)
  assert.deepEqual(served.log.errors, [])
})
