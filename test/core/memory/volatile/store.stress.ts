/**
 * Threads put and read, and are terminated at random moments; the front frees what they held. Forbidden: a reader gets bytes that are
 * not those of the digest; a writer waits for a dead one for ever; what the last writer put is not found.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isMainThread, parentPort, threadId, workerData } from 'node:worker_threads'
import { recoverVolatile } from '../../../../core/memory/volatile/recover.ts'
import {
  attachVolatile,
  layVolatile,
  VOLATILE_HEADER,
  type VolatileMemory,
  volatileOwner,
} from '../../../../core/memory/volatile/region.ts'
import { VolatileStore } from '../../../../core/memory/volatile/store.ts'
import { randomFrom, seed } from '../../../kit/random.ts'
import { inWorker } from '../../../kit/workers.ts'
import { frame, named } from './kit.ts'

const WRITERS = 2
const KILLS = process.env['LONG'] === undefined ? 15 : 500
const NUMBERS = 400
const RING = 64 * 1024
/** Short and long ones; the ring holds a few dozen. */
const lengthOf = (number: number): number => [10, 700, 3000, 16_000][number % 4]!
/** Words behind the store. */
const puts = (memory: VolatileMemory): number => (memory.ring + RING) >> 2
const finished = (memory: VolatileMemory): number => puts(memory) + 1

function write(memory: VolatileMemory): void {
  const store = new VolatileStore(memory, volatileOwner(threadId))
  while (Atomics.load(memory.i32, finished(memory)) === 0) {
    const number = Math.floor(Math.random() * NUMBERS)
    if (store.put(named(number), frame(number, lengthOf(number)), 5)) Atomics.add(memory.i32, puts(memory), 1)
  }
}

function read(memory: VolatileMemory): number {
  const store = new VolatileStore(memory, volatileOwner(threadId))
  let found = 0
  while (Atomics.load(memory.i32, finished(memory)) === 0) {
    const number = Math.floor(Math.random() * NUMBERS)
    const bytes = store.read(named(number))
    if (bytes === null) continue
    found++
    if (!bytes.equals(frame(number, lengthOf(number)))) assert.fail(`torn bytes of ${number}`)
  }
  return found
}

if (isMainThread) {
  test('writers of the volatile store are terminated at random moments, and nobody reads a torn artifact', async t => {
    console.log(`SEED=${seed}`)
    const random = randomFrom(seed)
    const memory = layVolatile(new SharedArrayBuffer(256 * 1024), 0, RING, 64)
    const { i32, sab } = memory
    const start = () => inWorker(import.meta.url, { role: 'write', sab })
    const readers = [0, 1].map(() => inWorker(import.meta.url, { role: 'read', sab }))
    const writers = Array.from({ length: WRITERS }, start)
    let freed = 0
    for (let kill = 0; kill < KILLS; kill++) {
      const which = Math.floor(random() * WRITERS)
      const more = i32[puts(memory)]! + 1 + random() * 500
      while (Atomics.load(i32, puts(memory)) < more) await new Promise(resolve => setTimeout(resolve, 1))
      const { worker } = writers[which]!
      const owner = volatileOwner(worker.threadId)
      await worker.terminate()
      if (recoverVolatile(memory, owner)) freed++
      writers[which] = start()
    }
    Atomics.store(i32, finished(memory), 1)
    await Promise.all(writers.map(({ answer }) => answer))
    const found = (await Promise.all(readers.map(({ answer }) => answer))) as number[]
    t.diagnostic(
      `${i32[puts(memory)]} puts, ${KILLS} kills, ${freed} of them under the lock, ${found.join(' + ')} reads`,
    )
    assert.ok(found[0]! + found[1]! > 1000)
    assert.equal(i32[(memory.header >> 2) + VOLATILE_HEADER.word.lock], 0, 'the lock stays held')
    const store = new VolatileStore(memory, volatileOwner(threadId))
    assert.ok(store.put(named(NUMBERS + 1), frame(NUMBERS + 1, 16_000)))
    assert.deepEqual(store.read(named(NUMBERS + 1)), frame(NUMBERS + 1, 16_000))
  })
} else {
  const { role, sab } = workerData as { role: string; sab: SharedArrayBuffer }
  const memory = attachVolatile(sab)
  parentPort!.postMessage(role === 'write' ? write(memory) : read(memory))
}
