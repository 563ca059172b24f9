import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { auditBooks } from '../../../core/books/audit.ts'
import { recoverBooks } from '../../../core/books/recover.ts'
import { BOOKS_HEADER, booksPlace, CLAIM_ROW, MACHINE_ROW, WAITER_ROW } from '../../../core/books/rows.ts'
import { ThreadTable } from '../../../core/memory/threads.ts'
import { lockWord, unlockWord } from '../../../core/memory/wait.ts'
import { limits } from '../../../protocol/limits.ts'
import { smallMemory } from '../../kit/memory.ts'
import { amounts, Clerk } from './kit/desk.ts'

const FRONT = 1
const HEAD_US = limits.BOOK_HEAD_MS * 1000
const clerk = (): Clerk => new Clerk(smallMemory(), FRONT)

describe('a claim', () => {
  test('is granted while it fits, and what is free is what the live ones leave', () => {
    const front = clerk()
    front.machine(4, 2, 1000)
    const first = front.claim(1.5, 1, 600)
    const second = front.claim(2, 0, 400)
    assert.deepEqual([first.cards_low, second.cards_low], [1, 0])
    assert.deepEqual(front.list().machines, [
      {
        machine: 0,
        attached: true,
        capacity: { cpus: 4000, cards: [0, 1], ram_kib: 1000 * 1024 },
        free: { cpus: 500, cards: [1], ram_kib: 0 },
      },
    ])
    front.assertSound()
    assert.deepEqual(front.release(first, second), [])
    assert.deepEqual(front.list().machines[0]!.free, { cpus: 4000, cards: [0, 1], ram_kib: 1000 * 1024 })
    front.assertSound()
  })

  test('is all or nothing: what lacks one dimension holds nothing of the others', () => {
    const front = clerk()
    front.machine(4, 1, 1000)
    const card = front.claim(0, 1)
    for (const [cpus, cards, ram] of [
      [1, 1, 1],
      [4, 1, 0],
    ] as const)
      assert.equal(front.claim(cpus, cards, ram).machine, -1)
    assert.deepEqual(front.list().machines[0]!.free, { cpus: 4000, cards: [], ram_kib: 1000 * 1024 })
    assert.equal(front.list().waiting.length, 2)
    front.assertSound()
    assert.equal(front.release(card).length, 1)
  })

  test('of cards holds each of them alone, up to the last of 64', () => {
    const front = clerk()
    front.machine(100, 64)
    const claims = [front.claim(1, 20), front.claim(1, 20), front.claim(1, 24)]
    const held = front.list().claims.flatMap(({ cards }) => cards)
    assert.deepEqual(
      held.sort((a, b) => a - b),
      Array.from({ length: 64 }, (_, card) => card),
    )
    assert.equal(front.claim(1, 1).machine, -1)
    front.assertSound()
    assert.deepEqual(front.release(claims[1]!).length, 1)
    assert.deepEqual(front.list().claims.find(({ ticket }) => ticket === 4)!.cards, [20])
  })

  test('that was released is gone: its ticket releases nothing more', () => {
    const front = clerk()
    front.machine(1)
    const { ticket } = front.claim(1)
    assert.ok(front.books.release(ticket, 0))
    assert.ok(!front.books.release(ticket, 0))
    assert.ok(!front.books.release(99, 0))
    assert.ok(!front.books.cancel(ticket, 0))
  })

  test('finds no room once the books are full, and the line before them', () => {
    const front = clerk()
    const { book_claims, book_waiting } = front.memory.sizes
    front.machine(1000)
    const claims = Array.from({ length: book_claims }, () => front.claim(1))
    assert.ok(claims.every(({ machine }) => machine === 0))
    const waiting = Array.from({ length: book_waiting }, () => front.claim(1))
    assert.ok(waiting.every(({ machine, ticket }) => machine === -1 && ticket > 0))
    assert.equal(front.claim(1).ticket, 0)
    front.assertSound()
    assert.deepEqual(front.release(claims[7]!), [waiting[0]!.ticket])
    assert.ok(front.claim(1).ticket > 0)
    front.assertSound()
  })
})

describe('who waits', () => {
  test('is granted in the order of tickets when there is room again', () => {
    const front = clerk()
    front.machine(2)
    const holder = front.claim(2)
    const line = [front.claim(1), front.claim(1), front.claim(1)].map(({ ticket }) => ticket)
    assert.deepEqual(
      front.list().waiting.map(({ ticket }) => ticket),
      line,
    )
    assert.deepEqual(front.release(holder), line.slice(0, 2))
    assert.deepEqual(
      front.list().waiting.map(({ ticket }) => ticket),
      line.slice(2),
    )
    front.assertSound()
  })

  test('is passed by a later request that fits now, as long as the head has not waited too long', () => {
    const front = clerk()
    front.machine(4)
    front.claim(2)
    const head = front.claim(3)
    front.now_us += HEAD_US - 1
    const passed = front.claim(1)
    assert.equal(passed.machine, 0)
    front.now_us += 1
    const late = front.claim(1)
    assert.equal(late.machine, -1, 'it passed a head that has waited for so long')
    assert.deepEqual(front.release(passed), [], 'it passed behind the back of the head')
    front.assertSound()
    assert.ok(front.books.cancel(head.ticket, front.now_us))
    assert.deepEqual(
      front.told().map(({ ticket }) => ticket),
      [late.ticket],
      'the head has left, so nobody holds it back',
    )
  })

  test('is passed even then on a machine that the head could not use', () => {
    const front = clerk()
    const large = front.machine(8, 2)
    const small = front.machine(2)
    front.claim(1, 2)
    front.claim(0, 1)
    front.now_us += HEAD_US
    assert.equal(front.claim(7).machine, -1, 'the large machine is for the head')
    assert.equal(front.claim(2).machine, small)
    assert.equal(front.claim(1, 1).machine, -1)
    front.assertSound()
    assert.equal(large, 0)
  })

  test('leaves the line when it is cancelled, wherever it stands', () => {
    for (const gone of [[0], [1], [2], [0, 2], [2, 1, 0]]) {
      const front = clerk()
      front.machine(1)
      const holder = front.claim(1)
      const line = [front.claim(1), front.claim(1), front.claim(1)].map(({ ticket }) => ticket)
      for (const at of gone) assert.ok(front.books.cancel(line[at]!, 0))
      front.assertSound()
      const left = line.filter((_, at) => !gone.includes(at))
      assert.deepEqual(
        front.list().waiting.map(({ ticket }) => ticket),
        left,
      )
      const after = front.claim(1)
      assert.deepEqual(front.release(holder), [left[0] ?? after.ticket])
      front.assertSound()
    }
  })

  test('and was granted meanwhile is not cancelled, but released', () => {
    const front = clerk()
    front.machine(1)
    const holder = front.claim(1)
    const waiter = front.claim(1)
    assert.ok(front.books.release(holder.ticket, 0))
    assert.equal(front.books.cancel(waiter.ticket, 0), false)
    assert.equal(front.books.release(waiter.ticket, 0), true)
    assert.deepEqual(front.told(), [])
    front.assertSound()
  })
})

describe('what no machine could ever give', () => {
  test('is cut down to the largest one, and granted', () => {
    const front = clerk()
    front.machine(4, 0, 500)
    const cut = front.claim(16, 2, 2000)
    assert.deepEqual([cut.machine, cut.cpus, cut.cards_low, cut.ram_kib], [0, 4000, 0, 500 * 1024])
    front.assertSound()
  })

  test('is cut to the machine with most of the cards, then cores, then memory, and to nothing when one has it all', () => {
    const front = clerk()
    const cores = front.machine(64, 0, 100)
    const cards = front.machine(4, 4, 100)
    const memory = front.machine(4, 0, 9000)
    assert.equal(front.claim(8, 8, 1).machine, cards)
    const most = front.claim(100, 0, 200)
    assert.deepEqual([most.machine, most.cpus], [cores, 64_000])
    const ram = front.claim(2, 0, 10_000)
    assert.deepEqual([ram.machine, ram.ram_kib], [memory, 9000 * 1024])
    front.assertSound()
    const all = front.claim(64, 0, 100)
    assert.equal(all.machine, -1)
    assert.deepEqual(front.list().waiting[0]!.needs, amounts(64, 0, 100))
  })

  test('waits for the cut, which follows the machines that come and go', () => {
    const front = clerk()
    const small = front.machine(2)
    const holder = front.claim(2)
    const waiter = front.claim(10)
    const needs = (): number => front.list().waiting[0]!.needs.cpus
    assert.equal(needs(), 2000)
    const busy = front.machine(6)
    assert.deepEqual(
      front.told().map(({ ticket, cpus }) => [ticket, cpus]),
      [[waiter.ticket, 6000]],
    )
    const next = front.claim(8)
    assert.equal(needs(), 6000)
    front.books.removeMachine(busy, 0)
    assert.equal(needs(), 2000)
    front.assertSound()
    assert.deepEqual(front.release(holder), [next.ticket])
    assert.equal(front.list().claims.find(({ ticket }) => ticket === next.ticket)!.machine, small)
    front.assertSound()
  })
})

describe('a machine', () => {
  test('that is removed gets no new claim, and its own stay until they are released', () => {
    const front = clerk()
    const gone = front.machine(4)
    const claim = front.claim(1)
    front.books.removeMachine(gone, 0)
    front.assertSound()
    const waiter = front.claim(1)
    assert.equal(waiter.machine, -1)
    assert.deepEqual(
      front.list().machines.map(({ attached, free }) => [attached, free.cpus]),
      [[false, 0]],
    )
    assert.equal(front.machine(2), 1, 'its row is not given to another one while something is held of it')
    assert.deepEqual(
      front.told().map(({ ticket, machine }) => [ticket, machine]),
      [[waiter.ticket, 1]],
    )
    front.release(claim)
    assert.equal(front.list().machines.length, 1)
    assert.equal(front.machine(3), 0)
    front.assertSound()
  })

  test('finds no row when there are as many as the books have', () => {
    const front = clerk()
    for (let row = 0; row < limits.BOOK_MACHINES; row++) assert.equal(front.machine(1), row)
    assert.equal(front.machine(1), -1)
    front.books.removeMachine(17, 0)
    assert.equal(front.machine(2), 17)
    front.assertSound()
  })
})

describe('when a thread dies', () => {
  test('what it held is free, those who waited for it are granted, and it waits no more itself', () => {
    const memory = smallMemory()
    const front = new Clerk(memory, FRONT)
    const lane = new Clerk(memory, 8)
    front.machine(2)
    const own = front.claim(1)
    lane.claim(1)
    lane.claim(2)
    const waiter = front.claim(1)
    const dead = new ThreadTable(memory).markDead(8)
    assert.match(auditBooks(memory, 0).join(), /its owner \d+ is dead/)
    assert.ok(recoverBooks(memory, dead, front.owner, 0))
    assert.ok(recoverBooks(memory, dead, front.owner, 0))
    front.assertSound()
    assert.deepEqual(
      front.told().map(({ ticket }) => ticket),
      [waiter.ticket],
    )
    assert.deepEqual(
      front.list().claims.map(({ ticket }) => ticket),
      [own.ticket, waiter.ticket],
    )
  })

  test('its recovery waits while another thread stands inside the books', () => {
    const memory = smallMemory()
    const front = new Clerk(memory, FRONT)
    const lane = new Clerk(memory, 8)
    front.machine(1)
    lane.claim(1)
    const lock = booksPlace(memory).header >> 2
    assert.ok(lockWord(memory, lock, 999))
    const dead = new ThreadTable(memory).markDead(8)
    assert.equal(recoverBooks(memory, dead, front.owner, 0), false)
    unlockWord(memory, lock, 999)
    assert.ok(recoverBooks(memory, dead, front.owner, 0))
    front.assertSound()
    assert.equal(front.claim(1).machine, 0)
  })
})

describe('the audit finds', () => {
  const spoilt = (
    spoil: (i32: Int32Array, f64: Float64Array, place: ReturnType<typeof booksPlace>) => void,
  ): string => {
    const front = clerk()
    front.machine(4, 4, 100)
    front.claim(2, 2)
    front.claim(1, 1)
    front.claim(4)
    front.claim(3)
    front.assertSound()
    spoil(front.memory.i32, front.memory.f64, booksPlace(front.memory))
    return auditBooks(front.memory, front.now_us).join('\n')
  }
  const row = <Name extends string>(
    at: number,
    layout: { size: number; word: Record<Name, number> },
    number: number,
    field: Name,
  ): number => ((at + number * layout.size) >> 2) + layout.word[field]

  test('a card that is held twice, and one that the machine does not have', () => {
    const found = spoilt((i32, _, { claims }) => {
      i32[row(claims, CLAIM_ROW, 1, 'cards_low')] = 0b10010
    })
    assert.match(found, /claim 1: holds a card that is held/)
    assert.match(found, /machine 0: cards are held that it does not have/)
  })

  test('more held than there is', () => {
    assert.match(
      spoilt((i32, _, { machines }) => {
        i32[row(machines, MACHINE_ROW, 0, 'cpus')] = 2999
      }),
      /machine 0: 3000 of 2999 thousandths held/,
    )
  })

  test('a ticket that stands twice', () => {
    assert.match(
      spoilt((_, f64, { waiters, claims }) => {
        f64[waiters >> 3] = f64[claims >> 3]!
      }),
      /waiter 0: has the ticket of claim 0/,
    )
  })

  test('a line in another order, one that lacks somebody, and one without an end', () => {
    const first = (place: ReturnType<typeof booksPlace>): number => (place.header >> 2) + BOOKS_HEADER.word.first
    assert.match(
      spoilt((i32, _, place) => {
        i32[first(place)] = 2
      }),
      /waiter 0: waits, and is not in the line/,
    )
    assert.match(
      spoilt((i32, _, place) => {
        i32[row(place.waiters, WAITER_ROW, 1, 'next')] = 1
      }),
      /waiter 0: is in the line, and does not wait \(or stands there twice\)/,
    )
    assert.match(
      spoilt((_, f64, { waiters }) => {
        const other = (waiters + WAITER_ROW.size) >> 3
        ;[f64[waiters >> 3], f64[other]] = [f64[other]!, f64[waiters >> 3]!]
      }),
      /waiter 1: ticket 3 behind 4/,
    )
  })

  test('somebody who waits for what is free, and a word that is held', () => {
    const found = spoilt((i32, _, place) => {
      i32[place.claim_bits >> 2] = 0
      i32[place.header >> 2] = 65
    })
    assert.match(found, /waiter 0: waits for what is free/)
    assert.match(found, /the books are held by 65/)
  })
})
