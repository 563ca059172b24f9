import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { compare, fits, parseComparison, parseField, parseOrder, valueAt } from '../../../core/runs/run-query.ts'
import { randomFrom, seed } from '../../kit/random.ts'

const shape = (text: string): unknown => {
  const comparison = parseComparison(text)
  return comparison && [comparison.field.kind, comparison.field.path, comparison.operator, comparison.value]
}

describe('a comparison', () => {
  test('is a field, an operator and a value, which is JSON or else the text', () => {
    assert.deepEqual(shape('input.lr<0.1'), ['input', 'lr', '<', 0.1])
    assert.deepEqual(shape(' metric.train.loss <= 1e-3 '), ['metric', 'train.loss', '<=', 1e-3])
    assert.deepEqual(shape('input.mode=fast'), ['input', 'mode', '=', 'fast'])
    assert.deepEqual(shape('input.mode="1"'), ['input', 'mode', '=', '1'])
    assert.deepEqual(shape('result.ok!=true'), ['result', 'ok', '!=', true])
    assert.deepEqual(shape('input.expression=a>=b'), ['input', 'expression', '=', 'a>=b'])
    assert.deepEqual(shape("input.name='; DROP TABLE runs --"), ['input', 'name', '=', "'; DROP TABLE runs --"])
    assert.deepEqual(shape('duration>60'), ['duration', '', '>', 60])
    assert.deepEqual(shape('seed=7'), ['seed', '', '=', 7])
  })

  test('is not one without its parts', () => {
    for (const text of [
      '',
      '=',
      'lr<1',
      'input.<1',
      'input.lr',
      'input.lr<',
      'input.lr!1',
      'status=failed',
      '.lr=1',
      'x.y=1',
    ])
      assert.equal(parseComparison(text), null, text)
    for (const text of ['', '-', '--input.x', 'input', 'input. x', 'durations'])
      assert.equal(parseOrder(text), null, text)
    assert.deepEqual(parseOrder('-input.lr'), { field: parseField('input.lr'), descending: true })
  })

  test('compares numbers with numbers and texts with texts; what is absent or another kind does not fit', () => {
    const holds = (value: unknown, text: string) => fits(value, parseComparison(`input.x${text}`)!)
    assert.deepEqual(
      [holds(1, '<2'), holds(2, '<2'), holds(2, '<=2'), holds(3, '>2'), holds(2, '>=2')],
      [true, false, true, true, true],
    )
    assert.deepEqual([holds('b', '>a'), holds('10', '>9'), holds(10, '>9')], [true, false, true])
    assert.deepEqual([holds(1, '=1'), holds('1', '=1'), holds('1', '="1"'), holds(1, '!=2')], [true, false, true, true])
    assert.deepEqual([holds([1, 2], '=[1,2]'), holds(null, '=null'), holds(true, '=true')], [true, true, true])
    for (const text of ['<1', '=1', '!=1', '>1']) assert.equal(holds(undefined, text), false, text)
    for (const text of ['<1', '>1', '<=a']) assert.equal(holds(true, text), false, text)
  })

  test('finds values at dotted paths, also those of keys that hold dots, and nothing of the prototype', () => {
    const tree = { a: { b: 1, 'c.d': { e: 2 } }, 'a.b': 3, list: [1] }
    assert.equal(valueAt(tree, 'a.b'), 3)
    assert.equal(valueAt(tree, 'a.c.d.e'), 2)
    for (const path of ['a.x', 'list.0', 'list.length', '__proto__', 'constructor.name', 'a.toString'])
      assert.equal(valueAt(tree, path), undefined, path)
  })

  test('of any text is understood or refused, and of any values decides alike in both directions', t => {
    t.diagnostic(`seed ${seed}`)
    const random = randomFrom(seed)
    const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)]!
    const pieces = [
      'input',
      'result',
      'metric',
      'duration',
      '.',
      '..',
      '-',
      '<',
      '=',
      '!',
      '>',
      "'",
      '"',
      ' ',
      '0.1',
      '1e999',
      '{',
      '[',
      '\\u0000',
      'é',
      '%',
      ';',
      'x',
    ]
    const values = [undefined, null, 0, -1, 1.5, 'a', 'b', '', true, false, [1], { a: 1 }]
    for (let round = 0; round < 20_000; round++) {
      const text = Array.from({ length: 1 + Math.floor(random() * 9) }, () => pick(pieces)).join('')
      const comparison = parseComparison(text)
      const value = pick(values)
      if (comparison !== null) {
        assert.ok(text.includes(comparison.operator))
        assert.equal(typeof fits(value, comparison), 'boolean')
        const opposite = { ...comparison, operator: '!=' as const }
        const equal = { ...comparison, operator: '=' as const }
        if (value !== undefined) assert.notEqual(fits(value, equal), fits(value, opposite), text)
      }
      const [a, b, c] = [pick(values), pick(values), pick(values)]
      assert.equal(Math.sign(compare(a, b)) + Math.sign(compare(b, a)), 0)
      if (compare(a, b) <= 0 && compare(b, c) <= 0) assert.ok(compare(a, c) <= 0)
      valueAt({ x: { x: 1 }, '.': 2, [text]: value }, text)
    }
  })
})
