import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ARENA_SLOT_ROW, Arena, arenaPlace, BLOCK_BYTES } from '../../../core/memory/arena.ts'
import { recoverArena } from '../../../core/memory/recover/arena.ts'
import { ownerWord } from '../../../core/memory/threads.ts'
import { smallMemory } from '../../kit/memory.ts'
import { randomFrom, seed } from '../../kit/random.ts'

const ROUNDS = process.env['LONG'] === undefined ? 12 : 400
const STEPS = 4000

interface Slab {
  owner: number
  bytes: number
  fill: number
  references: number
  committed: boolean
}

test('against a model: slabs keep their bytes, are never handed out twice, and survive the death of their owner', () => {
  console.log(`SEED=${seed}`)
  for (let round = 0; round < ROUNDS; round++) play(seed + round)
})

function play(round_seed: number): void {
  const random = randomFrom(round_seed)
  const upTo = (most: number): number => Math.floor(random() * most)
  const memory = smallMemory({ arena_bytes: 3 * 1024 * 1024 })
  const slots = [1, 2, 8, 9, 10]
  const epochs = new Map(slots.map(slot => [slot, 1]))
  const arenas = new Map(slots.map(slot => [slot, new Arena(memory, ownerWord(1, slot))]))
  const model = new Map<number, Slab>()
  const any = (): Arena => arenas.get(slots[upTo(slots.length)]!)!
  const pick = (): number => [...model.keys()][upTo(model.size)]!

  const whole = (ref: number, slab: Slab): void => {
    const at = any().offset(ref)
    assert.equal(any().references(ref), slab.references)
    for (const place of [at, at + upTo(slab.bytes), at + slab.bytes - 1]) assert.equal(memory.u8[place], slab.fill)
  }

  for (let step = 0; step < STEPS; step++) {
    const what = random()
    if (what < 0.45 || model.size === 0) {
      const owner = slots[upTo(slots.length)]!
      const bytes = random() < 0.05 ? 1 + upTo(400_000) : random() < 0.3 ? 1 + upTo(30_000) : 1 + upTo(600)
      const ref = arenas.get(owner)!.allocate(bytes)
      if (ref === 0) continue
      assert.ok(!model.has(ref), 'a slab was handed out twice')
      const committed = random() < 0.8
      const fill = 1 + upTo(255)
      if (committed) arenas.get(owner)!.commit(ref)
      memory.u8.fill(fill, any().offset(ref), any().offset(ref) + bytes)
      model.set(ref, { owner, bytes, fill, references: 1, committed })
    } else if (what < 0.6) {
      const ref = pick()
      const slab = model.get(ref)!
      if (!slab.committed) continue
      any().retain(ref)
      slab.references++
    } else if (what < 0.97) {
      const ref = pick()
      const slab = model.get(ref)!
      whole(ref, slab)
      const releaser = slab.committed ? any() : arenas.get(slab.owner)!
      releaser.release(ref)
      if (--slab.references === 0) model.delete(ref)
    } else if (what < 0.99) any().collect()
    else {
      const slot = slots[upTo(slots.length)]!
      assert.ok(recoverArena(memory, ownerWord(epochs.get(slot)!, slot), ownerWord(1, 3)))
      for (const [ref, slab] of model) if (slab.owner === slot && !slab.committed) model.delete(ref)
      epochs.set(slot, epochs.get(slot)! + 1)
      arenas.set(slot, new Arena(memory, ownerWord(epochs.get(slot)!, slot)))
    }
  }
  for (const [ref, slab] of model) {
    whole(ref, slab)
    for (let i = 0; i < slab.references; i++) any().release(ref)
  }
  assert.equal(any().used(), 0)
  for (const arena of arenas.values()) arena.collect()
  assert.ok(any().taken() <= slots.length * 17 * BLOCK_BYTES)
  const place = arenaPlace(memory)
  for (const slot of slots)
    assert.equal(memory.i32[place.slots + slot * (ARENA_SLOT_ROW.size >> 2) + ARENA_SLOT_ROW.word.returned], 0)
}
