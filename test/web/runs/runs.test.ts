import assert from 'node:assert/strict'
import { test } from 'node:test'
import { smoothed } from '../../../clients/web/src/runs/smoothing.ts'
import { barOf, totalSeconds } from '../../../clients/web/src/runs/timing.ts'
import { shownInputs, varyingInputs } from '../../../clients/web/src/runs/varying.ts'

const run = (id: string, flow: string, inputs: Record<string, unknown>) => ({ id, flow, inputs })

test('of the inputs of runs those vary that are not alike, or that a run does not have', () => {
  const runs = [
    run('1', 'f', { lr: 1, width: 8, seed: 0 }),
    run('2', 'f', { lr: 2, width: 8, seed: 0 }),
    run('3', 'f', { lr: 1, width: 8 }),
  ]
  assert.deepEqual(varyingInputs(runs), ['lr', 'seed'])
  assert.deepEqual(varyingInputs([runs[0]!]), ['lr', 'width', 'seed'])
  assert.deepEqual(varyingInputs([]), [])
})

test('each run shows the inputs that vary within its flow', () => {
  const shown = shownInputs([run('1', 'f', { a: 1, b: 2 }), run('2', 'f', { a: 1, b: 3 }), run('3', 'g', { a: 9 })])
  assert.deepEqual(
    [...shown],
    [
      ['1', [['b', 2]]],
      ['2', [['b', 3]]],
      ['3', [['a', 9]]],
    ],
  )
})

test('a node waits and runs as shares of the run; one that runs ends now, one that never began has no bar', () => {
  const at = (second: number): string => new Date(1_000_000 + second * 1000).toISOString()
  const times = { started_at: at(0), created_at: at(0) }
  const end_ms = 1_010_000
  const total_s = totalSeconds(times, end_ms)
  assert.equal(total_s, 10)
  assert.deepEqual(barOf({ queued_at: at(1), started_at: at(2), finished_at: at(7) }, times, end_ms, total_s), {
    ...{ queued: 0.1, waits: 0.1, starts: 0.2, runs: 0.49999999999999994, waited_s: 1 },
  })
  assert.equal(barOf({ queued_at: at(5), started_at: at(5), finished_at: null }, times, end_ms, total_s)?.runs, 0.5)
  assert.equal(barOf({ queued_at: at(5), started_at: null, finished_at: null }, times, end_ms, total_s)?.waits, 0.5)
  assert.equal(barOf({ queued_at: null, started_at: null, finished_at: null }, times, end_ms, total_s), null)
})

test('a smoothed curve begins at its first value, goes to what stays, and keeps gaps', () => {
  assert.deepEqual(smoothed([1, Number.NaN, 3], 0), [1, null, 3])
  const curve = smoothed([4, Number.NaN, ...new Array(500).fill(2)], 0.9)
  assert.equal(curve[0]?.toFixed(9), '4.000000000')
  assert.equal(curve[1], null)
  assert.equal(curve.at(-1)?.toFixed(6), '2.000000')
})
