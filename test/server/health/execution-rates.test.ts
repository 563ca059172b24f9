import assert from 'node:assert/strict'
import { test } from 'node:test'
import { finish } from '../../../core/steps.ts'
import { ExecutionRates } from '../../../server/health/execution-rates.ts'

/** Two nodes whose counters the test sets; it looks at them once a second. */
function counted() {
  const counts = [0, 0]
  const rates = new ExecutionRates(node => counts[node]!)
  const pass = (seconds: number, per_s: readonly number[]): void => {
    for (let second = 0; second < seconds; second++) {
      for (const [node, ran] of per_s.entries()) counts[node]! += ran
      finish(rates.look([0, 1], 1))
    }
  }
  return { counts, rates, pass }
}

test('a rate is that of the last five seconds, of one node or of several', () => {
  const { rates, pass } = counted()
  assert.equal(rates.perSecond([0]), 0)
  pass(1, [10, 0])
  assert.equal(rates.perSecond([0]), 10, 'what is there counts before five seconds are over')
  pass(4, [10, 3])
  pass(5, [20, 3])
  assert.deepEqual([rates.perSecond([0]), rates.perSecond([1]), rates.perSecond([0, 1])], [20, 3, 23])
  pass(5, [0, 0])
  assert.equal(rates.perSecond([0, 1]), 0)
})

test('a node that runs every five seconds has a steady rate', () => {
  const { rates, pass, counts } = counted()
  for (let turn = 0; turn < 4; turn++) {
    counts[0]! += 1
    pass(5, [0, 0])
    assert.equal(rates.perSecond([0]), 0.2)
  }
})

test('a line has the complete intervals of the last minute, oldest first', () => {
  const { rates, pass } = counted()
  assert.deepEqual(rates.intervals([0]), [])
  pass(3, [1, 2])
  pass(2, [9, 9])
  assert.deepEqual(rates.intervals([0, 1]), [9], 'the open interval is not in it')
  assert.ok(!rates.isIntervalEnd)
  pass(1, [9, 9])
  assert.ok(rates.isIntervalEnd)
  assert.deepEqual(rates.intervals([0]), [3, 27])
  for (let interval = 3; interval <= 40; interval++) pass(3, [interval, 0])
  assert.deepEqual(
    rates.intervals([0]),
    Array.from({ length: 20 }, (_, at) => 3 * (21 + at)),
  )
})

test('a node that begins again, or whose row another one has now, does not keep what was before', () => {
  const { rates, pass, counts } = counted()
  pass(30, [100, 1])
  counts[0] = 2
  finish(rates.look([0, 1], 1))
  assert.equal(rates.perSecond([0]), 2 / 5)
  assert.deepEqual(rates.intervals([0]), new Array(10).fill(0))
  assert.deepEqual(rates.intervals([1]), new Array(10).fill(3))
})

test('nodes that were never looked at have not run', () => {
  const { rates } = counted()
  finish(rates.look([0, 700], 1))
  assert.deepEqual([rates.perSecond([300]), rates.perSecond([9_000])], [0, 0])
})

test('a look at many nodes pauses for others', () => {
  const rates = new ExecutionRates(() => 1)
  const looking = rates.look(
    Array.from({ length: 3_000 }, (_, node) => node),
    1,
  )
  let pauses = 0
  while (!looking.next().done) pauses++
  assert.equal(pauses, 6)
  assert.equal(rates.perSecond([2_999]), 1)
})
