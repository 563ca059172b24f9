import assert from 'node:assert/strict'
import { test } from 'node:test'
import { against } from '../../../kit/svc-against.ts'

const found = [
  {
    kind: 'node',
    name: 'boiler.smooth',
    flow: 'boiler',
    snippet: [
      { text: 'code\n', match: false },
      { text: 'mean', match: true },
    ],
  },
]

test('what is found is printed as a table, and what is left out is told', async t => {
  const script = { 'GET /search': { answer: { found, more: true, complete: false } } }
  const { requests, code, stdout, stderr } = await against(t, script, ['search', 'mean', 'boil', '--limit', '1'])
  assert.equal(code, 0, stderr)
  assert.deepEqual(requests[0]!.query, { q: 'mean boil', limit: '1' })
  assert.match(stdout, /node +boiler\.smooth +code mean/)
  assert.match(stderr, /there is more/)
  assert.match(stderr, /the index is being made/)
})

test('nothing found is no error, and JSON is as the engine answers', async t => {
  const answer = { found: [], more: false, complete: true }
  const none = await against(t, { 'GET /search': { answer } }, ['search', 'nowhere'])
  assert.deepEqual([none.code, none.stdout], [0, ''])
  assert.match(none.stderr, /nothing was found/)
  const json = await against(t, { 'GET /search': { answer } }, ['search', 'nowhere', '--json'])
  assert.deepEqual(JSON.parse(json.stdout), answer)
})
