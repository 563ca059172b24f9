import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { didYouMean, nearest } from '../../protocol/nearest.ts'

describe('the nearest name', () => {
  for (const [given, meant] of [
    ['boilr', 'boiler'],
    ['biolre', 'boiler'],
    ['Boiler', 'boiler'],
    ['kettel', 'kettle'],
    ['pump', null],
    ['', null],
    ['x'.repeat(1_000), null],
  ] as const) {
    test(`of "${given.slice(0, 10)}" is ${meant}`, () => assert.equal(nearest(given, ['boiler', 'kettle', 'a']), meant))
  }

  test('ends a sentence, or leaves it as it is', () => {
    assert.equal(didYouMean('boilr', ['boiler']), ' Did you mean "boiler"?')
    assert.equal(didYouMean('pump', ['boiler']), '')
  })
})
