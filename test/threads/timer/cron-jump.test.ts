import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { nextCron } from '../../../threads/nodes/cron.ts'
import { planAfterJump } from '../../../threads/timer/cron-jump.ts'

const at = (time: string): number => Date.parse(`2026-03-10T${time}Z`)

/** The next time of the expression, after the clock was set. */
function planned(expression: string, from: string, to: string): string | null {
  const next = (after_ms: number) => nextCron(expression, 'UTC', after_ms)
  const jump = { from_ms: at(from), to_ms: at(to), planned_ms: next(at(from))! }
  const at_ms = planAfterJump(expression, jump, next)
  return at_ms === null ? null : new Date(at_ms).toISOString().slice(8, 19)
}

describe('a cron expression that names a time of day', () => {
  test('comes at once when the clock skipped it by at most three hours, and once even if it was skipped twice', () => {
    assert.equal(planned('30 12 * * *', '12:00:00', '13:00:00'), '10T13:00:00')
    assert.equal(planned('10,30 12 * * *', '12:00:00', '13:00:00'), '10T13:00:00')
  })

  test('keeps its time when the clock skipped none of it', () => {
    assert.equal(planned('30 14 * * *', '12:00:00', '13:00:00'), '10T14:30:00')
  })

  test('is not repeated when the clock went back over it', () => {
    assert.equal(planned('30 12 * * *', '13:00:00', '12:00:00'), '11T12:30:00')
  })

  test('goes by the new clock after more than three hours, forward or back', () => {
    assert.equal(planned('30 12 * * *', '12:00:00', '18:00:00'), '11T12:30:00')
    assert.equal(planned('30 12 * * *', '18:00:00', '12:00:00'), '10T12:30:00')
  })
})

describe('a cron expression with a star for its minute or hour', () => {
  test('goes by the new clock at once, so that it neither rests for an hour nor makes up for one', () => {
    assert.equal(planned('*/5 * * * *', '13:02:00', '12:02:00'), '10T12:05:00')
    assert.equal(planned('*/5 * * * *', '12:02:00', '13:02:00'), '10T13:05:00')
    assert.equal(planned('0 * * * *', '12:30:00', '13:30:00'), '10T14:00:00')
    assert.equal(planned('*/10 * 12 * * *', '12:30:05', '12:10:05'), '10T12:10:10')
  })
})
