import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { KIND } from '../../../../protocol/values/encoded.ts'
import { kindOf, lengthOf, PointBatch } from '../../../../server/store/history/point-batch.ts'
import { PointDecoder, PointEncoder } from '../../../../server/store/history/point-chunk.ts'
import { seed } from '../../../kit/random.ts'

const runs = process.env['LONG'] ? 20_000 : 500

interface Point {
  version: number
  ts: number
  kind: number
  number: number
  payload: Buffer | null
}

const number = (kind: number, value: fc.Arbitrary<number>) => value.map(number => ({ kind, number, payload: null }))
const finite = fc.double({ noNaN: true, noDefaultInfinity: true })
const decimal = fc.integer({ min: -1e9, max: 1e9 }).map(whole => whole / 100)
const payload = (kind: number) =>
  fc.uint8Array({ maxLength: 300 }).map(bytes => ({ kind, number: 0, payload: Buffer.from(bytes) }))
const values = {
  float: number(KIND.float, finite),
  decimal: number(KIND.float, fc.oneof({ weight: 50, arbitrary: decimal }, { weight: 1, arbitrary: fc.constant(-0) })),
  same: number(KIND.float, fc.constantFrom(0, 20.25)),
  int: number(KIND.int, fc.oneof(fc.maxSafeInteger(), fc.integer({ min: -5, max: 5 }))),
  bool: number(KIND.bool, fc.constantFrom(0, 1)),
  null: number(KIND.null, fc.constant(0)),
  str: payload(KIND.str),
  json: payload(KIND.json),
}
const place = fc.record({
  step: fc.oneof(
    { weight: 9, arbitrary: fc.constant(1) },
    { weight: 1, arbitrary: fc.integer({ min: -3, max: 1000 }) },
  ),
  wait: fc.oneof(fc.integer({ min: 0, max: 200 }), fc.integer({ min: -1_000_000, max: 1e12 })),
})
const run = (value: fc.Arbitrary<Omit<Point, 'version' | 'ts'>>) =>
  fc.array(fc.tuple(place, value), { minLength: 1, maxLength: 200 }).map(list => {
    let version = 1_000_000
    let ts = 1.7e15
    return list.map(([{ step, wait }, rest]): Point => ({ version: (version += step), ts: (ts += wait), ...rest }))
  })
const points = fc.oneof(...Object.values(values).map(run), run(fc.oneof(...Object.values(values))))

const batchOf = (list: readonly Point[]): PointBatch => {
  const batch = new PointBatch(4, 4)
  for (const { version, ts, kind, number, payload } of list) batch.push(version, ts, kind, number, payload)
  return batch
}

const pointsOf = (batch: PointBatch): Point[] =>
  Array.from({ length: batch.count }, (_, i) => {
    const kind = kindOf(batch.meta[i]!)
    const carries = kind === KIND.str || kind === KIND.json
    return {
      version: batch.version[i]!,
      ts: batch.ts[i]!,
      kind,
      number: carries ? 0 : batch.number[i]!,
      payload: carries ? batch.copyPayload(i) : null,
    }
  })

test(`points come back from a chunk as they went in (seed ${seed})`, () => {
  const encoder = new PointEncoder()
  const decoder = new PointDecoder()
  fc.assert(
    fc.property(points, fc.nat(), (list, cut) => {
      const from = cut % list.length
      const length = encoder.encode(batchOf(list), from, list.length)
      const bytes = Buffer.from(encoder.bytes.subarray(0, length))
      const back = batchOf([{ version: 7, ts: 7, kind: KIND.str, number: 0, payload: Buffer.from('before') }])
      decoder.decode(Buffer.concat([Buffer.alloc(3), bytes]), 3, 3 + length, back)
      assert.deepEqual(pointsOf(back).slice(1), list.slice(from))
    }),
    { seed, numRuns: runs },
  )
})

test(`a damaged chunk is refused or read as other points, never past its end (seed ${seed})`, () => {
  const encoder = new PointEncoder()
  fc.assert(
    fc.property(points, fc.nat(), fc.nat(255), fc.nat(), (list, where, value, keep) => {
      const length = encoder.encode(batchOf(list), 0, list.length)
      const bytes = Buffer.from(encoder.bytes.subarray(0, length))
      bytes[where % length] = value
      const damaged = bytes.subarray(0, 1 + (keep % length))
      const back = new PointBatch()
      try {
        new PointDecoder().decode(damaged, 0, damaged.length, back)
      } catch (error) {
        assert.ok(error instanceof RangeError, String(error))
        return
      }
      for (let i = 0; i < back.count; i++) {
        if ([KIND.str, KIND.json].some(kind => kind === kindOf(back.meta[i]!))) {
          assert.ok(back.number[i]! + lengthOf(back.meta[i]!) <= back.used)
        }
      }
    }),
    { seed, numRuns: runs },
  )
})

test('readings with few decimals take a fraction of eight bytes each', () => {
  const batch = new PointBatch()
  for (let i = 0; i < 4096; i++)
    batch.push(i + 1, 1.7e15 + i * 100_000, KIND.float, Math.round(2000 + 50 * Math.sin(i / 100)) / 100, null)
  const length = new PointEncoder().encode(batch, 0, batch.count)
  assert.ok(length < 4096 * 4.5, `${length} bytes`)
})
