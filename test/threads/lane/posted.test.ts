import assert from 'node:assert/strict'
import { test } from 'node:test'
import { explore } from '../../kit/interleave.ts'

test('a lane that is about to sleep does not miss what the front posts to it', async () => {
  assert.ok((await explore(new URL('./posted.scenario.ts', import.meta.url))).schedules > 50)
})
