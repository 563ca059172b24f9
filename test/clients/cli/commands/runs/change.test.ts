import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { queuedRun, runId, runOf } from '../../../../kit/run-answers.ts'
import { against } from '../../../../kit/svc-against.ts'

const one = runId(1)
const CHANGE = `PATCH /runs/${one}`

describe('svc runs', () => {
  test('adds and removes tags of a run, and says which it has then', async t => {
    const script = { [CHANGE]: { answer: runOf(1, { tags: ['best', 'night'] }) } }
    const told = await against(t, script, ['runs', 'tag', one, 'best', '--remove', 'draft'])
    assert.equal(told.code, 0, told.stderr)
    assert.deepEqual(told.requests[0]!.body, { add_tags: ['best'], remove_tags: ['draft'] })
    assert.match(told.stderr, new RegExp(`run ${one} has the tags best, night`))
    assert.equal((await against(t, {}, ['runs', 'tag', one])).code, 2)
  })

  test('writes, prints and removes the note of a run', async t => {
    const script = {
      [CHANGE]: { answer: runOf(1, { note: 'mine' }) },
      [`GET /runs/${one}`]: { answer: runOf(1, { note: 'mine' }) },
    }
    const written = await against(t, script, ['runs', 'note', one, 'mine'])
    assert.deepEqual([written.code, written.requests[0]!.body], [0, { note: 'mine' }], written.stderr)
    assert.equal((await against(t, script, ['runs', 'note', one])).stdout, 'mine\n')
    const removed = await against(t, { [CHANGE]: { answer: runOf(1) } }, ['runs', 'note', one, ''])
    assert.match(removed.stderr, /has no note/)
  })

  test('a run is started with its tags and note, and a list asks for those that have all tags', async t => {
    const script = {
      'POST /runs/flows/boiler': { answer: queuedRun(1) },
      'GET /runs': { answer: { items: [], count: 0, counts: {} } },
    }
    const argv = ['run', 'boiler', '--no-wait', '--tag', 'a', '--tag', 'b', '--note', 'why']
    const run = await against(t, script, argv)
    assert.partialDeepStrictEqual(run.requests[0]!.body, { tags: ['a', 'b'], note: 'why' })
    const listed = await against(t, script, ['runs', 'list', '--tag', 'a', '--tag', 'b'])
    assert.deepEqual(listed.requests[0]!.tags, ['a', 'b'])
  })
})
