import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { documentTextSteps } from '../../../core/flow/document-text.ts'
import { finish } from '../../../core/steps.ts'
import { arbitraryDocument, checked } from '../../kit/flow-documents.ts'
import { seed } from '../../kit/random.ts'

test(`the text of a document is its JSON (seed ${seed})`, () => {
  fc.assert(
    fc.property(arbitraryDocument, raw => {
      const document = checked(raw)
      assert.equal(finish(documentTextSteps(document)), JSON.stringify(document))
    }),
    { seed, numRuns: 100 },
  )
})
