import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Arena } from '../../../core/memory/arena.ts'
import { KIND } from '../../../core/memory/encoded.ts'
import { MessageTable } from '../../../core/memory/messages.ts'
import { ownerWord } from '../../../core/memory/threads.ts'
import { float, newValue, smallMemory, text } from '../../kit/memory.ts'

test('a message has no value until the first flip', () => {
  const table = new MessageTable(smallMemory())
  const out = newValue()
  table.reset(3, 7)
  assert.equal(table.flow(3), 7)
  assert.equal(table.version(3), 0)
  assert.equal(table.read(3, out), false)
  table.write(3, 1, 5, float(newValue(), 2.5), 0)
  assert.equal(table.read(3, out), false, 'a filled slot is not yet a value')
  table.flip(3, 1)
  assert.equal(table.read(3, out), true)
  assert.deepEqual([out.version, out.ts, out.kind, out.number, out.length], [1, 5, KIND.float, 2.5, 8])
})

test('versions past 2^31 and 2^40 are distinguished', () => {
  const table = new MessageTable(smallMemory())
  const out = newValue()
  for (const version of [2 ** 31 - 1, 2 ** 31, 2 ** 31 + 1, 2 ** 32, 2 ** 40, 2 ** 40 + 1]) {
    table.write(0, version, 1, float(newValue(), version), 0)
    table.flip(0, version)
    assert.equal(table.version(0), version)
    assert.ok(table.read(0, out))
    assert.equal(out.number, version)
  }
})

test('a long value lies in a slab, and the slab that it displaces comes back two versions later', () => {
  const memory = smallMemory()
  const table = new MessageTable(memory)
  const arena = new Arena(memory, ownerWord(1, 8))
  const value = text(newValue(), 5000, 9)
  const refs: number[] = []
  const displaced: number[] = []
  for (let version = 1; version <= 4; version++) {
    const ref = arena.allocate(value.length)
    value.bytes.copy(memory.bytes, arena.offset(ref), 0, value.length)
    refs.push(ref)
    displaced.push(table.write(0, version, 1, value, ref))
    table.flip(0, version)
    assert.equal(table.ref(0), ref)
  }
  assert.deepEqual(displaced, [0, 0, refs[0], refs[1]])
  const out = newValue(16)
  assert.ok(table.read(0, out))
  assert.equal(out.length, 5000)
  assert.ok(out.bytes.subarray(0, 5000).every(byte => byte === 9))
})

test('a value over the inline bound without a slab is a mistake of the caller', () => {
  const table = new MessageTable(smallMemory())
  assert.throws(() => table.write(0, 1, 1, text(newValue(), 81, 1), 0), RangeError)
  assert.throws(() => table.version(64), RangeError)
  assert.throws(() => table.version(-1), RangeError)
})
