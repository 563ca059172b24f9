import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { MessageTable } from '../../../core/memory/messages.ts'
import { createCodec } from '../../../protocol/values/codec.ts'
import { CascadeCounts } from '../../../server/fanout/cascade-counts.ts'
import { Fanout } from '../../../server/fanout/fanout.ts'
import { JournalTap } from '../../../server/fanout/journal-tap.ts'
import { ForgetfulStore, smallMemory, smallSizes } from '../../kit/journal-room.ts'
import { seed } from '../../kit/random.ts'
import { FrontDouble, type SocketDouble } from '../../kit/socket-double.ts'
import { newestScratch, ValuesDouble } from '../../kit/values-double.ts'

const MESSAGES = 5
const LANES = [8, 9, 10]
const VALUES = process.env['LONG'] === undefined ? 20_000 : 400_000

/**
 * Forbidden: a follower that gets an older version after a newer one, one whose received and missed values are not all that
 * were published, and one that does not end with the newest. Three threads publish the same messages while followers come.
 */
test('a front that is lapped: every follower can account for every version', t => play(t, 64 * 1024))

test('a front with room: every value of every ring is sent in order', t => play(t, 4 * 1024 * 1024))

async function play(t: TestContext, ring_bytes: number): Promise<void> {
  console.log(`SEED=${seed}`)
  const memory = smallMemory(ring_bytes)
  const directory = new ValuesDouble()
  for (let message = 0; message < MESSAGES; message++) directory.declare(`boiler.m${message}`)
  const codec = createCodec()
  const messages = new MessageTable(memory)
  const onDefect = (error: unknown) => assert.fail(String(error))
  const fanout = new Fanout({
    values: messages,
    directory,
    decoder: codec,
    scratch: newestScratch(),
    messages: smallSizes.messages,
    onDefect,
  })
  const front = new FrontDouble()
  fanout.attach(front)
  const cascades = new CascadeCounts(smallSizes.flows)
  const tap = new JournalTap({ memory, fanout, cascades, decoder: codec, onNote: () => {}, onDefect })
  const store = new ForgetfulStore(memory, LANES)
  const sockets: SocketDouble[] = []
  const follow = (): void => {
    const socket = front.connect()
    const follower = fanout.open(socket)
    for (let message = 0; message < MESSAGES; message++) fanout.followName(follower, message, 'asked')
    sockets.push(socket)
  }
  follow()
  tap.start()
  let running = LANES.length
  const threads = LANES.map(slot => {
    const workerData = { sab: memory.sab, slot, messages: MESSAGES, values: VALUES, seed: seed + slot }
    const worker = new Worker(new URL('../../kit/journal-publisher-thread.ts', import.meta.url), { workerData })
    return once(worker, 'exit').then(([code]) => {
      running--
      assert.equal(code, 0)
    })
  })
  t.after(() => tap.stop())
  while (running > 0) {
    store.forget()
    if (sockets.length < 20) follow()
    await new Promise(resolve => setTimeout(resolve, 1))
  }
  await Promise.all(threads)
  await tap.stop()
  await new Promise(resolve => setTimeout(resolve, 20))
  const published = Array.from({ length: MESSAGES }, (_, message) => messages.version(message))
  assert.equal(
    published.reduce((sum, version) => sum + version, 0),
    LANES.length * VALUES,
  )
  for (const [at, socket] of sockets.entries()) {
    for (const [message, newest] of published.entries()) {
      let has: number | null = at === 0 ? 0 : null
      for (const { version, missed } of socket.values(`boiler.m${message}`)) {
        if (has !== null) assert.equal(missed, version - has - 1, `socket ${at}: ${version} after ${has}`)
        has = version
      }
      assert.equal(has, newest)
    }
  }
  const { missed } = tap.counts()
  const { published: sent, skipped } = fanout.counts()
  console.log(`${LANES.length * VALUES} published, ${sent} sent, ${missed} lost to lapping, ${skipped} came too late`)
  if (missed === 0) assert.equal(sent, LANES.length * VALUES, 'nothing was lost, so all was sent')
}
