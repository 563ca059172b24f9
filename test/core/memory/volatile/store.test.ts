import assert from 'node:assert/strict'
import { test } from 'node:test'
import { attachVolatile, createVolatile, layVolatile } from '../../../../core/memory/volatile/region.ts'
import { VolatileStore } from '../../../../core/memory/volatile/store.ts'
import { limits } from '../../../../protocol/limits.ts'
import { digest, frame, named, OTHER, OWNER } from './kit.ts'

const MIB = 2 ** 20

function small(ring_bytes = 4096, rows = 16): { store: VolatileStore; other: VolatileStore } {
  const memory = layVolatile(new SharedArrayBuffer(2 * MIB), 4096, ring_bytes, rows)
  return {
    store: new VolatileStore(memory, OWNER),
    other: new VolatileStore(attachVolatile(memory.sab, 4096), OTHER),
  }
}

test('bytes that one thread puts are read by every other, until they fall out', () => {
  const { store, other } = small()
  const frames = [0, 1, 2, 3, 4, 5].map(number => frame(number, 900))
  for (const bytes of frames) assert.ok(store.put(digest(bytes), bytes))
  // Of four kilobytes and pieces that never wrap, the four newest are left.
  assert.deepEqual(
    frames.map(bytes => other.read(digest(bytes))?.equals(bytes) ?? null),
    [null, null, true, true, true, true],
  )
  assert.deepEqual(
    frames.map(bytes => other.hasFallenOut(digest(bytes))),
    [true, true, false, false, false, false],
  )
  assert.equal(other.hasFallenOut(digest(Buffer.from('never'))), false)
  // Rows that were never in use hold zeros.
  assert.equal(other.hasFallenOut(Buffer.alloc(32)), false)
  assert.equal(other.size(digest(frames[5]!)), 900)
  assert.equal(other.size(digest(frames[0]!)), -1)
  const { held, put, fell_out, size } = other.counts()
  assert.deepEqual({ held, put, fell_out, size }, { held: 4, put: 6, fell_out: 2, size: 4096 })
})

test('what is put again stays where it is while it is young, and becomes the newest once half of the store came after it', () => {
  const { store } = small()
  const first = frame(1, 900)
  for (let again = 0; again < 3; again++) store.put(digest(first), first)
  assert.equal(store.counts().put, 1)
  for (const number of [2, 3]) store.put(named(number), frame(number, 900))
  store.put(digest(first), first)
  assert.equal(store.counts().put, 4)
  for (const number of [4, 5, 6]) store.put(named(number), frame(number, 900))
  assert.deepEqual(store.read(digest(first)), first)
})

test('no bytes at all are an artifact, and so are as many as the store takes', () => {
  const { store } = small()
  const nothing = Buffer.alloc(0)
  const most = frame(7, store.largest)
  store.put(digest(nothing), nothing)
  store.put(digest(most), most)
  assert.deepEqual(store.read(digest(nothing)), nothing)
  assert.deepEqual(store.read(digest(most)), most)
  assert.equal(store.largest, 1024)
})

test('an artifact above the share of the store is refused with the bound, and nothing falls out for it', () => {
  const { store } = small()
  store.put(named(1), frame(1, 100))
  assert.throws(
    () => store.put(named(2), frame(2, 1025)),
    (error: { code: string; message: string }) =>
      error.code === 'too_large' && /at most 1024 bytes/.test(error.message),
  )
  assert.ok(store.has(named(1)))
})

test('very many small artifacts fall out by number when the rows are full', () => {
  const { store } = small(4096, 16)
  for (let number = 1; number <= 40; number++) store.put(named(number), frame(number, 10))
  const held = Array.from({ length: 40 }, (_, at) => at + 1).filter(number => store.has(named(number)))
  assert.deepEqual(
    held,
    Array.from({ length: 16 }, (_, at) => at + 25),
  )
})

test('a writer that cannot get the lock in time keeps nothing, and readers do not wait for it', () => {
  const memory = layVolatile(new SharedArrayBuffer(MIB), 0, 4096, 16)
  const store = new VolatileStore(memory, OWNER)
  store.put(named(1), frame(1, 50))
  memory.i32[(memory.header >> 2) + 4] = OTHER
  assert.equal(store.put(named(2), frame(2, 50), 1), false)
  assert.equal(store.has(named(2)), false)
  assert.deepEqual(store.read(named(1)), frame(1, 50))
})

test('a store of the default size is reserved, not filled', () => {
  const before = process.memoryUsage().rss
  const memory = createVolatile(limits.VOLATILE_BYTES)
  assert.ok(process.memoryUsage().rss - before < 8 * MIB)
  assert.equal(memory.ring_bytes, 48 * MIB)
  assert.equal(memory.largest, 12 * MIB)
  assert.equal(createVolatile(limits.VOLATILE_BYTES_MAX).largest, limits.VOLATILE_ARTIFACT_BYTES)
})

test('the number of an artifact may pass the largest 32-bit number', () => {
  const memory = layVolatile(new SharedArrayBuffer(MIB), 0, 4096, 16)
  const header = memory.header >> 2
  memory.i32[header + 5] = memory.i32[header + 6] = 0x7fffffff - 5
  const store = new VolatileStore(memory, OWNER)
  for (let number = 1; number <= 40; number++) {
    store.put(named(number), frame(number, 300))
    for (let back = 0; back < 10; back++)
      if (number > back) assert.deepEqual(store.read(named(number - back)), frame(number - back, 300))
  }
})
