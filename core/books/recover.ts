/** Recovery after a thread died: repairs the books, and frees everything that the thread held or waited for. Its exit is confirmed. */
import * as atomics from '#atomics'
import { limits } from '../../protocol/limits.ts'
import type { Memory } from '../memory/region.ts'
import { holderOf, lockWord, recoverWord, unlockWordWithBarrier } from '../memory/wait.ts'
import { Ledger } from './ledger.ts'

/**
 * The dead holder keeps the books' lock word until they are repaired, so that no other thread reads them. False when another thread holds it for
 * long (it may be dead as well and not yet recovered): call it again later. Calling it twice is harmless.
 */
export function recoverBooks(memory: Memory, dead_owner: number, owner: number, now_us: number): boolean {
  const ledger = new Ledger(memory)
  const was_holder = holderOf(atomics.load(memory.i32, ledger.lock)) === dead_owner
  if (!was_holder && !lockWord(memory, ledger.lock, owner, limits.BOOK_PATIENCE_MS)) return false
  ledger.relink()
  ledger.freeOwner(dead_owner)
  ledger.walk(now_us, owner)
  if (was_holder) recoverWord(memory, ledger.lock, dead_owner)
  else unlockWordWithBarrier(memory, ledger.lock, owner)
  ledger.wake()
  return true
}
