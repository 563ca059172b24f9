import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as fc from 'fast-check'
import { limits } from '../../../protocol/limits.ts'
import { createCodec, decodePlain, encodePlain, newEncoded } from '../../../protocol/values/codec.ts'
import { describe as told } from '../../../protocol/values/describe.ts'
import type { Dtype } from '../../../protocol/values/dtype.ts'
import { KIND } from '../../../protocol/values/encoded.ts'
import { seed } from '../../kit/random.ts'

const codec = createCodec()
const out = newEncoded()

/** What JSON text can hold: -0 is written 0; the key __proto__ is refused and tested by itself. */
const jsonValue = fc
  .jsonValue({ maxDepth: 8 })
  .map(value => JSON.parse(JSON.stringify(value)) as unknown)
  .filter(value => !JSON.stringify(value).includes('"__proto__"'))

function roundTrip(value: unknown, dtype: Dtype): unknown {
  const refusal = codec.encode(value, dtype, out)
  assert.equal(refusal, null, refusal?.text)
  // As a lane reads it: from the middle of shared memory.
  const shared = Buffer.from(new SharedArrayBuffer(out.length + 64))
  out.bytes.copy(shared, 13, 0, out.length)
  return codec.decode(out.kind, out.number, shared, 13, out.length)
}
const refused = (value: unknown, dtype: Dtype): string => {
  const refusal = codec.encode(value, dtype, out)
  assert.ok(refusal, `${told(value)} was accepted as ${dtype}`)
  return `${refusal.code}: ${refusal.text}`
}

describe('numbers and booleans', () => {
  test('float takes every finite number and keeps it exactly', () => {
    for (const value of [0, -0, 1, -1.5, 5e-324, Number.MAX_VALUE, 2 ** 53 + 2, 0.1])
      assert.ok(Object.is(roundTrip(value, 'float'), value))
    assert.equal(out.kind, KIND.float)
    assert.equal(out.length, 8)
    assert.equal(refused(Number.NaN, 'float'), 'not_finite: expected a finite number, got NaN')
    assert.equal(refused(Number.NEGATIVE_INFINITY, 'float'), 'not_finite: expected a finite number, got -Infinity')
    for (const value of ['1', true, null, undefined, 1n, [1], {}, new Number(1)])
      assert.match(refused(value, 'float'), /^wrong_dtype: expected a finite number \(float\), got /)
  })

  test('int takes whole numbers up to 2^53', () => {
    for (const value of [0, -7, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, 2 ** 40])
      assert.equal(roundTrip(value, 'int'), value)
    assert.ok(Object.is(roundTrip(-0, 'int'), 0))
    assert.equal(refused(1.5, 'int'), 'wrong_dtype: expected an integer (int), got 1.5, not a whole number')
    assert.match(refused(2 ** 53, 'int'), /beyond 2\^53/)
    assert.match(refused(Number.POSITIVE_INFINITY, 'int'), /^not_finite/)
    for (const value of ['1', 1n, true, null]) assert.match(refused(value, 'int'), /^wrong_dtype/)
  })

  test('bool takes true and false alone', () => {
    assert.equal(roundTrip(true, 'bool'), true)
    assert.equal(roundTrip(false, 'bool'), false)
    for (const value of [0, 1, 'true', null])
      assert.match(refused(value, 'bool'), /^wrong_dtype: expected true or false/)
  })
})

describe('text', () => {
  const bound = limits.MESSAGE_VALUE_BYTES

  test('any string comes back, at every size up to the bound', () => {
    for (const length of [0, 1, 31, 32, 255, 256, 1365, 1366, 4096, 65_535, 65_536, bound])
      assert.equal(roundTrip('x'.repeat(length), 'str'), 'x'.repeat(length))
    assert.equal(roundTrip('é😀漢\0\u2028', 'str'), 'é😀漢\0\u2028')
    const wide = '漢'.repeat(Math.floor(bound / 3))
    assert.equal(roundTrip(wide, 'str'), wide)
  })

  test('what takes more bytes than the bound is refused before it is written', () => {
    assert.match(refused('x'.repeat(bound + 1), 'str'), /^value_too_large: .* at most 1048576 are allowed$/)
    assert.match(refused('漢'.repeat(bound / 3 + 1), 'str'), /^value_too_large/)
  })

  test('half of a surrogate pair becomes U+FFFD, alone and inside json', () => {
    assert.equal(roundTrip('a\ud800b', 'str'), 'a\ufffdb')
    assert.deepEqual(roundTrip({ 'k\udc00': ['\ud83d', 'fine 😀'] }, 'json'), { 'k\ufffd': ['\ufffd', 'fine 😀'] })
    assert.deepEqual(roundTrip([`${'x'.repeat(100)}\ud800`], 'json'), [`${'x'.repeat(100)}\ufffd`])
  })

  test('the scratch grows for a large value and keeps what it has', () => {
    const none = { ...newEncoded(), bytes: Buffer.alloc(0) }
    assert.equal(codec.encode('x', 'str', none), null)
    const small = newEncoded()
    assert.equal(codec.encode('y'.repeat(100_000), 'str', small), null)
    assert.ok(small.bytes.length >= 100_000 && small.bytes.length < 400_000)
    assert.equal(codec.encode('z', 'str', small), null)
    assert.equal(codec.decode(small.kind, 0, small.bytes, 0, small.length), 'z')
  })
})

describe('json', () => {
  test('null has a kind of its own and no bytes', () => {
    assert.equal(roundTrip(null, 'json'), null)
    assert.deepEqual([out.kind, out.length], [KIND.null, 0])
  })

  test('keys that mean something to JavaScript are keys like any other', () => {
    const value = JSON.parse(
      '{"constructor":"a","toJSON":1,"toString":null,"hasOwnProperty":2,"length":3,"valueOf":[],"then":4,"":5,"1":6}',
    )
    assert.deepEqual(roundTrip(value, 'json'), value)
    const nested: unknown = [{ constructor: { name: 'x' } }, { toJSON: 'x' }]
    assert.deepEqual(roundTrip(nested, 'json'), nested)
    assert.deepEqual(roundTrip(Object.assign(Object.create(null), { a: 1 }), 'json'), { a: 1 })
  })

  test('the key __proto__ is refused wherever it stands', () => {
    assert.equal(
      refused(JSON.parse('{"a":[{"__proto__":1}]}'), 'json'),
      'wrong_dtype: the key "__proto__", which is not allowed at a[0]',
    )
  })

  test('what JSON cannot carry is refused with its place', () => {
    const self: unknown[] = []
    self.push(self)
    class Point {
      x = 1
    }
    const cases: [unknown, RegExp][] = [
      [{ a: { b: [1, Number.NaN] } }, /^not_finite: NaN at a\.b\[1\]$/],
      [{ a: undefined }, /^wrong_dtype: undefined; leave the key out, or send null at a$/],
      // biome-ignore lint/suspicious/noSparseArray: a hole is what this is about
      [[1, , 2], /^wrong_dtype: undefined.* at \[1\]$/],
      [undefined, /^wrong_dtype: undefined/],
      [{ f: () => 1 }, /^wrong_dtype: a function at f$/],
      [Symbol('x'), /^wrong_dtype: a symbol$/],
      [{ 'a b': 1n }, /^wrong_dtype: a BigInt; send a number or a string at \["a b"\]$/],
      [{ at: new Date(0) }, /^wrong_dtype: an instance of Date; .* at at$/],
      [new Map([[1, 2]]), /^wrong_dtype: an instance of Map/],
      [Buffer.from('x'), /^wrong_dtype: an instance of Buffer/],
      [[new Point()], /^wrong_dtype: an instance of Point.* at \[0\]$/],
      [self, /^too_deep: /],
      [{ ok: 'x', big: 'x'.repeat(limits.MESSAGE_VALUE_BYTES) }, /^value_too_large: /],
      [new Array(limits.MESSAGE_VALUE_BYTES + 1).fill(0), /^value_too_large: /],
      [new Array(limits.MESSAGE_VALUE_BYTES / 4).fill(1.5), /^value_too_large: /],
    ]
    for (const [value, text] of cases) assert.match(refused(value, 'json'), text)
  })

  test('64 levels are allowed and 65 are not', () => {
    const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels))
    assert.deepEqual(roundTrip(nested(64), 'json'), nested(64))
    assert.match(refused(nested(65), 'json'), /^too_deep: nested more than 64 levels/)
    assert.match(refused({ a: { b: nested(63) } }, 'json'), /^too_deep/)
  })

  test('integers beyond 32 bits stay numbers', () => {
    for (const value of [2 ** 31, 2 ** 32, 2 ** 32 + 1, -(2 ** 31) - 1, 2 ** 53, 1e21, 1e308])
      assert.deepEqual(roundTrip([value], 'json'), [value])
  })

  test('long lists, wide objects and long strings come back', () => {
    const list = Array.from({ length: 70_000 }, (_, index) => index)
    assert.deepEqual(roundTrip(list, 'json'), list)
    const wide = Object.fromEntries(list.slice(1, limits.VALUE_PARTS).map(index => [`k${index}`, index % 2 === 0]))
    assert.deepEqual(roundTrip(wide, 'json'), wide)
    assert.match(refused({ ...wide, more: 1 }, 'json'), /more than 20000 members, objects and lists/)
    assert.match(refused(Array(limits.VALUE_PARTS).fill([]), 'json'), /more than 20000 members, objects and lists/)
    for (const length of [15, 16, 31, 32, 63, 64, 255, 256, 65_535, 65_536])
      for (const character of ['x', 'é', '漢', '😀'])
        assert.deepEqual(roundTrip([character.repeat(length)], 'json'), [character.repeat(length)])
  })
})

describe('references to artifacts', () => {
  const digest = `sha256:${'0123456789abcdef'.repeat(4)}`

  test('the media type begins with the dtype; artifact takes any', () => {
    for (const dtype of ['image', 'audio', 'video', 'artifact'] as const) {
      const media_type = dtype === 'artifact' ? 'text/plain' : `${dtype}/x`
      const value = { digest, media_type, meta: { width: 640 }, extra: [1] }
      assert.deepEqual(roundTrip(value, dtype), value)
    }
    assert.match(refused({ digest, media_type: 'text/plain' }, 'image'), /media_type that starts with "image\/"/)
  })

  test('anything else is refused with what is wrong', () => {
    for (const value of ['sha256:00', null, [], 5, undefined])
      assert.match(refused(value, 'image'), /^wrong_dtype: expected a reference to an image/)
    assert.match(refused({ digest: digest.toUpperCase(), media_type: 'image/png' }, 'image'), /whose digest is/)
    assert.match(refused({ digest }, 'artifact'), /media_type of 1 to 127 characters, got undefined/)
    assert.match(refused({ digest, media_type: 'a/b', meta: [] }, 'artifact'), /meta to be an object/)
    assert.match(
      refused({ digest, media_type: 'a/b', meta: { bytes: Buffer.alloc(1) } }, 'artifact'),
      /an instance of Buffer.* at meta\.bytes/,
    )
  })
})

describe('properties', () => {
  test(`every value of every dtype comes back as it was (seed ${seed})`, () => {
    const check = (dtype: Dtype, values: fc.Arbitrary<unknown>): void =>
      fc.assert(
        fc.property(values, value => {
          assert.deepEqual(roundTrip(value, dtype), value)
        }),
        { seed, numRuns: 500 },
      )
    check('float', fc.double({ noNaN: true, noDefaultInfinity: true }))
    check('int', fc.maxSafeInteger())
    check('bool', fc.boolean())
    check('str', fc.string({ unit: 'grapheme' }))
    check('json', jsonValue)
  })

  test(`whatever it is, it is refused or comes back as JSON would carry it (seed ${seed})`, () => {
    fc.assert(
      fc.property(
        fc.anything({
          withBigInt: true,
          withDate: true,
          withMap: true,
          withSet: true,
          withNullPrototype: true,
          withTypedArray: true,
          withSparseArray: true,
          withUnicodeString: true,
        }),
        value => {
          if (codec.encode(value, 'json', out) !== null) return
          const decoded = codec.decode(out.kind, out.number, out.bytes, 0, out.length)
          assert.deepEqual(decoded, wellFormed(JSON.parse(JSON.stringify(value))))
        },
      ),
      { seed, numRuns: 2_000 },
    )
  })

  test(`a value that is refused leaves nothing behind for the next one (seed ${seed})`, () => {
    fc.assert(
      fc.property(jsonValue, value => {
        refused([value, undefined], 'json')
        assert.deepEqual(roundTrip([value], 'json'), [value])
      }),
      { seed, numRuns: 100 },
    )
  })
})

test('plain data keeps its buffer, and undefined becomes null', () => {
  const first = encodePlain({ count: 1, gone: undefined, at: [1.5, 'x'] })
  const second = encodePlain({ count: 2 })
  assert.deepEqual(decodePlain(first), { count: 1, gone: null, at: [1.5, 'x'] })
  assert.deepEqual(codec.decodePlain(second), { count: 2 })
  assert.equal(codec.checkPlain({ a: [1] }), null)
  assert.equal(codec.checkPlain({ a: 1n })?.code, 'wrong_dtype')
})

function wellFormed(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (_, inner) => {
    if (typeof inner === 'string') return inner.toWellFormed()
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return inner
    return Object.fromEntries(Object.entries(inner).map(([key, item]) => [key.toWellFormed(), item]))
  })
}
