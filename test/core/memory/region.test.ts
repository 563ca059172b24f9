import assert from 'node:assert/strict'
import { test } from 'node:test'
import { attachMemory, createMemory, drawMemory, productionSizes } from '../../../core/memory/region.ts'
import { smallMemory, smallSizes } from '../../kit/memory.ts'

test('a thread that attaches finds the same regions and sizes', () => {
  const memory = smallMemory()
  const other = attachMemory(memory.sab)
  assert.deepEqual(other.regions, memory.regions)
  assert.deepEqual(other.sizes, smallSizes)
})

test('regions begin on pages and do not overlap', () => {
  const regions = Object.values(smallMemory().regions)
  regions.forEach(({ offset, size }, i) => {
    assert.equal(offset % 4096, 0)
    assert.ok(offset + size <= (regions[i + 1]?.offset ?? Number.POSITIVE_INFINITY))
  })
})

test('a buffer of something else is refused', () => {
  assert.throws(() => attachMemory(new SharedArrayBuffer(4096)), TypeError)
})

test('sizes that the words cannot hold are refused', () => {
  assert.throws(() => createMemory({ ...smallSizes, ring_bytes: 5000 }), RangeError)
  assert.throws(() => createMemory({ ...smallSizes, threads: 65 }), RangeError)
  assert.throws(() => createMemory({ ...smallSizes, rings: 25 }), RangeError)
  assert.throws(() => createMemory({ ...smallSizes, arena_bytes: 2 ** 31 }), RangeError)
})

test('the memory of a real engine is reserved, not filled', () => {
  const before = process.memoryUsage().rss
  const memory = createMemory(productionSizes)
  const resident = process.memoryUsage().rss - before
  assert.ok(memory.sab.byteLength > 512 * 1024 * 1024)
  assert.ok(resident < 64 * 1024 * 1024, `${resident} bytes became resident`)
  assert.match(drawMemory(memory), /journals/)
})
