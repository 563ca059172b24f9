import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../../protocol/limits.ts'
import { RestartPace } from '../../../server/lanes/restart-pace.ts'

test('a thread that dies again and again is started later each time, and then no more', () => {
  const pace = new RestartPace()
  const pauses = Array.from({ length: limits.RESTARTS_PER_MINUTE }, (_, death) => pace.died(death))
  assert.equal(pauses[0], 0)
  for (const [at, pause] of pauses.entries()) if (at > 0) assert.ok(pause! > pauses[at - 1]!)
  assert.equal(pace.died(limits.RESTARTS_PER_MINUTE), null)
})

test('deaths of long ago are forgotten', () => {
  const pace = new RestartPace()
  for (let death = 0; death <= limits.RESTARTS_PER_MINUTE; death++) pace.died(death)
  assert.equal(pace.died(120_000), 0)
})
