import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { validate, version } from 'uuid'
import { cascadeId, parseCascadeId } from '../../../protocol/nouns/cascade-id.ts'
import { seed } from '../../kit/random.ts'

test(`what goes into a cascade id comes out of it, and it is a UUIDv7 (seed ${seed})`, () => {
  const epoch = fc.integer({ min: 1, max: 2 ** 24 - 1 })
  const started = fc.integer({ min: 0, max: 2 ** 53 - 1 })
  const seq = fc.maxSafeNat().map(value => value % 2 ** 50)
  fc.assert(
    fc.property(epoch, started, seq, (engine_epoch, started_us, number) => {
      const id = cascadeId(engine_epoch, started_us, number)
      assert.ok(validate(id))
      assert.equal(version(id), 7)
      const started_ms = Math.floor(started_us / 1000)
      assert.deepEqual(parseCascadeId(id), { started_ms, engine_epoch, seq: number })
    }),
    { seed },
  )
})

test('a text that is not a cascade id is refused', () => {
  for (const text of ['', 'x', '018f3e2a-0000-4000-8000-000000000001', '018F3E2A-0000-7000-8000-000000000001']) {
    assert.equal(parseCascadeId(text), null)
  }
})

test('ids of later cascades sort later', () => {
  const ids = [cascadeId(1, 1000, 1), cascadeId(1, 1000, 2), cascadeId(2, 1000, 1), cascadeId(1, 2000, 0)]
  assert.deepEqual([...ids].sort(), ids)
})
