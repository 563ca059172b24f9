import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { BUCKETS, bucketOf } from '../../../core/memory/buckets.ts'
import { Exposition } from '../../../server/observe/exposition.ts'
import { readExposition } from '../../kit/exposition.ts'

const textOf = (lines: Iterable<string>): string => [...lines].join('')

/** A distribution of these durations. */
function of(...durations_ns: number[]) {
  const counts = new Float64Array(BUCKETS)
  for (const ns of durations_ns) counts[bucketOf(ns)]! += 1
  return { counts, sum_ns: durations_ns.reduce((sum, ns) => sum + ns, 0) }
}

describe('Prometheus text', () => {
  test('whatever stands in a label or a help text comes back out of it', () => {
    const label = 'back\\slash "quoted"\nnext, {braced}=1'
    const text = textOf(new Exposition().metric('m', 'gauge', 'One\\two\nlines.', [[{ label }, 1.5]]))
    const family = readExposition(text).get('m')!
    assert.deepEqual(family.samples, [{ name: 'm', labels: { label }, value: 1.5 }])
    assert.equal(family.help, 'One\\\\two\\nlines.')
  })

  test('a histogram counts every duration below each of its ends, in seconds', () => {
    const durations = [0, 900, 1_100, 5e6, 2e9, 9e11]
    const text = textOf(new Exposition().histogram('h', 'Help.', [[{ node: 'a' }, of(...durations)]]))
    const { samples } = readExposition(text).get('h')!
    for (const { name, labels, value } of samples) {
      if (name === 'h_bucket') {
        const end_ns = labels['le'] === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels['le']) * 1e9
        assert.equal(value, durations.filter(ns => ns < end_ns).length, labels['le'])
      }
      if (name === 'h_sum') assert.ok(Math.abs(value - durations.reduce((sum, ns) => sum + ns) / 1e9) < 1e-9)
      if (name === 'h_count') assert.equal(value, durations.length)
    }
    assert.equal(samples.length, 17)
  })

  test('every series of a histogram has the same ends', () => {
    const series = [[{ node: 'a' }, of()] as const, [{ node: 'b' }, of(1, 1e12)] as const]
    const { samples } = readExposition(textOf(new Exposition().histogram('h', 'Help.', series))).get('h')!
    const ends = (node: string) =>
      samples.filter(({ labels }) => labels['node'] === node).map(({ labels }) => labels['le'])
    assert.deepEqual(ends('a'), ends('b'))
  })

  test('a family is named once', () => {
    const out = new Exposition()
    textOf(out.metric('m', 'gauge', 'Help.', []))
    assert.throws(() => textOf(out.histogram('m', 'Help.', [])), /two families/)
  })
})

describe('the strict reader', () => {
  const head = '# HELP m Help.\n# TYPE m gauge\n'
  const refused: Record<string, string> = {
    'a last line without an end': `${head}m 1`,
    'a type without help': '# TYPE m gauge\nm 1\n',
    'a family twice': `${head}m 1\n${head}m{a="1"} 1\n`,
    'a sample twice': `${head}m{a="1"} 1\nm{a="1"} 2\n`,
    'a sample outside its family': `${head}n 1\n`,
    'a raw quotation mark in a label': `${head}m{a="x"y"} 1\n`,
    'a wrong escape in a label': `${head}m{a="\\t"} 1\n`,
    'no number': `${head}m null\n`,
    'a histogram whose counts fall':
      '# HELP h H\n# TYPE h histogram\nh_bucket{le="1"} 2\nh_bucket{le="+Inf"} 1\nh_sum 1\nh_count 1\n',
    'a histogram without an end': '# HELP h H\n# TYPE h histogram\nh_bucket{le="1"} 2\nh_sum 1\nh_count 2\n',
  }
  for (const [what, text] of Object.entries(refused))
    test(`refuses ${what}`, () => assert.throws(() => readExposition(text), RangeError))
})
