import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Arena } from '../../../core/memory/arena.ts'
import { HeldTable } from '../../../core/memory/held.ts'
import { ownerWord } from '../../../core/memory/threads.ts'
import { float, newValue, smallMemory, text } from '../../kit/memory.ts'

function table() {
  const memory = smallMemory()
  const arena = new Arena(memory, ownerWord(1, 8))
  return { memory, arena, held: new HeldTable(memory, arena) }
}

test('of the values held in one interval only the newest comes out, once, when it is due', () => {
  const { held } = table()
  const out = newValue()
  assert.equal(held.due(2), 0)
  assert.equal(held.hold(2, 1000, float(newValue(), 1), 0), 'new')
  assert.equal(held.hold(2, 1000, float(newValue(), 2), 0), 'replaced')
  assert.equal(held.hold(2, 1000, text(newValue(), 70, 3), 0), 'replaced')
  assert.equal(held.due(2), 1000)
  assert.equal(held.take(2, out, 999), false)
  assert.equal(held.take(2, out, 1000), true)
  assert.deepEqual([out.length, out.bytes[69]], [70, 3])
  assert.equal(held.take(2, out, 2000), false)
  assert.equal(held.replaced(2), 2)
})

test('the slabs of replaced, taken and dropped values are released', () => {
  const { memory, arena, held } = table()
  const hold = (fill: number): void => {
    const value = text(newValue(), 3000, fill)
    const ref = arena.allocate(3000)
    value.bytes.copy(memory.bytes, arena.offset(ref), 0, 3000)
    held.hold(1, 1, value, ref)
  }
  hold(1)
  hold(2)
  const out = newValue(8)
  assert.ok(held.take(1, out, 5))
  assert.deepEqual([out.length, out.bytes[2999]], [3000, 2])
  assert.equal(arena.used(), 0)
  hold(3)
  held.drop(1)
  assert.equal(arena.used(), 0)
  assert.equal(held.due(1), 0)
})
