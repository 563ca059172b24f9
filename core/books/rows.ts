/** The books in shared memory: the rows and their offsets. Their meaning is in docs/shared-memory/books.md. */
import { limits } from '../../protocol/limits.ts'
import { layout } from '../memory/layout.ts'
import type { Memory, MemorySizes } from '../memory/memory.ts'

export const MACHINE_STATE = { none: 0, attached: 1, removed: 2 } as const

export const BOOKS_HEADER = layout(
  'BOOKS_HEADER',
  [
    ['lock', 'i32', 'owner word of the thread that changes the books'],
    ['machines', 'i32', 'machine rows that were ever in use: all that are lie below'],
    ['claim_words', 'i32', 'words of claim bits that were ever in use: all that are lie below'],
    ['first', 'i32', 'row of the first waiter, plus 1; 0: nobody waits'],
    ['last', 'i32', 'row of the last waiter, plus 1'],
    ['ticket', 'f64', 'last ticket given out'],
  ],
  64,
)

export const MACHINE_ROW = layout('MACHINE_ROW', [
  ['ram_kib', 'f64', 'its memory, KiB'],
  ['cpus', 'i32', 'its cores, thousandths'],
  ['cards_low', 'i32', 'its cards 0 to 31, a bit each'],
  ['cards_high', 'i32', 'its cards 32 to 63'],
  ['state', 'i32', 'MACHINE_STATE'],
])

export const CLAIM_ROW = layout('CLAIM_ROW', [
  ['ticket', 'f64', 'its number; they go up in the order in which claims were asked for'],
  ['since_us', 'f64', 'when it was granted, microseconds since 1970'],
  ['ram_kib', 'f64', 'memory held, KiB'],
  ['owner', 'i32', 'owner word of the thread that asked'],
  ['machine', 'i32', 'row of the machine'],
  ['cpus', 'i32', 'cores held, thousandths'],
  ['cards_low', 'i32', 'cards 0 to 31 held, a bit each'],
  ['cards_high', 'i32', 'cards 32 to 63 held'],
  ['told', 'i32', '1 once its owner knows that it was granted'],
])

export const WAITER_ROW = layout('WAITER_ROW', [
  ['ticket', 'f64', 'as of a claim'],
  ['since_us', 'f64', 'when it was asked for, microseconds since 1970'],
  ['ram_kib', 'f64', 'memory asked for, KiB'],
  ['owner', 'i32', 'owner word of the thread that asked'],
  ['cpus', 'i32', 'cores asked for, thousandths'],
  ['cards', 'i32', 'cards asked for'],
  ['next', 'i32', 'row of the next waiter, plus 1; 0: the last'],
])

/** Rows of these tables are in use by their bit, 32 to a word. */
export const bitWords = (rows: number): number => Math.ceil(rows / 32)

type Sizes = Pick<MemorySizes, 'book_claims' | 'book_waiting'>
const bitBytes = (rows: number): number => Math.ceil(bitWords(rows) / 2) * 8

/** Bytes of the books' region. */
export const booksBytes = (sizes: Readonly<Sizes>): number =>
  BOOKS_HEADER.size +
  bitBytes(sizes.book_claims) +
  bitBytes(sizes.book_waiting) +
  limits.BOOK_MACHINES * MACHINE_ROW.size +
  sizes.book_claims * CLAIM_ROW.size +
  sizes.book_waiting * WAITER_ROW.size

/** Byte offsets of the parts. */
export interface BooksPlace {
  header: number
  claim_bits: number
  waiter_bits: number
  machines: number
  claims: number
  waiters: number
}

export function booksPlace({ regions, sizes }: Memory): BooksPlace {
  const header = regions.books.offset
  const claim_bits = header + BOOKS_HEADER.size
  const waiter_bits = claim_bits + bitBytes(sizes.book_claims)
  const machines = waiter_bits + bitBytes(sizes.book_waiting)
  const claims = machines + limits.BOOK_MACHINES * MACHINE_ROW.size
  const waiters = claims + sizes.book_claims * CLAIM_ROW.size
  return { header, claim_bits, waiter_bits, machines, claims, waiters }
}

/** Rows whose bit is set, ascending. */
export function* rowsInUse(i32: Int32Array, bits_at: number, rows: number): Generator<number> {
  for (let word = 0; word < bitWords(rows); word++)
    for (let bits = i32[(bits_at >> 2) + word]!; bits !== 0; bits &= bits - 1)
      yield (word << 5) + 31 - Math.clz32(bits & -bits)
}

export const bitCount = (bits: number): number => {
  let left = bits - ((bits >>> 1) & 0x55555555)
  left = (left & 0x33333333) + ((left >>> 2) & 0x33333333)
  return Math.imul((left + (left >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}
