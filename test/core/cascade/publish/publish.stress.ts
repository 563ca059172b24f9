/**
 * Two producers and two lanes on one memory, while a third thread reads the journals as the store. Forbidden:
 *
 *   lost         a version of a message never reaches a flow that reads it, or the store
 *   duplicated   a version reaches one twice
 *   reordered    a flow gets a later version of a message before an earlier one
 *   torn         a value holds bytes of another
 *   stuck        work waits and everybody sleeps
 *   leaked       a segment or slab that nobody names, at the end
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import { auditMemory } from '../../../../core/cascade/audit.ts'
import { recoverThread } from '../../../../core/cascade/recover.ts'
import { ThreadTable } from '../../../../core/memory/threads.ts'
import { smallMemory } from '../../../kit/memory.ts'
import { randomFrom, seed } from '../../../kit/random.ts'
import { Station, Store } from '../kit/station.ts'
import { FLOWS, newWords, startThread, WORDS, waiting } from '../kit/stress.ts'

const PUBLISHES = process.env['LONG'] === undefined ? 20_000 : 400_000
const DEATHS = process.env['LONG'] === undefined ? 8 : 100
const PATIENCE_MS = 120_000
const FRONT = 1
const PRODUCERS = [4, 5]
const LANES = [8, 9]

async function stress(deaths: number): Promise<void> {
  const random = randomFrom(seed)
  const memory = smallMemory({ rings: 12, ring_bytes: 1 << 19, queue_segments: 256, arena_bytes: 8 << 20 })
  const words = newWords()
  const front = new Station(memory, FRONT)
  const store = new Store(memory, [...PRODUCERS, ...LANES], false)
  const workers = new Map<number, Worker>()
  const exits: Promise<unknown>[] = []
  const failures: unknown[] = []
  const start = async (slot: number, publishes: number): Promise<void> => {
    const data = { sab: memory.sab, words, slot, publishes, seed: seed + slot + Math.floor(random() * 1e6) }
    const worker = await startThread(data, error => failures.push(error))
    workers.set(slot, worker)
    exits.push(new Promise(resolve => worker.once('exit', resolve)))
  }
  const die = async (slot: number): Promise<void> => {
    words[WORDS.deaths]!++
    await workers.get(slot)!.terminate()
    const dead = new ThreadTable(memory).markDead(slot)
    // Said before the flows are free again, since the next owner may take at once.
    for (let flow = 0; flow < FLOWS; flow++) if (front.flows.ownerOf(flow) === dead) words[WORDS.grace + flow] = 1
    for (let tries = 0; !recoverThread(dead, front).done; tries++) assert.ok(tries < 100, 'recovery comes to an end')
    if (LANES.includes(slot)) await start(slot, 0)
    else if (words[WORDS.produced]! < PRODUCERS.length) await start(slot, PUBLISHES / 2)
  }
  try {
    for (const slot of LANES) await start(slot, 0)
    for (const slot of PRODUCERS) await start(slot, PUBLISHES)
    const until = performance.now() + PATIENCE_MS
    let left = deaths
    const busy = (): boolean =>
      words[WORDS.produced]! < PRODUCERS.length || waiting(memory, flow => front.flows.queued(flow)) > 0
    while (busy()) {
      assert.deepEqual(failures, [])
      assert.ok(performance.now() < until, 'stuck: work waits and nobody does it')
      store.drain()
      await pause(1)
      if (left > 0 && random() < 0.05) {
        left--
        const alive = words[WORDS.produced] === 0 ? [...PRODUCERS, ...LANES] : LANES
        await die(alive[Math.floor(random() * alive.length)]!)
      }
    }
    Atomics.store(words, WORDS.stop, 1)
    front.ready.wakeAll()
    await Promise.all(exits)
    assert.deepEqual(failures, [])
  } finally {
    await Promise.all([...workers.values()].map(worker => worker.terminate()))
  }
  store.drain()
  assert.deepEqual(auditMemory(memory).problems, [])
  for (let message = 0; message < memory.sizes.messages; message++) {
    const versions = store.versions.get(message) ?? []
    assert.equal(new Set(versions).size, versions.length, `the store has each version of message ${message} once`)
    assert.equal(versions.length, front.messages.version(message), `the store has all versions of message ${message}`)
  }
}

test(`two producers and two lanes (SEED=${seed})`, () => stress(0))

test(`two producers and two lanes that are ended at any moment (SEED=${seed})`, () => stress(DEATHS))
