/**
 * Two lanes write, the store and the front drain. Forbidden: a record is lost, duplicated or torn for the store; the front
 * sees a torn record, an older one after a newer one, or is lapped and does not know by how much.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isMainThread, parentPort, workerData } from 'node:worker_threads'
import { Arena } from '../../../core/memory/arena.ts'
import { JournalReader, type JournalVisitor, JournalWriter } from '../../../core/memory/journal.ts'
import { attachMemory, type Memory } from '../../../core/memory/region.ts'
import { ownerWord, SLOT } from '../../../core/memory/threads.ts'
import { Sleeper, wakeThread } from '../../../core/memory/wait.ts'
import { limits } from '../../../protocol/limits.ts'
import { summary } from '../../kit/journal-log.ts'
import { float, newValue, smallMemory, text } from '../../kit/memory.ts'
import { inWorker } from '../../kit/workers.ts'

const LANES = [8, 9]
const RECORDS = process.env['LONG'] === undefined ? 150_000 : 8_000_000
const lengthOf = (version: number): number =>
  version % 997 === 0 ? 5000 : version % 13 === 0 ? version % 700 : version % 3 === 0 ? version % 50 : -1
const finished = (memory: Memory): number => memory.regions.flows.offset >> 2

function write(memory: Memory, slot: number): number {
  const arena = new Arena(memory, ownerWord(1, slot))
  const wakes = { store: () => void wakeThread(memory, SLOT.store), front: () => void wakeThread(memory, SLOT.front) }
  const writer = new JournalWriter(memory, slot, wakes)
  const value = newValue(8192)
  let waits = 0
  for (let version = 1; version <= RECORDS; version++) {
    const length = lengthOf(version)
    if (!writer.hasRoom(Math.max(length, 8) + 100)) {
      waits++
      assert.ok(writer.waitForRoom(Math.max(length, 8) + 100, () => false))
    }
    if (length < 0) writer.value(slot, version, version / 2, 1, float(value, version * 3), 0)
    else {
      text(value, length, version & 0xff)
      let ref = 0
      if (length > limits.JOURNAL_INLINE_BYTES) {
        ref = arena.allocate(length)
        assert.ok(ref > 0)
        value.bytes.copy(memory.bytes, arena.offset(ref), 0, length)
        arena.commit(ref)
      }
      writer.value(slot, version, version / 2, 2, value, ref)
      if (ref !== 0) arena.release(ref)
    }
    if (version % 50 === 0) writer.mark()
  }
  writer.mark()
  return waits
}

/** Checks each record; `last` is the version seen last. */
class Checker implements JournalVisitor {
  last = 0
  gaps = 0
  readonly #slot: number

  constructor(slot: number) {
    this.#slot = slot
  }

  value(
    message: number,
    version: number,
    ts: number,
    flags: number,
    _kind: number,
    number: number,
    bytes: Buffer,
    at: number,
    length: number,
  ): void {
    if (version <= this.last) assert.fail(`version ${version} after ${this.last}`)
    this.gaps += version - this.last - 1
    this.last = version
    const expected = lengthOf(version)
    if (message !== this.#slot || ts !== version / 2 || flags !== (expected < 0 ? 1 : 2)) assert.fail('a torn header')
    if (expected < 0) {
      if (number !== version * 3) assert.fail('a torn number')
    } else if (length !== expected || (length > 0 && summary(bytes, at, length) !== `${length}x${version & 0xff}`))
      assert.fail(`a torn value: ${summary(bytes, at, length)}`)
  }

  cascade(): void {
    assert.fail('nobody wrote this')
  }
  blob(): void {
    assert.fail('nobody wrote this')
  }
  held(): void {
    assert.fail('nobody wrote this')
  }
  taken(): void {
    assert.fail('nobody wrote this')
  }
}

function store(memory: Memory): number {
  const sleeper = new Sleeper(memory, SLOT.store)
  const readers = LANES.map(slot => new JournalReader(memory, slot, 'store'))
  const checkers = LANES.map(slot => new Checker(slot))
  let sleeps = 0
  while (checkers.some(checker => checker.last < RECORDS)) {
    const ticket = sleeper.announce()
    let drained = 0
    readers.forEach((reader, i) => {
      drained += reader.drain(checkers[i]!, 16_384)
    })
    if (drained > 0) sleeper.cancel()
    else {
      sleeps++
      sleeper.sleep(ticket, 1000)
    }
  }
  for (const checker of checkers) assert.equal(checker.gaps, 0, 'a record was lost')
  Atomics.store(memory.i32, finished(memory), 1)
  return sleeps
}

/** Every now and then it looks away, so that it is lapped. */
function front(memory: Memory): { shown: number; missed: number } {
  const readers = LANES.map(slot => new JournalReader(memory, slot, 'front'))
  const checkers = LANES.map(slot => new Checker(slot))
  let shown = 0
  for (let turn = 0; ; turn++) {
    const last = Atomics.load(memory.i32, finished(memory)) === 1
    if (turn % 64 === 0 && !last) Atomics.wait(memory.i32, finished(memory), 0, 5)
    readers.forEach((reader, i) => {
      shown += reader.drain(checkers[i]!, 50_000)
    })
    if (last && readers.every(reader => reader.waiting() === 0)) break
  }
  let missed = 0
  readers.forEach((reader, i) => {
    assert.equal(reader.missed(), checkers[i]!.gaps, 'the front does not know what it missed')
    missed += reader.missed()
  })
  return { shown, missed }
}

if (isMainThread) {
  test('two lanes write while the store and the front drain', async t => {
    const memory = smallMemory()
    const run = (role: string, slot: number) => inWorker(import.meta.url, { role, sab: memory.sab, slot }).answer
    const [seen, sleeps, ...waits] = await Promise.all([
      run('front', 0),
      run('store', 0),
      ...LANES.map(slot => run('lane', slot)),
    ])
    const { shown, missed } = seen as { shown: number; missed: number }
    t.diagnostic(`front: ${shown} shown, ${missed} missed; store slept ${sleeps}; lanes waited ${waits}`)
    // a long value counts as drained when its slab was gone, and as missed
    assert.ok(shown + missed >= RECORDS * LANES.length && shown > RECORDS / 100)
    const arena = new Arena(memory, ownerWord(2, 8))
    assert.equal(arena.used(), 0, 'a slab is astray')
  })
} else {
  const { role, sab, slot } = workerData as { role: string; sab: SharedArrayBuffer; slot: number }
  const memory = attachMemory(sab)
  parentPort!.postMessage(role === 'lane' ? write(memory, slot) : role === 'store' ? store(memory) : front(memory))
}
