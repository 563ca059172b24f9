import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shortCascades, shortDigests } from '../../../clients/cli/output/short-ids.ts'

test('cascades and artifacts are shown by so much of the beginning that each has another one', () => {
  const cascades = ['01a20503-f1ba-7000-8004-090000000007', '01a20503-eddf-7000-8004-090000000006']
  assert.deepEqual([...shortCascades(cascades).values()], ['01a20503-f1ba', '01a20503-eddf'])
  const same = [cascades[0]!, '01a20503-f1ba-7000-8004-0a0000000001']
  assert.deepEqual([...shortCascades(same).values()], ['01a20503-f1ba-7000-8004-09', '01a20503-f1ba-7000-8004-0a'])
  const digest = `sha256:${'ab'.repeat(32)}`
  assert.equal(shortDigests([digest]).get(digest), 'abababababab')
})
