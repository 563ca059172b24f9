import * as atomics from '#atomics'
import { holderOf, recoverWord } from '../wait.ts'
import { isHeldBetween, VOLATILE_HEADER, VOLATILE_ROW, type VolatileMemory } from './region.ts'

const H = VOLATILE_HEADER.word
const W = VOLATILE_ROW.word

/**
 * Frees the store from a thread that ended as its writer; its exit is confirmed. True when it did. What it had not finished is not there;
 * what it had finished but for the bucket's word is found from now on.
 */
export function recoverVolatile(memory: VolatileMemory, dead_owner: number): boolean {
  const { i32 } = memory
  const header = memory.header >> 2
  if (holderOf(atomics.load(i32, header + H.lock)) !== dead_owner) return false
  const next = i32[header + H.next]!
  const last = (next - 1) | 0
  if (isHeldBetween(last, i32[header + H.floor]!, next)) {
    const mask = memory.row_count - 1
    const row = (memory.rows + (last & mask) * VOLATILE_ROW.size) >> 2
    const bucket = (memory.buckets >> 2) + (i32[row + (VOLATILE_ROW.offset.digest >> 2)]! & mask)
    if (i32[bucket] === i32[row + W.before]) atomics.release(i32, bucket, last)
  }
  return recoverWord(memory, header + H.lock, dead_owner)
}
