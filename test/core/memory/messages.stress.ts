/**
 * Publishers and readers on the same few messages. Forbidden: a reader sees a torn value; a version goes backwards; a
 * message that had a value reads as empty; a slab is handed out while somebody reads it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isMainThread, parentPort, workerData } from 'node:worker_threads'
import { Arena } from '../../../core/memory/arena.ts'
import { MessageTable } from '../../../core/memory/messages.ts'
import { attachMemory, type Memory } from '../../../core/memory/region.ts'
import { ownerWord, slotOf } from '../../../core/memory/threads.ts'
import { lockWord, unlockWord } from '../../../core/memory/wait.ts'
import { newValue, smallMemory, text } from '../../kit/memory.ts'
import { inWorker } from '../../kit/workers.ts'

const MESSAGES = 3
const PUBLISHES = process.env['LONG'] === undefined ? 60_000 : 4_000_000
/** Inline, at the edge of inline, a small slab, a long one. */
const lengthOf = (version: number): number => [3, 80, 81, 700, 20_000][version % 5]!
const lock = (memory: Memory, message: number): number => (memory.regions.flows.offset >> 2) + message * 64
const finished = (memory: Memory): number => lock(memory, MESSAGES)

function publish(memory: Memory, owner: number): number {
  const arena = new Arena(memory, owner)
  const table = new MessageTable(memory)
  const value = newValue(20_000)
  let published = 0
  for (let i = 0; i < PUBLISHES; i++) {
    const message = (i + slotOf(owner)) % MESSAGES
    assert.ok(lockWord(memory, lock(memory, message), owner))
    const version = table.version(message) + 1
    text(value, lengthOf(version), version & 0xff)
    const ref = value.length > 80 ? arena.allocate(value.length) : 0
    if (value.length <= 80 || ref > 0) {
      if (ref > 0) value.bytes.copy(memory.bytes, arena.offset(ref), 0, value.length)
      const displaced = table.write(message, version, version, value, ref)
      table.flip(message, version)
      if (displaced !== 0) arena.release(displaced)
      published++
    }
    unlockWord(memory, lock(memory, message), owner)
  }
  Atomics.add(memory.i32, finished(memory), 1)
  return published
}

function read(memory: Memory): number {
  const table = new MessageTable(memory)
  const value = newValue(16)
  const seen = new Array<number>(MESSAGES).fill(0)
  let reads = 0
  while (Atomics.load(memory.i32, finished(memory)) < 2) {
    for (let message = 0; message < MESSAGES; message++) {
      if (!table.read(message, value)) {
        assert.equal(seen[message], 0, 'a message lost its value')
        continue
      }
      reads++
      assert.ok(value.version >= seen[message]!, 'a version went backwards')
      seen[message] = value.version
      assert.deepEqual([value.ts, value.length], [value.version, lengthOf(value.version)], 'a torn header')
      for (let i = 0; i < value.length; i++)
        if (value.bytes[i] !== (value.version & 0xff)) assert.fail(`a torn value of ${value.length} bytes`)
    }
  }
  return reads
}

if (isMainThread) {
  test('publishers and readers on the same messages', async t => {
    const memory = smallMemory()
    const roles = [
      { role: 'publish', slot: 8 },
      { role: 'publish', slot: 9 },
      { role: 'read', slot: 0 },
      { role: 'read', slot: 0 },
    ]
    const counts = await Promise.all(
      roles.map(each => inWorker(import.meta.url, { sab: memory.sab, ...each }).answer as Promise<number>),
    )
    t.diagnostic(`${counts[0]! + counts[1]!} versions, ${counts[2]! + counts[3]!} reads`)
    const table = new MessageTable(memory)
    let versions = 0
    for (let message = 0; message < MESSAGES; message++) versions += table.version(message)
    assert.equal(versions, counts[0]! + counts[1]!, 'two publishers gave one version')
    assert.ok(counts[2]! + counts[3]! > 1000)
    // what the table still names is all that is in use
    const arena = new Arena(memory, ownerWord(2, 8))
    for (let message = 0; message < MESSAGES; message++)
      for (const ref of [table.ref(message), table.previousRef(message)]) if (ref !== 0) arena.release(ref)
    assert.equal(arena.used(), 0, 'a slab is leaked')
  })
} else {
  const { role, sab, slot } = workerData as { role: string; sab: SharedArrayBuffer; slot: number }
  const memory = attachMemory(sab)
  parentPort!.postMessage(role === 'publish' ? publish(memory, ownerWord(1, slot)) : read(memory))
}
