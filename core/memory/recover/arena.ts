/**
 * After a thread died: its slot's lists are built again from the slab headers. Free is every slab of its blocks that nobody
 * holds, or that was never handed over. A slab whose state is `returned` and that lies on no list is in the hands of a
 * thread that is about to push it; it stays as it is.
 */
import * as atomics from '#atomics'
import { limits } from '../../../protocol/limits.ts'
import {
  ARENA_HEADER,
  ARENA_SLOT_ROW,
  type ArenaPlace,
  arenaPlace,
  BLOCK_BYTES,
  BLOCK_KIND,
  BLOCK_ROW,
  SLAB_BYTES,
  SLAB_ROW,
  SLAB_STATE,
} from '../arena.ts'
import type { Memory } from '../region.ts'
import { slotOf } from '../threads.ts'
import { lockWord, recoverWord, unlockWord } from '../wait.ts'

const B = BLOCK_ROW.word
const S = SLAB_ROW.word
const BLOCK_WORDS = BLOCK_ROW.size >> 2

/**
 * The dead thread's exit is confirmed and nobody has entered its slot again. False when another thread holds the pool for
 * long (it may be dead as well and not yet recovered): call it again later. Calling it twice is harmless.
 */
export function recoverArena(memory: Memory, dead_owner: number, owner: number): boolean {
  const { i32 } = memory
  const place = arenaPlace(memory)
  const lock = place.header + ARENA_HEADER.word.lock
  const slot = slotOf(dead_owner)
  // what the lock guards is set right below, under it: rows owned by the dead slot that belong to no block are its half-done moves
  recoverWord(memory, lock, dead_owner)
  if (!lockWord(memory, lock, owner, limits.ARENA_PATIENCE_MS)) return false

  const row = place.slots + slot * (ARENA_SLOT_ROW.size >> 2)
  putAwayReturned(i32, row)
  const heads = row + (ARENA_SLOT_ROW.offset.classes >> 2)
  for (let type = 0; type < SLAB_BYTES.length; type++) i32[heads + type] = 0

  let taken = 0
  for (let block = 1; block <= place.blocks; ) {
    const at = place.rows + block * BLOCK_WORDS
    const kind = i32[at + B.kind]!
    if (i32[at + B.owner] !== slot) {
      if (i32[at + B.owner] !== 0) taken++
      block++
    } else if (kind === BLOCK_KIND.run) {
      const span = i32[at + B.span]!
      const ref = (place.first + (block - 1) * BLOCK_BYTES) >> 4
      if (isFree(memory, ref, span * BLOCK_BYTES, row)) free(i32, at, span)
      else taken += span
      block += span
    } else if (kind === BLOCK_KIND.free || kind === BLOCK_KIND.inside_run) {
      // a row of a run without its first row, or one that was on its way out
      free(i32, at, 1)
      block++
    } else {
      rebuild(memory, place, block, row)
      taken++
      block++
    }
  }
  i32[place.header + ARENA_HEADER.word.taken] = taken
  i32[place.header + ARENA_HEADER.word.hint] = 1
  unlockWord(memory, lock, owner)
  return true
}

/** The chain that the dead owner was putting away may still hang on `returned`; there it ends at the first slab that is free by now. */
function putAwayReturned(i32: Int32Array, row: number): void {
  for (let ref = i32[row + ARENA_SLOT_ROW.word.draining]!; ref !== 0; ref = i32[(ref << 2) + S.next]!)
    i32[(ref << 2) + S.state] = SLAB_STATE.free
  i32[row + ARENA_SLOT_ROW.word.draining] = 0
  let ref = atomics.exchange(i32, row + ARENA_SLOT_ROW.word.returned, 0)
  for (; ref !== 0 && i32[(ref << 2) + S.state] === SLAB_STATE.returned; ref = i32[(ref << 2) + S.next]!)
    i32[(ref << 2) + S.state] = SLAB_STATE.free
}

/** Free: nobody holds it, or it was never handed over. A slab that says `returned` is on its way to the list or on it. */
function isFree(memory: Memory, ref: number, bytes: number, row: number): boolean {
  const { i32, f64 } = memory
  const at = ref << 2
  const held = atomics.load(i32, at + S.references) > 0
  // after the references: a releaser says `returned` before it drops the last one
  const state = atomics.load(i32, at + S.state)
  if (state === SLAB_STATE.returned || (held && state === SLAB_STATE.committed)) return false
  if (held) f64[row >> 1]! -= bytes
  i32[at + S.references] = 0
  i32[at + S.state] = SLAB_STATE.free
  return true
}

function free(i32: Int32Array, at: number, span: number): void {
  for (let row = at; row < at + span * BLOCK_WORDS; row += BLOCK_WORDS) {
    i32[row + B.kind] = BLOCK_KIND.free
    atomics.release(i32, row + B.owner, 0)
  }
}

/** Free list, count and place in its class's list of one block. */
function rebuild(memory: Memory, place: ArenaPlace, block: number, row: number): void {
  const { i32 } = memory
  const at = place.rows + block * BLOCK_WORDS
  const type = i32[at + B.kind]! - 1
  const bytes = SLAB_BYTES[type]!
  const carved = i32[at + B.carved]!
  let live = 0
  let list = 0
  for (let slab = carved - 1; slab >= 0; slab--) {
    const ref = (place.first + (block - 1) * BLOCK_BYTES + slab * bytes) >> 4
    if (isFree(memory, ref, bytes, row)) {
      i32[(ref << 2) + S.next] = list
      list = ref
    } else live++
  }
  i32[at + B.free] = list
  i32[at + B.live] = live
  i32[at + B.next] = 0
  i32[at + B.previous] = 0
  if (list === 0 && (carved + 1) * bytes > BLOCK_BYTES) return
  const head = row + (ARENA_SLOT_ROW.offset.classes >> 2) + type
  const next = i32[head]!
  i32[at + B.next] = next
  if (next !== 0) i32[place.rows + next * BLOCK_WORDS + B.previous] = block
  i32[head] = block
}
