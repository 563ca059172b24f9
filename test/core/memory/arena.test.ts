import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Arena, BLOCK_BYTES, SLAB_BYTES } from '../../../core/memory/arena.ts'
import { ownerWord } from '../../../core/memory/threads.ts'
import { limits } from '../../../protocol/limits.ts'
import { smallMemory } from '../../kit/memory.ts'

const lane = (slot: number): number => ownerWord(1, slot)

test('a slab has room for what was asked, one reference, and a generation of its own', () => {
  const arena = new Arena(smallMemory(), lane(8))
  const first = arena.allocate(100)
  assert.ok(first > 0)
  assert.equal(arena.references(first), 1)
  assert.equal(arena.offset(first) % 16, 0)
  const generation = arena.generation(first)
  arena.release(first)
  const second = arena.allocate(100)
  assert.equal(second, first, 'the slab that was freed last is used first')
  assert.notEqual(arena.generation(second), generation)
})

test('slabs of every size class and of a run of blocks do not touch each other', () => {
  const memory = smallMemory()
  const arena = new Arena(memory, lane(8))
  const sizes = [...SLAB_BYTES.map(bytes => bytes - 16), 1, 33_000, 100_000, limits.MESSAGE_VALUE_BYTES]
  const held = sizes.map((bytes, i) => {
    const ref = arena.allocate(bytes)
    assert.ok(ref > 0)
    memory.u8.fill(i + 1, arena.offset(ref), arena.offset(ref) + bytes)
    return ref
  })
  held.forEach((ref, i) => {
    const at = arena.offset(ref)
    assert.ok(memory.u8.subarray(at, at + sizes[i]!).every(byte => byte === i + 1))
  })
  for (const ref of held) arena.release(ref)
  assert.equal(arena.used(), 0)
})

test('the last of several holders frees a slab, one release too many is refused', () => {
  const arena = new Arena(smallMemory(), lane(8))
  const ref = arena.allocate(100)
  arena.retain(ref)
  arena.release(ref)
  assert.ok(arena.used() > 0)
  arena.release(ref)
  assert.equal(arena.used(), 0)
  assert.throws(() => arena.release(ref), RangeError)
})

test('a slab that another thread released goes back to its owner', () => {
  const memory = smallMemory()
  const lane8 = new Arena(memory, lane(8))
  const store = new Arena(memory, lane(2))
  const ref = lane8.allocate(100)
  lane8.commit(ref)
  store.release(ref)
  assert.equal(lane8.used(), 0)
  lane8.collect()
  assert.equal(lane8.allocate(100), ref)
})

test('a full arena answers 0, and has all its room again once everything was released', () => {
  const memory = smallMemory({ arena_bytes: 2 * 1024 * 1024 })
  const arena = new Arena(memory, lane(8))
  for (let round = 0; round < 3; round++) {
    for (const bytes of [100, 5000, 60_000, 1_000_000]) {
      const held: number[] = []
      for (let ref = arena.allocate(bytes); ref !== 0; ref = arena.allocate(bytes)) held.push(ref)
      assert.ok(held.length * bytes > (2 * 1024 * 1024 * 6) / 10, `${held.length} slabs of ${bytes} bytes`)
      for (const ref of held) arena.release(ref)
      assert.equal(arena.used(), 0)
    }
  }
})

test('an idle thread keeps at most one empty block for each size class', () => {
  const arena = new Arena(smallMemory(), lane(8))
  const held: number[] = []
  for (let i = 0; i < 2000; i++) held.push(arena.allocate(1000))
  assert.ok(arena.taken() > 30 * BLOCK_BYTES)
  for (const ref of held) arena.release(ref)
  assert.equal(arena.taken(), BLOCK_BYTES)
})

test('a value over the bound is a mistake of the caller', () => {
  const arena = new Arena(smallMemory(), lane(8))
  assert.throws(() => arena.allocate(2 * limits.MESSAGE_VALUE_BYTES), RangeError)
})
