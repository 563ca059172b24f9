import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RUN_HERE, runnerOf } from '../../../threads/connectors/runners.ts'
import { NODE_TYPES } from '../../../threads/nodes/types/index.ts'

test('every type that the connectors thread runs has a runner, and no other', async () => {
  const there = NODE_TYPES.filter(({ place }) => place === 'connectors').map(({ name }) => name)
  assert.deepEqual(RUN_HERE.toSorted(), there.toSorted())
  for (const name of there) assert.equal(typeof (await runnerOf(name)).open, 'function')
  await assert.rejects(runnerOf('code'), /not served/)
})

test('every setting of every type is described', () => {
  for (const { name, settings } of NODE_TYPES)
    for (const [setting, schema] of Object.entries(settings.properties))
      assert.ok('description' in schema && 'title' in schema, `${name}.${setting}`)
})
