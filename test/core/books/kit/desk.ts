/** Small books for tests, in words of whole cores, cards and MiB. */
import assert from 'node:assert/strict'
import { auditBooks } from '../../../../core/books/audit.ts'
import { Books, type Claim, newClaim } from '../../../../core/books/books.ts'
import type { Amounts } from '../../../../core/books/ledger.ts'
import { type Listing, listAll } from '../../../../core/books/listing.ts'
import type { Memory } from '../../../../core/memory/region.ts'
import { slotOf, THREAD_KIND, ThreadTable } from '../../../../core/memory/threads.ts'

export const amounts = (cpus: number, cards = 0, ram_mib = 0): Amounts => ({
  cpus: cpus * 1000,
  cards,
  ram_kib: ram_mib * 1024,
})

/** A thread that claims, with a clock that the test moves. */
export class Clerk {
  readonly memory: Memory
  readonly books: Books
  readonly owner: number
  now_us = 1_000_000

  constructor(memory: Memory, slot: number, owner = new ThreadTable(memory).enter(slot, THREAD_KIND.lane)) {
    this.memory = memory
    this.owner = owner
    this.books = new Books(memory, owner)
  }

  /** Of a thread that has its slot already. */
  static of(memory: Memory, owner: number, now_us: number): Clerk {
    const clerk = new Clerk(memory, slotOf(owner), owner)
    clerk.now_us = now_us
    return clerk
  }

  /** A machine of so many cores, cards and MiB. */
  machine(cpus: number, cards = 0, ram_mib = 1 << 20): number {
    const low = cards >= 32 ? -1 : (1 << cards) - 1
    const high = cards >= 64 ? -1 : cards > 32 ? (1 << (cards - 32)) - 1 : 0
    return this.books.addMachine(cpus * 1000, low, high, ram_mib * 1024, this.now_us)
  }

  claim(cpus: number, cards = 0, ram_mib = 0): Claim {
    const out = newClaim()
    const granted = this.books.claim(amounts(cpus, cards, ram_mib), this.now_us, out)
    assert.equal(granted, out.machine >= 0)
    return out
  }

  /** Ends claims; answers the tickets that are granted to this thread by that. */
  release(...claims: Pick<Claim, 'ticket'>[]): number[] {
    for (const { ticket } of claims) assert.ok(this.books.release(ticket, this.now_us), `no claim ${ticket}`)
    return this.told().map(({ ticket }) => ticket)
  }

  told(): Claim[] {
    const found: Claim[] = []
    for (let out = newClaim(); this.books.granted(out); out = newClaim()) found.push(out)
    return found.sort((a, b) => a.ticket - b.ticket)
  }

  list(): Listing {
    return this.books.reading(ledger => listAll(this.memory, ledger))
  }

  assertSound(): void {
    assert.deepEqual(auditBooks(this.memory, this.now_us), [])
  }
}
