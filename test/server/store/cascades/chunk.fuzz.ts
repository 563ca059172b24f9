import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { CascadeEncoder, countIn, decodeCascades, encodeFlowCounts } from '../../../../server/store/cascades/chunk.ts'
import { CASCADE_COLUMNS, CascadeRows, COLUMN } from '../../../../server/store/cascades/pending.ts'
import { putVarint, unzigzag, VarintReader, zigzag } from '../../../../server/store/history/varint.ts'
import { seed } from '../../../kit/random.ts'

const numRuns = process.env['LONG'] ? 20_000 : 500
const small = fc.integer({ min: 0, max: 50 })
const record = fc.record({
  started: fc.integer({ min: 1.7e15, max: 1.8e15 }),
  duration: fc.oneof(small, fc.integer({ min: 0, max: 1e12 })),
  seq: fc.integer({ min: 0, max: 2 ** 50 }),
  flow: small,
  message: small,
  root_version: fc.maxSafeNat().map(version => version % 2 ** 51),
  status: fc.integer({ min: 1, max: 3 }),
  executions: small,
  errors: small,
  parent_seq: fc.oneof(fc.constant(0), small),
  parent_ts: fc.oneof(fc.constant(0), fc.integer({ min: 1.7e15, max: 1.8e15 })),
})
type Row = typeof record extends fc.Arbitrary<infer R> ? R : never

const rowsOf = (list: readonly Row[]): CascadeRows => {
  const rows = new CascadeRows(1)
  for (const row of list) {
    const at = rows.add()
    for (const column of CASCADE_COLUMNS) rows.values[at + COLUMN[column]] = row[column]
  }
  return rows
}

test(`cascade records come back from a chunk as they went in, and are counted without it (seed ${seed})`, () => {
  const encoder = new CascadeEncoder()
  fc.assert(
    fc.property(fc.array(record, { minLength: 1, maxLength: 100 }), fc.nat(), (list, cut) => {
      const from = cut % list.length
      const rows = rowsOf(list)
      const length = encoder.encode(rows, from, list.length)
      const back = rowsOf([list[0]!])
      decodeCascades(Buffer.from(encoder.bytes.subarray(0, length)), back)
      const read = Array.from({ length: back.count }, (_, row) =>
        Object.fromEntries(CASCADE_COLUMNS.map(column => [column, back.get(row, column)])),
      )
      const kept = list.slice(from)
      assert.deepEqual(
        read.slice(1),
        kept.map(row => ({ ...row })),
      )
      const counts = encodeFlowCounts(rows, from, list.length)
      for (const flow of [null, 0, 7]) {
        for (const status of [null, 1, 2, 3]) {
          const wanted = kept.filter(row => (flow ?? row.flow) === row.flow && (status ?? row.status) === row.status)
          assert.equal(countIn(counts, flow, status), wanted.length)
        }
      }
    }),
    { seed, numRuns },
  )
})

test(`a damaged chunk of cascades is refused or read as other records (seed ${seed})`, () => {
  const encoder = new CascadeEncoder()
  fc.assert(
    fc.property(
      fc.array(record, { minLength: 1, maxLength: 20 }),
      fc.nat(),
      fc.nat(255),
      fc.nat(),
      (list, where, value, keep) => {
        const length = encoder.encode(rowsOf(list), 0, list.length)
        const bytes = Buffer.from(encoder.bytes.subarray(0, length))
        bytes[where % length] = value
        try {
          decodeCascades(bytes.subarray(0, 1 + (keep % length)), new CascadeRows(1))
        } catch (error) {
          assert.ok(error instanceof RangeError, String(error))
        }
      },
    ),
    { seed, numRuns },
  )
})

test(`whole numbers and their signs survive (seed ${seed})`, () => {
  const bytes = new Uint8Array(9)
  const signed = fc.integer({ min: -(2 ** 52), max: 2 ** 52 - 1 })
  fc.assert(
    fc.property(fc.maxSafeNat(), signed, (whole, step) => {
      const end = putVarint(bytes, 0, whole)
      const reader = new VarintReader(bytes)
      assert.equal(reader.next(), whole)
      assert.equal(reader.at, end)
      assert.equal(unzigzag(zigzag(step)), step)
      putVarint(bytes, 0, zigzag(step))
      assert.equal(new VarintReader(bytes).nextSigned(), step)
    }),
    { seed, numRuns },
  )
})
