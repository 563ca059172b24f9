import assert from 'node:assert/strict'
import { test } from 'node:test'
import { layout } from '../../../core/memory/layout.ts'

const RECORD = layout('RECORD', [
  ['first', 'i32', 'one word'],
  ['double', 'f64', 'aligned to eight'],
  ['bytes', 'bytes:12', 'aligned to eight as well'],
  ['last', 'i32', ''],
])

test('fields follow one another, each where its type wants to stand', () => {
  assert.deepEqual({ ...RECORD.offset }, { first: 0, double: 8, bytes: 16, last: 28 })
  assert.deepEqual({ ...RECORD.word }, { first: 0, double: 1, bytes: 2, last: 7 })
  assert.equal(RECORD.size, 32)
})

test('a record ends on its alignment', () => {
  assert.equal(layout('LINE', [['word', 'i32', '']], 64).size, 64)
  assert.equal(layout('WORD', [['word', 'i32', '']]).size, 8)
})

test('a record draws itself', () => {
  assert.deepEqual(RECORD.draw().split('\n').slice(0, 5), [
    'RECORD, 32 bytes',
    '+-------+-------+--------+',
    '|    at | bytes | field  |',
    '+-------+-------+--------+',
    '|     0 |     4 | first  | one word',
  ])
})
