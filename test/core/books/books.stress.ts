/**
 * Threads claim cores and cards, wait for their turn, hold and release, or have enough of waiting; they are terminated at random
 * moments, and the front makes the books whole and starts the next one in the slot. Forbidden: a card in two hands, more
 * cores held than there are, a claim of a dead thread that stays, somebody who waits for what is free or sleeps through
 * their grant, a ticket that is granted twice or to nobody.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isMainThread, parentPort, workerData } from 'node:worker_threads'
import { auditBooks } from '../../../core/books/audit.ts'
import { Books, newClaim } from '../../../core/books/books.ts'
import { cardNumbers } from '../../../core/books/listing.ts'
import { recoverBooks } from '../../../core/books/recover.ts'
import { attachMemory, type Memory } from '../../../core/memory/region.ts'
import { SLOT, slotOf, THREAD_KIND, ThreadTable } from '../../../core/memory/threads.ts'
import { Sleeper } from '../../../core/memory/wait.ts'
import { smallMemory } from '../../kit/memory.ts'
import { randomFrom, seed } from '../../kit/random.ts'
import { inWorker } from '../../kit/workers.ts'
import { amounts } from './kit/desk.ts'

const SLOTS = [8, 9, 10]
const DEATHS = process.env['LONG'] === undefined ? 15 : 400
const CLAIMS_BETWEEN = 3000
const CPUS = 4
const CARDS = 3
/** A sleep that ends by itself and finds a grant missed the wake. */
const ASLEEP_MS = 20_000

/** Words of the test: who holds each card, cores held, claims granted so far, the end. */
const word = (memory: Memory, at: number): number => (memory.regions.flows.offset >> 2) + at * 16
const holderOf = (memory: Memory, card: number): number => word(memory, card)
const cores = (memory: Memory, slot: number): number => word(memory, CARDS + slot)
const granted = (memory: Memory): number => word(memory, CARDS + 20)
const finished = (memory: Memory): number => word(memory, CARDS + 21)
const nowUs = (): number => Math.floor((performance.timeOrigin + performance.now()) * 1000)

function hold(memory: Memory, owner: number, random: () => number): void {
  const { i32 } = memory
  const books = new Books(memory, owner)
  const sleeper = new Sleeper(memory, slotOf(owner))
  const out = newClaim()
  while (Atomics.load(i32, finished(memory)) === 0) {
    const cpus = Math.floor(random() * (CPUS + 1))
    const cards = Math.floor(random() * (CARDS + 1))
    if (!books.claim(amounts(cpus, cards), nowUs(), out)) {
      const { ticket } = out
      if (random() < 0.1 && books.cancel(ticket, nowUs())) continue
      for (let had = books.granted(out); !had; ) {
        const wake = sleeper.announce()
        had = books.granted(out)
        if (had) {
          sleeper.cancel()
          break
        }
        const from = performance.now()
        sleeper.sleep(wake, ASLEEP_MS)
        had = books.granted(out)
        assert.ok(!had || performance.now() - from < ASLEEP_MS, 'slept through its grant')
      }
      assert.equal(out.ticket, ticket, 'was granted what it did not wait for')
    }
    const mine = cardNumbers(out.cards_low, out.cards_high)
    assert.equal(mine.length, cards)
    for (const card of mine)
      assert.equal(Atomics.compareExchange(i32, holderOf(memory, card), 0, owner), 0, 'a card in two hands')
    Atomics.store(i32, cores(memory, slotOf(owner)), out.cpus)
    const sum = SLOTS.reduce((all, slot) => all + Atomics.load(i32, cores(memory, slot)), 0)
    assert.ok(sum <= CPUS * 1000, 'more cores held than there are')
    Atomics.add(i32, granted(memory), 1)
    for (let turns = random() * 200; turns > 0; turns--) random()
    Atomics.store(i32, cores(memory, slotOf(owner)), 0)
    for (const card of mine) Atomics.store(i32, holderOf(memory, card), 0)
    assert.ok(books.release(out.ticket, nowUs()), 'its claim is gone')
  }
}

if (isMainThread) {
  test(`cards and cores go from thread to thread, and threads are terminated at any moment (SEED=${seed})`, async t => {
    const random = randomFrom(seed)
    const memory = smallMemory()
    const { i32 } = memory
    const threads = new ThreadTable(memory)
    const front = threads.enter(SLOT.front, THREAD_KIND.front)
    assert.equal(new Books(memory, front).addMachine(CPUS * 1000, (1 << CARDS) - 1, 0, 0, nowUs()), 0)
    const start = (slot: number) => {
      const owner = threads.enter(slot, THREAD_KIND.lane)
      const numbers = Math.floor(random() * 2 ** 31)
      return { slot, owner, ...inWorker(import.meta.url, { role: 'holder', sab: memory.sab, owner, numbers }) }
    }
    const holders = SLOTS.map(start)
    try {
      for (let death = 0; death < DEATHS; death++) {
        const more = i32[granted(memory)]! + 1 + random() * CLAIMS_BETWEEN
        const failed = Promise.race(holders.map(({ answer }) => answer))
        while (Atomics.load(i32, granted(memory)) < more)
          await Promise.race([failed, new Promise(resolve => setTimeout(resolve, 1))])
        const which = Math.floor(random() * SLOTS.length)
        const { slot, owner, worker } = holders[which]!
        await worker.terminate()
        // It holds nothing any more; only then may the books say so.
        Atomics.store(i32, cores(memory, slot), 0)
        for (let card = 0; card < CARDS; card++) Atomics.compareExchange(i32, holderOf(memory, card), owner, 0)
        assert.equal(threads.markDead(slot), owner)
        while (!recoverBooks(memory, owner, front, nowUs()));
        holders[which] = start(slot)
      }
      Atomics.store(i32, finished(memory), 1)
      await Promise.all(holders.map(({ answer }) => answer))
    } finally {
      await Promise.all(holders.map(({ worker }) => worker.terminate()))
    }
    assert.deepEqual(auditBooks(memory, nowUs()), [])
    t.diagnostic(`${i32[granted(memory)]} claims, ${DEATHS} deaths`)
  })
} else {
  const { sab, owner, numbers } = workerData as { sab: SharedArrayBuffer; owner: number; numbers: number }
  hold(attachMemory(sab), owner, randomFrom(numbers))
  parentPort!.postMessage('done')
}
