import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { limits } from '../../../protocol/limits.ts'
import type { Dtype } from '../../../protocol/values/dtype.ts'
import { CsvReader } from '../../../threads/connectors/lines/csv.ts'
import { fieldPorts } from '../../../threads/connectors/lines/fields.ts'
import { InfluxReader } from '../../../threads/connectors/lines/influx.ts'
import { JsonLinesReader } from '../../../threads/connectors/lines/json-lines.ts'
import { LineBlocks } from '../../../threads/connectors/lines/line-blocks.ts'
import { linesAddress } from '../../../threads/nodes/lines-address.ts'
import { seed } from '../../kit/random.ts'

const ports = (of: Record<string, Dtype>, fields: Record<string, string> = {}) =>
  fieldPorts(
    Object.entries(of).map(([name, dtype]) => ({ name, dtype })),
    fields,
  )

test('lines come out as they were sent, however they were cut on the way; only those that are too long are left out', () => {
  const line = fc.oneof(
    fc.string({ maxLength: 30 }).map(text => text.replaceAll('\n', ' ')),
    fc.constantFrom(
      'x'.repeat(limits.LINE_BYTES - 1),
      'y'.repeat(limits.LINE_BYTES),
      'z'.repeat(limits.LINE_BYTES * 2),
    ),
  )
  fc.assert(
    fc.property(
      fc.array(line, { maxLength: 12 }),
      fc.array(fc.integer({ min: 1, max: 100_000 }), { minLength: 1, maxLength: 9 }),
      (lines, cuts) => {
        const sent = Buffer.from(lines.map(one => `${one}\n`).join(''))
        const blocks = new LineBlocks()
        const got: string[] = []
        const take = (block: Buffer): void => {
          assert.equal(block.at(-1), 10)
          got.push(...block.toString().split('\n').slice(0, -1))
        }
        for (let at = 0, piece = 0; at < sent.length; piece++) {
          const end = at + cuts[piece % cuts.length]!
          blocks.push(sent.subarray(at, end), take)
          at = end
        }
        blocks.end(take)
        const isLong = (one: string): boolean => Buffer.byteLength(one) + 1 > limits.LINE_BYTES
        // A long line that comes whole in one piece is no burden: it may pass.
        assert.deepEqual(
          got.filter(one => !isLong(one)),
          lines.filter(one => !isLong(one)),
        )
        assert.equal(got.filter(isLong).length + blocks.too_long, lines.filter(isLong).length)
      },
    ),
    { seed, numRuns: 200 },
  )
})

describe('line protocol', () => {
  const read = (line: string, of: Record<string, Dtype>, fields = {}, measurement: string | null = null) =>
    new InfluxReader(ports(of, fields), measurement).read(line)

  test('fields, tags, measurement and time go to the ports that ask for them', () => {
    const line = 'weather,city=Oslo,site=a temperature=21.5,hits=7i,ok=true,note="a, \\"b\\" c=d" 1700000000000000000'
    assert.deepEqual(
      read(
        line,
        { temperature: 'float', hits: 'int', ok: 'bool', note: 'str', city: 'str', what: 'str', at: 'int' },
        {
          what: '@measurement',
          at: '@time',
        },
      ),
      {
        temperature: 21.5,
        hits: 7,
        ok: true,
        note: 'a, "b" c=d',
        city: 'Oslo',
        what: 'weather',
        at: 1_700_000_000_000_000,
      },
    )
    assert.deepEqual(read(line, { missing: 'float' }), {})
    assert.equal(read(line, { temperature: 'float' }, {}, 'sea'), null)
    assert.equal(read('# a comment', { x: 'float' }), null)
  })

  test('what is escaped belongs to the name or the value', () => {
    assert.deepEqual(
      read(
        'my\\ room,the\\,tag=a\\ b,q=1 the\\=field=2',
        { a: 'str', b: 'float', m: 'str' },
        { a: 'the,tag', b: 'the=field', m: '@measurement' },
      ),
      {
        a: 'a b',
        b: 2,
        m: 'my room',
      },
    )
  })

  test('what is broken is refused in words', () => {
    const of = { x: 'float' as const }
    assert.equal(read('m', of), 'it has no fields')
    assert.equal(read(',a=b x=1', of), 'it has no measurement')
    assert.equal(read('m,tag x=1', of), 'a tag has no value')
    assert.equal(read('m x', of), 'a field has no value')
    assert.equal(read('m x="open', of), 'a text is not closed')
    assert.equal(read('m x=1 soon', of), '"soon" is no timestamp')
    assert.equal(read('m x=NaN', of), 'field "x" has no value of line protocol')
    assert.equal(read('m x="1"', of), 'field "x" is no float')
  })

  test('no text at all makes it throw', () => {
    const reader = new InfluxReader(ports({ a: 'float', b: 'str', c: 'json' }), null)
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('m', ',', '=', ' ', '"', '\\', 'a', 'b', '1', 'i', 't', '\u00e9'), { maxLength: 40 }),
        parts => {
          reader.read(parts.join(''))
        },
      ),
      { seed, numRuns: 5_000 },
    )
  })

  test('every value that is written by its rules is read as it was', () => {
    const key = fc
      .string({ minLength: 1, maxLength: 8 })
      .filter(text => /^[^\\\n"#@]+$/.test(text) && text.trim() !== '')
    const escaped = (text: string): string => text.replace(/([,= ])/g, '\\$1')
    const text = fc.string({ maxLength: 12 }).filter(one => !one.includes('\n'))
    fc.assert(
      fc.property(
        key,
        key,
        key,
        fc.double({ noNaN: true, noDefaultInfinity: true }).map(number => number + 0),
        text,
        (measurement, tag, field, number, told) => {
          fc.pre(tag !== field)
          const quoted = `"${told.replace(/(["\\])/g, '\\$1')}"`
          const line = `${escaped(measurement)},${escaped(tag)}=${escaped(tag)} ${escaped(field)}=${number},s=${quoted}`
          fc.pre(field !== 's' && tag !== 's')
          assert.deepEqual(read(line, { t: 'str', f: 'float', s: 'str' }, { t: tag, f: field }), {
            t: tag,
            f: number,
            s: told,
          })
        },
      ),
      { seed, numRuns: 500 },
    )
  })
})

describe('CSV', () => {
  test('the first line has the names, unless the node has them; an empty cell says nothing', () => {
    const reader = new CsvReader(ports({ a: 'float', b: 'str', ok: 'bool' }), null, ',')
    assert.equal(reader.read('x, a ,b,ok'), null)
    assert.deepEqual(reader.read('9,1.5,"say ""hi"", you",yes'), { a: 1.5, b: 'say "hi", you', ok: true })
    assert.deepEqual(reader.read('9,,,'), { b: '' })
    assert.equal(reader.read('9,one,x,true'), 'column "a" is no float')
    assert.equal(reader.read('9,"1,x'), 'a quote is not closed')
    const named = new CsvReader(ports({ a: 'int' }), ['t', 'a'], ';')
    assert.deepEqual(named.read('0;4'), { a: 4 })
    assert.equal(named.read('0;4.5'), 'column "a" is no int')
  })
})

describe('JSON lines', () => {
  test('members go to ports by name or by pointer', () => {
    const reader = new JsonLinesReader(
      ports({ a: 'float', deep: 'json', odd: 'int' }, { deep: '/b/0/c', odd: '/x~1y' }),
    )
    assert.deepEqual(reader.read('{"a":1,"b":[{"c":[2]}],"x/y":3,"__proto__":4}'), { a: 1, deep: [2], odd: 3 })
    assert.deepEqual(reader.read('{"b":5}'), {})
    assert.equal(reader.read('{'), 'it is no JSON')
    assert.equal(reader.read('[1]'), 'it is no object')
    assert.equal(reader.read(' '), null)
    assert.deepEqual(
      new JsonLinesReader(ports({ constructor_: 'json' }, { constructor_: 'constructor' })).read('{}'),
      {},
    )
  })
})

test('addresses that mean the same place have the same key; others are none', () => {
  assert.equal(linesAddress('tcp://:80')?.key, 'tcp://127.0.0.1:80')
  assert.equal(linesAddress('udp://[::1]:80')?.key, 'udp://[::1]:80')
  assert.equal(linesAddress('unix:///run/a.sock')?.kind, 'unix')
  for (const wrong of ['tcp://127.0.0.1', 'tcp://a:70000', 'http://a:1', 'file://x', 'unix:', 'tcp://a b:1', ''])
    assert.equal(linesAddress(wrong), null, wrong)
})
