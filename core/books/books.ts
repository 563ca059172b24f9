/**
 * The resource books: what each machine has, who holds how much of it, and who waits. A claim is all or nothing over cores,
 * cards and memory. First come, first served by ticket: a later request passes only if it fits now, and once the head of the
 * line has waited `limits.BOOK_HEAD_MS`, only on machines that the head could not use.
 */
import type { Memory } from '../memory/region.ts'
import { lockWord, unlockWord, unlockWordWithBarrier } from '../memory/wait.ts'
import { type Amounts, Ledger } from './ledger.ts'
import { CLAIM_ROW } from './rows.ts'

const C = CLAIM_ROW.word

/** What `claim` and `granted` answer; the caller's own object. */
export interface Claim extends Omit<Amounts, 'cards'> {
  /** 0: the books have no room for another one. */
  ticket: number
  /** Row of the machine; -1 while it waits. */
  machine: number
  cards_low: number
  cards_high: number
}

export const newClaim = (): Claim => ({ ticket: 0, machine: -1, cpus: 0, cards_low: 0, cards_high: 0, ram_kib: 0 })

/** The calls of one thread on the books. Times are microseconds since 1970, of a clock that never goes back. */
export class Books {
  readonly #memory: Memory
  readonly #owner: number
  readonly #ledger: Ledger
  readonly #lock: number

  /** `owner` is the owner word of the calling thread: its claims and its place in the queue end with it. */
  constructor(memory: Memory, owner: number) {
    this.#memory = memory
    this.#owner = owner
    this.#ledger = new Ledger(memory)
    this.#lock = this.#ledger.lock
  }

  /**
   * Answers whether the claim was granted at once; `out` has the grant. Otherwise `out.ticket` is queued, and `granted` reports
   * the grant later. A request that no machine could satisfy is reduced to the largest machine. `ask` holds whole numbers.
   */
  claim(ask: Amounts, now_us: number, out: Claim): boolean {
    const ledger = this.#ledger
    lockWord(this.#memory, this.#lock, this.#owner)
    const ticket = ledger.nextTicket()
    const granted = ledger.grantNow(ask, ticket, this.#owner, now_us)
    if (granted) this.#tell(ledger.granted, out)
    else {
      out.ticket = ledger.append(ask, ticket, this.#owner, now_us) ? ticket : 0
      out.machine = -1
      out.cpus = 0
      out.cards_low = 0
      out.cards_high = 0
      out.ram_kib = 0
    }
    unlockWord(this.#memory, this.#lock, this.#owner)
    return granted
  }

  /** Ends a claim, and grants the freed resources to waiters. False when no live claim has the ticket. */
  release(ticket: number, now_us: number): boolean {
    const ledger = this.#ledger
    lockWord(this.#memory, this.#lock, this.#owner)
    const row = ledger.claimRow(ticket)
    if (row >= 0) {
      ledger.freeClaim(row)
      ledger.walk(now_us, this.#owner)
    }
    this.#leave()
    return row >= 0
  }

  /** Removes a waiter from the queue. False when it does not wait: it was granted before, and must be released. */
  cancel(ticket: number, now_us: number): boolean {
    const ledger = this.#ledger
    lockWord(this.#memory, this.#lock, this.#owner)
    const waited = ledger.remove(ticket)
    if (waited) ledger.walk(now_us, this.#owner)
    this.#leave()
    return waited
  }

  /**
   * The next claim of this thread that was granted after it had to wait, in no particular order; false when there is none. A
   * thread whose claim was granted by another thread is woken (`core/memory/wait.ts`); after its own calls a thread polls.
   */
  granted(out: Claim): boolean {
    lockWord(this.#memory, this.#lock, this.#owner)
    const row = this.#ledger.untold(this.#owner)
    if (row >= 0) {
      this.#memory.i32[(this.#ledger.claim(row) >> 2) + C.told] = 1
      this.#tell(row, out)
    }
    unlockWord(this.#memory, this.#lock, this.#owner)
    return row >= 0
  }

  /** Does anybody wait? */
  get isWaitedFor(): boolean {
    return this.#ledger.first !== 0
  }

  /** A machine that can be claimed from now on; answers its row, -1 when there is none left. Those who wait are looked at again. */
  addMachine(cpus: number, cards_low: number, cards_high: number, ram_kib: number, now_us: number): number {
    const ledger = this.#ledger
    lockWord(this.#memory, this.#lock, this.#owner)
    const row = ledger.freeMachine()
    if (row >= 0) {
      ledger.attach(row, cpus, cards_low, cards_high, ram_kib)
      ledger.walk(now_us, this.#owner)
    }
    this.#leave()
    return row
  }

  /** It gets no new claims. Live claims stay until they are released; waiting requests are reduced to the machines that are left. */
  removeMachine(row: number, now_us: number): void {
    const ledger = this.#ledger
    lockWord(this.#memory, this.#lock, this.#owner)
    ledger.detach(row)
    ledger.walk(now_us, this.#owner)
    this.#leave()
  }

  /** What `look` answers about the books while nobody changes them. */
  reading<Found>(look: (ledger: Ledger) => Found): Found {
    lockWord(this.#memory, this.#lock, this.#owner)
    try {
      return look(this.#ledger)
    } finally {
      unlockWord(this.#memory, this.#lock, this.#owner)
    }
  }

  #tell(row: number, out: Claim): void {
    const { i32, f64 } = this.#memory
    const at = this.#ledger.claim(row)
    out.ticket = f64[(at >> 3) + C.ticket]!
    out.machine = i32[(at >> 2) + C.machine]!
    out.cpus = i32[(at >> 2) + C.cpus]!
    out.cards_low = i32[(at >> 2) + C.cards_low]!
    out.cards_high = i32[(at >> 2) + C.cards_high]!
    out.ram_kib = f64[(at >> 3) + C.ram_kib]!
  }

  #leave(): void {
    const ledger = this.#ledger
    if (!ledger.hasToWake) {
      unlockWord(this.#memory, this.#lock, this.#owner)
      return
    }
    unlockWordWithBarrier(this.#memory, this.#lock, this.#owner)
    ledger.wake()
  }
}
