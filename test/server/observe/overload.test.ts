import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../../protocol/limits.ts'
import { Overload } from '../../../server/observe/overload.ts'

const LOOK_MS = limits.OVERLOAD_LOOK_MS

/** Looks every half second for so long; answers after how many milliseconds the answer changed, null: it did not. */
function looking() {
  const overload = new Overload()
  let now_ms = 0
  return (share: number | (() => number), for_ms: number): number | null => {
    const before = overload.isOverloaded
    for (let passed = 0; passed <= for_ms; passed += LOOK_MS, now_ms += LOOK_MS) {
      overload.look(typeof share === 'number' ? share : share(), now_ms)
      if (overload.isOverloaded !== before) return passed
    }
    return null
  }
}

test('a full flow is an overload within three seconds, and its end is told within five', () => {
  const look = looking()
  assert.ok(look(1, 60_000)! + LOOK_MS <= 3_000)
  assert.equal(look(1, 60_000), null, 'it stays')
  assert.ok(look(0, 60_000)! + LOOK_MS <= 5_000)
  assert.equal(look(limits.FLOW_PRESSURE_DEGRADED - 0.01, 60_000), null)
})

test('a burst is no overload, and a moment of rest does not end one', () => {
  const look = looking()
  let at = 0
  const bursts = (): number => (at++ % 4 < 2 ? 1 : 0)
  assert.equal(look(bursts, 60_000), null)
  look(1, 60_000)
  assert.equal(look(bursts, 60_000), null)
})
