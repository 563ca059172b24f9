import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { finish } from '../../../core/steps.ts'
import { decodePlan, encodePlanSteps, planBytes } from '../../../threads/lane/plan-bytes.ts'
import { arbitraryDocument, checked, planOf } from '../../kit/flow-documents.ts'
import { seed } from '../../kit/random.ts'

test(`a plan comes back from its bytes as it was (seed ${seed})`, () => {
  fc.assert(
    fc.property(arbitraryDocument, raw => {
      const plan = planOf(checked(raw).nodes)
      assert.deepEqual(decodePlan(planBytes(plan, finish(encodePlanSteps(plan)))), plan)
    }),
    { seed, numRuns: 100 },
  )
})
