/**
 * A thread pushes numbered messages and is terminated at random moments; the next one goes on where the outbox ends. The reader sleeps when
 * there is nothing. Forbidden: a torn message, one that is missing or twice, a reader that sleeps for ever.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isMainThread, workerData } from 'node:worker_threads'
import { newOutbox, OutboxReader, OutboxWriter } from '../../../../core/memory/outbox.ts'
import { randomFrom, seed } from '../../../kit/random.ts'
import { inWorker } from '../../../kit/workers.ts'

const KILLS = process.env['LONG'] === undefined ? 10 : 300
const payloadOf = (number: number): string => `${number} ${'x'.repeat(number % 300)}`

function write(sab: SharedArrayBuffer, words: Int32Array): void {
  const writer = new OutboxWriter(sab)
  // The number is counted before it shows: what was pushed is known by the reader alone.
  while (Atomics.load(words, 1) === 0) {
    const number = Atomics.load(words, 0)
    if (writer.push('t', payloadOf(number), number & 7) === 'pushed') Atomics.store(words, 0, number + 1)
  }
}

if (isMainThread) {
  test('a writer is terminated at random moments, and every message comes whole and in order', async () => {
    console.log(`SEED=${seed}`)
    const random = randomFrom(seed)
    const sab = newOutbox(8192)
    const reader = new OutboxReader(sab)
    const shared = new SharedArrayBuffer(8)
    const words = new Int32Array(shared)
    let got = 0
    const drain = async (until: () => boolean): Promise<void> => {
      while (!until()) {
        const record = reader.next()
        if (record === null) {
          const more = reader.waitForMore()
          if (more !== null) await Promise.race([more, new Promise(resolve => setTimeout(resolve, 5))])
          continue
        }
        const number = Number(record.payload.toString().split(' ', 1)[0])
        // A writer that died between the push and its count pushes the number again.
        assert.ok(number === got || number === got - 1, `${number} after ${got - 1}`)
        assert.equal(record.payload.toString(), payloadOf(number))
        assert.equal(record.flags, number & 7)
        got = number + 1
        reader.sent(record.end)
      }
    }
    for (let kill = 0; kill < KILLS; kill++) {
      const { worker } = inWorker(import.meta.url, { role: 'write', sab, shared })
      // A failure ends the test while it writes.
      worker.unref()
      const enough = got + 1 + Math.floor(random() * 2000)
      await drain(() => got >= enough)
      await worker.terminate()
    }
    Atomics.store(words, 1, 1)
    await drain(() => reader.isEmpty)
    assert.ok(got >= Atomics.load(words, 0))
  })
} else {
  const { sab, shared } = workerData as { sab: SharedArrayBuffer; shared: SharedArrayBuffer }
  write(sab, new Int32Array(shared))
}
