import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Arena } from '../../../core/memory/arena.ts'
import { NodeStates } from '../../../core/memory/states.ts'
import { ownerWord } from '../../../core/memory/threads.ts'
import { smallMemory } from '../../kit/memory.ts'

function states() {
  const memory = smallMemory({ arena_bytes: 256 * 1024 })
  const arena = new Arena(memory, ownerWord(1, 8))
  return { memory, arena, states: new NodeStates(memory, arena) }
}

test('a node keeps what was written last, and its version counts the writes', () => {
  const { states: kept, arena } = states()
  assert.deepEqual([kept.read(3), kept.version(3)], [null, 0])
  assert.ok(kept.write(3, Buffer.from('first')))
  assert.ok(kept.write(3, Buffer.alloc(5000, 7)))
  assert.ok(kept.write(3, Buffer.from('third')))
  assert.deepEqual([kept.read(3)?.toString(), kept.version(3)], ['third', 3])
  assert.deepEqual([kept.read(2), kept.version(2)], [null, 0], 'a node has a row of its own')
  const { memory, arena: other } = states()
  assert.ok(new NodeStates(memory, other).write(0, Buffer.from('third')))
  assert.equal(arena.used(), other.used(), 'the slabs of the writes before are released')
})

test('an empty state is a state', () => {
  const { states: kept } = states()
  assert.ok(kept.write(0, Buffer.alloc(0)))
  assert.deepEqual([kept.read(0)?.length, kept.version(0)], [0, 1])
})

test('the next owner finds it, and goes on counting', () => {
  const { memory, states: kept } = states()
  assert.ok(kept.write(1, Buffer.from('one')))
  const next = new NodeStates(memory, new Arena(memory, ownerWord(1, 9)))
  assert.deepEqual([next.read(1)?.toString(), next.version(1)], ['one', 1])
  assert.ok(next.write(1, Buffer.from('two')))
  assert.deepEqual([kept.read(1)?.toString(), kept.version(1)], ['two', 2])
})

test('what is read is a copy', () => {
  const { states: kept } = states()
  assert.ok(kept.write(1, Buffer.from('one')))
  const read = kept.read(1)!
  assert.ok(kept.write(1, Buffer.from('two')))
  assert.ok(kept.write(1, Buffer.from('six')))
  assert.equal(read.toString(), 'one')
  read.fill(0)
  assert.equal(kept.read(1)?.toString(), 'six')
})

test('when the arena is full the state of the turn before stays, and its version', () => {
  const { arena, states: kept } = states()
  assert.ok(kept.write(1, Buffer.from('before')))
  while (arena.allocate(60_000) !== 0);
  assert.equal(kept.write(1, Buffer.alloc(60_000)), false)
  assert.deepEqual([kept.read(1)?.toString(), kept.version(1)], ['before', 1])
})

test('a node outside the table is a mistake of the caller', () => {
  const { memory, states: kept } = states()
  for (const node of [-1, memory.sizes.nodes, Number.NaN]) assert.throws(() => kept.read(node), RangeError)
})
