import type { Memory } from '../memory/region.ts'
import type { Amounts, Ledger } from './ledger.ts'
import { booksPlace, CLAIM_ROW, MACHINE_ROW, MACHINE_STATE, rowsInUse, WAITER_ROW } from './rows.ts'

const M = MACHINE_ROW.word
const C = CLAIM_ROW.word
const W = WAITER_ROW.word

export interface ListedMachine {
  machine: number
  /** False: it was removed, and what is held of it is not released yet. */
  attached: boolean
  capacity: { cpus: number; cards: number[]; ram_kib: number }
  free: { cpus: number; cards: number[]; ram_kib: number }
}
export interface ListedClaim {
  ticket: number
  machine: number
  cpus: number
  cards: number[]
  ram_kib: number
  since_us: number
}
export interface ListedWaiter {
  ticket: number
  since_us: number
  asked: Amounts
  /** What it waits for: what it asked for, or the cut of it. */
  needs: Amounts
}
/** The books at one moment, without those who wait: there may be thousands. */
export interface ListedBooks {
  machines: ListedMachine[]
  claims: ListedClaim[]
}
export interface Listing extends ListedBooks {
  /** In their order. */
  waiting: ListedWaiter[]
}

/** For the holder of the books' word: `books.reading(ledger => listBooks(memory, ledger))`. */
export function listBooks(memory: Memory, ledger: Ledger): ListedBooks {
  const { i32, f64, sizes } = memory
  const listing: ListedBooks = { machines: [], claims: [] }
  for (const row of rowsInUse(i32, booksPlace(memory).claim_bits, sizes.book_claims)) {
    const at = ledger.claim(row)
    const word = at >> 2
    listing.claims.push({
      ticket: f64[(at >> 3) + C.ticket]!,
      machine: i32[word + C.machine]!,
      cpus: i32[word + C.cpus]!,
      cards: cardNumbers(i32[word + C.cards_low]!, i32[word + C.cards_high]!),
      ram_kib: f64[(at >> 3) + C.ram_kib]!,
      since_us: f64[(at >> 3) + C.since_us]!,
    })
  }
  ledger.count()
  for (let machine = 0; machine < ledger.machines; machine++) {
    const at = ledger.machine(machine)
    const word = at >> 2
    const attached = i32[word + M.state] === MACHINE_STATE.attached
    if (!attached && !ledger.isHeld(machine)) continue
    const capacity = {
      cpus: i32[word + M.cpus]!,
      cards: cardNumbers(i32[word + M.cards_low]!, i32[word + M.cards_high]!),
      ram_kib: f64[(at >> 3) + M.ram_kib]!,
    }
    const free = {
      cpus: ledger.free_cpus[machine]!,
      cards: cardNumbers(ledger.free_low[machine]!, ledger.free_high[machine]!),
      ram_kib: ledger.free_ram_kib[machine]!,
    }
    listing.machines.push({ machine, attached, capacity, free: attached ? free : { cpus: 0, cards: [], ram_kib: 0 } })
  }
  return listing
}

/** The whole line, too. */
export function listAll(memory: Memory, ledger: Ledger): Listing {
  const { i32, f64 } = memory
  const listing: Listing = { ...listBooks(memory, ledger), waiting: [] }
  for (let at = ledger.first; at !== 0; at = i32[(ledger.waiter(at - 1) >> 2) + W.next]!) {
    const row = ledger.waiter(at - 1)
    const word = row >> 2
    const asked = { cpus: i32[word + W.cpus]!, cards: i32[word + W.cards]!, ram_kib: f64[(row >> 3) + W.ram_kib]! }
    ledger.cut(asked.cpus, asked.cards, asked.ram_kib)
    listing.waiting.push({
      ticket: f64[(row >> 3) + W.ticket]!,
      since_us: f64[(row >> 3) + W.since_us]!,
      asked,
      needs: { ...ledger.needs },
    })
  }
  return listing
}

/** Of a set of 64 cards, ascending. */
export function cardNumbers(low: number, high: number): number[] {
  const numbers: number[] = []
  for (let card = 0; card < 64; card++) if (((card < 32 ? low : high) & (1 << (card & 31))) !== 0) numbers.push(card)
  return numbers
}
