import { limits } from '../../protocol/limits.ts'
import type { Memory } from '../memory/region.ts'
import { ThreadTable } from '../memory/threads.ts'
import { Ledger } from './ledger.ts'
import { BOOKS_HEADER, booksPlace, CLAIM_ROW, MACHINE_ROW, MACHINE_STATE, rowsInUse, WAITER_ROW } from './rows.ts'

const H = BOOKS_HEADER.word
const M = MACHINE_ROW.word
const C = CLAIM_ROW.word
const W = WAITER_ROW.word

/**
 * Inconsistencies of the books as sentences; empty when there are none. Checks that the claims of a machine fit into it and
 * share no card, that no ticket occurs twice, that the waiting queue is complete and in ticket order, that all owners are
 * alive, and that nobody waits for free resources. No thread may hold the books' lock.
 */
export function auditBooks(memory: Memory, now_us: number): string[] {
  const { i32, f64, sizes } = memory
  const place = booksPlace(memory)
  const problems: string[] = []
  const threads = new ThreadTable(memory)
  const tickets = new Map<number, string>()
  const last_ticket = f64[(place.header >> 3) + H.ticket]!
  const seen = (ticket: number, what: string, owner: number): void => {
    if (!(ticket > 0 && ticket <= last_ticket))
      problems.push(`${what}: ticket ${ticket}, ${last_ticket} were given out`)
    const other = tickets.get(ticket)
    if (other !== undefined) problems.push(`${what}: has the ticket of ${other}`)
    tickets.set(ticket, what)
    if (!threads.isAlive(owner)) problems.push(`${what}: its owner ${owner} is dead`)
  }

  const holder = i32[(place.header >> 2) + H.lock]
  if (holder !== 0) problems.push(`the books are held by ${holder}`)

  const held = Array.from({ length: limits.BOOK_MACHINES }, () => ({ cpus: 0, low: 0, high: 0, ram_kib: 0 }))
  for (const row of rowsInUse(i32, place.claim_bits, sizes.book_claims)) {
    const at = place.claims + row * CLAIM_ROW.size
    const word = at >> 2
    const what = `claim ${row}`
    seen(f64[(at >> 3) + C.ticket]!, what, i32[word + C.owner]!)
    const sum = held[i32[word + C.machine]!]!
    if (sum === undefined) {
      problems.push(`${what}: on machine ${i32[word + C.machine]}`)
      continue
    }
    const low = i32[word + C.cards_low]!
    const high = i32[word + C.cards_high]!
    if ((sum.low & low) !== 0 || (sum.high & high) !== 0) problems.push(`${what}: holds a card that is held`)
    sum.low |= low
    sum.high |= high
    sum.cpus += i32[word + C.cpus]!
    sum.ram_kib += f64[(at >> 3) + C.ram_kib]!
  }

  held.forEach((sum, row) => {
    const at = place.machines + row * MACHINE_ROW.size
    const word = at >> 2
    const what = `machine ${row}`
    const isHeld = (sum.cpus | sum.low | sum.high) !== 0 || sum.ram_kib > 0
    const state = i32[word + M.state]
    if (state === MACHINE_STATE.none) {
      if (isHeld) problems.push(`${what}: is none, and held`)
      return
    }
    if (row >= i32[(place.header >> 2) + H.machines]!) problems.push(`${what}: lies behind the last machine`)
    if (sum.cpus > i32[word + M.cpus]!) problems.push(`${what}: ${sum.cpus} of ${i32[word + M.cpus]!} thousandths held`)
    if (sum.ram_kib > f64[(at >> 3) + M.ram_kib]!) problems.push(`${what}: ${sum.ram_kib} KiB held, more than it has`)
    if ((sum.low & ~i32[word + M.cards_low]!) !== 0 || (sum.high & ~i32[word + M.cards_high]!) !== 0)
      problems.push(`${what}: cards are held that it does not have`)
  })

  problems.push(...auditLine(memory, now_us, seen))
  return problems
}

function auditLine(
  memory: Memory,
  now_us: number,
  seen: (ticket: number, what: string, owner: number) => void,
): string[] {
  const { i32, f64, sizes } = memory
  const place = booksPlace(memory)
  const problems: string[] = []
  const waiting = new Set(rowsInUse(i32, place.waiter_bits, sizes.book_waiting))
  const ledger = new Ledger(memory)
  const has_room = ledger.count() >= 0
  let behind_head = false
  let before = 0
  let last_ticket = 0
  for (let at = ledger.first; at !== 0; at = i32[(ledger.waiter(at - 1) >> 2) + W.next]!) {
    const row = at - 1
    const what = `waiter ${row}`
    if (!waiting.delete(row)) {
      problems.push(`${what}: is in the line, and does not wait (or stands there twice)`)
      return problems
    }
    const ticket = f64[(ledger.waiter(row) >> 3) + W.ticket]!
    seen(ticket, what, i32[(ledger.waiter(row) >> 2) + W.owner]!)
    if (ticket <= last_ticket) problems.push(`${what}: ticket ${ticket} behind ${last_ticket}`)
    last_ticket = ticket
    if (before === 0) behind_head = ledger.holdsBack(row, now_us)
    // The head itself is held back by nobody.
    if (has_room && ledger.fitsNow(row, behind_head && before !== 0)) problems.push(`${what}: waits for what is free`)
    before = at
  }
  for (const row of waiting) problems.push(`waiter ${row}: waits, and is not in the line`)
  if (i32[(place.header >> 2) + H.last] !== before) problems.push('the line ends elsewhere')
  return problems
}
