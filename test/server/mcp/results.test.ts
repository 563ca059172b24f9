import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../../protocol/limits.ts'
import { listOf, shortened, textOf } from '../../../server/mcp/results.ts'
import { tableOf } from '../../../server/mcp/tables.ts'

test('a short value is shown as it is, and of a long one its beginning', () => {
  const short = { a: [1, 'x', null, { b: true }] }
  assert.equal(shortened(short, 100), short)
  assert.deepEqual(shortened('abcdef', 3), { cut: 'abc…', characters: 6 })
  const { cut } = shortened({ list: Array.from({ length: 1_000_000 }, (_, at) => at) }, 40) as { cut: string }
  assert.match(cut, /^\{"list":\[0,1,2,3,4,5,6,7,8,9,10/)
  assert.ok(cut.length < 60)
  for (const most of [1, 5, 9, 10, 11, 200]) {
    const value = { a: 'ab', b: [1, 2] }
    const whole = JSON.stringify(value).length <= most
    assert.equal(shortened(value, most) === value, whole, `${most}`)
  }
})

test('no answer is longer than the bound, and what was cut is said', async () => {
  const long = 'é'.repeat(limits.MCP_RESULT_BYTES)
  for (const result of [long, { long }, [long, long]]) {
    const text = await textOf(result)
    assert.ok(Buffer.byteLength(text) <= limits.MCP_RESULT_BYTES)
    assert.match(text, /\[cut here: this is \d+ of \d+ bytes/)
  }
  assert.equal(await textOf({ a: 1 }), '{"a":1}')
  assert.equal(await textOf(undefined), 'null')
})

test('a list ends where it would be too long, and says where it goes on', () => {
  const items = Array.from({ length: 100 }, (_, at) => ({ at, text: 'x'.repeat(1_000) }))
  const { items: shown, count, next_offset } = listOf(items, 250, 30)
  assert.ok(shown.length < 60 && shown.length > 30)
  assert.deepEqual([count, next_offset], [250, 30 + shown.length])
  assert.deepEqual(listOf([1, 2], 2, 0), { items: [1, 2], count: 2 })
  assert.equal(listOf(['x'.repeat(100_000), 1], 2, 0).items.length, 1)
})

test('a table keeps its newest rows, each on a line', () => {
  const rows = Array.from({ length: 5_000 }, (_, at) => [at, `a\tb\n${'x'.repeat(50)}`])
  const text = tableOf({ title: 't', columns: ['n', 'text'], rows })
  assert.ok(Buffer.byteLength(text) <= limits.MCP_RESULT_BYTES)
  const lines = text.split('\n')
  assert.match(lines.at(-2)!, /^4999\ta b x/)
  assert.match(lines.at(-1)!, /rows were cut/)
  assert.equal(tableOf({ title: 't', columns: ['n'], rows: [] }), 't\nn\n(no rows)')
})
