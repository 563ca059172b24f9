import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isFinalNode, moveNode, moveRun } from '../../../core/runs/status.ts'
import { RUN_NODE_STATUSES } from '../../../protocol/nouns/run.ts'
import { isLive, RUN_STATUSES } from '../../../protocol/words/run-status.ts'

const movesOf = <Status extends string>(
  statuses: readonly Status[],
  move: (from: Status, to: Status) => Status,
): string[] =>
  statuses.flatMap(from =>
    statuses
      .filter(to => {
        try {
          return move(from, to) === to
        } catch (error) {
          assert.ok(error instanceof RangeError)
          return false
        }
      })
      .map(to => `${from} ${to}`),
  )

describe('the statuses of a run', () => {
  test('move from queued over running to one of three ends, and from nowhere else', () => {
    assert.deepEqual(movesOf(RUN_STATUSES, moveRun), [
      'queued running',
      'queued cancelled',
      'running succeeded',
      'running failed',
      'running cancelled',
    ])
  })

  test('are final exactly when they are not live', () => {
    const left = new Set(movesOf(RUN_STATUSES, moveRun).map(move => move.split(' ')[0]))
    assert.deepEqual(
      RUN_STATUSES.filter(status => left.has(status)),
      RUN_STATUSES.filter(isLive),
    )
  })

  test('an invalid move names both ends', () => {
    assert.throws(() => moveRun('failed', 'running'), /a run does not go from failed to running/)
  })
})

describe('the statuses of a node in a run', () => {
  test('move as the drawing says', () => {
    assert.deepEqual(movesOf(RUN_NODE_STATUSES, moveNode), [
      'pending queued',
      'pending running',
      'pending cancelled',
      'pending cached',
      'pending skipped',
      'queued running',
      'queued failed',
      'queued cancelled',
      'running queued',
      'running succeeded',
      'running failed',
      'running cancelled',
    ])
  })

  test('are final when nothing follows', () => {
    assert.deepEqual(RUN_NODE_STATUSES.filter(isFinalNode), ['succeeded', 'failed', 'cancelled', 'cached', 'skipped'])
  })
})
