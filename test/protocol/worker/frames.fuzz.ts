import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Packr } from 'msgpackr'
import { ServiceError } from '../../../protocol/errors.ts'
import { decodeWorkerFrame, type WorkerFrame } from '../../../protocol/worker/frames.ts'
import { encodeFrame } from '../../../protocol/worker/wire.ts'
import { seed } from '../../kit/random.ts'

const numRuns = process.env['LONG'] ? 100_000 : 1_000
const settings = { seed, numRuns }

/** The frame, or null when it was refused as it should be: with an error of the table, and no other. */
function tried(bytes: Uint8Array): WorkerFrame | null {
  try {
    return decodeWorkerFrame(bytes)
  } catch (error) {
    assert.ok(error instanceof ServiceError, `${error}`)
    return null
  }
}

/** What JSON can carry; minus zero is zero there. */
const value = fc.jsonValue({ maxDepth: 5, noUnicodeString: false }).map(one => JSON.parse(JSON.stringify(one)))
const values = fc.dictionary(fc.string({ unit: 'grapheme' }), value, { noNullPrototype: true })
const fine = (one: unknown): boolean => !JSON.stringify(one).includes('__proto__')
const frame: fc.Arbitrary<WorkerFrame> = fc.oneof(
  fc.record({ t: fc.constant('emit' as const), call: fc.integer({ min: 1 }), outputs: values }),
  fc.record({
    t: fc.constant('result' as const),
    call: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
    outputs: fc.option(values),
    state: values,
    ms: fc.double({ min: 0, max: 1e9, noNaN: true }).map(ms => ms + 0),
  }),
)
const anything = fc.anything({ withBigInt: true, withDate: true, withTypedArray: true, withMap: true, withSet: true })

test(`whatever a frame carries comes out as it went in (SEED=${seed})`, () => {
  fc.assert(
    fc.property(frame.filter(fine), sent =>
      assert.deepEqual(decodeWorkerFrame(encodeFrame(sent)), JSON.parse(JSON.stringify(sent))),
    ),
    settings,
  )
})

test(`bytes of any kind are a frame or refused, never anything else (SEED=${seed})`, () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), bytes => void tried(bytes)),
    settings,
  )
  const lies = fc.array(fc.constantFrom(0x81, 0x91, 0xdd, 0xdf, 0xc4, 0xc7, 0xd4, 0xd9, 0xdb, 0xff, 0x74, 0xa1), {
    maxLength: 60,
  })
  fc.assert(
    fc.property(lies, bytes => void tried(Uint8Array.from(bytes))),
    settings,
  )
})

test(`a frame that was changed on its way is a frame or refused, and nothing of it is no JSON (SEED=${seed})`, () => {
  const change = fc.tuple(fc.nat(), fc.nat(255))
  fc.assert(
    fc.property(frame, fc.array(change, { minLength: 1, maxLength: 8 }), fc.nat(), (sent, changes, cut) => {
      const bytes = encodeFrame(sent)
      for (const [at, byte] of changes) bytes[at % bytes.length] = byte
      for (const some of [bytes, bytes.subarray(0, cut % bytes.length)]) {
        const got = tried(some)
        // NaN and infinity are refused at the ports.
        if (got !== null) assert.ok(JSON.stringify(got).length > 0)
      }
    }),
    settings,
  )
})

test(`what another encoder may write of its own kinds is refused (SEED=${seed})`, () => {
  const packr = new Packr({ useRecords: true, moreTypes: true, structuredClone: true })
  fc.assert(
    fc.property(anything, sent => {
      let bytes: Buffer
      try {
        bytes = packr.pack({ t: 'emit', call: 1, outputs: { y: sent } })
      } catch {
        return
      }
      const got = tried(bytes)
      if (got !== null) assert.doesNotThrow(() => JSON.stringify(got))
    }),
    settings,
  )
})
