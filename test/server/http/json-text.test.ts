import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { finish } from '../../../core/steps.ts'
import { jsonSteps } from '../../../server/http/json-text.ts'
import { seed } from '../../kit/random.ts'

test(`an answer that is made in steps is what JSON.stringify makes of it (seed ${seed})`, () => {
  const value = fc.anything({ maxDepth: 7, withNullPrototype: true })
  fc.assert(
    fc.property(value, given => assert.equal(finish(jsonSteps(given)), JSON.stringify(given))),
    { seed, numRuns: 500 },
  )
  const left_out = { a: undefined, b: [undefined, null, { c: undefined }], d: Number.NaN, e: 'e' }
  assert.equal(finish(jsonSteps(left_out)), JSON.stringify(left_out))
})
