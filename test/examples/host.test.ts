import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bodyOf } from '../kit/examples.ts'

test('the host example measures load and memory at once, and the processors from the second tick on', async () => {
  const measure = await bodyOf('host', 'measure')
  const first = measure({ ticked: true }) as Record<string, number>
  assert.deepEqual(Object.keys(first).sort(), ['load', 'memory_used_share'])
  let later = first
  while (later['cpu_used_share'] === undefined) later = measure({ ticked: true }) as Record<string, number>
  for (const share of [later['memory_used_share'], later['cpu_used_share']]) {
    assert.ok(share !== undefined && share >= 0 && share <= 1, String(share))
  }
})
