import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Packr } from 'msgpackr'
import { unpackPlain } from '../../../../clients/client/live/msgpack.ts'
import { msgpackSettings } from '../../../../protocol/values/msgpack-settings.ts'
import { seed } from '../../../kit/random.ts'

const packr = new Packr(msgpackSettings)
/** Without the one key that msgpackr reads under another name, and this reader as it was. */
const JSON_VALUES = fc.jsonValue({ maxDepth: 4 }).filter(value => !JSON.stringify(value).includes('__proto__'))

test('what the engine packs is read as it was, and what is cut off or no plain value is refused', () => {
  console.log(`SEED=${seed}`)
  const wide = { list: new Array(70_000).fill(1), text: 'x'.repeat(70_000), many: { ...new Array(20).fill('y') } }
  const numbers = [
    0,
    -1,
    127,
    128,
    -32,
    -33,
    255,
    256,
    -129,
    65_535,
    65_536,
    -32_769,
    2 ** 31,
    -(2 ** 31) - 1,
    2 ** 53 - 1,
    0.5,
  ]
  for (const value of [wide, numbers]) assert.deepEqual(unpackPlain(Buffer.from(packr.pack(value))), value)
  fc.assert(
    fc.property(JSON_VALUES, value => {
      const packed = Buffer.from(packr.pack(value))
      assert.deepEqual(unpackPlain(packed), packr.unpack(packed))
      if (packed.length > 1) assert.throws(() => unpackPlain(packed.subarray(0, -1)), RangeError)
      assert.throws(() => unpackPlain(Buffer.concat([packed, Buffer.of(1)])), RangeError)
    }),
    { seed, numRuns: 500 },
  )
  const proto = unpackPlain(Buffer.from(packr.pack(JSON.parse('{"__proto__": {"a": 1}}'))))
  assert.deepEqual(Object.keys(proto as object), ['__proto__'])
  assert.equal(Object.getPrototypeOf(proto), Object.prototype)
  assert.throws(() => unpackPlain(Buffer.of(0xc4, 1, 2)), RangeError)
})
