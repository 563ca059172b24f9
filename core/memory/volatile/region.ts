/**
 * The memory of the volatile store: a `SharedArrayBuffer` of its own, since call slots have this one and not the engine's.
 * It holds a header, the buckets, the rows and the ring of bytes, in that order, and is touched lazily.
 */
import { limits } from '../../../protocol/limits.ts'
import { layout } from '../layout.ts'

export const VOLATILE_HEADER = layout(
  'VOLATILE_HEADER',
  [
    ['magic', 'i32', 'MAGIC once the header is whole'],
    ['ring_bytes', 'i32', 'bytes of the ring'],
    ['rows', 'i32', 'rows, a power of two; there are as many buckets'],
    ['spare', 'i32', ''],
    ['lock', 'i32', 'owner word of the writer, see docs/shared-memory/wait.md'],
    ['floor', 'i32', 'sequence of the oldest artifact that is held'],
    ['next', 'i32', 'sequence that the next artifact gets; equal to floor while none is held'],
  ],
  64,
)

export const VOLATILE_ROW = layout(
  'VOLATILE_ROW',
  [
    ['digest', 'bytes:32', 'SHA-256 of the bytes'],
    ['sequence', 'i32', 'its number; they go up by 1'],
    ['at', 'i32', 'where its bytes begin in the ring'],
    ['length', 'i32', 'how many they are'],
    ['before', 'i32', 'sequence of the next older artifact of its bucket'],
  ],
  64,
)

/** Artifacts begin at multiples of it in the ring. */
export const VOLATILE_UNIT = 64
/** The first sequence: an empty bucket, 0, lies below the floor. */
const FIRST = 1
const MAGIC = 0x766f6c61
const PAGE = 4096

/** A part of a shared buffer as the volatile store sees it. */
export interface VolatileMemory {
  readonly sab: SharedArrayBuffer
  readonly i32: Int32Array
  readonly bytes: Buffer
  /** Byte offsets in the buffer. */
  readonly header: number
  readonly buckets: number
  readonly rows: number
  readonly ring: number
  readonly ring_bytes: number
  readonly row_count: number
  /** The largest artifact that it takes, in bytes. */
  readonly largest: number
}

const up = (bytes: number, unit: number): number => Math.ceil(bytes / unit) * unit

/** As many as artifacts of `limits.VOLATILE_BYTES_PER_ROW` fit in. */
const rowsOf = (ring_bytes: number): number => 2 ** Math.ceil(Math.log2(ring_bytes / limits.VOLATILE_BYTES_PER_ROW))

function cut(at: number, ring_bytes: number, rows: number) {
  const buckets = at + VOLATILE_HEADER.size
  const first_row = up(buckets + rows * 4, VOLATILE_ROW.size)
  const ring = up(first_row + rows * VOLATILE_ROW.size, Math.min(PAGE, ring_bytes))
  return { buckets, rows: first_row, ring }
}

/** A store of so many bytes, less what does not fill a page. */
export function createVolatile(bytes: number): VolatileMemory {
  const ring_bytes = Math.floor(bytes / PAGE) * PAGE
  const rows = rowsOf(ring_bytes)
  return layVolatile(new SharedArrayBuffer(cut(0, ring_bytes, rows).ring + ring_bytes), 0, ring_bytes, rows)
}

/** Lays an empty store into a buffer that holds zeros, from byte `at` on. */
export function layVolatile(sab: SharedArrayBuffer, at: number, ring_bytes: number, rows: number): VolatileMemory {
  if (ring_bytes % VOLATILE_UNIT !== 0 || !Number.isInteger(Math.log2(rows)))
    throw new RangeError('the ring has whole units, and the rows are a power of two')
  const i32 = new Int32Array(sab)
  const { word } = VOLATILE_HEADER
  i32[(at >> 2) + word.ring_bytes] = ring_bytes
  i32[(at >> 2) + word.rows] = rows
  i32[(at >> 2) + word.floor] = FIRST
  i32[(at >> 2) + word.next] = FIRST
  i32[(at >> 2) + word.magic] = MAGIC
  return attachVolatile(sab, at)
}

export function attachVolatile(sab: SharedArrayBuffer, at = 0): VolatileMemory {
  const i32 = new Int32Array(sab)
  const { word } = VOLATILE_HEADER
  if (i32[(at >> 2) + word.magic] !== MAGIC) throw new TypeError('not the memory of a volatile store')
  const ring_bytes = i32[(at >> 2) + word.ring_bytes]!
  const row_count = i32[(at >> 2) + word.rows]!
  return {
    sab,
    i32,
    bytes: Buffer.from(sab),
    header: at,
    ...cut(at, ring_bytes, row_count),
    ring_bytes,
    row_count,
    largest: Math.min(Math.floor(ring_bytes * limits.VOLATILE_ARTIFACT_SHARE), limits.VOLATILE_ARTIFACT_BYTES),
  }
}

/** Sequences are counted modulo 2^32. */
export const isHeldBetween = (sequence: number, floor: number, next: number): boolean =>
  ((sequence - floor) | 0) >= 0 && ((next - sequence) | 0) > 0

/**
 * The owner word of a thread in the lock of the volatile store: Node counts its threads up for as long as the process lives. Not
 * that of the thread table, since call slots have no slot there.
 */
export const volatileOwner = (thread_id: number): number => thread_id + 1
