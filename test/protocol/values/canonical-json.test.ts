import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import * as fc from 'fast-check'
import { canonical, keyText } from '../../../protocol/values/canonical-json.ts'
import { seed } from '../../kit/random.ts'
import { ROOT } from '../../kit/sources.ts'

interface Vectors {
  texts: { about: string; json: string; canonical: string }[]
  numbers: { ieee754: string; canonical: string | null }[]
  refused: string[]
}
const vectors = JSON.parse(readFileSync(join(ROOT, 'test/conformance/canonical.json'), 'utf8')) as Vectors

describe('canonical JSON as the vectors have it', () => {
  for (const { about, json, canonical: expected } of vectors.texts)
    test(about, () => assert.equal(canonical(JSON.parse(json)), expected))

  for (const { ieee754, canonical: expected } of vectors.numbers)
    test(`the number with the bits ${ieee754} is ${expected ?? 'refused'}`, () => {
      const number = Buffer.from(ieee754, 'hex').readDoubleBE()
      if (expected === null) assert.throws(() => canonical([number]), TypeError)
      else assert.equal(canonical(number), expected)
    })

  for (const json of vectors.refused)
    test(`half of a surrogate pair is refused: ${json}`, () => {
      assert.throws(() => canonical(JSON.parse(json)), TypeError)
    })
})

test('undefined members are left out, undefined elsewhere is refused, and so is what JSON has no word for', () => {
  assert.equal(canonical({ b: undefined, a: 1, c: { d: undefined } }), '{"a":1,"c":{}}')
  for (const value of [undefined, [undefined], Array(2), 1n, { f: () => 1 }, Symbol('s')])
    assert.throws(() => canonical(value), TypeError)
})

test('a key named like a method of objects is a key', () => {
  assert.equal(
    canonical(JSON.parse('{"toJSON": 1, "__proto__": 2, "constructor": 3}')),
    '{"__proto__":2,"constructor":3,"toJSON":1}',
  )
})

test(`equal values in any order of keys have one text, and it means the same, seed ${seed}`, () => {
  const shuffled = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(shuffled)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value)
        .reverse()
        .map(([key, member]) => [key, shuffled(member)]),
    )
  }
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary' }), value => {
      const text = canonical(value)
      assert.equal(canonical(shuffled(value)), text)
      assert.equal(keyText(value), text)
      assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(value)))
    }),
    { seed, numRuns: 300 },
  )
})

test('what was saved with half of a surrogate pair has a text to compare it by, and it is its own', () => {
  assert.equal(keyText({ '\ud800': ['\udc00'] }), '{"\\ud800":["\\udc00"]}')
  assert.notEqual(keyText('\ud800'), keyText('\ud801'))
  assert.notEqual(keyText('\ud800'), keyText('\\ud800'))
})

test('a long list has the text that its items have one by one', () => {
  const lists = [
    [0.1, -0, 1e21, 5],
    ['a', 'ü', '"', '\u2028'],
    ['a', 1, null],
    ['a', '\ud800'],
  ]
  for (const list of lists) {
    const long = Array.from({ length: 100 }, (_, at) => list[at % list.length])
    assert.equal(keyText(long), `[${long.map(item => keyText(item)).join(',')}]`)
  }
  const long = (item: unknown): unknown[] => Array.from({ length: 100 }, (_, at) => (at === 99 ? item : at))
  for (const item of [Number.NaN, undefined, 1n]) assert.throws(() => keyText(long(item)), TypeError)
  assert.throws(() => keyText(Array(100)), TypeError)
  assert.throws(() => canonical(Array(100).fill('\ud800')), TypeError)
})
