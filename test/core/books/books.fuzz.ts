import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newClaim } from '../../../core/books/books.ts'
import type { Amounts } from '../../../core/books/ledger.ts'
import { recoverBooks } from '../../../core/books/recover.ts'
import { ThreadTable } from '../../../core/memory/threads.ts'
import { limits } from '../../../protocol/limits.ts'
import { smallMemory } from '../../kit/memory.ts'
import { randomFrom, seed } from '../../kit/random.ts'
import { Clerk } from './kit/desk.ts'

const ROUNDS = process.env['LONG'] === undefined ? 40 : 2000
const STEPS = 400
const HEAD_US = limits.BOOK_HEAD_MS * 1000

interface Machine extends Amounts {
  attached: boolean
  taken: Set<number>
}
interface Held extends Amounts {
  ticket: number
  by: number
  machine: number
  taken: number[]
}
interface Waiter extends Amounts {
  ticket: number
  by: number
  since_us: number
}

/** The rules of the books in plain words, over arrays. */
class Model {
  readonly machines: Machine[] = []
  held: Held[] = []
  line: Waiter[] = []
  /** Tickets that were granted to those who waited, by thread, and not told yet. */
  readonly untold = new Map<number, number[]>()
  readonly room: { claims: number; waiting: number }

  constructor(room: { claims: number; waiting: number }) {
    this.room = room
  }

  needs(ask: Amounts): Amounts {
    const offers = this.machines
      .filter(({ attached }) => attached)
      .map(({ cpus, cards, ram_kib }) => ({
        cpus: Math.min(cpus, ask.cpus),
        cards: Math.min(cards, ask.cards),
        ram_kib: Math.min(ram_kib, ask.ram_kib),
      }))
    offers.sort((a, b) => b.cards - a.cards || b.cpus - a.cpus || b.ram_kib - a.ram_kib)
    const whole = offers.find(
      offer => offer.cpus === ask.cpus && offer.cards === ask.cards && offer.ram_kib === ask.ram_kib,
    )
    return whole ?? offers[0] ?? { cpus: ask.cpus, cards: ask.cards, ram_kib: ask.ram_kib }
  }

  fits(needs: Amounts, at: number): boolean {
    const machine = this.machines[at]!
    const mine = this.held.filter(held => held.machine === at)
    const left = (of: 'cpus' | 'ram_kib'): number => mine.reduce((free, held) => free - held[of], machine[of])
    const cards = machine.cards - mine.reduce((sum, held) => sum + held.cards, 0)
    return machine.attached && left('cpus') >= needs.cpus && cards >= needs.cards && left('ram_kib') >= needs.ram_kib
  }

  #place(ask: Amounts, head: Waiter | undefined, now_us: number): { machine: number; needs: Amounts } | null {
    if (this.held.length >= this.room.claims) return null
    const needs = this.needs(ask)
    const kept = head !== undefined && now_us - head.since_us >= HEAD_US ? this.needs(head) : null
    const machine = this.machines.findIndex((one, at) => {
      const isKept = kept && one.cpus >= kept.cpus && one.cards >= kept.cards && one.ram_kib >= kept.ram_kib
      return !isKept && this.fits(needs, at)
    })
    return machine < 0 ? null : { machine, needs }
  }

  #hold(ticket: number, by: number, { machine, needs }: { machine: number; needs: Amounts }): void {
    const { taken } = this.machines[machine]!
    const cards: number[] = []
    for (let card = 0; cards.length < needs.cards; card++) if (!taken.has(card)) cards.push(card)
    for (const card of cards) taken.add(card)
    this.held.push({ ticket, by, machine, taken: cards, ...needs })
  }

  claim(ticket: number, by: number, ask: Amounts, now_us: number): 'granted' | 'waits' | 'no room' {
    const found = this.#place(ask, this.line[0], now_us)
    if (found !== null) {
      this.#hold(ticket, by, found)
      return 'granted'
    }
    if (this.line.length >= this.room.waiting) return 'no room'
    this.line.push({ ticket, by, since_us: now_us, ...ask })
    return 'waits'
  }

  let_go(ticket: number): void {
    const held = this.held.find(one => one.ticket === ticket)!
    for (const card of held.taken) this.machines[held.machine]!.taken.delete(card)
    this.held = this.held.filter(one => one !== held)
  }

  walk(now_us: number): void {
    const line = this.line
    this.line = []
    for (const waiter of line) {
      const found = this.#place(waiter, this.line[0], now_us)
      if (found === null) this.line.push(waiter)
      else {
        this.#hold(waiter.ticket, waiter.by, found)
        this.untold.set(waiter.by, [...(this.untold.get(waiter.by) ?? []), waiter.ticket])
      }
    }
  }
}

test('against a model: what is granted, who waits in which order, and what is free, whichever thread asks and dies', () => {
  console.log(`SEED=${seed}`)
  for (let round = 0; round < ROUNDS; round++) play(seed + round)
})

function play(round_seed: number): void {
  const random = randomFrom(round_seed)
  const upTo = (most: number): number => Math.floor(random() * most)
  const memory = smallMemory({ book_claims: 32, book_waiting: 32 })
  const threads = new ThreadTable(memory)
  const slots = [1, 8, 9]
  const clerks = slots.map(slot => new Clerk(memory, slot))
  const model = new Model({ claims: 32, waiting: 32 })
  // Small machines and large ones, so that every rule has its turn.
  const some = (): Amounts => ({ cpus: upTo(9) * 500, cards: upTo(4) === 0 ? upTo(5) : 0, ram_kib: upTo(5) * 1000 })
  let now_us = 1
  let tickets = 0

  const addMachine = (): void => {
    const { cpus, ram_kib } = some()
    const cards = upTo(5)
    const row = clerks[0]!.books.addMachine(cpus + 500, (1 << cards) - 1, 0, ram_kib + 1000, now_us)
    if (row === model.machines.length) model.machines.push(null as never)
    else assert.ok(!model.machines[row]!.attached && model.held.every(held => held.machine !== row))
    model.machines[row] = { attached: true, cpus: cpus + 500, cards, ram_kib: ram_kib + 1000, taken: new Set() }
    model.walk(now_us)
  }

  addMachine()
  for (let step = 0; step < STEPS; step++) {
    now_us += upTo(4) === 0 ? upTo(HEAD_US) : 1000
    const me = upTo(slots.length)
    const { books } = clerks[me]!
    const mine = model.held.filter(held => held.by === me && !model.untold.get(me)?.includes(held.ticket))
    const what = random()
    if (what < 0.5) {
      const ask = some()
      const out = newClaim()
      const granted = books.claim(ask, now_us, out)
      tickets++
      const expected = model.claim(tickets, me, ask, now_us)
      assert.equal(out.ticket === 0 ? 'no room' : granted ? 'granted' : 'waits', expected)
      if (expected !== 'no room') assert.equal(out.ticket, tickets)
    } else if (what < 0.85) {
      const one = mine[upTo(mine.length)]
      if (one === undefined) continue
      assert.ok(books.release(one.ticket, now_us))
      model.let_go(one.ticket)
      model.walk(now_us)
    } else if (what < 0.93) {
      const one = model.line.filter(waiter => waiter.by === me)[0]
      if (one === undefined) continue
      assert.ok(books.cancel(one.ticket, now_us))
      model.line = model.line.filter(waiter => waiter !== one)
      model.walk(now_us)
    } else if (what < 0.95) {
      if (model.machines.length < 5) addMachine()
    } else if (what < 0.97) {
      const row = upTo(model.machines.length)
      if (!model.machines[row]!.attached || model.machines.filter(({ attached }) => attached).length === 1) continue
      books.removeMachine(row, now_us)
      model.machines[row]!.attached = false
      model.walk(now_us)
    } else if (what < 0.98 && me > 0) {
      const dead = threads.markDead(slots[me]!)
      assert.ok(recoverBooks(memory, dead, clerks[0]!.owner, now_us))
      for (const held of model.held.filter(one => one.by === me)) model.let_go(held.ticket)
      model.line = model.line.filter(waiter => waiter.by !== me)
      model.untold.delete(me)
      model.walk(now_us)
      clerks[me] = new Clerk(memory, slots[me]!)
    } else {
      const told = clerks[me]!.told().map(({ ticket }) => ticket)
      assert.deepEqual(
        told,
        (model.untold.get(me) ?? []).sort((a, b) => a - b),
      )
      model.untold.delete(me)
    }
    compare(clerks[0]!, model, now_us)
  }
}

function compare(clerk: Clerk, model: Model, now_us: number): void {
  clerk.now_us = now_us
  clerk.assertSound()
  const { claims, waiting } = clerk.list()
  const byTicket = (a: { ticket: number }, b: { ticket: number }): number => a.ticket - b.ticket
  assert.deepEqual(
    claims.sort(byTicket).map(({ ticket, machine, cpus, cards, ram_kib }) => [ticket, machine, cpus, cards, ram_kib]),
    model.held
      .sort(byTicket)
      .map(({ ticket, machine, cpus, taken, ram_kib }) => [ticket, machine, cpus, taken, ram_kib]),
  )
  assert.deepEqual(
    waiting.map(({ ticket, asked, needs, since_us }) => ({ ticket, asked, needs, since_us })),
    model.line.map(({ ticket, since_us, cpus, cards, ram_kib }) => {
      const asked = { cpus, cards, ram_kib }
      return { ticket, asked, needs: model.needs(asked), since_us }
    }),
  )
}
