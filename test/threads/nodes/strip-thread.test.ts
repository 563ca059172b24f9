import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { ServiceError } from '../../../protocol/errors.ts'
import { checkSource } from '../../../threads/nodes/code.ts'
import { stripHere } from '../../../threads/nodes/strip.ts'
import { StripThread } from '../../../threads/nodes/strip-thread.ts'

const thread = new StripThread()
after(() => thread.close())

const sources = [
  'export default ({ x }: { x: number }) => x',
  'enum A {}',
  'let y = ;',
  '',
  '// 漢😀\nexport default (x: "漢😀") => x',
]

test('the thread answers what stripping here would', () => {
  for (const source of sources) assert.deepEqual(thread.strip(source), stripHere(source))
})

test('a source that breaks the stripper is refused, and the next one is stripped', () => {
  const hostile = [
    '{'.repeat(100_000),
    `export default ${'['.repeat(50_000)}`,
    'function f(){'.repeat(15_000),
    `export default ${'!'.repeat(200_000)}1`,
    `let x: ${'A<'.repeat(50_000)}`,
    '`${'.repeat(50_000),
  ]
  for (const source of hostile) {
    assert.throws(
      () => checkSource('ts', source, thread.strip),
      error => error instanceof ServiceError && error.code === 'syntax_error',
    )
    assert.deepEqual(thread.strip(sources[0]!), stripHere(sources[0]!))
  }
})

test('JavaScript nested too deeply to be parsed is refused', () => {
  for (const source of [
    '('.repeat(100_000),
    `export default ${'a=>'.repeat(60_000)}1`,
    `export default 1${'+1'.repeat(100_000)}`,
  ])
    assert.throws(
      () => checkSource('js', source),
      error => error instanceof ServiceError && error.code === 'syntax_error' && /nested too deeply/.test(error.detail),
    )
})

test('closed, it starts again when it is asked', () => {
  thread.close()
  thread.close()
  assert.deepEqual(thread.strip(sources[0]!), stripHere(sources[0]!))
})
