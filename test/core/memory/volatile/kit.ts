import { createHash } from 'node:crypto'
import type { Memory } from '../../../../core/memory/region.ts'
import { ownerWord } from '../../../../core/memory/threads.ts'
import { layVolatile, type VolatileMemory } from '../../../../core/memory/volatile/region.ts'

export const OWNER = ownerWord(1, 8)
export const OTHER = ownerWord(1, 9)
export const FRONT = ownerWord(1, 1)

/** Bytes that say whose they are: the number, and the length in every byte after it. */
export function frame(number: number, length: number): Buffer {
  const bytes = Buffer.alloc(length, (number * 31 + length) & 0xff)
  if (length >= 4) bytes.writeInt32LE(number)
  return bytes
}

export const digest = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest()

/** Digests of the search: no hash is computed in it. Numbers that differ by a multiple of the rows share a bucket. */
export function named(number: number): Buffer {
  const digest = Buffer.alloc(32, 0xd1)
  digest.writeInt32LE(number)
  return digest
}

export const RING = 256
export const ROWS = 4

/** In the memory of a search: four units and four rows. */
export const tiny = (memory: Memory): VolatileMemory => layVolatile(memory.sab, memory.regions.arena.offset, RING, ROWS)
