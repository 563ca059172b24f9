/**
 * The one SharedArrayBuffer of the engine, divided into regions. The reservation is large and pages are allocated lazily, on
 * their first write, so nothing here may fill unused memory. The total stays under 2 GiB so that byte offsets are small
 * integers.
 */
import { limits } from '../../protocol/limits.ts'
import { booksBytes } from '../books/rows.ts'
import { arenaBytes } from './arena.ts'
import { BEGUN_ROW } from './begun.ts'
import { NODE_ROW, WIRE_ROW } from './counters.ts'
import { HELD_ROW } from './held.ts'
import { JOURNAL_HEADER } from './journal/record.ts'
import { layout } from './layout.ts'
import { type Memory, type MemorySizes, REGION_NAMES, type Region, type RegionName } from './memory.ts'
import { MESSAGE_ROW } from './messages.ts'
import { SCHEDULED_ROW } from './scheduled.ts'
import { SLOT, THREAD_ROW } from './threads.ts'

export type { Memory, MemorySizes, Region, RegionName } from './memory.ts'

export const productionSizes: MemorySizes = {
  flows: limits.FLOWS,
  messages: limits.MESSAGES,
  nodes: limits.NODES,
  wires: limits.WIRES,
  threads: limits.THREADS,
  rings: SLOT.lane + limits.LANE_SLOTS,
  begun_rows: limits.BEGUN_ROWS,
  ring_bytes: limits.JOURNAL_RING_BYTES,
  queue_segments: limits.QUEUE_SEGMENTS,
  arena_bytes: limits.ARENA_BYTES,
  book_claims: limits.BOOK_CLAIMS,
  book_waiting: limits.BOOK_WAITING,
}

/** Space for core/cascade; its layouts are compared with these sizes when its tables are built. */
export const ROOM = {
  /** Bytes of the flow region for each flow. */
  FLOW_BYTES: 256,
  /** Bytes at the start of the queue region, before the rows. */
  QUEUE_HEADER_BYTES: 8192,
  /** Bytes of the queue region for the row of a segment; the segments follow the rows, on a page boundary. */
  QUEUE_ROW_BYTES: 64,
} as const

const PAGE = 4096
const SIZE_NAMES = [
  'flows',
  'messages',
  'nodes',
  'wires',
  'threads',
  'rings',
  'begun_rows',
  'ring_bytes',
  'queue_segments',
  'arena_bytes',
  'book_claims',
  'book_waiting',
] as const

export const CONTROL = layout(
  'CONTROL',
  [
    ['magic', 'i32', 'MAGIC once the directory is whole'],
    ['format', 'i32', 'FORMAT'],
    ['directory', `bytes:${(REGION_NAMES.length * 8) as 112}`, 'offset and size of each region, i32 pairs'],
    ['sizes', `bytes:${(SIZE_NAMES.length * 4) as 48}`, 'MemorySizes in order, i32'],
    ['engine_epoch', 'f64', 'number of this engine start, from the store'],
    ['started_us', 'f64', 'when the engine started, microseconds since 1970'],
    ['stopping', 'i32', '1 once the engine ends'],
    ['plan_epoch', 'i32', 'counts posted plans'],
    ['cascades_in_flight', 'i32', 'cascades that outlived the turn that began them'],
    ['lane_slots', 'i32', 'bit i: lane slot SLOT.lane + i is active'],
    ['clock_start_us', 'f64', 'added to the monotonic clock: the time by the clock of the start; never changes'],
    ['clock_wall_us', 'f64', 'added to the monotonic clock: the time by the clock of the machine'],
    ['clock_doubt_us', 'f64', 'so much of that is a jump forward which is not believed yet'],
    ['spare', 'bytes:256', 'free for words of the threads'],
  ],
  64,
)

const MAGIC = 0x464c4f57
const FORMAT = 1

/** Bytes of one ready set: a bit a flow, a bit for each 32 of them, and one for each 1024; see core/cascade/queue/ready.ts. */
export const readySetBytes = (flows: number): number =>
  up((Math.ceil(flows / 32) + Math.ceil(flows / 1024) + Math.ceil(flows / 32_768)) * 4 + 64, 64)

const up = (bytes: number, unit: number): number => Math.ceil(bytes / unit) * unit
export const queueHeadBytes = (sizes: Readonly<MemorySizes>): number =>
  up(ROOM.QUEUE_HEADER_BYTES + sizes.queue_segments * ROOM.QUEUE_ROW_BYTES, PAGE)

function bytesOf(name: RegionName, sizes: Readonly<MemorySizes>): number {
  switch (name) {
    case 'control':
      return CONTROL.size
    case 'threads':
      return sizes.threads * THREAD_ROW.size
    case 'flows':
      return sizes.flows * ROOM.FLOW_BYTES
    case 'messages':
      return sizes.messages * MESSAGE_ROW.size
    case 'held':
      return sizes.messages * HELD_ROW.size
    case 'scheduled':
      return sizes.messages * SCHEDULED_ROW.size
    case 'nodes':
      return sizes.nodes * NODE_ROW.size
    case 'wires':
      return sizes.wires * WIRE_ROW.size
    case 'begun':
      return Math.max(0, sizes.rings - SLOT.lane) * sizes.begun_rows * BEGUN_ROW.size
    case 'ready':
      return (sizes.threads + 1) * readySetBytes(sizes.flows)
    case 'books':
      return booksBytes(sizes)
    case 'queue':
      return queueHeadBytes(sizes) + sizes.queue_segments * limits.QUEUE_SEGMENT_BYTES
    case 'arena':
      return arenaBytes(sizes)
    case 'journals':
      return sizes.rings * (JOURNAL_HEADER.size + sizes.ring_bytes)
  }
}

export function createMemory(sizes: MemorySizes): Memory {
  if (!Number.isInteger(Math.log2(sizes.ring_bytes)) || sizes.ring_bytes < PAGE)
    throw new RangeError('ring_bytes is a power of two, at least a page')
  if (sizes.book_claims % 32 !== 0 || sizes.book_waiting % 32 !== 0) throw new RangeError('the books have whole words')
  if (sizes.threads > limits.THREADS || sizes.rings > sizes.threads) throw new RangeError('more slots than owner words')
  let at = 0
  const cut = REGION_NAMES.map(name => {
    const size = bytesOf(name, sizes)
    const offset = at
    at = up(offset + size, PAGE)
    return { offset, size }
  })
  if (at >= 2 ** 31) throw new RangeError(`${at} bytes of shared memory: offsets would not be small integers`)
  const sab = new SharedArrayBuffer(at)
  const i32 = new Int32Array(sab)
  cut.forEach(({ offset, size }, i) => {
    i32[(CONTROL.offset.directory >> 2) + 2 * i] = offset
    i32[(CONTROL.offset.directory >> 2) + 2 * i + 1] = size
  })
  const first = CONTROL.offset.sizes >> 2
  SIZE_NAMES.forEach((name, i) => {
    i32[first + i] = sizes[name]
  })
  i32[CONTROL.word.format] = FORMAT
  i32[CONTROL.word.magic] = MAGIC
  return attachMemory(sab)
}

export function attachMemory(sab: SharedArrayBuffer): Memory {
  const i32 = new Int32Array(sab)
  if (i32[CONTROL.word.magic] !== MAGIC || i32[CONTROL.word.format] !== FORMAT)
    throw new TypeError('not the memory of this engine')
  const directory = CONTROL.offset.directory >> 2
  const regions = {} as { [name in RegionName]: Region }
  REGION_NAMES.forEach((name, i) => {
    regions[name] = { offset: i32[directory + 2 * i]!, size: i32[directory + 2 * i + 1]! }
  })
  const sizes = {} as MemorySizes
  SIZE_NAMES.forEach((name, i) => {
    sizes[name] = i32[(CONTROL.offset.sizes >> 2) + i]!
  })
  return {
    sab,
    i32,
    f64: new Float64Array(sab),
    u8: new Uint8Array(sab),
    bytes: Buffer.from(sab),
    regions,
    sizes,
  }
}

/** The regions of a memory as a table for people. */
export function drawMemory(memory: Memory): string {
  const rows = REGION_NAMES.map(name => {
    const { offset, size } = memory.regions[name]
    return `| ${String(offset).padStart(10)} | ${String(size).padStart(10)} | ${name.padEnd(8)} |`
  })
  const line = `+${'-'.repeat(12)}+${'-'.repeat(12)}+${'-'.repeat(10)}+`
  return [
    `memory, ${memory.sab.byteLength} bytes`,
    line,
    `| ${'at'.padStart(10)} | ${'bytes'.padStart(10)} | region   |`,
    line,
    ...rows,
    line,
  ].join('\n')
}
