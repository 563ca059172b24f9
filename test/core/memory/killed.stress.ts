/**
 * Lanes publish and are terminated at random moments; the front recovers what they owned and starts the next one in the
 * slot. Forbidden: a reader sees a torn value or an older version; a version that readers saw is missing in the store; the
 * store sees a torn record; a slab is handed out twice (its bytes would change under a reader); a lock stays held.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isMainThread, parentPort, workerData } from 'node:worker_threads'
import { Arena, SLAB_BYTES } from '../../../core/memory/arena.ts'
import {
  JOURNAL,
  JournalReader,
  type JournalVisitor,
  JournalWriter,
  recoverJournal,
} from '../../../core/memory/journal/journal.ts'
import { MessageTable } from '../../../core/memory/messages.ts'
import { recoverArena } from '../../../core/memory/recover/arena.ts'
import { attachMemory, type Memory } from '../../../core/memory/region.ts'
import { SLOT, THREAD_KIND, ThreadTable } from '../../../core/memory/threads.ts'
import { lockWord, recoverWord, unlockWord, wakeThread } from '../../../core/memory/wait.ts'
import { summary } from '../../kit/journal-log.ts'
import { newValue, smallMemory, text } from '../../kit/memory.ts'
import { randomFrom, seed } from '../../kit/random.ts'
import { inWorker } from '../../kit/workers.ts'

const LANES = [8, 9]
const MESSAGES = 2
const KILLS = process.env['LONG'] === undefined ? 12 : 400
const lengthOf = (version: number): number => [30, 700, 5000][version % 3]!
const LONGEST_SLAB = SLAB_BYTES.find(bytes => bytes >= 5016)!
const lock = (memory: Memory, message: number): number => (memory.regions.flows.offset >> 2) + message * 64
const published = (memory: Memory): number => lock(memory, MESSAGES)
const finished = (memory: Memory): number => lock(memory, MESSAGES) + 1

/** Publishes until it is terminated, or until the end. */
function lane(memory: Memory, owner: number, slot: number): void {
  const arena = new Arena(memory, owner)
  const table = new MessageTable(memory)
  const journal = new JournalWriter(memory, slot, { store: () => void wakeThread(memory, SLOT.store), front() {} })
  const value = newValue(5000)
  while (Atomics.load(memory.i32, finished(memory)) === 0) {
    const message = Math.floor(Math.random() * MESSAGES)
    if (!journal.waitForRoom(5200, () => Atomics.load(memory.i32, finished(memory)) !== 0)) continue
    assert.ok(lockWord(memory, lock(memory, message), owner))
    const version = table.version(message) + 1
    text(value, lengthOf(version), version & 0xff)
    const ref = value.length > 80 ? arena.allocate(value.length) : 0
    if (value.length <= 80 || ref > 0) {
      if (ref > 0) value.bytes.copy(memory.bytes, arena.offset(ref), 0, value.length)
      const displaced = table.write(message, version, version, value, ref)
      journal.value(message, version, version, 0, value, ref)
      table.flip(message, version)
      if (displaced !== 0) arena.release(displaced)
      Atomics.add(memory.i32, published(memory), 1)
    }
    unlockWord(memory, lock(memory, message), owner)
    if (version % 4 === 0) journal.mark()
  }
  journal.mark()
}

function read(memory: Memory): number {
  const table = new MessageTable(memory)
  const value = newValue(5000)
  const seen = new Array<number>(MESSAGES).fill(0)
  let reads = 0
  while (Atomics.load(memory.i32, finished(memory)) < 2)
    for (let message = 0; message < MESSAGES; message++) {
      if (!table.read(message, value)) {
        assert.equal(seen[message], 0, 'a message lost its value')
        continue
      }
      reads++
      assert.ok(value.version >= seen[message]!, 'a version went backwards')
      seen[message] = value.version
      assert.equal(
        summary(value.bytes, 0, value.length),
        `${lengthOf(value.version)}x${value.version & 0xff}`,
        'a torn value',
      )
    }
  return reads
}

/** How often each version of each message was stored. */
function store(memory: Memory): Map<number, number>[] {
  const counts = Array.from({ length: MESSAGES }, () => new Map<number, number>())
  const visitor: JournalVisitor = {
    visit({ kind, subject: message, version, bytes, start, length }) {
      if (kind !== JOURNAL.value) assert.fail('nobody wrote this')
      const expected = `${lengthOf(version)}x${version & 0xff}`
      if (summary(bytes, start, length) !== expected) assert.fail(`a torn record: ${summary(bytes, start, length)}`)
      counts[message]!.set(version, (counts[message]!.get(version) ?? 0) + 1)
    },
  }
  const readers = LANES.map(slot => new JournalReader(memory, slot, 'store'))
  for (;;) {
    const last = Atomics.load(memory.i32, finished(memory)) === 2
    let drained = 0
    for (const reader of readers) drained += reader.drain(visitor, 65_536)
    if (last && drained === 0) return counts
    if (drained === 0) Atomics.wait(memory.i32, finished(memory), 0, 1)
  }
}

if (isMainThread) {
  test('lanes are terminated at random moments and the next ones go on', async t => {
    console.log(`SEED=${seed}`)
    const random = randomFrom(seed)
    const memory = smallMemory()
    const { i32 } = memory
    const threads = new ThreadTable(memory)
    const front = threads.enter(SLOT.front, THREAD_KIND.front)
    const start = (slot: number) => {
      const owner = threads.enter(slot, THREAD_KIND.lane)
      return { slot, owner, ...inWorker(import.meta.url, { role: 'lane', sab: memory.sab, slot, owner }) }
    }
    const others = [
      inWorker(import.meta.url, { role: 'read', sab: memory.sab }),
      inWorker(import.meta.url, { role: 'store', sab: memory.sab }),
    ]
    const lanes = LANES.map(start)
    for (let kill = 0; kill < KILLS; kill++) {
      const which = Math.floor(random() * LANES.length)
      const more = i32[published(memory)]! + 1 + random() * 3000
      while (Atomics.load(i32, published(memory)) < more) await new Promise(resolve => setTimeout(resolve, 1))
      const { slot, owner, worker } = lanes[which]!
      await worker.terminate()
      assert.equal(threads.markDead(slot), owner)
      while (!recoverArena(memory, owner, front));
      recoverJournal(memory, slot)
      for (let message = 0; message < MESSAGES; message++) recoverWord(memory, lock(memory, message), owner)
      lanes[which] = start(slot)
    }
    Atomics.store(i32, finished(memory), 1)
    await Promise.all(lanes.map(({ answer }) => answer))
    Atomics.store(i32, finished(memory), 2)
    const [reads, stored] = (await Promise.all(others.map(({ answer }) => answer))) as [number, Map<number, number>[]]

    const table = new MessageTable(memory)
    const arena = new Arena(memory, front)
    let twice = 0
    stored.forEach((versions, message) => {
      const latest = table.version(message)
      for (let version = 1; version <= latest; version++)
        assert.ok(versions.has(version), `version ${version} of ${latest} is missing in the store`)
      for (const [version, times] of versions) {
        // a version whose publisher died before the flip is given again, or was the last
        assert.ok(version <= latest + 1)
        twice += times - 1
      }
      assert.equal(i32[lock(memory, message)], 0, 'a lock stays held')
      for (const ref of [table.ref(message), table.previousRef(message)]) if (ref !== 0) arena.release(ref)
    })
    t.diagnostic(
      `${i32[published(memory)]} versions, ${KILLS} kills, ${reads} reads, ${twice} stored twice, ${arena.used()} bytes leaked`,
    )
    assert.ok(twice <= KILLS)
    assert.ok(Math.abs(arena.used()) <= 3 * KILLS * LONGEST_SLAB, `${arena.used()} bytes leaked`)
  })
} else {
  const { role, sab, slot, owner } = workerData as { role: string; sab: SharedArrayBuffer; slot: number; owner: number }
  const memory = attachMemory(sab)
  parentPort!.postMessage(role === 'lane' ? lane(memory, owner, slot) : role === 'store' ? store(memory) : read(memory))
}
