import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { limits } from '../../../protocol/limits.ts'
import { rangesOf } from '../../../server/artifacts/ranges.ts'
import { randomFrom, seed } from '../../kit/random.ts'

/** As `from-to`, inclusive, of 100 bytes. */
const asked = (header: string | undefined, size = 100): string => {
  const ranges = rangesOf(header, size)
  if (ranges === null) return 'whole'
  return typeof ranges === 'string' ? ranges : ranges.map(({ from, to }) => `${from}-${to - 1}`).join(' ')
}

describe('a Range header', () => {
  const table: [string | undefined, string][] = [
    [undefined, 'whole'],
    ['bytes=0-0', '0-0'],
    ['bytes=0-99', '0-99'],
    ['bytes=10-19', '10-19'],
    ['bytes=90-', '90-99'],
    ['bytes=99-1000', '99-99'],
    ['bytes=-1', '99-99'],
    ['bytes=-100', '0-99'],
    ['bytes=-1000', '0-99'],
    [`bytes=0-${'9'.repeat(400)}`, '0-99'],
    [`bytes=-${'9'.repeat(400)}`, '0-99'],
    ['BYTES=0-1', '0-1'],
    [' bytes=0-1 ', '0-1'],
    ['bytes= 0-1 , 5-6', '0-1 5-6'],
    ['bytes=0-1,,5-6,', '0-1 5-6'],
    ['bytes=80-89,10-19', '80-89 10-19'],
    ['bytes=10-19,200-300', '10-19'],
    // Outside.
    ['bytes=100-', 'outside'],
    ['bytes=100-200', 'outside'],
    ['bytes=-0', 'outside'],
    [`bytes=${'9'.repeat(400)}-`, 'outside'],
    ['bytes=100-200,300-', 'outside'],
    // Overlapping, touching, contained: no byte twice.
    ['bytes=0-9,5-14', '0-14'],
    ['bytes=0-9,10-19', '0-19'],
    ['bytes=20-29,0-9,10-19', '0-29'],
    ['bytes=50-59,0-9,5-14', '50-59 0-14'],
    ['bytes=0-,0-,0-', '0-99'],
    ['bytes=10-19,12-13', '10-19'],
    // No ranges of bytes: as if nothing was asked for.
    ['', 'whole'],
    ['bytes', 'whole'],
    ['bytes=', 'whole'],
    ['bytes=,', 'whole'],
    ['bytes=-', 'whole'],
    ['bytes=5', 'whole'],
    ['bytes=5-4', 'whole'],
    ['bytes=0-1,5-4', 'whole'],
    ['bytes=a-b', 'whole'],
    ['bytes=+1-2', 'whole'],
    ['bytes=1.5-2', 'whole'],
    ['bytes=0x1-2', 'whole'],
    ['bytes=1-2-3', 'whole'],
    ['bytes=0 - 1', 'whole'],
    ['items=0-1', 'whole'],
    ['bytes:0-1', 'whole'],
  ]
  for (const [header, ranges] of table) {
    test(`${JSON.stringify(header?.slice(0, 40))} asks for ${ranges}`, () => assert.equal(asked(header), ranges))
  }

  test('asks of no bytes for nothing', () => {
    assert.equal(asked('bytes=0-', 0), 'outside')
    assert.equal(asked('bytes=-5', 0), 'outside')
    assert.equal(asked(undefined, 0), 'whole')
  })

  test('may name so many ranges and not one more', () => {
    const many = (count: number): string => `bytes=${Array.from({ length: count }, (_, n) => `${n * 5}-${n * 5 + 1}`)}`
    assert.equal(asked(many(limits.ARTIFACT_RANGES)).split(' ').length, limits.ARTIFACT_RANGES)
    assert.equal(asked(many(limits.ARTIFACT_RANGES + 1)), 'outside')
  })

  test(`covers the bytes that were asked for, each once, whatever the ranges (SEED=${seed})`, () => {
    const random = randomFrom(seed)
    const below = (bound: number): number => Math.floor(random() * bound)
    for (let round = 0; round < 500; round++) {
      const wanted = new Set<number>()
      const texts = Array.from({ length: 1 + below(limits.ARTIFACT_RANGES) }, () => {
        const from = below(110)
        const to = from + below(15)
        for (let byte = from; byte <= to && byte < 100; byte++) wanted.add(byte)
        return `${from}-${to}`
      })
      const ranges = rangesOf(`bytes=${texts}`, 100)
      assert.ok(ranges !== null)
      const given =
        ranges === 'outside'
          ? []
          : ranges.flatMap(({ from, to }) => Array.from({ length: to - from }, (_, n) => from + n))
      assert.deepEqual(
        [...given].sort((a, b) => a - b),
        [...wanted].sort((a, b) => a - b),
        texts.join(),
      )
    }
  })
})
