/**
 * Two lanes write, the store and the front drain. Forbidden: a record is lost, duplicated or torn for the store; the front
 * sees a torn record, an older one after a newer one, or is lapped and does not know by how much; what was written last
 * stays hidden from it.
 *
 * The lanes write in rounds and stand still between them until the front has come to the end of the ring. In every second
 * round the front looks away, and a round is longer than a ring. So it is shown something in every round and lapped in
 * every second one, however the threads are scheduled.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isMainThread, parentPort, workerData } from 'node:worker_threads'
import { Arena } from '../../../../core/memory/arena.ts'
import {
  JOURNAL,
  JournalReader,
  type JournalVisitor,
  JournalWriter,
  type RecordView,
} from '../../../../core/memory/journal/journal.ts'
import { attachMemory, type Memory } from '../../../../core/memory/region.ts'
import { ownerWord, SLOT } from '../../../../core/memory/threads.ts'
import { Sleeper, wakeThread } from '../../../../core/memory/wait.ts'
import { limits } from '../../../../protocol/limits.ts'
import { summary } from '../../../kit/journal-log.ts'
import { float, newValue, smallMemory, text } from '../../../kit/memory.ts'
import { inWorker } from '../../../kit/workers.ts'

const LANES = [8, 9]
const RECORDS = process.env['LONG'] === undefined ? 150_000 : 8_000_000
const ROUNDS = 20
const ROUND = RECORDS / ROUNDS
const lengthOf = (version: number): number =>
  version % 997 === 0 ? 5000 : version % 13 === 0 ? version % 700 : version % 3 === 0 ? version % 50 : -1
/** Lanes that have written their round, summed over the rounds; rounds that the front has been through. */
const written = (memory: Memory): number => memory.regions.flows.offset >> 2
const been = (memory: Memory): number => written(memory) + 1

/** Sleeps until the word is at least `least`. */
function waitFor(memory: Memory, word: number, least: number): void {
  for (let seen = Atomics.load(memory.i32, word); seen < least; seen = Atomics.load(memory.i32, word))
    Atomics.wait(memory.i32, word, seen)
}

function tell(memory: Memory, word: number): void {
  Atomics.add(memory.i32, word, 1)
  Atomics.notify(memory.i32, word)
}

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
    if (length < 0) writer.value(slot, version, version / 2, 0, float(value, version * 3), 0)
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
    if (version % ROUND === 0) {
      writer.mark()
      tell(memory, written(memory))
      waitFor(memory, been(memory), version / ROUND)
    }
  }
  return waits
}

/** Checks each record; `last` is the version seen last. */
class Checker implements JournalVisitor {
  last = 0
  seen = 0
  readonly #slot: number

  constructor(slot: number) {
    this.#slot = slot
  }

  visit({ kind, subject: message, version, ts, flags, number, bytes, start, length }: RecordView): void {
    if (kind !== JOURNAL.value) assert.fail('nobody wrote this')
    if (version <= this.last) assert.fail(`version ${version} after ${this.last}`)
    this.seen++
    this.last = version
    const expected = lengthOf(version)
    if (message !== this.#slot || ts !== version / 2 || flags !== (expected < 0 ? 0 : 2)) assert.fail('a torn header')
    if (expected < 0) {
      if (number !== version * 3) assert.fail('a torn number')
    } else if (length !== expected || (length > 0 && summary(bytes, start, length) !== `${length}x${version & 0xff}`))
      assert.fail(`a torn value: ${summary(bytes, start, length)}`)
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
  for (const checker of checkers) assert.equal(checker.seen, RECORDS, 'a record was lost')
  return sleeps
}

function front(memory: Memory): { shown: number; missed: number } {
  const readers = LANES.map(slot => new JournalReader(memory, slot, 'front'))
  const checkers = LANES.map(slot => new Checker(slot))
  const drain = (): void => readers.forEach((reader, i) => void reader.drain(checkers[i]!, 50_000))
  for (let round = 1; round <= ROUNDS; round++) {
    const before = readers.map((reader, i) => ({ missed: reader.missed(), seen: checkers[i]!.seen }))
    const all = round * LANES.length
    if (round % 2 === 0) waitFor(memory, written(memory), all)
    else while (Atomics.load(memory.i32, written(memory)) < all) drain()
    while (readers.some(reader => reader.waiting() > 0)) drain()
    readers.forEach((reader, i) => {
      const { seen, last } = checkers[i]!
      assert.equal(last, round * ROUND, 'what was written last stays hidden')
      assert.equal(seen + reader.missed(), last, 'the front does not know what it missed')
      assert.ok(seen > before[i]!.seen)
      if (round % 2 === 0) assert.ok(reader.missed() > before[i]!.missed, 'a front that looks away is lapped')
    })
    tell(memory, been(memory))
  }
  const sum = (numbers: number[]): number => numbers.reduce((a, b) => a + b)
  return { shown: sum(checkers.map(({ seen }) => seen)), missed: sum(readers.map(reader => reader.missed())) }
}

if (isMainThread) {
  test('two lanes write while the store and the front drain', async t => {
    const memory = smallMemory()
    const run = (role: string, slot: number) => inWorker(import.meta.url, { role, sab: memory.sab, slot })
    const threads = [run('front', 0), run('store', 0), ...LANES.map(slot => run('lane', slot))]
    // a thread that fails leaves the others waiting for it
    const [seen, sleeps, ...waits] = await Promise.all(threads.map(({ answer }) => answer)).finally(() =>
      Promise.all(threads.map(({ worker }) => worker.terminate())),
    )
    const { shown, missed } = seen as { shown: number; missed: number }
    t.diagnostic(`front: ${shown} shown, ${missed} missed; store slept ${sleeps}; lanes waited ${waits}`)
    assert.equal(shown + missed, RECORDS * LANES.length)
    const arena = new Arena(memory, ownerWord(2, 8))
    assert.equal(arena.used(), 0, 'a slab is leaked')
  })
} else {
  const { role, sab, slot } = workerData as { role: string; sab: SharedArrayBuffer; slot: number }
  const memory = attachMemory(sab)
  parentPort!.postMessage(role === 'lane' ? write(memory, slot) : role === 'store' ? store(memory) : front(memory))
}
