import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { failedRun, listOf, queuedRun, runEvent, runId, runOf } from '../../../../kit/run-answers.ts'
import { against } from '../../../../kit/svc-against.ts'

const [one, two] = [runId(1), runId(2)]

describe('svc runs', () => {
  test('cancels and deletes the runs that are named, until one is refused', async t => {
    const cancelled = await against(
      t,
      {
        [`POST /runs/${one}/cancel`]: { answer: runOf(1, { status: 'cancelled' }) },
        [`POST /runs/${two}/cancel`]: { answer: queuedRun(2, { status: 'running' }) },
      },
      ['runs', 'cancel', one, two],
    )
    assert.equal(cancelled.code, 0, cancelled.stderr)
    assert.match(cancelled.stderr, new RegExp(`run ${one} is cancelled\\n.*run ${two} is being cancelled`))
    const script = {
      [`DELETE /runs/${one}`]: { answer: {} },
      [`DELETE /runs/${two}`]: { refuse: 'run_in_use' },
    } as const
    const deleted = await against(t, script, ['runs', 'delete', one, two])
    assert.equal(deleted.code, 3)
    assert.match(deleted.stderr, new RegExp(`run ${one} is deleted\\n.*Another run reuses nodes`))
  })

  test('follows a run to its end, which is the end of the command', async t => {
    const script = (run: ReturnType<typeof runOf>) => ({
      [`GET /runs/${one}`]: { answer: run },
      [`GET /runs/${one}/events`]: { answer: listOf(runEvent('run_finished', 3), runEvent('run_started', 2)) },
    })
    const good = await against(t, script(runOf(1)), ['runs', 'follow', one])
    assert.deepEqual([good.code, good.stdout.split('\n').length], [0, 3], good.stderr)
    assert.equal((await against(t, script(failedRun(1)), ['runs', 'follow', one])).code, 1)
  })
})
