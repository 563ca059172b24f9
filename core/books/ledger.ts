/**
 * The operations on the books under their lock word: counting free resources, reducing a request, granting, and the queue of
 * waiters. The row's bit is authoritative: a claim is live, and a waiter waits, exactly while its bit is set. Free resources
 * are counted again each time, so nothing can drift. No step allocates.
 */
import * as atomics from '#atomics'
import { limits } from '../../protocol/limits.ts'
import type { Memory } from '../memory/region.ts'
import { slotOf } from '../memory/threads.ts'
import { wakeThread } from '../memory/wait.ts'
import {
  BOOKS_HEADER,
  bitCount,
  bitWords,
  booksPlace,
  CLAIM_ROW,
  MACHINE_ROW,
  MACHINE_STATE,
  rowsInUse,
  WAITER_ROW,
} from './rows.ts'

const H = BOOKS_HEADER.word
const M = MACHINE_ROW.word
const C = CLAIM_ROW.word
const W = WAITER_ROW.word
const HEAD_US = limits.BOOK_HEAD_MS * 1000
const NOT_ATTACHED = -1

/** What a node takes of a machine: thousandths of a core, whole cards, KiB. */
export interface Amounts {
  cpus: number
  cards: number
  ram_kib: number
}

const newAmounts = (): Amounts => ({ cpus: 0, cards: 0, ram_kib: 0 })

export class Ledger {
  readonly #memory: Memory
  readonly #i32: Int32Array
  readonly #f64: Float64Array
  readonly #header: number
  readonly #claim_bits: number
  readonly #waiter_bits: number
  readonly #machines: number
  readonly #claims: number
  readonly #waiters: number
  readonly #claim_words: number
  readonly #waiter_words: number
  /** Free on each machine, as of the last `count`; less than nothing on one that is not attached. */
  readonly free_cpus = new Int32Array(limits.BOOK_MACHINES)
  readonly free_low = new Int32Array(limits.BOOK_MACHINES)
  readonly free_high = new Int32Array(limits.BOOK_MACHINES)
  readonly free_ram_kib = new Float64Array(limits.BOOK_MACHINES)
  /** What the last `cut` left of a request. */
  readonly needs: Amounts = newAmounts()
  /** Of the head of the queue, once no later request may pass it. */
  readonly #head: Amounts = newAmounts()
  /** Row of the last grant. */
  granted = 0
  /** Slots of the threads to wake, one bit each. */
  #wake_low = 0
  #wake_high = 0

  constructor(memory: Memory) {
    const place = booksPlace(memory)
    this.#memory = memory
    this.#i32 = memory.i32
    this.#f64 = memory.f64
    this.#header = place.header >> 2
    this.#claim_bits = place.claim_bits >> 2
    this.#waiter_bits = place.waiter_bits >> 2
    this.#machines = place.machines
    this.#claims = place.claims
    this.#waiters = place.waiters
    this.#claim_words = bitWords(memory.sizes.book_claims)
    this.#waiter_words = bitWords(memory.sizes.book_waiting)
  }

  /** i32 index of the lock word of the books. */
  get lock(): number {
    return this.#header + H.lock
  }
  get machines(): number {
    return this.#i32[this.#header + H.machines]!
  }
  /** Row of the first waiter, plus 1. */
  get first(): number {
    return this.#i32[this.#header + H.first]!
  }
  nextTicket(): number {
    return (this.#f64[(this.#header >> 1) + H.ticket]! += 1)
  }
  /** Byte offset of a row. */
  machine(row: number): number {
    return this.#machines + row * MACHINE_ROW.size
  }
  claim(row: number): number {
    return this.#claims + row * CLAIM_ROW.size
  }
  waiter(row: number): number {
    return this.#waiters + row * WAITER_ROW.size
  }

  // ---- what is free

  /** Counts what is free everywhere; answers a row for one more claim, -1 when all are in use. */
  count(): number {
    const i32 = this.#i32
    for (let row = 0; row < this.machines; row++) {
      const at = this.machine(row)
      const word = at >> 2
      const attached = i32[word + M.state] === MACHINE_STATE.attached
      this.free_cpus[row] = attached ? i32[word + M.cpus]! : NOT_ATTACHED
      this.free_low[row] = attached ? i32[word + M.cards_low]! : 0
      this.free_high[row] = attached ? i32[word + M.cards_high]! : 0
      this.free_ram_kib[row] = this.#f64[(at >> 3) + M.ram_kib]!
    }
    let free = -1
    const used = this.#usedWords
    for (let word = 0; word < used; word++) {
      let bits = i32[this.#claim_bits + word]!
      if (free < 0 && bits !== -1) free = firstClear(word, bits)
      for (; bits !== 0; bits &= bits - 1) this.#subtract((word << 5) + 31 - Math.clz32(bits & -bits))
    }
    return free < 0 && used < this.#claim_words ? used << 5 : free
  }

  /** The lowest free row is taken, so only few rows have to be scanned. */
  get #usedWords(): number {
    return this.#i32[this.#header + H.claim_words]!
  }

  #subtract(row: number): void {
    const at = this.claim(row)
    const word = at >> 2
    const machine = this.#i32[word + C.machine]!
    if (this.free_cpus[machine]! === NOT_ATTACHED) return
    this.free_cpus[machine]! -= this.#i32[word + C.cpus]!
    this.free_low[machine]! &= ~this.#i32[word + C.cards_low]!
    this.free_high[machine]! &= ~this.#i32[word + C.cards_high]!
    this.free_ram_kib[machine]! -= this.#f64[(at >> 3) + C.ram_kib]!
  }

  #clearClaimRow(from: number): number {
    for (let word = from >> 5; word < this.#claim_words; word++) {
      const bits = this.#i32[this.#claim_bits + word]!
      if (bits !== -1) return firstClear(word, bits)
    }
    return -1
  }

  // ---- what a request needs

  /**
   * `needs` becomes what was asked for, or, when no attached machine could ever give that, as much of it as the largest one
   * has: the one that gives the most cards, then cores, then memory. Without machines nothing is cut.
   */
  cut(cpus: number, cards: number, ram_kib: number): void {
    const { needs } = this
    needs.cpus = cpus
    needs.cards = cards
    needs.ram_kib = ram_kib
    let some = false
    for (let row = 0; row < this.machines; row++) {
      const at = this.machine(row)
      const word = at >> 2
      if (this.#i32[word + M.state] !== MACHINE_STATE.attached) continue
      const its_cpus = Math.min(cpus, this.#i32[word + M.cpus]!)
      const its_cards = Math.min(cards, this.#cards(word))
      const its_ram = Math.min(ram_kib, this.#f64[(at >> 3) + M.ram_kib]!)
      const more =
        its_cards !== needs.cards
          ? its_cards > needs.cards
          : its_cpus !== needs.cpus
            ? its_cpus > needs.cpus
            : its_ram > needs.ram_kib
      if (!some || more) {
        needs.cpus = its_cpus
        needs.cards = its_cards
        needs.ram_kib = its_ram
        some = true
      }
      if (its_cpus === cpus && its_cards === cards && its_ram === ram_kib) return
    }
  }

  #cards(machine_word: number): number {
    return bitCount(this.#i32[machine_word + M.cards_low]!) + bitCount(this.#i32[machine_word + M.cards_high]!)
  }

  /**
   * A machine that has `needs` free now, after `count` and `cut`; -1 when none has. A request behind a head that may not be
   * passed gets only a machine that the head could not use.
   */
  #machineFor(behind_head: boolean): number {
    const { cpus, cards, ram_kib } = this.needs
    for (let row = 0; row < this.machines; row++) {
      if (this.free_cpus[row]! < cpus || this.free_ram_kib[row]! < ram_kib) continue
      if (cards > 0 && bitCount(this.free_low[row]!) + bitCount(this.free_high[row]!) < cards) continue
      if (behind_head && this.#couldUse(this.#head, row)) continue
      return row
    }
    return -1
  }

  #couldUse(amounts: Amounts, machine: number): boolean {
    const at = this.machine(machine)
    const word = at >> 2
    return (
      this.#i32[word + M.cpus]! >= amounts.cpus &&
      this.#cards(word) >= amounts.cards &&
      this.#f64[(at >> 3) + M.ram_kib]! >= amounts.ram_kib
    )
  }

  /** May this waiter, the first that keeps waiting, no longer be passed? Then its needs are kept for the check of later requests. */
  #holdsBack(waiter: number, now_us: number): boolean {
    if (now_us - this.#f64[(waiter >> 3) + W.since_us]! < HEAD_US) return false
    this.#cutWaiter(waiter)
    this.#head.cpus = this.needs.cpus
    this.#head.cards = this.needs.cards
    this.#head.ram_kib = this.needs.ram_kib
    return true
  }

  #cutWaiter(waiter: number): void {
    const word = waiter >> 2
    this.cut(this.#i32[word + W.cpus]!, this.#i32[word + W.cards]!, this.#f64[(waiter >> 3) + W.ram_kib]!)
  }

  // ---- granting

  /** Grants a new request now if it may go before all who wait: row `granted`, told. False: it has to wait. */
  grantNow(ask: Amounts, ticket: number, owner: number, now_us: number): boolean {
    const row = this.count()
    if (row < 0) return false
    const { first } = this
    const behind_head = first !== 0 && this.#holdsBack(this.waiter(first - 1), now_us)
    this.cut(ask.cpus, ask.cards, ask.ram_kib)
    const machine = this.#machineFor(behind_head)
    if (machine < 0) return false
    this.#grant(row, machine, ticket, owner, now_us, 1)
    return true
  }

  /** From here on the claim is live: the bit is set after all fields of its row. */
  #grant(row: number, machine: number, ticket: number, owner: number, now_us: number, told: number): void {
    const { cpus, cards, ram_kib } = this.needs
    const at = this.claim(row)
    const word = at >> 2
    const i32 = this.#i32
    let low = 0
    let high = 0
    for (let left = cards; left > 0; left--) {
      const free_low = this.free_low[machine]! & ~low
      const free_high = this.free_high[machine]! & ~high
      if (free_low !== 0) low |= free_low & -free_low
      else high |= free_high & -free_high
    }
    this.#f64[(at >> 3) + C.ticket] = ticket
    this.#f64[(at >> 3) + C.since_us] = now_us
    this.#f64[(at >> 3) + C.ram_kib] = ram_kib
    i32[word + C.owner] = owner
    i32[word + C.machine] = machine
    i32[word + C.cpus] = cpus
    i32[word + C.cards_low] = low
    i32[word + C.cards_high] = high
    i32[word + C.told] = told
    this.granted = row
    if (row >> 5 >= this.#usedWords) i32[this.#header + H.claim_words] = (row >> 5) + 1
    setBit(i32, this.#claim_bits, row)
  }

  /** Row of the live claim with the ticket, -1: none. */
  claimRow(ticket: number): number {
    for (let word = 0, used = this.#usedWords; word < used; word++)
      for (let bits = this.#i32[this.#claim_bits + word]!; bits !== 0; bits &= bits - 1) {
        const row = (word << 5) + 31 - Math.clz32(bits & -bits)
        if (this.#f64[(this.claim(row) >> 3) + C.ticket] === ticket) return row
      }
    return -1
  }

  freeClaim(row: number): void {
    clearBit(this.#i32, this.#claim_bits, row)
  }

  /** The next live claim of the owner that has `told` 0, -1: none. */
  untold(owner: number): number {
    for (let word = 0, used = this.#usedWords; word < used; word++)
      for (let bits = this.#i32[this.#claim_bits + word]!; bits !== 0; bits &= bits - 1) {
        const row = (word << 5) + 31 - Math.clz32(bits & -bits)
        const at = this.claim(row) >> 2
        if (this.#i32[at + C.owner] === owner && this.#i32[at + C.told] === 0) return row
      }
    return -1
  }

  // ---- the line

  /** Appends to the queue; false when it is full. The waiter counts from the moment when its bit is set, and is linked after that. */
  append(ask: Amounts, ticket: number, owner: number, now_us: number): boolean {
    let row = -1
    for (let word = 0; word < this.#waiter_words && row < 0; word++) {
      const bits = this.#i32[this.#waiter_bits + word]!
      if (bits !== -1) row = firstClear(word, bits)
    }
    if (row < 0) return false
    const at = this.waiter(row)
    const word = at >> 2
    const i32 = this.#i32
    this.#f64[(at >> 3) + W.ticket] = ticket
    this.#f64[(at >> 3) + W.since_us] = now_us
    this.#f64[(at >> 3) + W.ram_kib] = ask.ram_kib
    i32[word + W.owner] = owner
    i32[word + W.cpus] = ask.cpus
    i32[word + W.cards] = ask.cards
    i32[word + W.next] = 0
    setBit(i32, this.#waiter_bits, row)
    const last = i32[this.#header + H.last]!
    atomics.release(i32, last === 0 ? this.#header + H.first : (this.waiter(last - 1) >> 2) + W.next, row + 1)
    atomics.release(i32, this.#header + H.last, row + 1)
    return true
  }

  /** Takes the waiter with the ticket out of the line; false: nobody waits with it. */
  remove(ticket: number): boolean {
    let before = 0
    for (let at = this.first; at !== 0; at = this.#next(at)) {
      if (this.#f64[(this.waiter(at - 1) >> 3) + W.ticket] === ticket) {
        this.#unlink(before, at)
        return true
      }
      before = at
    }
    return false
  }

  #next(at: number): number {
    return this.#i32[(this.waiter(at - 1) >> 2) + W.next]!
  }

  /** `before` and `at` are rows plus 1. The bit is cleared last: recovery finds a waiter that was unlinked but still has its bit. */
  #unlink(before: number, at: number): void {
    const i32 = this.#i32
    const link = before === 0 ? this.#header + H.first : (this.waiter(before - 1) >> 2) + W.next
    atomics.release(i32, link, this.#next(at))
    if (i32[this.#header + H.last] === at) atomics.release(i32, this.#header + H.last, before)
    clearBit(i32, this.#waiter_bits, at - 1)
  }

  /**
   * Grants, in ticket order, what fits by now. Every waiter gets what it asked for or a cut by the machines of now. The claim
   * is live before its waiter is gone, so that a holder that dies in between leaves the ticket in both tables, never in
   * neither. Owners other than `me` have to be woken.
   */
  walk(now_us: number, me: number): void {
    if (this.first === 0) return
    let row = this.count()
    let before = 0
    let behind_head = false
    for (let at = this.first; at !== 0; ) {
      const waiter = this.waiter(at - 1)
      const next = this.#next(at)
      this.#cutWaiter(waiter)
      const machine = row < 0 ? -1 : this.#machineFor(behind_head)
      if (machine < 0) {
        if (before === 0) behind_head = this.#holdsBack(waiter, now_us)
        before = at
      } else {
        const owner = this.#i32[(waiter >> 2) + W.owner]!
        this.#grant(row, machine, this.#f64[(waiter >> 3) + W.ticket]!, owner, now_us, 0)
        this.#unlink(before, at)
        this.#subtract(row)
        if (owner !== me) this.#toWake(owner)
        row = this.#clearClaimRow(row)
      }
      at = next
    }
  }

  /** Could the waiter in this row be granted, if nobody stood before it? For an audit, after `count`. */
  fitsNow(waiter_row: number, behind_head: boolean): boolean {
    this.#cutWaiter(this.waiter(waiter_row))
    return this.#machineFor(behind_head) >= 0
  }

  holdsBack(waiter_row: number, now_us: number): boolean {
    return this.#holdsBack(this.waiter(waiter_row), now_us)
  }

  // ---- telling

  #toWake(owner: number): void {
    const slot = slotOf(owner)
    if (slot < 32) this.#wake_low |= 1 << slot
    else this.#wake_high |= 1 << (slot - 32)
  }

  get hasToWake(): boolean {
    return (this.#wake_low | this.#wake_high) !== 0
  }

  /** Wakes those whose claims a walk granted. After the books' word was given back, with a barrier. */
  wake(): void {
    for (let slot = 0; this.hasToWake; slot++) {
      const bit = 1 << (slot & 31)
      if (((slot < 32 ? this.#wake_low : this.#wake_high) & bit) === 0) continue
      if (slot < 32) this.#wake_low &= ~bit
      else this.#wake_high &= ~bit
      wakeThread(this.#memory, slot)
    }
  }

  // ---- after a death

  /** Rebuilds the queue from the bits, in ticket order. A waiter whose claim is live had been granted. */
  relink(): void {
    const { i32, f64, sizes } = this.#memory
    const ticketOf = (waiter: number): number => f64[(this.waiter(waiter) >> 3) + W.ticket]!
    const waiting = [...rowsInUse(i32, this.#waiter_bits << 2, sizes.book_waiting)]
    for (const row of waiting) if (this.claimRow(ticketOf(row)) >= 0) clearBit(i32, this.#waiter_bits, row)
    const left = [...rowsInUse(i32, this.#waiter_bits << 2, sizes.book_waiting)]
    left.sort((a, b) => ticketOf(a) - ticketOf(b))
    left.forEach((row, at) => {
      i32[(this.waiter(row) >> 2) + W.next] = (left[at + 1] ?? -1) + 1
    })
    i32[this.#header + H.first] = (left[0] ?? -1) + 1
    i32[this.#header + H.last] = (left.at(-1) ?? -1) + 1
  }

  /** Frees everything that the thread held or waited for. Owners of claims that it may have granted without a wake have to be woken. */
  freeOwner(owner: number): void {
    const { i32, f64, sizes } = this.#memory
    for (const row of rowsInUse(i32, this.#claim_bits << 2, sizes.book_claims)) {
      const at = this.claim(row) >> 2
      if (i32[at + C.owner] === owner) this.freeClaim(row)
      else if (i32[at + C.told]! === 0) this.#toWake(i32[at + C.owner]!)
    }
    for (const row of rowsInUse(i32, this.#waiter_bits << 2, sizes.book_waiting))
      if (i32[(this.waiter(row) >> 2) + W.owner]! === owner) this.remove(f64[(this.waiter(row) >> 3) + W.ticket]!)
  }

  // ---- machines

  /** A row for one more machine, -1: none is left. One that was removed is free once nobody holds anything of it. */
  freeMachine(): number {
    for (let row = 0; row < limits.BOOK_MACHINES; row++) {
      const state = this.#i32[(this.machine(row) >> 2) + M.state]
      if (state === MACHINE_STATE.none || (state === MACHINE_STATE.removed && !this.isHeld(row))) return row
    }
    return -1
  }

  attach(row: number, cpus: number, cards_low: number, cards_high: number, ram_kib: number): void {
    const i32 = this.#i32
    const at = this.machine(row)
    const word = at >> 2
    this.#f64[(at >> 3) + M.ram_kib] = ram_kib
    i32[word + M.cpus] = cpus
    i32[word + M.cards_low] = cards_low
    i32[word + M.cards_high] = cards_high
    if (row >= this.machines) i32[this.#header + H.machines] = row + 1
    atomics.release(i32, word + M.state, MACHINE_STATE.attached)
  }

  detach(row: number): void {
    atomics.release(this.#i32, (this.machine(row) >> 2) + M.state, MACHINE_STATE.removed)
  }

  /** Does the machine have a live claim? */
  isHeld(machine: number): boolean {
    for (const row of rowsInUse(this.#i32, this.#claim_bits << 2, this.#memory.sizes.book_claims))
      if (this.#i32[(this.claim(row) >> 2) + C.machine] === machine) return true
    return false
  }
}

const firstClear = (word: number, bits: number): number => (word << 5) + 31 - Math.clz32(~bits & (bits + 1))

/** Only the holder of the books' word writes these words, so a plain read before the write is enough. */
function setBit(i32: Int32Array, bits: number, row: number): void {
  const word = bits + (row >> 5)
  atomics.release(i32, word, i32[word]! | (1 << (row & 31)))
}
function clearBit(i32: Int32Array, bits: number, row: number): void {
  const word = bits + (row >> 5)
  atomics.release(i32, word, i32[word]! & ~(1 << (row & 31)))
}
