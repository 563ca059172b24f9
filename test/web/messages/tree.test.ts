import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Rate } from '../../../clients/web/src/messages/rate.ts'
import { matcherOf, rowsOf, typedValue } from '../../../clients/web/src/messages/tree.ts'
import type { Message } from '../../../protocol/nouns/message.ts'

const message = (name: string, value: unknown = null): Message => ({
  ...{ name, value, version: value === null ? 0 : 1, dtype: 'float', updated_at: null, publisher: null },
})
const ALL = [message('tank.level', 12), message('boiler.Pressure', 11), message('tank.alarm', true), message('a.b(c')]
const found = (filter: string): string[] => ALL.filter(matcherOf(filter)).map(({ name }) => name)

test('a filter finds parts of names, names with stars, and latest values', () => {
  assert.deepEqual(
    found(''),
    ALL.map(({ name }) => name),
  )
  assert.deepEqual(found('press'), ['boiler.Pressure'])
  assert.deepEqual(found('tank.*'), ['tank.level', 'tank.alarm'])
  assert.deepEqual(found('*.alarm'), ['tank.alarm'])
  assert.deepEqual(found('>11'), ['tank.level'])
  assert.deepEqual(found('tank, =true'), ['tank.alarm'])
  assert.deepEqual(found('b(c'), ['a.b(c'])
  assert.deepEqual(found('<'), [])
})

test('the tree has flows and their messages in the order of their names; a closed flow is one row', () => {
  const told = (closed: string[], isFlat = false): string[] =>
    rowsOf(ALL, new Set(closed), isFlat).map(row => (row.kind === 'flow' ? `${row.name} ${row.count}` : row.short))
  assert.deepEqual(told([]), ['a 1', 'b(c', 'boiler 1', 'Pressure', 'tank 2', 'alarm', 'level'])
  assert.deepEqual(told(['tank', 'a']), ['a 1', 'boiler 1', 'Pressure', 'tank 2'])
  assert.deepEqual(told(['tank'], true), ['a.b(c', 'boiler.Pressure', 'tank.alarm', 'tank.level'])
})

test('what is typed becomes a value of the dtype, or a sentence', () => {
  const value = (text: string, dtype: string): unknown => {
    const read = typedValue(text, dtype)
    return 'value' in read ? read.value : 'wrong'
  }
  assert.deepEqual(
    ['1.5', ' -2e3 ', '', '1,5', 'NaN'].map(text => value(text, 'float')),
    [1.5, -2000, 'wrong', 'wrong', 'wrong'],
  )
  assert.deepEqual(
    ['7', '7.5', '9007199254740993'].map(text => value(text, 'int')),
    [7, 'wrong', 'wrong'],
  )
  assert.deepEqual(
    ['yes', 'FALSE', 'maybe'].map(text => value(text, 'bool')),
    [true, false, 'wrong'],
  )
  assert.deepEqual(
    [' a ', ''].map(text => value(text, 'str')),
    [' a ', ''],
  )
  assert.deepEqual(
    ['{"a":[1]}', '{'].map(text => value(text, 'json')),
    [{ a: [1] }, 'wrong'],
  )
})

test('the rate of a message counts versions, also of values that did not come', () => {
  const rate = new Rate()
  assert.equal(rate.perSecond(0), null)
  rate.add(100, 0)
  assert.equal(rate.perSecond(1000), null)
  rate.add(150, 1000)
  assert.equal(rate.perSecond(1000), 50)
  rate.add(200, 2000)
  assert.equal(rate.perSecond(2000), 50)
  assert.equal(rate.perSecond(60_000), null, 'it has stopped')
})
