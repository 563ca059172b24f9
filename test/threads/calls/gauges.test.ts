import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../../protocol/limits.ts'
import { Gauges } from '../../../threads/calls/gauges.ts'

test('of a million gauges the newest of the newest names are kept, and the others are counted', () => {
  const gauges = new Gauges<string>()
  let dropped = 0
  for (let at = 0; at < 1_000_000; at++) if (gauges.set('f.a', `m${at}`, `${at}`)) dropped++
  for (let at = 0; at < 1_000_000; at++) assert.equal(gauges.set('f.b', 'one', `b${at}`), false)
  const taken = gauges.take()
  assert.equal(taken.length, limits.GAUGES_PER_NODE + 1)
  assert.equal(dropped, 1_000_000 - limits.GAUGES_PER_NODE)
  assert.deepEqual(taken.slice(-2), ['999999', 'b999999'])
  assert.ok(gauges.isEmpty)
})
