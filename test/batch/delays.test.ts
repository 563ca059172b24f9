import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BatchStory } from '../kit/batch-story.ts'
import { sharedEngine } from '../kit/live-engine.ts'
import { flow, input, node, output } from '../kit/live-story.ts'

const live = sharedEngine()

test('a batch run does not wait: delays and triggers pass their values at once', async () => {
  const batch = new BatchStory(live.engine)
  const port = (message: string) => input('value', 'int', { message })
  const made = (message: string) => output('value', 'int', { message })
  await batch.save(
    'waits',
    flow(
      [
        node('later', 'delay', { seconds: 3_600 }, [port('x')], [made('late')]),
        node('quiet', 'trigger', { mode: 'debounce', seconds: 3_600 }, [port('late')], [made('over')]),
      ],
      { message: 'x', dtype: 'int' },
    ),
  )
  const run = await batch.runs('waits', { inputs: { x: 7 } })
  assert.equal(run.status, 'succeeded')
  assert.match(JSON.stringify(run.result), /"over":.*7/)
})
