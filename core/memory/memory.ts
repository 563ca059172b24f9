/** The one SharedArrayBuffer of the engine, as its users see it; `region.ts` divides it into regions. */

export interface MemorySizes {
  flows: number
  messages: number
  nodes: number
  /** Wires to nodes that several messages wake. */
  wires: number
  /** Thread slots, at most 64. */
  threads: number
  /** Journal rings: slots 0 .. rings - 1 can write one. */
  rings: number
  /** Rows of begun cascades, for each lane slot that has a ring. */
  begun_rows: number
  /** A power of two. */
  ring_bytes: number
  queue_segments: number
  /** Rounded up to whole blocks. */
  arena_bytes: number
  /** Live claims and waiters that the resource books have room for; multiples of 32. */
  book_claims: number
  book_waiting: number
}

export const REGION_NAMES = [
  'control',
  'threads',
  'flows',
  'messages',
  'held',
  'scheduled',
  'nodes',
  'wires',
  'begun',
  'ready',
  'books',
  'queue',
  'arena',
  'journals',
] as const
export type RegionName = (typeof REGION_NAMES)[number]

export interface Region {
  /** Bytes from the start of the buffer. */
  readonly offset: number
  readonly size: number
}

export interface Memory {
  readonly sab: SharedArrayBuffer
  readonly i32: Int32Array
  readonly f64: Float64Array
  readonly u8: Uint8Array
  /** Over the whole buffer, for everything that wants a Buffer. */
  readonly bytes: Buffer
  readonly regions: { readonly [name in RegionName]: Region }
  readonly sizes: Readonly<MemorySizes>
}
