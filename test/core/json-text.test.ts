import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { jsonPieces, jsonSteps } from '../../core/json-text.ts'
import { finish } from '../../core/steps.ts'
import { seed } from '../kit/random.ts'

const textOf = (value: unknown): string => Buffer.concat(finish(jsonSteps(value))).toString()

test(`an answer that is made in steps is what JSON.stringify makes of it (seed ${seed})`, () => {
  const value = fc.anything({ maxDepth: 7, withNullPrototype: true })
  fc.assert(
    fc.property(value, given => assert.equal(textOf(given), JSON.stringify(given) ?? '')),
    { seed, numRuns: 500 },
  )
  const left_out = { a: undefined, b: [undefined, null, { c: undefined }], d: Number.NaN, e: 'e' }
  assert.equal(textOf(left_out), JSON.stringify(left_out))
})

test('an answer of several pieces is what JSON.stringify makes of it', () => {
  const numbers = Array.from({ length: 50_000 }, (_, at) => at)
  const texts = Array.from({ length: 3_000 }, (_, at) => 'ä😀'.repeat(at % 50))
  const mixed = Array.from({ length: 3_000 }, (_, at) =>
    at % 3 === 0 ? { at, numbers: [at] } : at % 3 === 1 ? null : 'x',
  )
  const long = { numbers, texts, mixed, long: 'ü'.repeat(300_000), deep: { deep: { deep: { deep: mixed } } } }
  assert.equal(textOf(long), JSON.stringify(long))
  assert.ok(finish(jsonSteps(long)).length > 5)
})

test('no part of a long text or of a long list deep inside is written at once', () => {
  const text = `x${'😀'.repeat(150_000)}\ud800"\\\n`
  const numbers = Array.from({ length: 100_000 }, (_, at) => at)
  const deep = { a: { b: { c: { d: { e: { f: numbers } } } } }, texts: [[[[[[[text, text]]]]]]] }
  assert.equal(textOf(deep), JSON.stringify(deep))
  assert.equal(finish(jsonPieces(deep)).join(''), JSON.stringify(deep))
  const steps = jsonSteps(deep)
  let parts = 1
  while (!steps.next().done) parts++
  assert.ok(parts > 100, `${parts} parts`)
  for (const piece of finish(jsonPieces(deep))) assert.ok(piece.length < 256 * 1024, `a piece of ${piece.length}`)
})
