/** A small shared memory for tests. */
import { Clock } from '../../core/memory/clock.ts'
import { KIND } from '../../core/memory/encoded.ts'
import type { ReadValue } from '../../core/memory/messages.ts'
import { createMemory, type Memory, type MemorySizes } from '../../core/memory/region.ts'
import { threadClock } from '../../threads/thread-clock.ts'

export const smallSizes: MemorySizes = {
  flows: 64,
  messages: 64,
  nodes: 16,
  wires: 8,
  threads: 24,
  rings: 12,
  begun_rows: 32,
  ring_bytes: 64 * 1024,
  queue_segments: 32,
  arena_bytes: 4 * 1024 * 1024,
  book_claims: 64,
  book_waiting: 96,
}

/** So small that the interleaving search can restore it tens of thousands of times. */
export const tinySizes: MemorySizes = {
  flows: 4,
  messages: 4,
  nodes: 2,
  wires: 2,
  threads: 24,
  rings: 10,
  begun_rows: 4,
  ring_bytes: 4096,
  queue_segments: 4,
  arena_bytes: 128 * 1024,
  book_claims: 32,
  book_waiting: 32,
}

/** Its clock is the machine's. */
export function smallMemory(sizes: Partial<MemorySizes> = {}): Memory {
  const memory = createMemory({ ...smallSizes, ...sizes })
  new Clock(memory, threadClock).begin(Date.now() * 1000)
  return memory
}

export const newValue = (bytes = 4096): ReadValue => ({
  version: 0,
  ts: 0,
  kind: KIND.none,
  number: 0,
  bytes: Buffer.alloc(bytes),
  length: 0,
})

export function float(value: ReadValue, number: number): ReadValue {
  value.kind = KIND.float
  value.number = number
  value.length = 8
  return value
}

/** A str of `length` bytes, all of them `fill`. */
export function text(value: ReadValue, length: number, fill: number): ReadValue {
  if (value.bytes.length < length) value.bytes = Buffer.alloc(length)
  value.kind = KIND.str
  value.bytes.fill(fill, 0, length)
  value.length = length
  return value
}
