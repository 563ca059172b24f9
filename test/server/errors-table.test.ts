import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { errorTable } from '../../protocol/errors.ts'
import { ROOT } from '../kit/sources.ts'

/** Rows of the table: | `code` | status | title | what to do next | */
const ROWS = /(?:^\| `[a-z_0-9]+` \|.*\n)+/m
const PAGE = join(ROOT, 'docs/errors.md')

/** `UPDATE=1 npm test -- errors-table` writes the rows into the page. */
test('docs/errors.md carries the error table, row by row and in its order', () => {
  const page = readFileSync(PAGE, 'utf8')
  const rows = Object.entries(errorTable)
    .map(([code, { status, title, next }]) => `| \`${code}\` | ${status} | ${title} | ${next} |\n`)
    .join('')
  if (process.env['UPDATE'])
    writeFileSync(
      PAGE,
      page.replace(ROWS, () => rows),
    )
  else assert.equal(ROWS.exec(page)?.[0], rows, 'UPDATE=1 npm test -- errors-table brings the page up to date')
})

describe('the error table', () => {
  test('titles have no full stop, and what to do next is a sentence', () => {
    for (const [code, { title, next }] of Object.entries(errorTable)) {
      assert.doesNotMatch(title, /\.$/, code)
      assert.match(next, /^[A-Z].*\.$/, code)
    }
  })
})
