import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { limits } from '../../../protocol/limits.ts'
import { Pace } from '../../../threads/lane/pace.ts'

const SLOW = limits.SLOW_BODY_MS + 1
const FAST = limits.FAST_BODY_MS - 1
const BETWEEN = (limits.SLOW_BODY_MS + limits.FAST_BODY_MS) / 2
const LAST = limits.SLOW_BODY_MEDIAN_OF

/** After how many executions the move comes; null: it does not. */
const moves = (executions: readonly number[], ask: (held_ms: number) => boolean): number | null => {
  const at = executions.findIndex(ask)
  return at < 0 ? null : at + 1
}
const times = (count: number, held_ms: number): number[] => new Array(count).fill(held_ms)

describe('the pace of a body', () => {
  test('is slow when more than half of its last executions were', () => {
    const pace = new Pace()
    const isSlow = (ms: number): boolean => pace.isSlowAfter(ms)
    assert.equal(moves(times(1000, BETWEEN), isSlow), null)
    assert.equal(moves(times(LAST, SLOW), isSlow), LAST / 2 + 1)
  })

  test('is fast again when nearly all of its last executions were well below what makes it slow', () => {
    const pace = new Pace()
    const isFast = (ms: number): boolean => pace.isFastAfter(ms)
    assert.equal(moves(times(1000, BETWEEN), isFast), null)
    const strays = Array.from({ length: 1000 }, (_, at) => (at % 5 === 0 ? SLOW : FAST))
    assert.equal(moves(strays, isFast), null, 'one in five is too many')
    assert.equal(moves([...times(LAST, SLOW), ...times(LAST, FAST)], isFast), LAST + LAST - LAST / 8)
  })

  test('looks at as many executions again after each move', () => {
    const pace = new Pace()
    const isSlow = (ms: number): boolean => pace.isSlowAfter(ms)
    const isFast = (ms: number): boolean => pace.isFastAfter(ms)
    assert.equal(moves(times(LAST, SLOW), isSlow), LAST)
    assert.equal(moves(times(LAST, FAST), isFast), LAST)
    assert.equal(moves(times(LAST, SLOW), isSlow), LAST)
  })
})
