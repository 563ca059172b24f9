import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { limits } from '../../../protocol/limits.ts'
import type { Dtype } from '../../../protocol/values/dtype.ts'
import { CsvReader } from '../../../threads/connectors/lines/csv.ts'
import { fieldPorts, type LineReader } from '../../../threads/connectors/lines/fields.ts'
import { InfluxReader } from '../../../threads/connectors/lines/influx.ts'
import { InfluxText } from '../../../threads/connectors/lines/influx-text.ts'
import { JsonLinesReader } from '../../../threads/connectors/lines/json-lines.ts'
import { LineBlocks } from '../../../threads/connectors/lines/line-blocks.ts'
import { linesAddress } from '../../../threads/nodes/lines-address.ts'
import { seed } from '../../kit/random.ts'

const ports = (of: Record<string, Dtype>, fields: Record<string, string> = {}) =>
  fieldPorts(
    Object.entries(of).map(([name, dtype]) => ({ name, dtype })),
    fields,
  )

/** What a reader makes of a line, by name of the port. */
function said(reader: LineReader, line: string, of: Record<string, Dtype>): unknown {
  // In the middle of a block, as lines are.
  const before = 'x y=1\n'
  const read = reader.read(Buffer.from(`${before}${line}\nz=2`), before.length, before.length + Buffer.byteLength(line))
  return typeof read === 'string' || read === null ? read : byName(read, of)
}
const byName = (values: readonly unknown[], of: Record<string, Dtype>): Record<string, unknown> =>
  Object.fromEntries(
    Object.keys(of)
      .map((name, place) => [name, values[place]] as const)
      .filter(([, value]) => value !== undefined),
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
    said(new InfluxReader(ports(of, fields), measurement), line, of)

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
    const of = { a: 'float', b: 'str', c: 'json' } as const
    const reader = new InfluxReader(ports(of), null)
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('m', ',', '=', ' ', '"', '\\', 'a', 'b', '1', 'i', 't', '\u00e9'), { maxLength: 40 }),
        parts => {
          said(reader, parts.join(''), of)
        },
      ),
      { seed, numRuns: 5_000 },
    )
  })

  test('a line that is read from its bytes says what its text says', () => {
    const of = { a: 'float', b: 'int', c: 'json', d: 'str', e: 'float', m: 'str', t: 'json' } as const
    const asked = ports(of, { e: 'a', m: '@measurement', t: '@time' })
    const text = new InfluxText(asked, null)
    const reader = new InfluxReader(asked, null)
    const name = fc.constantFrom('a', 'b', 'c', 'd', 'longer', '\u00e9', 'x')
    const value = fc.oneof(
      fc.double().map(String),
      fc.integer().map(number => `${number}i`),
      fc.tuple(fc.constantFrom('', '-', '+'), fc.bigInt(), fc.nat({ max: 99_999 })).map(parts => parts.join('')),
      fc
        .tuple(fc.constantFrom('', '-', '+'), fc.nat(), fc.nat())
        .map(([sign, whole, part]) => `${sign}${whole}.${part}`),
      fc.constantFrom(
        '-0',
        '.5',
        '5.',
        '.',
        '-',
        '',
        '00017',
        '1e3',
        '0x1',
        '1.2.3',
        '3.5i',
        '7u',
        'true',
        '"a b,c=1"',
      ),
    )
    const pair = fc.tuple(name, value).map(parts => parts.join('='))
    const line = fc
      .record({
        measurement: fc.constantFrom('m', '', '#', 'my\\ m', 'm n'),
        tags: fc.array(pair, { maxLength: 3 }),
        fields: fc.array(pair, { maxLength: 5 }),
        time: fc.oneof(
          fc.constantFrom('', ' ', ' x', '  7', ' 7 ', ' -5', ' -'),
          fc.nat().map(at => ` ${at}000`),
        ),
      })
      .map(({ measurement, tags, fields, time }) => `${[measurement, ...tags].join(',')} ${fields.join(',')}${time}`)
    fc.assert(
      fc.property(line, one => {
        const as_text = text.read(one)
        const expected = typeof as_text === 'string' || as_text === null ? as_text : byName(as_text, of)
        assert.deepEqual(said(reader, one, of), expected)
      }),
      { seed, numRuns: 20_000 },
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
    const of = { a: 'float', b: 'str', ok: 'bool' } as const
    const csv = new CsvReader(ports(of), null, ',')
    const read = (line: string) => said(csv, line, of)
    assert.equal(read('x, a ,b,ok'), null)
    assert.deepEqual(read('9,1.5,"say ""hi"", you",yes'), { a: 1.5, b: 'say "hi", you', ok: true })
    assert.deepEqual(read('9,,,'), { b: '' })
    assert.equal(read('9,one,x,true'), 'column "a" is no float')
    assert.equal(read('9,"1,x'), 'a quote is not closed')
    const named = new CsvReader(ports({ a: 'int' }), ['t', 'a'], ';')
    assert.deepEqual(said(named, '0;4', { a: 'int' }), { a: 4 })
    assert.equal(said(named, '0;4.5', { a: 'int' }), 'column "a" is no int')
  })
})

describe('JSON lines', () => {
  test('members go to ports by name or by pointer', () => {
    const of = { a: 'float', deep: 'json', odd: 'int' } as const
    const reader = new JsonLinesReader(ports(of, { deep: '/b/0/c', odd: '/x~1y' }))
    const read = (line: string) => said(reader, line, of)
    assert.deepEqual(read('{"a":1,"b":[{"c":[2]}],"x/y":3,"__proto__":4}'), { a: 1, deep: [2], odd: 3 })
    assert.deepEqual(read('{"b":5}'), {})
    assert.equal(read('{'), 'it is no JSON')
    assert.equal(read('[1]'), 'it is no object')
    assert.equal(read(' '), null)
    assert.deepEqual(
      said(new JsonLinesReader(ports({ constructor_: 'json' }, { constructor_: 'constructor' })), '{}', {
        constructor_: 'json',
      }),
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
