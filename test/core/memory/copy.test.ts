import assert from 'node:assert/strict'
import { test } from 'node:test'
import { copyBytes } from '../../../core/memory/copy.ts'

test('a copy of any length takes those bytes and no others', () => {
  const source = Buffer.from(Array.from({ length: 400 }, (_, i) => i & 0xff))
  for (let length = 0; length < 120; length++) {
    const target = Buffer.alloc(200, 0xee)
    copyBytes(source, 17, target, 23, length)
    const expected = Buffer.alloc(200, 0xee)
    for (let i = 0; i < length; i++) expected[23 + i] = source[17 + i]!
    assert.deepEqual(target, expected, `${length} bytes`)
  }
})
